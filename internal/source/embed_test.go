package source

import (
	"strings"
	"testing"
)

func TestEmbedPlaces(t *testing.T) {
	for _, test := range []struct{ name, file, word, want string }{
		{"literal", "a:\n  b: |\n    one\n\n    two @\n", "@", "f:5:9"},
		{"literal with deeper lines", "a: |\n  x:\n    - y\n    - @\n", "@", "f:4:7"},
		{"literal with indicator", "a: |2-\n     x\n   @\n", "@", "f:3:4"},
		{"literal with carriage returns", "a: |\r\n  x\r\n  y @\r\n", "@", "f:3:5"},
		{"folded", "a: >\n  one\n  two @\n\n  three\n", "@", "f:3:7"},
		{"plain", "a: one two @\n", "@", "f:1:12"},
		{"plain on lines", "a: one\n  two\n\n  @\n", "@", "f:4:3"},
		{"single", "a: 'it''s @'\n", "@", "f:1:11"},
		{"double", `a: "\"b\": \u00e9\x41@"`, "@", "f:1:22"},
		{"double on lines", "a: \"one\n  two \\\n   three\n\n  @\"", "@", "f:5:3"},
		{"JSON", `{"a": "\ud83d\ude00\/\u0041@"}`, "@", "f:1:28"},
		{"wide characters", "a: é@\n", "@", "f:1:5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := Parse(NewText("f", []byte(test.file)))
			if err != nil {
				t.Fatal(err)
			}
			n := doc.Root.Get("a")
			if n.Kind() == Map {
				n = n.Get("b")
			}
			text := n.Embed("value")
			i := strings.Index(string(text.Data), test.word)
			if i < 0 {
				t.Fatalf("value is %q", text.Data)
			}
			if got := text.Pos(i).String(); got != test.want {
				t.Errorf("%q: got %s, want %s", text.Data, got, test.want)
			}
		})
	}
}

func TestEmbedNested(t *testing.T) {
	file := "# c\ndata:\n  config: |\n    templates:\n      sidecar: |\n        spec:\n          x: [@\n"
	r := NewReader("f", strings.NewReader("a: b\n---\n"+file))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	doc, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	config, err := Parse(doc.Root.Get("data", "config").Embed("config"))
	if err != nil {
		t.Fatal(err)
	}
	sidecar := config.Root.Get("templates", "sidecar").Embed("sidecar")
	if _, err = Parse(sidecar); err == nil || err.Error() != "f:9:15: a value must not begin with @: quote it" {
		t.Errorf("got %v", err)
	}
	if text, off := sidecar.Outermost(0); text != doc.Text || text.Pos(off).Line != 8 {
		t.Errorf("the outermost text is %q, offset %d", text.Data, off)
	}
}

func FuzzEmbed(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse(NewText("f", data))
		if err != nil {
			return
		}
		var walk func(n *Node)
		walk = func(n *Node) {
			for _, item := range n.Items() {
				walk(item)
			}
			for _, field := range n.Fields() {
				walk(field.Value)
			}
			if n.Kind() != String {
				return
			}
			text := n.Embed("v")
			last := -1
			for off := 0; off <= len(text.Data); off++ {
				outer, at := text.Outermost(off)
				if outer != doc.Text || at < int(n.body) || at > int(n.end) {
					t.Fatalf("%q: offset %d of %q is at %d, outside %d:%d", data, off, text.Data, at, n.body, n.end)
				}
				if at < last {
					t.Fatalf("%q: offset %d of %q goes back to %d", data, off, text.Data, at)
				}
				last = at
			}
			if n.style == literal && n.flags&(aliased|tagged) == 0 && !strings.ContainsAny(string(data), "\r\u0085\u2028\u2029") {
				for off, c := range text.Data {
					if _, at := text.Outermost(off); c != '\n' && data[at] != c {
						t.Fatalf("%q: offset %d of %q is at %d, where another character is", data, off, text.Data, at)
					}
				}
			}
		}
		if doc.Root != nil {
			walk(doc.Root)
		}
	})
}
