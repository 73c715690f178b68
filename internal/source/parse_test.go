package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// seeds are documents that exercise every construct of the grammar.
var seeds = []string{
	"", "\n", "# c", "---", "--- # c\n", "...", "a", "a: b", "a: b\nc: d\n", "a:\n  b: c\n  d:\n  - e\n  - f: g\n    h: i\n",
	"- a\n- b\n", "- - a\n  - b\n- c", "-\n- a", "a:\n- b\nc:", "a:\nb:\n", "a: {b: c, d: [e, f]}", "[a, b: c, ? d : e, {f}]", "{}", "[]", "{a, b: , c: d,}",
	"? a\n: b\n? c\n", "? |\n  k\n: - v", "? a\n\n: b", "a: |\n  x\n   y\n\n  z\n", "a: >-\n  x\n  y\n\n  z\n\n\n   w\n  v\nb: c", "a: |+\n  x\n\nb: >2\n   y\n",
	"a: |2-\n    x\n  y", "|\n x", ">\n x\n y", "a: |\n\n\n  x", "a:\n|\n x\n", "-\n|\n x\n", "a: 'b''c'", "a: 'b\n\n  c'", "a: \"b\\n\\x41\\u00e9\\U0001F600\\\n   c \\\n\n d\"", "\"a\": 'b'", "a: \"b\n  c\"",
	"a: &x b\nc: *x", "&a a: b\nc: *a", "&a\na: b", "&m\n&k a: b", "a: &x\n  b: c\nd:\n  <<: *x\n  e: f", "a: &x {b: c}\nd:\n  b: z\n  <<: [*x, {g: h}]", "&a !!str a: !!int \"1\"\n", "!!map {a: b}", "a: !!seq\n- b\n",
	"a: !!binary aGk=\nb: !!float 1\nc: !!str\nd: ! x\ne: !foo y\nf: !<tag:yaml.org,2002:int> 7", "%YAML 1.1\n---\na: b", "%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n", "%TAG ! tag:yaml.org,2002:\n---\na: !int 1",
	"a: yes\nb: no\nc: 0644\nd: 0o17\ne: 0b11\nf: 0x1F\ng: 1_000\nh: 1e3\ni: .5\nj: 1:30\nk: ~\nl: 2001-01-02\nm: -0\nn: 08\no: 1.10\np: 12345678901234567890\nq: 123456789012345678901\nr: 1e-9\ns: +1\nt: 1e400",
	"yes: a\n1: b\n1.5: c\n0x10: d\n1e6: e\n.inf: f", "null: a", "a: .nan", "a: .inf", "[a]: b", "{a: b}: c", "? [a]\n: b", "a: b: c", "a: b\n  c: d", "a:\n  b\n c", "a: 'b' c", "a: \"b", "a: [b", "a: ]", "\ta: b", "a:\n\tb: c", "a: b\n\t\nc: d",
	"a: *x", "&a [*a]", "a: @x", "a: `x", "a: %x", "%x", "a: {{ x }}", "- a\nb: c", "a: b\n- c", "a:\n  - b\n c: d", "- a\n - b", "a: - b", "a\n---\nb", "a: b\n--- c", "a: b\n...\n", "a: b\n...\nc: d", "--- a: b", "--- |\n x\n", "--- {a: b}", "--- &a\nb: c",
	"a: b # c", "a: b#c", "a: #c\n  b", "a: http://x:80/y", "a: -1", "a: -x", "a: ?x", "a: :x", "a:b", "a: 1 2\n  3\n\n  4", "a: x\n # c\nb: y", "a:\n  # c\n  b: c\n# d\n", "a: b\r\nc:\r\n- d\r\n", "a: |\r\n  x\r\n  y\r\n", "a: b\rc: d", "a: b\u0085c: d\u2028e: f", "a: \"b\u2028 c\"",
	"\ufeffa: b", "a: \ufeffb", "a: \u00e9\n\u00e9: [\u00e9]", "a: [\nb\n]", "a: [b,\n c: d\n ]", "{a: b\n, c: d}", "{a\n: b}", "[a\n: b]", "{\"a\":1}", "{\"a\":b}", "{a:1}", "[a#b, c #d\n]", "[a]#c", "a: [b]: c", "{a: b}\n: c", "[- a]", "[-]", "[-a]", "[|]", "[,]", "[a,,b]", "{,}", "{a: }", "{: a}", "{? a}", "{? : a}", "[? a]", "[?a]", "[a?b]",
	"a: !x!y z", "a: !!", "a: !<x", "a: !!str,b c", "&a *b", "a: &b *c", "*a : b", "a: &a b\n*a : c", "a: &a-b_1 x\nc: *a-b_1", "a: &é x", "a: b\n a", "a: >\n\n x\n\n  y\n\n z\n", "a: >\n x\n \ty\n z", "a: |\n \tx", "a: |\n\tx", "a: | # c\n x", "a: |x", "a: |0\n x", "a: |10\n x", "a: |-2\n   x", "a: \"\\q\"", "a: \"\\ud800\"", "a: \"\\x4\"", "a: \"\\/\"", "a: '\\n'", "a: 'b\n---\nc'", "a: \"b\n... c\"", "a: b\n---x",
	"<<: a", "<<: {a: b}\na: c", "a: <<", "\"<<\": a", "{<<: {a: b}}", "! <<: {a: b}", "!!merge <<: {a: b}", "? <<\n: {a: b}", "a: 1\na: 2", "1: a\n\"1\": b", "- a\n-\n  b\n-   - c\n    - d", "a:   \n   b:  c\n   d: e", "a: ''\nb: \"\"", "~: a", "!!str : a", "{!!str : a}", "[!!str , b]", "!!null : a", "a: !!null", "a: !!int x", "a: !!bool yes", "a: !!timestamp 2001-01-01", "a: !!timestamp x",
	`{"a": -1, "b": -0, "c": 1.0, "d": 1e3, "e": -1.5e-9, "f": 12345678901234567890, "g": 1234567890123456789012, "h": [true, false, null, "\/\u00e9\ud83d\ude00\ud800x"]}`, "[-1,-12]", `{"a": 01}`, `{"a": 1e999}`, `{"a" : "b" ,}`, "{\"a\"\n:\t1}", "--- {\"a\": 1}\n# c\n...\n", "# c\n{\"a\": 1} # c",
	"a: \x00", "a: \x01", "a: \xff", "\x7f", "a: \u0080", "a: \ufffe", "a: b\n b: c", "- 'a'\n  b: c", "'a'\n'b': c", "a:\n  - b\n  -c", "x: [1,2]y", "[1] [2]", "{\"a\":1} x", "{\"a\":1}\n{\"b\":2}", "a: 1.\nb: 1._5\nc: ._5\nd: 0x_1\ne: _1\nf: 1_\ng: -0b1\nh: +0x1\ni: -.5\nj: 1e\nk: 0b2\nl: 0777\nm: 0o8",
}

