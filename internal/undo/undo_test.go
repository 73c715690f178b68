package undo_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/undo"
)

func parse(t testing.TB, text string) *source.Document {
	t.Helper()
	doc, err := source.Parse(source.NewText("f", []byte(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return doc
}

const mark = "the-record"

// sealed edits the part of a document at a path, and returns it with a record.
func sealed(t testing.TB, before *source.Document, path []string, edit func(part *source.Node) *source.Node) (string, error) {
	t.Helper()
	part := edit(before.Root.Get(path...)).WithAt(source.NewString(mark), "notes", "record")
	after, err := source.Edit(before, before.Root.WithAt(part, path...))
	if err != nil {
		t.Fatal(err)
	}
	now := after.Root.Get(path...)
	data, err := undo.Seal(before, after, []undo.Edited{{Before: before.Root.Get(path...), After: now, Mark: now.Get("notes", "record")}})
	return string(data), err
}

func restore(t testing.TB, text string, path []string) *undo.Restored {
	t.Helper()
	doc := parse(t, text)
	part := doc.Root.Get(path...)
	record, err := undo.Parse(part.Get("notes", "record").Str())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	restored, err := undo.Restore(doc, []undo.Part{{Node: part, Mark: part.Get("notes", "record"), Record: record}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return restored
}

func put(value *source.Node, path ...any) func(*source.Node) *source.Node {
	return func(n *source.Node) *source.Node {
		n, err := n.Put(value, path...)
		if err != nil {
			panic(err)
		}
		return n
	}
}

func all(edits ...func(*source.Node) *source.Node) func(*source.Node) *source.Node {
	return func(n *source.Node) *source.Node {
		for _, edit := range edits {
			n = edit(n)
		}
		return n
	}
}

func remove(path ...any) func(*source.Node) *source.Node {
	return func(n *source.Node) *source.Node {
		n, err := n.Remove(path...)
		if err != nil {
			panic(err)
		}
		return n
	}
}

// swap turns the order of a list around.
func swap(path ...any) func(*source.Node) *source.Node {
	return func(n *source.Node) *source.Node {
		list := n.At(path...)
		items := append([]*source.Node(nil), list.Items()...)
		for i := range len(items) / 2 {
			items[i], items[len(items)-1-i] = items[len(items)-1-i], items[i]
		}
		return put(list.WithItems(items...), path...)(n)
	}
}

var str = source.NewString

// What an edit did is taken back to the byte, and other edits of the file
// before that stay.
func TestRestore(t *testing.T) {
	item := source.NewMap(source.F("name", str("new")), source.F("v", source.NewInt(1)))
	for _, test := range []struct {
		name   string
		before string
		edit   func(*source.Node) *source.Node
		// The other edit: old and new text, in both versions of the file.
		old, new string
	}{
		{"entries", "p:\n  a: 1 # one\n\n  # two\n  b: 2\nq: 3\n", put(str("x"), "c"), "b: 2\n", "b: 3 # changed\n  z: 4\n"},
		{"item", "p:\n  list:\n  - name: a\n    v: 0644\n", put(item, "list", 1), "v: 0644\n", "v: 0644\n    w: 1 # more\n"},
		{"item in front", "p:\n  list:\n  # a\n  - name: a\n", func(n *source.Node) *source.Node { n, _ = n.Insert(item, "list", 0); return n }, "- name: a\n", "- name: a\n  - name: b\n"},
		{"scalar", "p:\n  a:   'x'   # one\n  b: 1\n", put(str("y"), "a"), "b: 1", "b: 2"},
		{"scalar and its comment", "p:\n  a: x   # one\n  b: 1\n", put(str("y"), "a"), "# one", "# two"},
		{"number", "p: {a: 0x10, b: 1}\n", put(source.NewInt(17), "a"), "b: 1", "b: 2"},
		{"empty map", "p:\n  m: {}   # none\n  b: 1\n", put(str("y"), "m", "x"), "b: 1", "b: 2"},
		{"null", "p:\n  m: # none\n  b: 1\n", put(str("y"), "m", "x"), "b: 1", "b: 2"},
		{"removed entry", "p:\n  m:\n    a: 1\n    # b\n    b: 2 # two\n    c: 3\n", remove("m", "b"), "c: 3", "c: 4"},
		{"removed first entry", "p:\n  m:\n    a: 1 # one\n    c: 3\n  d: 4\n", remove("m", "a"), "d: 4", "d: 5"},
		{"removed item", "p:\n  list:\n  - name: a\n\n  # b\n  - name: b\n  - name: c\n", remove("list", 1), "name: c", "name: c\n    v: 1"},
		{"order", "p:\n  list:\n  # a\n  - name: a\n  # b\n  - name: b # two\n  - name: c\n", swap("list"), "- name: c", "- name: c # three"},
		{"order and more", "p:\n  list:\n  - name: a\n  - name: b # two\n", all(swap("list"), put(item, "list", 2), put(str("x"), "list", 0, "v")), "# two", "# three"},
		{"block for a scalar", "p:\n  a: x # one\n  b: 1\n", put(item, "a"), "b: 1", "b: 2"},
		{"alias", "l: &l\n  x: y\np:\n  m: *l\n  b: 1\n", put(str("z"), "m", "w"), "b: 1", "b: 2"},
		{"anchor that others use", "p:\n  m: &l\n    x: y\n  b: 1\nq: *l\n", put(str("z"), "m", "w"), "b: 1", "b: 2"},
		{"merge key", "l: &l {x: y}\np:\n  m:\n    <<: *l\n    v: 1\n  b: 1\n", put(str("z"), "m", "x"), "b: 1", "b: 2"},
		{"no line break at the end", "q: 1\np:\n  a: x", all(put(str("y"), "a"), put(item, "c")), "q: 1", "q: 2"},
		{"carriage returns", "q: 1\r\np:\r\n  m: {}\r\n  a: x\r\n", all(put(str("y"), "m", "k"), put(item, "c")), "q: 1", "q: 2"},
		{"JSON", "{\"q\": 1,\n \"p\": {\n  \"a\": [1,2],\n  \"m\": {}}}\n", all(put(str("y"), "m", "k"), put(item, "c")), "\"q\": 1", "\"q\": 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := parse(t, test.before)
			after, err := sealed(t, before, []string{"p"}, test.edit)
			if err != nil {
				t.Fatalf("%v\n%s", err, after)
			}
			r := restore(t, after, []string{"p"})
			if got := string(r.Document.Text.Data); got != test.before || len(r.Changed)+r.Missing > 0 {
				t.Errorf("comes back as\n%s\n%q\nwant\n%s\n%q\n%+v\nedited:\n%s", got, got, test.before, test.before, r.Changed, after)
			}
			if strings.Count(after, test.old) != 1 || strings.Count(test.before, test.old) != 1 {
				t.Fatalf("%q is not once in both versions:\n%s", test.old, after)
			}
			other := strings.Replace(after, test.old, test.new, 1)
			want := strings.Replace(test.before, test.old, test.new, 1)
			r = restore(t, other, []string{"p"})
			if got := string(r.Document.Text.Data); got != want || len(r.Changed)+r.Missing > 0 {
				t.Errorf("with another edit, comes back as\n%s\nwant\n%s\n%+v\nedited:\n%s", got, want, r.Changed, other)
			}
		})
	}
}

// Where somebody changed what the edit had changed, that is said, and the first
// text comes back.
func TestRestoreTellsWhatIsLost(t *testing.T) {
	before := "p:\n  list:\n  - name: a\n    probe: {path: '/x', port: 1}\n  - name: b\n    probe: {path: /y}\n"
	after, err := sealed(t, parse(t, before), []string{"p"}, all(put(str("/mine"), "list", 0, "probe", "path"), put(str("/mine"), "list", 1, "probe", "path")))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(after, "'/mine'", "'/other'", 1)
	r := restore(t, edited, []string{"p"})
	if got := string(r.Document.Text.Data); got != before {
		t.Errorf("comes back as\n%s", got)
	}
	if len(r.Changed) != 1 || r.Changed[0].Path != "list[a].probe.path" || r.Changed[0].Was != "'/x'" || r.Changed[0].Node.Str() != "/other" {
		t.Errorf("changed: %+v", r.Changed)
	}
	gone := strings.Replace(after, "  - name: b\n    probe: {path: /mine}\n", "", 1)
	r = restore(t, gone, []string{"p"})
	if got, want := string(r.Document.Text.Data), strings.Replace(before, "  - name: b\n    probe: {path: /y}\n", "", 1); got != want || r.Missing != 1 {
		t.Errorf("comes back as\n%s%d are missing", got, r.Missing)
	}
}

// However much an edit does, its record is short: it holds the text of larger
// nodes instead, but never that of the document, nor of items with names.
func TestRecordsAreShort(t *testing.T) {
	var before strings.Builder
	before.WriteString("p:\n  m: {old: 1}\n  n:\n    a: 1\n  list:\n")
	for i := range 40 {
		fmt.Fprintf(&before, "  - id: i%d\n    a: 1\n    b: 2 # why\n", i)
	}
	edit := func(n *source.Node) *source.Node {
		for i := range 100 {
			n = n.WithAt(str("x"), "n", fmt.Sprintf("key-%d", i)).WithAt(str("x"), "m", fmt.Sprintf("key-%d", i))
		}
		for i := range 40 {
			n = all(put(str("x"), "list", i, "a"), put(str("y"), "list", i, "b"))(n)
		}
		return n
	}
	after, err := sealed(t, parse(t, before.String()), []string{"p"}, edit)
	if err != nil {
		t.Fatal(err)
	}
	text := parse(t, after).Root.Get("p", "notes", "record").Str()
	record, err := undo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if over := record.Overhead(); over > undo.MaxOverhead {
		t.Errorf("the record is %d bytes longer than its text", over)
	}
	if r := restore(t, after, []string{"p"}); string(r.Document.Text.Data) != before.String() {
		t.Errorf("comes back as\n%s", r.Document.Text.Data)
	}

	// Where only the whole document would do, there is no record.
	whole := parse(t, "x: &x {k: 1}\nnotes: {n: 1}\n<<: *x\n")
	part := whole.Root.WithAt(source.NewInt(2), "k").WithAt(str(mark), "notes", "record")
	now, err := source.Edit(whole, part)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = undo.Seal(whole, now, []undo.Edited{{Before: whole.Root, After: now.Root, Mark: now.Root.Get("notes", "record")}}); err != undo.ErrNotExact {
		t.Errorf("error: %v", err)
	}
}

func TestParse(t *testing.T) {
	after, err := sealed(t, parse(t, "p:\n  a: \"x\"\n  m: {}\n  l: [{name: a}, {name: b}]\n"), []string{"p"}, all(put(str("y"), "a"), put(str("z"), "m", "k"), swap("l")))
	if err != nil {
		t.Fatal(err)
	}
	text := parse(t, after).Root.Get("p", "notes", "record").Str()
	record, err := undo.Parse(text)
	if err != nil || record.String() != text {
		t.Fatalf("%v\n%s\n%s", err, record, text)
	}
	for i := range text {
		changed := []byte(text)
		changed[i] ^= 1
		if _, err := undo.Parse(string(changed)); err == nil {
			t.Errorf("%q is taken for a record", changed)
		}
		if _, err := undo.Parse(text[:i]); err == nil {
			t.Errorf("%q is taken for a record", text[:i])
		}
	}
}

// FuzzParse: no text makes Parse panic, and what it reads it writes again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "14", "14AAA.", "14x6g.v", "24AAA.", "19AAAAAAAAAAAAA.v"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := undo.Parse(s); err == nil && !bytes.Equal([]byte(r.String()), []byte(s)) {
			t.Fatalf("%q is read, and written as %q", s, r)
		}
	})
}

