package inject

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // what the API server applies patches with

	"github.com/ingraft/ingraft/internal/source"
)

func node(t testing.TB, yaml string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test", []byte(yaml)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

// apply applies a patch as the API server does.
func apply(t testing.TB, n *source.Node, patch []byte) *source.Node {
	t.Helper()
	if patch == nil {
		return n
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("decoding %s: %v", patch, err)
	}
	out, err := p.Apply(source.AppendJSON(nil, n))
	if err != nil {
		t.Fatalf("applying %s: %v", patch, err)
	}
	return node(t, string(out))
}

func TestJSONPatch(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"nothing", `{a: 1}`, `{a: 1}`, ``},
		{
			"parent is made", `{spec: {}}`, `{spec: {}, metadata: {labels: {a: b}}}`,
			`[{"op":"add","path":"/metadata","value":{"labels":{"a":"b"}}}]`,
		},
		{
			"map that is null", `{annotations: null}`, `{annotations: {a: b}}`,
			`[{"op":"replace","path":"/annotations","value":{"a":"b"}}]`,
		},
		{
			"keys are escaped", `{m: {}}`, `{m: {"a/b~c": x, "q\"é\n": z}}`,
			`[{"op":"add","path":"/m/a~1b~0c","value":"x"},{"op":"add","path":"/m/q\"é\n","value":"z"}]`,
		},
		{"scalar changes", `{a: 1, b: "1"}`, `{a: 2, b: "1"}`, `[{"op":"replace","path":"/a","value":2}]`},
		{"type changes", `{a: "1"}`, `{a: 1}`, `[{"op":"replace","path":"/a","value":1}]`},
		{"key goes", `{a: 1, b: 2}`, `{b: 2}`, `[{"op":"remove","path":"/a"}]`},
		{
			"items before and after", `{l: [{name: b}]}`, `{l: [{name: a}, {name: b}, {name: c}]}`,
			`[{"op":"add","path":"/l/0","value":{"name":"a"}},{"op":"add","path":"/l/2","value":{"name":"c"}}]`,
		},
		{
			"item changes in place", `{l: [{name: a, x: 1}, {name: b}]}`, `{l: [{name: a, x: 2}, {name: b}]}`,
			`[{"op":"replace","path":"/l/0/x","value":2}]`,
		},
		{
			"item moves", `{l: [{name: p}, {name: a}, {name: b}]}`, `{l: [{name: a}, {name: b}, {name: p}]}`,
			`[{"op":"remove","path":"/l/0"},{"op":"add","path":"/l/2","value":{"name":"p"}}]`,
		},
		{"no item stays", `{l: [{name: a}]}`, `{l: [{name: b}]}`, `[{"op":"replace","path":"/l","value":[{"name":"b"}]}]`},
		{"scalars", `{l: [a, b, c]}`, `{l: [a, c, d]}`, `[{"op":"remove","path":"/l/1"},{"op":"add","path":"/l/2","value":"d"}]`},
		{"empty list filled", `{l: []}`, `{l: [a]}`, `[{"op":"replace","path":"/l","value":["a"]}]`},
		{
			"mounts of one volume", `{l: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}`, `{l: [{name: v, mountPath: /b}]}`,
			`[{"op":"remove","path":"/l/0"}]`,
		},
	} {
		r := Result{request: node(t, c.old), Pod: node(t, c.now)}
		got := r.JSONPatch()
		var want any
		if c.want != "" {
			var have any
			_, _ = json.Unmarshal([]byte(c.want), &want), json.Unmarshal(got, &have)
			w, _ := json.Marshal(want)
			h, _ := json.Marshal(have)
			if string(w) != string(h) {
				t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
			}
		} else if got != nil {
			t.Errorf("%s: got %s, want none", c.name, got)
		}
		if after := apply(t, r.request, got); !after.Equal(r.Pod) {
			t.Errorf("%s: applied to the input the patch makes %s", c.name, source.AppendJSON(nil, after))
		}
	}
}

// The patch of any tree to any tree that was made from it turns one into the other.
func FuzzJSONPatch(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint64(7))
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		rnd := rand.New(rand.NewPCG(a, b))
		old := randomNode(rnd, 4)
		r := Result{request: old, Pod: mutate(rnd, old, 4)}
		patch := r.JSONPatch()
		if after := apply(t, old, patch); !after.Equal(r.Pod) {
			t.Errorf("from %s\n  to %s\n got %s\n  by %s", source.AppendJSON(nil, old),
				source.AppendJSON(nil, r.Pod), source.AppendJSON(nil, after), patch)
		}
	})
}

var fuzzKeys = []string{"name", "mountPath", "a", "b/c", "d~e", "é\"", "image", "env"}

func randomNode(rnd *rand.Rand, depth int) *source.Node {
	kind := rnd.IntN(8)
	if depth == 0 {
		kind %= 4
	} else if depth == 4 {
		kind = 6
	}
	switch kind {
	case 0:
		return source.NewInt(int64(rnd.IntN(3)))
	case 1:
		return source.NewBool(rnd.IntN(2) == 0)
	case 2, 3:
		return source.NewString(fuzzKeys[rnd.IntN(len(fuzzKeys))])
	case 4, 5:
		items := make([]*source.Node, rnd.IntN(5))
		for i := range items {
			items[i] = randomNode(rnd, depth-1)
		}
		return source.NewList(items...)
	}
	n := source.NewMap()
	for range rnd.IntN(5) {
		n = n.With(fuzzKeys[rnd.IntN(len(fuzzKeys))], randomNode(rnd, depth-1))
	}
	return n
}

// mutate changes a tree here and there, and shares the rest.
func mutate(rnd *rand.Rand, n *source.Node, depth int) *source.Node {
	if rnd.IntN(4) == 0 && depth < 4 {
		return n
	}
	switch {
	case n.Kind() == source.Map && depth > 0:
		for _, f := range n.Fields() {
			switch rnd.IntN(4) {
			case 0:
				n = n.Without(f.Key)
			case 1, 2:
				n = n.With(f.Key, mutate(rnd, f.Value, depth-1))
			}
		}
		if rnd.IntN(2) == 0 {
			n = n.With(fuzzKeys[rnd.IntN(len(fuzzKeys))], randomNode(rnd, depth-1))
		}
		return n
	case n.Kind() == source.List && depth > 0:
		items := append([]*source.Node(nil), n.Items()...)
		if rnd.IntN(3) == 0 {
			rnd.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		}
		var out []*source.Node
		for _, item := range items {
			if rnd.IntN(3) == 0 {
				out = append(out, randomNode(rnd, depth-1))
			}
			if rnd.IntN(4) > 0 {
				out = append(out, mutate(rnd, item, depth-1))
			}
		}
		return n.WithItems(out...)
	}
	return randomNode(rnd, depth)
}