// oracle is what Kubernetes' decoder makes of a document.
func oracle(data []byte) (any, error) {
	js, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	return decodeJSON(js)
}

func decodeJSON(js []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// drops reports whether the decoder reads only part of what it is given: it
// looks no further than the end of the first document, so that a second one,
// or text that belongs nowhere, is lost in silence. Here that is an error.
func drops(data []byte) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	d := goyaml.NewDecoder(bytes.NewReader(data))
	var first, second any
	return d.Decode(&first) != io.EOF && d.Decode(&second) != io.EOF
}

// stricter lists what else this package refuses although the decoder takes it,
// each with the reason.
var stricter = []struct{ message, reason string }{
	{"UTF-16", "nothing else that reads manifests takes it, and edits would break it"},
	{"byte order mark in the middle", "the decoder makes it the beginning of the key"},
	{"stand for too much text", "the decoder counts nodes only, not bytes"},
}

func isStricter(err error) bool {
	for _, s := range stricter {
		if strings.Contains(err.Error(), s.message) {
			return true
		}
	}
	return false
}

// checkParse compares the outcome for one document with the oracle's.
func checkParse(t *testing.T, data []byte) {
	t.Helper()
	doc, err := Parse(NewText("f", data))
	var want any
	wantErr := errors.New("panic")
	func() {
		defer func() {
			_ = recover() // the decoder panics on some input: refused
		}()
		want, wantErr = oracle(data)
	}()
	if bytes.Contains(data[min(1, len(data)):], []byte(bom)) && (err == nil) != (wantErr == nil) {
		return // the decoder looks for such marks at the beginning of its buffer, wherever it reads
	}
	if err != nil {
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !syntax.Span.IsValid() || syntax.Message == "" {
			t.Fatalf("%q: error of the wrong form: %v", data, err)
		}
		if s := syntax.Span; s.Start < 0 || s.End < s.Start || s.End > len(data) {
			t.Fatalf("%q: bad span %d:%d", data, s.Start, s.End)
		}
		if wantErr == nil && !isStricter(err) && !drops(data) {
			t.Fatalf("%q: refused: %v\nthe oracle has %v", data, err, want)
		}
		return
	}
	if doc.Format == JSON {
		// kubectl reads such a document as JSON: encoding/json is the oracle.
		// What is only a comment or a marker to YAML stands outside the value.
		root := doc.Root.Raw()
		if !json.Valid(root) {
			t.Fatalf("%q: not JSON", data)
		}
		v, err := decodeJSON(root)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		want, wantErr = normalNumbers(v), nil
	}
	if wantErr != nil {
		t.Fatalf("%q: accepted as %s\nthe oracle has %v", data, AppendJSON(nil, doc.Root), wantErr)
	}
	got, err := decodeJSON(AppendJSON(nil, doc.Root))
	if err != nil {
		t.Fatalf("%q: not JSON: %v", data, err)
	}
	if diff := cmp.Diff(want, got); diff != "" && !mixedKeys(doc) {
		t.Fatalf("%q: (-oracle +got)\n%s", data, diff)
	}
	checkSpans(t, doc)
}

