package source

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// checkEmit compares the emitters with the libraries that they stand for.
func checkEmit(t *testing.T, v any) {
	t.Helper()
	n, err := Value(v)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := AppendJSON(nil, n); string(got) != string(wantJSON) {
		t.Fatalf("JSON of %#v:\ngot  %s\nwant %s", v, got, wantJSON)
	}
	var back any
	if err := json.Unmarshal(wantJSON, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(back, n.Any()); diff != "" {
		t.Fatalf("plain data of %#v: (-want +got)\n%s", v, diff)
	}
	got := AppendYAML([]byte("x\n"), n)[2:]
	doc, err := Parse(NewText("emitted", got))
	if err != nil && !strings.Contains(err.Error(), "more than 1024 characters") {
		t.Fatalf("YAML of %#v is not YAML: %v\n%s", v, err, got)
	}
	if err == nil && !n.Equal(doc.Root) && !(n.IsNull() && doc.Root == nil) {
		t.Fatalf("YAML of %#v means something else:\n%s", v, got)
	}
	want, err := yaml.Marshal(v)
	if err != nil || bytes.Contains(wantJSON, []byte("\u0085")) || bytes.Contains(wantJSON, []byte(`"<<":`)) || bytes.Contains(wantJSON, []byte(`"\u003c\u003c":`)) {
		return // sigs.k8s.io/yaml refuses some control characters, and loses others
	}
	if string(got) != string(want) {
		t.Fatalf("YAML of %#v:\n%s\nwant\n%s", v, got, want)
	}
}

var emitStrings = []string{
	"", "a", "yes", "no", "on", "y", "N", "true", "null", "~", "1", "0", "-1", "+1", "0x1f", "0o7", "0644", "1e3", "1.5", ".5", ".", "-", "--", "---", "---a", "...", "..a", ".inf", ".nan", "1:30", "190:20:30", "1:60", "-1:30.5", "2001-01-02", "2001-01-02T03:04:05Z", "2001-1-2 3:4:5",
	"a: b", "a:b", ":", ":a", "?", "? a", "?a", "- a", "-a", "#", "a #b", "a#b", "[", "]", "{", "}", ",", "a,b", "&a", "*a", "!a", "|", ">", "'", "\"", "it's", "say \"x\"", "%a", "@a", "`a", "<<", "=", " a", "a ", " ", "  ", "\n", "\n\n", "a\n", "a\nb", "a\nb\n", "a\n\n", "\na", " a\nb", "a \nb", "a\n b", "a\n b\n", "a\n\n\nb", "a\n ", "\t", "a\tb", "a\tb\n", "a\r\nb", "\u00e9", "\u00e9\n", "\u0085", "a\u2028b", "\u2028", "a\u2028 b", "a\n\u2029", "\ufeff", "\ufeffab c", "a\ufeff", "\U0001F600", "\x00\a\b\v\f\x1b\x7f", "\u00a0", "\u0080", "<a>&", "\\", "a\\b", "\ufffd", "\ufffe",
	"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.",
	"It's: Lorem ipsum dolor sit amet, consectetur adipiscing elit,  sed do eiusmod tempor incididunt ut labore et dolore magna  aliqua, ut enim.",
	"\tLorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor  incididunt ut labore et dolore magna  aliqua, ut enim ad minim   veniam.",
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 a b c d",
	strings.Repeat("k", 128), strings.Repeat("k", 129), strings.Repeat("word ", 40) + "end",
}

func TestEmitStrings(t *testing.T) {
	for _, s := range emitStrings {
		checkEmit(t, s)
		checkEmit(t, []any{s})
		checkEmit(t, map[string]any{"a": s, s: "b", "c": map[string]any{s: []any{s}}})
	}
}

func TestEmitRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	n := 4000
	if testing.Short() {
		n = 400
	}
	for range n {
		checkEmit(t, randomValue(r, 4))
	}
}

// randomValue returns data as encoding/json decodes it.
func randomValue(r *rand.Rand, depth int) any {
	switch k := r.IntN(10); {
	case depth > 0 && k < 3:
		m := map[string]any{}
		for range r.IntN(6) {
			m[randomString(r)] = randomValue(r, depth-1)
		}
		return m
	case depth > 0 && k < 6:
		l := []any{}
		for range r.IntN(5) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	case k == 6:
		return r.IntN(2) == 0
	case k == 7:
		return [...]any{nil, 0.0, 1.0, -1.0, 0.1, 1e20, 1e21, 1e-7, 123456789.0, 1234567.5, 8080.0, 9007199254740993.0, 1e100}[r.IntN(13)]
	}
	return randomString(r)
}

func randomString(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return emitStrings[r.IntN(len(emitStrings))]
	}
	alphabet := []rune("ab019-_. :#\n'\"{[é\u2028Zx\\A10")
	s := make([]rune, r.IntN(9))
	for i := range s {
		s[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(s)
}

func FuzzEmit(f *testing.F) {
	for _, s := range emitStrings {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		checkEmit(t, map[string]any{a: b, b: []any{a, map[string]any{"k": b}}, "a1": 1.0, "a10": 2.0, "a2": a})
	})
}

func TestEmitMadeNodes(t *testing.T) {
	n := NewMap(F("b", NewInt(-5)), F("a", nil), F("c", NewList(nil, NewNull(), NewNumber("1.50"), NewString("\xff"))))
	if got, want := string(AppendJSON(nil, n)), `{"b":-5,"a":null,"c":[null,null,1.50,"\ufffd"]}`; got != want {
		t.Errorf("JSON: got %s, want %s", got, want)
	}
	if got, want := string(AppendYAML(nil, n)), "a: null\nb: -5\nc:\n- null\n- null\n- 1.5\n- \ufffd\n"; got != want {
		t.Errorf("YAML: got %q, want %q", got, want)
	}
}

func BenchmarkAppendYAML(b *testing.B) {
	data := bytes.Join(stream(4), []byte("\n---\n"))
	var items []*Node
	for _, d := range bytes.Split(data, []byte("\n---\n")) {
		doc, err := Parse(NewText("f", d))
		if err != nil {
			b.Fatal(err)
		}
		items = append(items, doc.Root)
	}
	list := NewMap(F("items", NewList(append(items, items...)...)))
	var dst []byte
	dst = AppendYAML(dst, list)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendYAML(dst[:0], list)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	doc, err := Parse(NewText("f", stream(1)[0]))
	if err != nil {
		b.Fatal(err)
	}
	dst := AppendJSON(nil, doc.Root)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendJSON(dst[:0], doc.Root)
	}
}
