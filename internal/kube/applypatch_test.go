package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

const patched = `{"metadata":{"name":"web","labels":{"a/b":"c","~":"t"}},"spec":{"containers":[{"name":"one"},{"name":"two","ports":[]}],"none":null}}`

// The library that API servers use is the oracle, except where it is less strict.
func TestApplyPatch(t *testing.T) {
	for _, patch := range []string{
		`[]`,
		`[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/x","value":"y"}]`,
		`[{"op":"add","path":"/metadata/labels/a~1b","value":"d"},{"op":"remove","path":"/metadata/labels/~0"}]`,
		`[{"op":"add","path":"/spec/containers/0","value":{"name":"zero"}},{"op":"add","path":"/spec/containers/-","value":{"name":"three"}}]`,
		`[{"op":"add","path":"/spec/containers/2","value":{"name":"three"}}]`,
		`[{"op":"replace","path":"/spec/containers/1/name","value":"2"},{"op":"test","path":"/spec/containers/1/name","value":"2"}]`,
		`[{"op":"remove","path":"/spec/containers/0"},{"op":"copy","from":"/spec/containers/0","path":"/spec/initContainers"}]`,
		`[{"op":"move","from":"/spec/containers/0","path":"/spec/containers/1"}]`,
		`[{"op":"test","path":"/spec/none","value":null},{"op":"replace","path":"/spec/none","value":1}]`,
		`[{"op":"add","path":"/metadata/name","value":null}]`,
		`[{"op":"add","path":"/a/b","value":1}]`,
		`[{"op":"remove","path":"/a"}]`,
		`[{"op":"remove","path":"/spec/containers/2"}]`,
		`[{"op":"add","path":"/spec/containers/3","value":1}]`,
		`[{"op":"add","path":"/metadata/name/x","value":1}]`,
		`[{"op":"test","path":"/metadata/name","value":"db"}]`,
		`[{"op":"jump","path":"/a"}]`,
	} {
		doc, err := source.Parse(source.NewText("pod", []byte(patched)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := kube.ApplyPatch(doc.Root, "patch", []byte(patch))
		oracle, oerr := jsonpatch.DecodePatch([]byte(patch))
		var want []byte
		if oerr == nil {
			want, oerr = oracle.Apply([]byte(patched))
		}
		if (err == nil) != (oerr == nil) {
			t.Errorf("%s: %v, want %v", patch, err, oerr)
			continue
		}
		if err == nil && canonical(t, source.AppendJSON(nil, n)) != canonical(t, want) {
			t.Errorf("%s\ngot  %s\nwant %s", patch, source.AppendJSON(nil, n), want)
		}
		if got := string(source.AppendJSON(nil, doc.Root)); got != patched {
			t.Errorf("%s changed the value that it was applied to: %s", patch, got)
		}
	}
	for patch, want := range map[string]string{
		// RFC 6902 wants these to exist; the library does not mind.
		`[{"op":"replace","path":"/a","value":1}]`: "there is no such value", `[{"op":"copy","from":"/a","path":"/b"}]`: "there is no such value",
		`{`: "reading the patch: ", `{}`: "not a list of operations", `[{"op":"add","value":1}]`: "operation 1, add : it has no pointer",
		`[{"op":"add","path":"a","value":1}]`: "does not begin with a slash", `[{"op":"add","path":"/a"}]`: "it has no value",
		`[{"op":"remove","path":""}]`: "the whole value cannot be removed", `[{"op":"add","path":"/spec/containers/01","value":1}]`: "none at 01",
	} {
		doc, err := source.Parse(source.NewText("pod", []byte(patched)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kube.ApplyPatch(doc.Root, "patch", []byte(patch)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", patch, err, want)
		}
	}
}

func canonical(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