// normalNumbers spells numbers as the decoder does.
func normalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normalNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normalNumbers(v[i])
		}
	case json.Number:
		w, err := oracle([]byte(v.String()))
		if err == nil {
			return w
		}
	}
	return v
}

// mixedKeys reports whether keys collide that the decoder takes for different
// ones, like 1 and "1": which of them wins there is a matter of chance.
func mixedKeys(doc *Document) bool {
	for _, s := range doc.Duplicates {
		if raw := string(s.Text.Data[s.Start:s.End]); raw != "" {
			return true
		}
	}
	return false
}

// checkSpans checks that spans nest, are ordered, and that the bytes of a
// scalar spell that scalar.
func checkSpans(t *testing.T, doc *Document) {
	t.Helper()
	data := doc.Text.Data
	var walk func(n *Node, from, to int, inFlow bool)
	walk = func(n *Node, from, to int, inFlow bool) {
		s := n.Span()
		if s.Start < from || s.End > to || s.Start > s.End || int(n.body) < s.Start || int(n.body) > s.End {
			t.Fatalf("%q: %v %q spans %d:%d, which is not inside %d:%d", data, n.Kind(), n.Scalar(), s.Start, s.End, from, to)
		}
		if n.flags&aliased != 0 {
			if n.Raw()[0] != '*' {
				t.Fatalf("%q: an alias is spelled %q", data, n.Raw())
			}
			return
		}
		if n.Kind() != Map && n.Kind() != List {
			checkScalarRaw(t, doc, n, inFlow)
			return
		}
		at := s.Start
		inFlow = inFlow || n.style == flow
		for _, item := range n.Items() {
			walk(item, at, s.End, inFlow)
			at = item.Span().End
		}
		if n.flags&irregular != 0 {
			for _, e := range doc.entries[n] {
				if e.KeySpan.Start < at || e.KeySpan.End > s.End {
					t.Fatalf("%q: key %q spans %d:%d, outside %d:%d", data, e.Key, e.KeySpan.Start, e.KeySpan.End, at, s.End)
				}
				walk(e.Value, e.KeySpan.End, s.End, inFlow)
				at = e.Value.Span().End
			}
			return
		}
		for _, f := range n.Fields() {
			if f.KeySpan.Start < at || f.KeySpan.End > s.End {
				t.Fatalf("%q: key %q spans %d:%d, outside %d:%d", data, f.Key, f.KeySpan.Start, f.KeySpan.End, at, s.End)
			}
			walk(f.Value, f.KeySpan.End, s.End, inFlow)
			at = f.Value.Span().End
		}
	}
	if doc.Root != nil {
		walk(doc.Root, 0, len(data), false)
	}
}

