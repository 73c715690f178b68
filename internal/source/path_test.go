package source

import "testing"

func TestPaths(t *testing.T) {
	doc, err := Parse(NewText("f", []byte("a:\n- b: c\n- d\ne: null\n")))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root
	if got := root.At("a", 0, "b").Str(); got != "c" {
		t.Errorf("At: got %q", got)
	}
	for _, path := range [][]any{{"a", 2}, {"a", -1}, {"x"}, {"a", "b"}, {1.5}} {
		if n := root.At(path...); n != nil {
			t.Errorf("At(%v): got %v", path, n.Kind())
		}
	}
	for _, test := range []outcome{
		result("put", `{"a":[{"b":1},"d"],"e":null}`)(root.Put(NewInt(1), "a", 0, "b")),
		result("put at the end of a list", `{"a":[{"b":"c"},"d",1],"e":null}`)(root.Put(NewInt(1), "a", 2)),
		result("put below null", `{"a":[{"b":"c"},"d"],"e":{"f":[1]}}`)(root.Put(NewInt(1), "e", "f", 0)),
		result("put below a string", "")(root.Put(NewInt(1), "a", 1, "x")),
		result("put beyond a list", "")(root.Put(NewInt(1), "a", 3)),
		result("insert", `{"a":[1,{"b":"c"},"d"],"e":null}`)(root.Insert(NewInt(1), "a", 0)),
		result("insert beyond a list", "")(root.Insert(NewInt(1), "a", 3)),
		result("insert into a map", "")(root.Insert(NewInt(1), "x")),
		result("insert nowhere", "")(root.Insert(NewInt(1))),
		result("remove a key", `{"a":[{"b":"c"},"d"]}`)(root.Remove("e")),
		result("remove an item", `{"a":[{"b":"c"}],"e":null}`)(root.Remove("a", 1)),
		result("remove a key that is not there", "")(root.Remove("x")),
		result("remove an item that is not there", "")(root.Remove("a", 2)),
	} {
		if test.want == "" {
			if test.err == nil {
				t.Errorf("%s: no error", test.name)
			}
			continue
		}
		if test.err != nil {
			t.Errorf("%s: %v", test.name, test.err)
		} else if got := string(AppendJSON(nil, test.n)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	if got := string(AppendJSON(nil, root)); got != `{"a":[{"b":"c"},"d"],"e":null}` {
		t.Errorf("the node itself was changed: %s", got)
	}
}

// outcome is what a change of a value came to; no value is wanted where it must
// fail.
type outcome struct {
	name, want string
	n          *Node
	err        error
}

func result(name, want string) func(*Node, error) outcome {
	return func(n *Node, err error) outcome { return outcome{name, want, n, err} }
}
