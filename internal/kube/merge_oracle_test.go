package kube_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

var mergeCases = flag.Int("merge-cases", 1000, "number of random merges that are compared with strategicpatch")

// oracle merges as the control plane's injector does: the typed pod as JSON,
// strategicpatch, and back into the typed pod.
func oracle(base, overlay []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var pod corev1.Pod
	if err := yaml.Unmarshal(base, &pod); err != nil {
		return nil, errInvalidBase
	}
	typed, err := json.Marshal(&pod)
	if err != nil {
		return nil, err
	}
	var original, patch map[string]any
	if err := json.Unmarshal(typed, &original); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(overlay, &patch); err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(corev1.Pod{})
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(original, patch, meta)
	if err != nil {
		return nil, err
	}
	js, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	return typedPod(js)
}

var errInvalidBase = errors.New("the base is no pod")

// typedPod reads a pod and writes it as its Go type does, nil and empty lists
// of containers alike.
func typedPod(js []byte) ([]byte, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(js, &pod); err != nil {
		return nil, err
	}
	out, err := json.Marshal(&pod)
	if err != nil {
		return nil, err
	}
	var v any // sorts the keys of the raw JSON in managedFields
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, err
	}
	out, err = json.Marshal(v)
	return bytes.ReplaceAll(out, []byte(`:null`), []byte(`:[]`)), err
}

func decoded(js []byte) (v any) {
	_ = json.Unmarshal(js, &v) // nil for no JSON, which is what a refused merge gives
	return v
}

func mergeLikeOracle(t *testing.T, base, overlay *source.Node) bool {
	t.Helper()
	baseJS, overlayJS := source.AppendJSON(nil, base), source.AppendJSON(nil, overlay)
	want, wantErr := oracle(baseJS, overlayJS)
	if errors.Is(wantErr, errInvalidBase) {
		return false
	}
	merged, gotErr := kube.Merge(kube.Normalize(base, kube.TypePod), overlay, kube.TypePod)
	var got []byte
	if gotErr == nil {
		got, gotErr = typedPod(source.AppendJSON(nil, merged))
	}
	if (wantErr == nil) != (gotErr == nil) || !bytes.Equal(want, got) {
		t.Errorf("base    %s\noverlay %s\nerror   %v\nwant    %v\ndiff    %s",
			baseJS, overlayJS, gotErr, wantErr, cmp.Diff(decoded(want), decoded(got)))
	}
	if !bytes.Equal(source.AppendJSON(nil, base), baseJS) || !bytes.Equal(source.AppendJSON(nil, overlay), overlayJS) {
		t.Errorf("an input was changed: %s, %s", baseJS, overlayJS)
	}
	return wantErr == nil
}

func TestMergeIsStrategicPatch(t *testing.T) {
	cases := portion.Of(*mergeCases, 8)
	merged := 0
	for seed := range uint64(cases) {
		r := newRandom(seed)
		r.nulls, r.unquoted = pick(r, 0, 0, 0.03), pick(r, 0, 0, 0.03)
		base := r.object(kube.TypePod, 5, "")
		r.unquoted = 0
		r.overlay = true
		r.wrong = pick(r, 0, 0, 0.005)
		if mergeLikeOracle(t, base, r.object(kube.TypePod, 5, "")) {
			merged++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if merged < cases/3 {
		t.Errorf("only %d of %d random overlays could be merged at all", merged, cases)
	}
	t.Logf("%d cases, %d merged, all as strategicpatch does", cases, merged)
}