func checkScalarRaw(t *testing.T, doc *Document, n *Node, inFlow bool) {
	t.Helper()
	raw := n.Raw()
	if n.flags&tagged != 0 && bytes.HasPrefix(data(doc), []byte("%")) || n.flags&endless != 0 {
		return // its handle is declared elsewhere
	}
	if (n.style == literal || n.style == folded) && bytes.ContainsAny(raw[int(n.body-n.start):][:min(3, int(n.end-n.body))], "123456789") {
		return // its indentation depends on what is around it
	}
	if doc.Format == JSON {
		v, err := decodeJSON(raw)
		if err != nil {
			t.Fatalf("%q: scalar %q: %v", data(doc), raw, err)
		}
		if s, ok := v.(string); ok && s != n.Str() {
			t.Fatalf("%q: scalar %q is %q", data(doc), raw, n.Str())
		}
		return
	}
	text := " " + string(raw)
	if inFlow {
		if n.style == absent && n.flags == 0 {
			return
		}
		text = "[" + text
		if n.style != plain {
			text += " " // a bracket behind a tag is part of it
		}
		text += "]"
	}
	again, err := Parse(NewText("raw", []byte(text)))
	if err != nil {
		t.Fatalf("%q: scalar %q: %v", data(doc), raw, err)
	}
	got := again.Root
	if inFlow {
		got = got.Items()[0]
	}
	if !got.Equal(n) {
		t.Fatalf("%q: scalar %q is %v %q, on its own %s", data(doc), raw, n.Kind(), n.Scalar(), AppendJSON(nil, again.Root))
	}
}

func data(doc *Document) []byte { return doc.Text.Data }

func TestParseAgainstOracle(t *testing.T) {
	for _, s := range seeds {
		checkParse(t, []byte(s))
	}
}

// tokens are what random documents are made of.
var tokens = strings.Split("a|b|1|yes|~|'|\"|'x'|\"y\"|: |:|:\n|- |-|? |?|\n|\n|\n|\n  |\n  |\n    |\n | |  |\t|#|# c\n|[|]|{|}|,|, |&x |*x|*x |!!str |!t |!|<<: |'<<'|\n|>\n|>-\n|\r\n|\r|---\n|--- |\n---\n|...\n|\\|\\n|é|\u0085|\u2028|\ufeff|%|@|a: b\n|- a\n|a:\n|  b: c\n|0x1|1.5|.inf|{a: b}|[a, b]|null|---|%TAG !t! x\n|2", "|")

func TestParseRandom(t *testing.T) {
	tokens := append(tokens, "|\n", "|", "|+\n", "|2\n", ">2-\n")
	n := 20000
	if testing.Short() {
		n = 2000
	}
	r := rand.New(rand.NewPCG(5, 4))
	var b []byte
	for range n {
		b = b[:0]
		for range 1 + r.IntN(16) {
			b = append(b, tokens[r.IntN(len(tokens))]...)
		}
		checkParse(t, b)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, data) })
}
