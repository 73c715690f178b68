package source

import (
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{"a:\n\tb: c", "f:2:1: a tab is not allowed as indentation: use spaces"},
		{"a: b: c", `f:1:5: a mapping value is not allowed here: check the indentation, or quote the text before ": "`},
		{"a: 'b\nc: d\n", "f:1:4: a quote is never closed"},
		{"a: \"b\n---\n", "f:1:4: a quote is never closed: the document ends inside it"},
		{`a: "C:\dir"`, `f:1:7: "\d" is not an escape of YAML: write \\ for a backslash, or use single quotes`},
		{"a: *b", `f:1:4: unknown anchor "b"; a value that begins with * must be quoted`},
		{"a: &b [*b]", `f:1:8: anchor "b" contains itself`},
		{"a: {{ .Values.x }}", "f:1:4: " + templateMessage},
		{"{{- if .x }}\na: b\n{{- end }}", "f:1:1: " + templateMessage},
		{"a: b\n  {{ include \"x\" . }}: c\n", "f:2:22: " + templateMessage},
		{"a: b\nc\nd: e", `f:2:1: expected "key: value": this text has no ':' followed by a blank`},
		{"a:\n- b\nc", `f:3:1: expected "key: value": this text has no ':' followed by a blank`},
		{"- a\nb: c", "f:2:1: expected a list item: this line lacks its '-', or its indentation is wrong"},
		{"a: 'b'\n  c: d", "f:2:3: this line is indented more than its neighbours, or text follows a value that is complete"},
		{"a: [b\n", "f:1:4: this [ is never closed"},
		{"a: [b\nc: d", "f:2:2: a ':' is not allowed here: the [ of line 1 is never closed, or a key and its ':' are not on one line"},
		{"a: @b", "f:1:4: a value must not begin with @: quote it"},
		{"[a]: b", "f:1:1: a list or mapping cannot be a key in JSON: quote it"},
		{"~: b", "f:1:1: a key must not be null: quote it if it is meant as text"},
		{"a: .inf", "f:1:4: Kubernetes cannot represent this number: quote it if it is meant as text"},
		{"<<: a", "f:1:5: the value of the merge key << must be a mapping or a list of mappings"},
		{"a: b\n---\nc: d", "f:2:1: a second document begins here, where only one is expected"},
		{"%YAML 1.2\n---\n", "f:1:7: Kubernetes reads YAML 1.1 only: remove the %YAML 1.2 directive"},
		{"a: \x01", "f:1:4: control character 0x01 is not allowed in YAML"},
		{"a: \xff", "f:1:4: byte 0xff is not valid UTF-8: save the file as UTF-8"},
		{"\xff\xfea\x00", "f:1:1: the file is UTF-16: save it as UTF-8"},
		{"a: !!int x", "f:1:10: this value is not what its tag !!int says"},
		{"é: [ü, @]", "f:1:8: a value must not begin with @: quote it"},
		{"\ufeffa: @", "f:1:4: a value must not begin with @: quote it"},
		{strings.Repeat("[", maxDepth+1), "f:1:10001: collections are nested too deeply"},
		{strings.Repeat("- ", maxDepth+1) + "a", "f:1:20001: collections are nested too deeply"},
		{strings.Repeat("k", 1025) + ": v", "f:1:1: a key of more than 1024 characters needs the '? ' notation"},
	} {
		_, err := Parse(NewText("f", []byte(test.doc)))
		if err == nil || err.Error() != test.want {
			t.Errorf("%.60q:\ngot  %v\nwant %s", test.doc, err, test.want)
		}
	}
}

func TestParseBoundsAliases(t *testing.T) {
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		ref := "*a" + string(rune('0'+i)) + ","
		laughs += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat(ref, 9) + ref[:3] + "]\n"
	}
	if _, err := Parse(NewText("f", []byte(laughs))); err == nil || !strings.Contains(err.Error(), "aliases mostly") {
		t.Errorf("exponential growth: got %v", err)
	}
	big := "a: &a " + strings.Repeat("x", 1<<20) + "\nb:\n" + strings.Repeat("- *a\n", 80)
	if _, err := Parse(NewText("f", []byte(big))); err == nil || !strings.Contains(err.Error(), "too much text") {
		t.Errorf("large text: got %v", err)
	}
	doc, err := Parse(NewText("f", []byte("a: &a {b: [c, d]}\ne: *a\nf: [*a, *a]\n")))
	if err != nil {
		t.Fatal(err)
	}
	if a, e := doc.Root.Get("a"), doc.Root.Get("e"); string(e.Raw()) != "*a" || e.Get("b") != a.Get("b") {
		t.Errorf("an alias is spelled %q and does not share what is below the anchor", e.Raw())
	}
}

func TestParseRecordsDuplicates(t *testing.T) {
	doc, err := Parse(NewText("f", []byte("a: 1\nb: &b {c: 2}\na: 3\nd:\n  c: 4\n  <<: *b\n")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range doc.Duplicates {
		got = append(got, s.Pos().String()+" "+string(s.Text.Data[s.Start:s.End]))
	}
	if want := "f:5:3 c|f:1:1 a"; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if js := string(AppendJSON(nil, doc.Root)); js != `{"b":{"c":2},"a":3,"d":{"c":2}}` {
		t.Errorf("value %s", js)
	}
}

// A byte that is not UTF-8 (Latin-1, say) is refused by Kubernetes' decoder too,
// wherever it stands.
func TestWhatIsNotUTF8IsRefused(t *testing.T) {
	for _, s := range []string{"a: b # caf\xe9\n", "a: caf\xe9\n"} {
		var v any
		if yaml.Unmarshal([]byte(s), &v) == nil {
			t.Errorf("Kubernetes takes %q", s)
		}
		if _, err := Parse(NewText("f", []byte(s))); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

// A byte order mark at the beginning of a later document is nothing, since
// decoders get that document alone; elsewhere it is refused.
func TestByteOrderMarkOfALaterDocument(t *testing.T) {
	for text, ok := range map[string]bool{
		"a: 1\n---\n\ufeffa: 1\n":             true,
		"a: 1\r\n--- # two\r\n\ufeffa: 1\r\n": true,
		"a: 1\n---\n\ufeff{\"a\": 1}\n":       true,
		"---\n\ufeffa: 1\n":                   false,
		"a: 1\n---\n# c\n\ufeffa: 1\n":        false,
		"a: 1\n---\nb: 1\n\ufeffa: 1\n":       false,
		"a: 1\n--- {a: 1}\n\ufeff\n":          false,
	} {
		r := NewReader("f", strings.NewReader(text))
		var err error
		var last *Document
		for err == nil {
			var doc *Document
			if doc, err = r.Next(); err == nil {
				last = doc
			}
		}
		if (err == io.EOF) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if !ok {
			continue
		}
		f, found := last.Root.Field("a")
		if pos := f.KeySpan.Pos(); !found || pos.Col > 2 {
			t.Errorf("%q: the key is at %v", text, pos)
		}
	}
}
