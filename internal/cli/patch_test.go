package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// injectedObjects returns the objects of a stream by reference and number.
func injectedObjects(t *testing.T, data []byte) []kube.Object {
	t.Helper()
	r := source.NewReader("f", bytes.NewReader(data))
	var list []kube.Object
	for {
		doc, err := r.Next()
		if err != nil {
			return list
		}
		if doc.Root != nil {
			for o := range kube.Objects(doc.Root) {
				list = append(list, o)
			}
		}
	}
}

// patched is an object of a sample, its patch, and what it becomes.
type patched struct {
	object, want *source.Node
	patch        []byte
}

// patchesOf makes the patches of a sample; objects without one are left out.
func patchesOf(t *testing.T, s sample, form string) []patched {
	t.Helper()
	plain := *s.work
	plain.noRecord = true
	injected, findings := through(s.data, plain.document)
	if findings.HasErrors() {
		return nil
	}
	before, after := injectedObjects(t, s.data), injectedObjects(t, injected)
	patching := *s.work
	patching.patch = form
	var list []objectPatch
	_, findings = through(s.data, func(doc *source.Document, err error) outcome {
		o := patching.document(doc, err)
		list = append(list, o.patches...)
		return o
	})
	if findings.HasErrors() {
		return nil
	}
	var out []patched
	for i := range before {
		if before[i].Node.Equal(after[i].Node) {
			continue
		}
		if len(list) == 0 {
			t.Fatalf("no patch for %s", before[i].Ref)
		}
		if list[0].ref != before[i].Ref {
			t.Fatalf("a patch for %s in place of %s", list[0].ref, before[i].Ref)
		}
		out = append(out, patched{before[i].Node, after[i].Node, list[0].data})
		list = list[1:]
	}
	if len(list) > 0 {
		t.Fatalf("%d patches too many", len(list))
	}
	return out
}

// I-26: an RFC 6902 patch, applied to the input, gives the injected object.
func TestI26JSONPatchGivesTheInjectedObject(t *testing.T) {
	n := 0
	for _, s := range samples(t) {
		if !portion.Takes(s.name, 6) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, p := range patchesOf(t, s, "json") {
				n++
				patch, err := jsonpatch.DecodePatch(p.patch)
				if err != nil {
					t.Fatal(err)
				}
				out, err := patch.Apply(source.AppendJSON(nil, p.object))
				if err != nil {
					t.Fatalf("%v\n%s", err, p.patch)
				}
				checkPatched(t, out, p.want)
			}
		})
	}
	if n < portion.Of(80, 12) {
		t.Errorf("only %d patches", n)
	}
}

func checkPatched(t *testing.T, out []byte, want *source.Node) {
	t.Helper()
	doc, err := source.Parse(source.NewText("f", out))
	if err != nil {
		t.Fatal(err)
	}
	if !withoutNulls(doc.Root).Equal(withoutNulls(want)) {
		t.Errorf("the patch gives\n%s\nwant\n%s", source.AppendYAML(nil, doc.Root), source.AppendYAML(nil, want))
	}
}

// withoutNulls drops the fields that are null: a merge patch cannot tell them
// from those that are not there, and neither does Kubernetes.
func withoutNulls(n *source.Node) *source.Node {
	for _, f := range n.Fields() {
		if f.Value.IsNull() {
			n = n.Without(f.Key)
		} else if v := withoutNulls(f.Value); v != f.Value {
			n = n.With(f.Key, v)
		}
	}
	if n.Kind() == source.List {
		items := make([]*source.Node, 0, n.Len())
		for _, item := range n.Items() {
			items = append(items, withoutNulls(item))
		}
		return n.WithItems(items...)
	}
	return n
}

// I-26: a strategic merge patch, applied as Kubernetes does, gives the injected
// object.
func TestI26StrategicPatchGivesTheInjectedObject(t *testing.T) {
	schemas := map[string]any{
		"Pod": corev1.Pod{}, "PodTemplate": corev1.PodTemplate{}, "ReplicationController": corev1.ReplicationController{},
		"Deployment": appsv1.Deployment{}, "StatefulSet": appsv1.StatefulSet{}, "DaemonSet": appsv1.DaemonSet{},
		"ReplicaSet": appsv1.ReplicaSet{}, "Job": batchv1.Job{}, "CronJob": batchv1.CronJob{},
	}
	n := 0
	for _, s := range samples(t) {
		if !portion.Takes(s.name, 6) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, p := range patchesOf(t, s, "strategic") {
				schema := schemas[p.object.Get("kind").Str()]
				if schema == nil {
					continue
				}
				n++
				patch, err := source.Parse(source.NewText("patch", p.patch))
				if err != nil {
					t.Fatalf("%v\n%s", err, p.patch)
				}
				out, err := strategicpatch.StrategicMergePatch(source.AppendJSON(nil, p.object), source.AppendJSON(nil, patch.Root), schema)
				if err != nil {
					t.Fatalf("%v\n%s", err, p.patch)
				}
				checkPatched(t, out, p.want)
			}
		})
	}
	if n < portion.Of(80, 12) {
		t.Errorf("only %d patches", n)
	}
}