// A comment in the first column, within what an edit rewrote, is found once.
func TestCommentInTheFirstColumn(t *testing.T) {
	before := "p:\n  a: x # one\n\n  m:\n# c\n    x: [1]\n  b: 1\n"
	after, err := sealed(t, parse(t, before), []string{"p"}, put(source.NewList(str("y")), "m"))
	if err != nil {
		t.Fatal(err)
	}
	if r := restore(t, after, []string{"p"}); string(r.Document.Text.Data) != before {
		t.Errorf("comes back as\n%s", r.Document.Text.Data)
	}
}

// Records of the first version, whose hashes are of words, are read still.
func TestRecordOfTheFirstVersion(t *testing.T) {
	text := "14Sa4eAT01kWC5VZN.vzUFFm75:/livev69wUCH2:80"
	record, err := undo.Parse(text)
	if err != nil || record.String() != text {
		t.Fatalf("%v: %s", err, record)
	}
}

// Tools that write a file anew, in other quotes or as JSON, change nothing that
// matters; a text that is put back is written as the file is by then.
func TestRestoreInAnotherNotation(t *testing.T) {
	before := "p:\n    list:\n    - name: a\n      probe: {tcp: 1, n: yes}\n    - name: b\n      gone: 'x'\n      path: /ready\n      port: web\n      last: 0x10\n"
	doc := parse(t, before)
	after, err := sealed(t, doc, []string{"p"}, all(
		put(source.NewMap(source.F("http", str("/a")), source.F("n", source.NewBool(true))), "list", 0, "probe"),
		put(str("/mine"), "list", 1, "path"), put(source.NewInt(15020), "list", 1, "port"), remove("list", 1, "gone")))
	if err != nil {
		t.Fatal(err)
	}
	now := parse(t, after)
	for name, text := range map[string]string{
		"other quotes": strings.Replace(after, "path: /mine", `path: "/mine"`, 1),
		"JSON":         string(source.AppendJSON(nil, now.Root)),
		"YAML":         string(source.AppendYAML(nil, now.Root)),
	} {
		r := restore(t, text, []string{"p"})
		if len(r.Changed) > 0 || !r.Document.Root.Equal(doc.Root) {
			t.Errorf("%s: comes back as\n%s\n%+v", name, r.Document.Text.Data, r.Changed)
		}
		if (r.Document.Format == source.JSON) != (name == "JSON") {
			t.Errorf("%s: comes back in another format\n%s", name, r.Document.Text.Data)
		}
	}
}
