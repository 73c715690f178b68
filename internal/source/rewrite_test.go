package source

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A change makes a new value of the value of a document.
type change func(t *testing.T, root *Node) *Node

func put(value *Node, path ...any) change {
	return func(t *testing.T, root *Node) *Node {
		n, err := root.Put(value, path...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func insert(value *Node, path ...any) change {
	return func(t *testing.T, root *Node) *Node {
		n, err := root.Insert(value, path...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func remove(path ...any) change {
	return func(t *testing.T, root *Node) *Node {
		n, err := root.Remove(path...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func both(changes ...change) change {
	return func(t *testing.T, root *Node) *Node {
		for _, c := range changes {
			root = c(t, root)
		}
		return root
	}
}

// order puts the items of a list in another order.
func order(path []any, indexes ...int) change {
	return func(t *testing.T, root *Node) *Node {
		list := root.At(path...)
		var items []*Node
		for _, i := range indexes {
			items = append(items, list.Items()[i])
		}
		n, err := root.Put(list.WithItems(items...), path...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

var str, num = NewString, NewInt

func TestRewrite(t *testing.T) {
	container := NewMap(F("name", str("proxy")), F("image", str("img:1")), F("args", NewList(str("a"), str("-b"))), F("env", NewList(NewMap(F("name", str("X")), F("value", str("yes"))))))
	for _, test := range []struct {
		name   string
		before string
		change change
		after  string
	}{
		{"key at the end", "a: b # c\n\n# d\n", put(str("e"), "f"), "a: b # c\nf: e\n\n# d\n"},
		{"key after nested lines", "m:\n  a: b\n  # inside\n\nn: 1\n", put(str("d"), "m", "c"), "m:\n  a: b\n  # inside\n  c: d\n\nn: 1\n"},
		{"comment of the next key stays with it", "m:\n  a: b\n# about n\nn: 1\n", put(str("d"), "m", "c"), "m:\n  a: b\n  c: d\n# about n\nn: 1\n"},
		{"no newline at the end", "a: b", put(str("d"), "c"), "a: b\nc: d"},
		{"carriage returns", "a: b\r\nc: d\r\n", put(NewMap(F("x", str("v"))), "e"), "a: b\r\nc: d\r\ne:\r\n  x: v\r\n"},
		{"value on the line", "a:  'b'   # c\n", put(str("d"), "a"), "a: 'd'   # c\n"},
		{"number", "a: 0644 # c\nb: 1_000\n", put(num(8), "a"), "a: 8 # c\nb: 1_000\n"},
		{"string that looks like something else", "a: b\n", both(put(str("no"), "a"), put(str("1e3"), "b"), put(str(""), "c"), put(str("x: y"), "d"), put(str("2001-01-01"), "y"), put(str("="), " e")), "a: \"no\"\nb: \"1e3\"\nc: \"\"\nd: \"x: y\"\n\"y\": \"2001-01-01\"\n\" e\": \"=\"\n"},
		{"literal", "a: b # c\nd: e\n", put(str("x\ny\n"), "a"), "a: | # c\n  x\n  y\nd: e\n"},
		{"literal keeps its style", "a: |\n  x\nb: c\n", put(str("y"), "a"), "a: |-\n  y\nb: c\n"},
		{"scalar for a block", "a: # c\n  b: c\nd: e\n", put(str("x"), "a"), "a: x\nd: e\n"},
		{"block for a scalar", "a: b # c\nd: e\n", put(NewMap(F("x", num(1)), F("w", NewList(num(2)))), "a"), "a: # c\n  x: 1\n  w:\n  - 2\nd: e\n"},
		{"absent value", "a:\n  b:\n  c: d\n", put(NewMap(F("x", str("v"))), "a", "b"), "a:\n  b:\n    x: v\n  c: d\n"},
		{"absent value with comment", "a: # c\nb: d\n", put(str("x"), "a"), "a: x # c\nb: d\n"},
		{"empty map", "a: {} # c\nb: 1\n", put(str("v"), "a", "x"), "a: # c\n  x: v\nb: 1\n"},
		{"empty list", "a: []\n", insert(NewMap(F("x", str("v")), F("z", num(1))), "a", 0), "a:\n- x: v\n  z: 1\n"},
		{"list item", "spec:\n  containers:\n  - name: a\n    image: b # c\n\n  # volumes\n  volumes: []\n", insert(container, "spec", "containers", 1), "spec:\n  containers:\n  - name: a\n    image: b # c\n  - name: proxy\n    image: img:1\n    args:\n    - a\n    - -b\n    env:\n    - name: X\n      value: \"yes\"\n\n  # volumes\n  volumes: []\n"},
		{"list item, indented by four", "spec:\n    containers:\n      -   name: a\n          image: b\n", insert(container, "spec", "containers", 1), "spec:\n    containers:\n      -   name: a\n          image: b\n      - name: proxy\n        image: img:1\n        args:\n            - a\n            - -b\n        env:\n            - name: X\n              value: \"yes\"\n"},
		{"list item in front", "a:\n  # first\n  - x\n  - y\n", insert(str("w"), "a", 0), "a:\n  - w\n  # first\n  - x\n  - y\n"},
		{"list item in between", "a:\n- x # x\n# y\n- y\n", insert(str("w"), "a", 1), "a:\n- x # x\n- w\n# y\n- y\n"},
		{"item in front of a nested list", "- - a\n  - b\n", insert(str("c"), 0, 0), "- - c\n  - a\n  - b\n"},
		{"key in an item", "- a: b\n- c: d\n", put(str("f"), 0, "e"), "- a: b\n  e: f\n- c: d\n"},
		{"removal", "a: 1\n# c\nb:\n  x: y # z\nc: 3\n", remove("b"), "a: 1\n# c\nc: 3\n"},
		{"removal of the first key in an item", "- a: b # c\n  d: e\n", remove(0, "a"), "- d: e\n"},
		{"removal of the first key in an item, with comment", "- a: b\n  # about d\n  d: e\n", remove(0, "a"), "-\n  # about d\n  d: e\n"},
		{"removal of the last key", "m:\n  a: b\nc: d\n", remove("m", "a"), "m: {}\nc: d\n"},
		{"removal at the end without newline", "a: b\nc: d", remove("c"), "a: b"},
		{"removal of items", "- a\n# b\n- b\n- c\n", both(remove(0), remove(0)), "# b\n- c\n"},
		{"order", "a:\n# x\n- x # 1\n\n# y\n- y\n- z\nb: c\n", order([]any{"a"}, 2, 0, 1), "a:\n- z\n# x\n- x # 1\n\n# y\n- y\nb: c\n"},
		{"order with a comment behind", "- a:\n  - x\n  - y\n# c\n- b\n", order([]any{0, "a"}, 1, 0), "- a:\n  - y\n  - x\n# c\n- b\n"},
		{"order and edit", "- a: 1 # a\n- b: 2 # b", both(order(nil, 1, 0), put(num(3), 0, "b")), "- b: 3 # b\n- a: 1 # a"},
		{"flow map", "labels: {app: x, v: 1} # c\n", put(str("a,b"), "labels", "z"), "labels: {app: x, v: 1, z: \"a,b\"} # c\n"},
		{"flow map on lines", "labels: {\n  app: x, # one\n  v: 1 # two\n}\n", put(str("v"), "labels", "z"), "labels: {\n  app: x, # one\n  v: 1, # two\n  z: v\n}\n"},
		{"flow list", "args: [a, \"b\"]\n", both(insert(str("c"), "args", 2), insert(str("z"), "args", 0)), "args: [z, a, \"b\", c]\n"},
		{"flow list, tight", "args: [a,b]\n", both(insert(NewMap(F("k", num(1))), "args", 1), remove("args", 0)), "args: [{k: 1},b]\n"},
		{"flow values", "a: {b: , c, \"d\":1}\n", both(put(str("x"), "a", "b"), put(str("v"), "a", "c"), put(num(2), "a", "d")), "a: {b: x , c: v, \"d\":2}\n"},
		{"flow removal", "a: [x, y, z]\nb: {k: 1, l: 2}\n", both(remove("a", 2), remove("a", 0), remove("b", "k")), "a: [y]\nb: {l: 2}\n"},
		{"JSON, compact", `{"a":1,"b":{}}`, both(put(str("<x>"), "c"), put(NewList(num(1)), "b", "d")), `{"a":1,"b":{"d":[1]},"c":"<x>"}`},
		{"JSON, one line with blanks", `{"a": 1, "b": []}`, both(put(str("x"), "c"), insert(num(1), "b", 0)), `{"a": 1, "b": [1], "c": "x"}`},
		{"JSON, lines", "{\n    \"a\": 1,\n    \"b\": {},\n    \"c\": []\n}\n", both(put(str("x"), "b", "d"), insert(NewMap(F("k", num(1))), "c", 0), put(str("e"), "e")), "{\n    \"a\": 1,\n    \"b\": {\n        \"d\": \"x\"\n    },\n    \"c\": [\n        {\n            \"k\": 1\n        }\n    ],\n    \"e\": \"e\"\n}\n"},
		{"JSON in YAML", "--- # c\n{\"a\": 1.0}\n", put(num(2), "b"), "--- # c\n{\"a\": 1.0, \"b\": 2}\n"},
		{"edit below an alias", "a: &x\n  k: v # c\nb: *x # d\nc: *x\n", put(str("w"), "b", "k"), "a: &x\n  k: v # c\nb: # d\n  k: w\nc: *x\n"},
		{"edit under an anchor", "a: &x\n  k: v # c\nb: *x # d\nc: *x\n", put(str("w"), "a", "k"), "a:\n  k: w # c\nb: &x # d\n  k: v\nc: *x\n"},
		{"edit under an anchor without users", "a: &x\n  k: v # c\n", put(str("w"), "a", "k"), "a: &x\n  k: w # c\n"},
		{"scalar with an anchor", "a: &x 1\nb: *x\n", put(num(2), "a"), "a: 2\nb: &x 1\n"},
		{"merged key", "d: &d {k: 1, l: 2}\nm:\n  <<: *d\n  o: 3\n", put(num(4), "m", "k"), "d: &d {k: 1, l: 2}\nm:\n  <<: *d\n  k: 4\n  o: 3\n"},
		{"merged key removed", "d: &d {k: 1, l: 2}\nm:\n  <<: *d\n  o: 3\n", remove("m", "k"), "d: &d {k: 1, l: 2}\nm:\n  l: 2\n  o: 3\n"},
		{"duplicate key", "a: 1 # lost\na: 2\n", put(num(3), "a"), "a: 1 # lost\na: 3\n"},
		{"document marker and directives", "%YAML 1.1\n--- # c\na: b\n...\n# end\n", put(str("d"), "c"), "%YAML 1.1\n--- # c\na: b\nc: d\n...\n# end\n"},
		{"byte order mark", "\ufeffa: b\n", put(str("d"), "c"), "\ufeffa: b\nc: d\n"},
		{"empty document", "# c\n", func(*testing.T, *Node) *Node { return NewMap(F("a", str("b"))) }, "# c\na: b\n"},
		{"null", "--- ~ # c\n", func(*testing.T, *Node) *Node { return NewMap(F("a", str("b"))) }, "---\na: b # c\n"},
		{"explicit keys", "? a\n: b\n? c\n: d\n", both(put(str("x"), "a"), put(str("f"), "e"), remove("c")), "? a\n: x\ne: f\n"},
		{"tag goes with its value", "a: !!str 1\nb: !!map {c: d}\n", both(put(num(2), "a"), put(str("f"), "b", "e")), "a: 2\nb: !!map {c: d, e: f}\n"},
		{"wide characters", "é: ü # ö\n", put(str("ß"), "ä"), "é: ü # ö\nä: ß\n"},
		{"block scalar at the end", "a: |\n  x\n", put(str("d"), "c"), "a: |\n  x\nc: d\n"},
		{"value that other code rebuilt", "- name: a # a\n  v: 1\n- name: b\n  v: 2\n", func(*testing.T, *Node) *Node {
			return NewList(NewMap(F("name", str("a")), F("v", num(3))), NewMap(F("name", str("b")), F("v", num(2))))
		}, "- name: a # a\n  v: 3\n- name: b\n  v: 2\n"},
		{"items moved to another list", "a:\n- x: 0644 # c\n  y: |\n    z\nb:\n    c: d\n", func(_ *testing.T, root *Node) *Node {
			return root.Without("a").WithAt(root.Get("a"), "b", "e")
		}, "b:\n    c: d\n    e:\n    - x: 0644 # c\n      y: |\n        z\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := Parse(NewText("f", []byte(test.before)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Rewrite(doc, test.change(t, doc.Root))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s\n(%q)", got, test.after, got)
			}
		})
	}
}

// mutate returns a value with some random changes.
func mutate(r *rand.Rand, n *Node, rate int) *Node {
	if r.IntN(rate) == 0 {
		return randomNode(r, 3)
	}
	switch n.Kind() {
	case Map:
		fields := make([]Field, 0, n.Len()+1)
		changed := false
		for _, f := range n.Fields() {
			if r.IntN(rate) == 0 {
				changed = true
				continue
			}
			v := mutate(r, f.Value, rate)
			changed = changed || v != f.Value
			fields = append(fields, Field{f.Key, f.KeySpan, v})
		}
		if r.IntN(rate) == 0 {
			if key := randomString(r); n.Get(key) == nil {
				if _, ok := n.Field(key); !ok {
					changed = true
					fields = append(fields, F(key, randomNode(r, 2)))
				}
			}
		}
		if changed {
			return n.WithFields(fields...)
		}
	case List:
		items := make([]*Node, 0, n.Len()+1)
		changed := false
		for _, item := range n.Items() {
			if r.IntN(rate) == 0 {
				changed = true
				continue
			}
			v := mutate(r, item, rate)
			changed = changed || v != item
			items = append(items, v)
			if r.IntN(rate) == 0 {
				items = append(items, randomNode(r, 2))
				changed = true
			}
		}
		if r.IntN(rate) == 0 && len(items) > 1 {
			changed = true
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		}
		if changed {
			return n.WithItems(items...)
		}
	}
	return n
}

func randomNode(r *rand.Rand, depth int) *Node {
	n, err := Value(randomValue(r, depth))
	if err != nil {
		panic(err)
	}
	return n
}

// checkRewrite checks what holds for all documents and all changes.
func checkRewrite(t *testing.T, data []byte, r *rand.Rand) {
	t.Helper()
	doc, err := Parse(NewText("f", data))
	if err != nil {
		return
	}
	same, err := Rewrite(doc, doc.Root)
	if err != nil || !bytes.Equal(same, data) {
		t.Fatalf("%q: changing nothing gives %q, %v", data, same, err)
	}
	root := mutate(r, doc.Root, 6)
	got, err := Rewrite(doc, root)
	if err != nil {
		t.Fatalf("%q: changed to %s: %v", data, AppendJSON(nil, root), err)
	}
	again, err := Parse(NewText("f", got))
	if err != nil {
		t.Fatalf("%q: changed to %s: %v\n%s", data, AppendJSON(nil, root), err, got)
	}
	if !sameValue(again.Root, root) {
		t.Fatalf("%q: changed to %s: got %s\n%s", data, AppendJSON(nil, root), AppendJSON(nil, again.Root), got)
	}
	for _, root := range [...]*Node{root, grow(r, doc.Root), respell(r, doc.Root), grow(r, respell(r, doc.Root))} {
		checkDraft(t, doc, root)
	}
}

// checkDraft checks that what is made without being read means what it should.
func checkDraft(t *testing.T, doc *Document, root *Node) {
	t.Helper()
	if hasNonFinite(root) || root == doc.Root {
		return
	}
	draft := NewDraft(doc, root)
	if draft == nil {
		return
	}
	got, err := Parse(NewText("f", draft.Data))
	if err != nil {
		t.Fatalf("%q: drafted as %s: %v\n%q", doc.Text.Data, AppendJSON(nil, root), err, draft.Data)
	}
	if !sameValue(got.Root, root) || doc.Format == JSON && got.Format != JSON {
		t.Fatalf("%q: drafted as %s: got %s\n%q", doc.Text.Data, AppendJSON(nil, root), AppendJSON(nil, got.Root), draft.Data)
	}
}

func hasNonFinite(n *Node) bool {
	for _, f := range n.Fields() {
		if hasNonFinite(f.Value) {
			return true
		}
	}
	for _, item := range n.Items() {
		if hasNonFinite(item) {
			return true
		}
	}
	return n.Kind() == Number && n.flags&endless != 0
}

// respell returns a value with some scalars replaced by others.
func respell(r *rand.Rand, n *Node) *Node {
	switch {
	case n.Kind() == Map && n.Len() > 0:
		fields := slices.Clone(n.Fields())
		for i := range fields {
			fields[i].Value = respell(r, fields[i].Value)
		}
		return n.WithFields(fields...)
	case n.Kind() == List && n.Len() > 0:
		items := slices.Clone(n.Items())
		for i := range items {
			items[i] = respell(r, items[i])
		}
		return n.WithItems(items...)
	case n.Len() == 0 && r.IntN(3) == 0:
		if to := randomNode(r, 0); to.Len() == 0 {
			return to
		}
	}
	return n
}

// noisy returns a document with some line breaks and blanks of other kinds.
func noisy(r *rand.Rand, doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for _, c := range doc {
		switch {
		case c == '\n' && r.IntN(8) == 0:
			out = append(out, []string{"\r\n", "\r", "\u0085", "\u2028", " \n", "\t\n", " # c\n", "\n\n", "\n...\n", ""}[r.IntN(10)]...)
		case c == ' ' && r.IntN(20) == 0:
			out = append(out, []string{"\t", "  ", "\u00a0", "\ufeff", " ? ", " - ", "\n"}[r.IntN(7)]...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// TestDraftsOfOddLines is for what the simplest edits may take for lines.
func TestDraftsOfOddLines(t *testing.T) {
	n := 8000
	if testing.Short() {
		n = 2000
	}
	r := rand.New(rand.NewPCG(11, 3))
	drafts := 0
	for i := range n {
		data := []byte(seeds[i%len(seeds)])
		if i%3 > 0 {
			data = randomDocument(r)
		}
		doc, err := Parse(NewText("f", noisy(r, data)))
		if err != nil || doc.Root.Kind() != Map {
			continue
		}
		for _, root := range [...]*Node{grow(r, doc.Root), respell(r, doc.Root), grow(r, respell(r, doc.Root))} {
			checkDraft(t, doc, root)
			if NewDraft(doc, root) != nil {
				drafts++
			}
		}
	}
	if drafts < n/20 {
		t.Errorf("only %d drafts were made", drafts)
	}
}

func TestRewriteRandom(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 400
	}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range n {
		doc := []byte(seeds[i%len(seeds)])
		if i%3 == 0 {
			doc = randomDocument(r)
		}
		checkRewrite(t, doc, r)
	}
}

// grow returns a value with additions only, in collections that have entries;
// shrink takes them away again.
func grow(r *rand.Rand, n *Node) *Node {
	switch {
	case n.Kind() == Map && n.Len() > 0:
		fields := make([]Field, 0, n.Len()+1)
		for _, f := range n.Fields() {
			fields = append(fields, Field{f.Key, f.KeySpan, grow(r, f.Value)})
		}
		if r.IntN(3) == 0 {
			fields = append(fields, F("added", randomNode(r, 2)))
		} else if r.IntN(8) == 0 {
			fields = append(fields, F("added", wide(r)))
		}
		return n.WithFields(fields...)
	case n.Kind() == List && n.Len() > 0:
		items := make([]*Node, 0, n.Len()+1)
		for i, item := range n.Items() {
			if r.IntN(6) == 0 && (i > 0 || n.style == block && n.flags == 0) {
				items = append(items, NewMap(F("added", randomNode(r, 1))))
			}
			items = append(items, grow(r, item))
		}
		if r.IntN(3) == 0 {
			items = append(items, NewMap(F("added", randomNode(r, 1))))
		} else if r.IntN(8) == 0 {
			items = append(items, NewMap(F("added", wide(r))))
		}
		return n.WithItems(items...)
	}
	return n
}

// wide returns a value that no line holds.
func wide(r *rand.Rand) *Node {
	n := NewMap()
	for i := range 2 + r.IntN(3) {
		n = n.With(strings.Repeat(string(rune('a'+i)), 20), NewList(str(strings.Repeat("x", 30)), NewMap(F("k", str(strings.Repeat("y", 30*r.IntN(4)))))))
	}
	return n
}

// Lines within brackets are broken before they become too long, and what is
// taken away later takes its lines along.
func TestFlowLinesBreak(t *testing.T) {
	long := func(c string) *Node { return str(strings.Repeat(c, 45)) }
	proxy := NewMap(F("name", str("proxy")), F("args", NewList(long("a"), long("b"))))
	for _, test := range []struct{ before, after string }{
		{
			"spec:\n  pod: {list: [{name: x}]} # c\nb: c\n",
			"spec:\n  pod: {list: [{name: x},\n      {\n        name: proxy,\n        args: [\n          " + strings.Repeat("a", 45) + ",\n          " +
				strings.Repeat("b", 45) + "\n        ]\n      }]} # c\nb: c\n",
		},
		{ // deeper than the key, which stands behind the sign of an item
			"spec:\n  pod:\n    list:\n    - name: x\n      more: [{y: z}]\n",
			"spec:\n  pod:\n    list:\n    - name: x\n      more: [{y: z},\n        {\n          name: proxy,\n          args: [\n            " + strings.Repeat("a", 45) + ",\n            " +
				strings.Repeat("b", 45) + "\n          ]\n        }]\n",
		},
		{
			"spec:\r\n- {a: b}\r\n",
			"spec:\r\n- {a: b,\r\n    c: {\r\n      name: proxy,\r\n      args: [\r\n        " + strings.Repeat("a", 45) + ",\r\n        " + strings.Repeat("b", 45) + "\r\n      ]\r\n    }}\r\n",
		},
		{ // JSON has the lines that it had
			`{"spec": [{"a": "b"}]}`,
			`{"spec": [{"a": "b", "c": {"name": "proxy", "args": ["` + strings.Repeat("a", 45) + `", "` + strings.Repeat("b", 45) + `"]}}]}`,
		},
	} {
		doc, err := Parse(NewText("f", []byte(test.before)))
		if err != nil {
			t.Fatal(err)
		}
		path := []any{"spec", "pod", "list", 1}
		change := insert(proxy, path...)
		switch {
		case strings.Contains(test.before, "more"):
			path = []any{"spec", "pod", "list", 0, "more", 1}
			change = insert(proxy, path...)
		case !strings.Contains(test.before, "pod"):
			path = []any{"spec", 0, "c"}
			change = put(proxy, path...)
		}
		got, err := Rewrite(doc, change(t, doc.Root))
		if err != nil || string(got) != test.after {
			t.Errorf("%q: got\n%s(%v)\n%q", test.before, got, err, got)
			continue
		}
		if draft := NewDraft(doc, change(t, doc.Root)); doc.Format == YAML && (draft == nil || string(draft.Data) != test.after) {
			t.Errorf("%q: the draft is %+v", test.before, draft)
		}
		if doc, err = Parse(NewText("f", got)); err != nil {
			t.Fatal(err)
		}
		if back, err := Rewrite(doc, remove(path...)(t, doc.Root)); err != nil || string(back) != test.before {
			t.Errorf("%q comes back as %q, %v", test.before, back, err)
		}
	}
}

func shrink(n *Node) *Node {
	switch n.Kind() {
	case Map:
		n = n.Without("added")
		for _, f := range n.Fields() {
			if v := shrink(f.Value); v != f.Value {
				n = n.With(f.Key, v)
			}
		}
	case List:
		var items []*Node
		for _, item := range n.Items() {
			if _, ok := item.Field("added"); ok && item.Len() == 1 {
				continue
			}
			items = append(items, shrink(item))
		}
		return n.WithItems(items...)
	}
	return n
}

// What is added and taken away again leaves no trace, and additions leave the
// lines of the file alone.
func TestRewriteThereAndBack(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	r := rand.New(rand.NewPCG(3, 9))
	for range n {
		data := randomDocument(r)
		doc, err := Parse(NewText("f", data))
		if err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		grown, err := Rewrite(doc, grow(r, doc.Root))
		if err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		rest := strings.Split(string(grown), "\n")
		for _, line := range strings.Split(string(data), "\n") {
			if strings.ContainsAny(line, "[{") || strings.TrimSpace(line) == "p" {
				continue // flow style grows inside its line
			}
			for len(rest) > 0 && rest[0] != line {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Fatalf("%s\nloses line %q:\n%s", data, line, grown)
			}
			rest = rest[1:]
		}
		doc, err = Parse(NewText("f", grown))
		if err != nil {
			t.Fatal(err)
		}
		back, err := Rewrite(doc, shrink(doc.Root))
		if err != nil {
			t.Fatalf("%s\n%v", grown, err)
		}
		if !bytes.Equal(back, data) {
			t.Fatalf("%s\ngrown to\n%s\ncomes back as\n%s\n%q\n%q", data, grown, back, data, back)
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	container := NewMap(F("name", str("proxy")), F("image", str("img:1")), F("args", NewList(str("a"), str("-b"))), F("env", NewList(NewMap(F("name", str("X")), F("value", str("yes"))))))
	data := stream(1)[0]
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		doc, err := Parse(NewText("f", data))
		if err != nil {
			b.Fatal(err)
		}
		path := []any{"spec", "template", "spec", "containers", 1}
		root, err := doc.Root.Insert(container, path...)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Rewrite(doc, root); err != nil {
			b.Fatal(err)
		}
	}
}

// randomDocument returns a document as people write them, more or less.
func randomDocument(r *rand.Rand) []byte {
	var b strings.Builder
	writeRandom(&b, r, 0, 3)
	return []byte(b.String())
}

func writeRandom(b *strings.Builder, r *rand.Rand, col, depth int) {
	pad := strings.Repeat(" ", col)
	list := r.IntN(3) == 0
	step := 1 + r.IntN(4)
	for i := range 1 + r.IntN(4) {
		for r.IntN(4) == 0 {
			b.WriteString([]string{"\n", pad + "# comment\n", "# comment at the edge\n"}[r.IntN(3)])
		}
		b.WriteString(pad)
		if list {
			b.WriteString("-")
		} else {
			b.WriteString(string(rune('a'+i)) + ":")
		}
		if depth > 0 && r.IntN(2) == 0 {
			b.WriteString([]string{"\n", " # comment\n"}[r.IntN(2)])
			writeRandom(b, r, col+step, depth-1)
			continue
		}
		b.WriteString([]string{"", " x", " 'y'", " \"z\"", " 0644", " {}", " []", " {k: v, l: [m, n]}", " [\n" + pad + "  o, # c\n" + pad + "  p\n" + pad + "  ]", " |\n" + pad + "   text\n" + pad + "   more", " >-\n" + pad + "     folded\n\n" + pad + "     text", " one\n" + pad + "  two"}[r.IntN(12)])
		b.WriteString([]string{"\n", "\n", "\n\n"}[r.IntN(3)])
	}
}

func FuzzRewrite(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint64(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		checkRewrite(t, data, rand.New(rand.NewPCG(seed, 1)))
	})
}