// I-26: kustomize, which kubectl has in it, builds the injected objects of the
// folders that --patch kustomize writes.
func TestI26KustomizeBuildsTheInjectedObjects(t *testing.T) {
	builder := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	built := 0
	for _, s := range samples(t) {
		if !portion.Takes(s.name, 6) {
			continue
		}
		want := patchesOf(t, s, "json")
		if len(want) == 0 || built >= 40 && !strings.Contains(s.name, "list") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "in.yaml"), s.data, 0o666); err != nil {
				t.Fatal(err)
			}
			a := &app{Env: Env{Dir: dir, Stderr: io.Discard, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }}}
			inputs, err := a.inputs([]string{"in.yaml"})
			if err != nil {
				t.Fatal(err)
			}
			defer inputs.close()
			out, err := (&writing{output: "overlay/", patch: "kustomize"}).open(a, inputs)
			if err != nil {
				t.Fatal(err)
			}
			defer out.close()
			work := *s.work
			work.patch, work.noRecord = "kustomize", true
			run := &stream{inputs: inputs, work: work.document, skip: func(*source.Document, []skipped) {}, out: out}
			if err := errors.Join(run.run(t.Context()), out.finish(t.Context())); err != nil {
				t.Fatal(err)
			}
			if run.findings.HasErrors() {
				t.Skip("kustomize takes objects with names only")
			}
			resources, err := builder.Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "overlay"))
			if err != nil {
				t.Fatal(err)
			}
			text, err := resources.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range injectedObjects(t, text) {
				if len(want) > 0 && o.Ref == kube.RefOf(want[0].want) {
					checkPatched(t, source.AppendJSON(nil, o.Node), want[0].want)
					want = want[1:]
					built++
				}
			}
			if len(want) > 0 {
				t.Errorf("kustomize does not give %s", kube.RefOf(want[0].want))
			}
		})
	}
	if built < portion.Of(40, 12) {
		t.Errorf("only %d objects were built", built)
	}
}

// The same with the program that people use.
func TestI26KubectlAppliesThePatches(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("there is no kubectl on the PATH; the libraries that kubectl patch and kubectl kustomize are made of " +
			"apply the same patches, and more, in TestI26JSONPatchGivesTheInjectedObject, TestI26StrategicPatchGivesTheInjectedObject " +
			"and TestI26KustomizeBuildsTheInjectedObjects")
	}
	input := filepath.Join("..", "..", "examples", "payments.yaml")
	data, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	s := sample{name: "payments", data: data, work: injectorOf(engineOf(t, nil, nil, nil), false)}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(kubectl, args...)
		var talk bytes.Buffer
		cmd.Stderr = &talk
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, talk.String())
		}
		return out
	}
	dir := t.TempDir()
	for _, form := range []string{"json", "strategic"} {
		for i, p := range patchesOf(t, s, form) {
			object := filepath.Join(dir, fmt.Sprintf("%s-%d.json", form, i))
			if err := os.WriteFile(object, source.AppendJSON(nil, p.object), 0o666); err != nil {
				t.Fatal(err)
			}
			checkPatched(t, run("patch", "--local", "-f", object, "--type", form, "-p", string(p.patch), "-o", "json"), p.want)
		}
	}

	overlay := filepath.Join(dir, "overlay")
	var talk bytes.Buffer
	code := Main(t.Context(), Env{
		Args:   []string{"ingraft", "kube-inject", "-f", input, "--patch", "kustomize", "-o", overlay + "/"},
		Stdout: &talk, Stderr: &talk, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false },
	})
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, talk.String())
	}
	want := patchesOf(t, s, "json")
	for _, o := range injectedObjects(t, run("kustomize", overlay)) {
		if len(want) > 0 && o.Ref == kube.RefOf(want[0].want) {
			checkPatched(t, source.AppendJSON(nil, o.Node), want[0].want)
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Errorf("kustomize does not give %s", kube.RefOf(want[0].want))
	}
}
