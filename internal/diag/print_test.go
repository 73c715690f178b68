package diag_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// at makes a finding whose span is the first occurrence of mark.
func at(t *testing.T, file, data, mark string, d diag.Diagnostic) *diag.Diagnostic {
	t.Helper()
	i := strings.Index(data, mark)
	if i < 0 {
		t.Fatalf("%q is not in %q", mark, data)
	}
	d.Span = source.Span{Text: source.NewText(file, []byte(data)), Start: i, End: i + len(mark)}
	return &d
}

func text(t *testing.T, l diag.List, o diag.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteText(&b, l, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name string
		d    *diag.Diagnostic
		want string
	}{
		{"everything", at(t, "app.yaml", "a: 1\nb: \"maybe\" # why\n", `"maybe"`, diag.Diagnostic{
			Code: "IGF0501", Severity: diag.Error, Object: "Deployment shop/cart", Document: 3,
			Message: `"maybe" is neither true nor false`, Fix: `write "true" or "false"`,
		}), `app.yaml:2:4: "maybe" is neither true nor false [IGF0501]
  2 | b: "maybe" # why
    |    ^^^^^^^
  in Deployment shop/cart, document 3
  fix: write "true" or "false"
`},
		{
			"warning", at(t, "-", "a: 1\n", "a", diag.Diagnostic{Code: "IGF0004", Severity: diag.Warning, Message: "m"}),
			"-:1:1: warning: m [IGF0004]\n  1 | a: 1\n    | ^\n",
		},
		{"no place", &diag.Diagnostic{Severity: diag.Error, File: "values.json", Message: "m"}, "values.json: m\n"},
		{"no file", &diag.Diagnostic{Severity: diag.Info, Message: "m", Document: 2}, "info: m\n  in document 2\n"},
		{
			"tab", at(t, "f", "\ta:\tb\n", "b", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:5: m\n  1 |     a:    b\n    |           ^\n",
		},
		{
			"wide runes", at(t, "f", "名前: 値 x\n", "x", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:7: m\n  1 | 名前: 値 x\n    |          ^\n",
		},
		{
			"wide runes marked", at(t, "f", "a: 値\n", "値", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:4: m\n  1 | a: 値\n    |    ^^\n",
		},
		{
			"combining runes", at(t, "f", "e\u0301: x\n", "x", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:5: m\n  1 | e\u0301: x\n    |    ^\n",
		},
		{
			"what a terminal obeys", at(t, "f", "a: \x1b[31m\u202e\xff x\r\n", "x", diag.Diagnostic{Severity: diag.Error, Message: "bad \x1b]0;t\a"}),
			"f:1:12: bad \ufffd]0;t\ufffd\n  1 | a: \ufffd[31m\ufffd\ufffd x\n    |            ^\n",
		},
		{
			"end of line", at(t, "f", "a: [\n", "\n", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:5: m\n  1 | a: [\n    |     ^\n",
		},
		{
			"several lines", at(t, "f", "a: [1,\n 2]\n", "[1,\n 2]", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:4: m\n  1 | a: [1,\n    |    ^^^\n",
		},
		{
			"empty span", &diag.Diagnostic{Severity: diag.Error, Message: "m", Span: source.Span{Text: source.NewText("f", []byte("ab")), Start: 1, End: 1}},
			"f:1:2: m\n  1 | ab\n    |  ^\n",
		},
		{
			"long line, finding early", at(t, "f", "ab: "+long, "ab", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:1: m\n  1 | ab: " + long[:33] + "...\n    | ^^\n",
		},
		{
			"long line, finding late", at(t, "f", long+"ab"+long, "ab", diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:301: m\n  1 | ..." + long[:24] + "ab" + long[:8] + "...\n    | " + strings.Repeat(" ", 27) + "^^\n",
		},
		{
			"long finding", at(t, "f", "a: "+long, long, diag.Diagnostic{Severity: diag.Error, Message: "m"}),
			"f:1:4: m\n  1 | a: " + long[:34] + "...\n    |    " + strings.Repeat("^", 34) + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, text(t, diag.List{c.d}, diag.TextOptions{Width: 40})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWriteTextColors(t *testing.T) {
	d := at(t, "f", "a: b\n", "b", diag.Diagnostic{Code: "IGF0001", Severity: diag.Warning, Message: "m"})
	colored := text(t, diag.List{d}, diag.TextOptions{Color: true})
	plain := text(t, diag.List{d}, diag.TextOptions{})
	if !strings.Contains(colored, "\x1b[") || strings.Contains(plain, "\x1b[") {
		t.Errorf("colour: %q\nplain: %q", colored, plain)
	}
	for _, seq := range []string{"\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, seq, "")
	}
	if colored != plain {
		t.Errorf("colour changes more than the colour: %q", colored)
	}
}

// A manifest may hold one line of many megabytes: only the part around the
// finding is shown.
func TestWriteTextOnAnEndlessLine(t *testing.T) {
	line := strings.Repeat("値", 4<<20)
	d := &diag.Diagnostic{
		Severity: diag.Error, Message: "m",
		Span: source.Span{Text: source.NewText("f", []byte(line)), Start: len(line) / 2, End: len(line)},
	}
	out := text(t, diag.List{d}, diag.TextOptions{})
	if len(out) > 1000 {
		t.Errorf("%d bytes of output", len(out))
	}
}

func TestSorted(t *testing.T) {
	one, two := source.NewText("b.yaml", []byte("1\n2\n3\n")), source.NewText("a.yaml", []byte("1\n"))
	mk := func(text *source.Text, off int, s diag.Severity, code, msg string) *diag.Diagnostic {
		return &diag.Diagnostic{Code: code, Severity: s, Message: msg, Span: source.Span{Text: text, Start: off, End: off + 1}}
	}
	l := diag.List{
		mk(one, 4, diag.Error, "IGF0001", "third line"),
		mk(two, 0, diag.Error, "IGF0001", "other file"),
		mk(one, 0, diag.Warning, "IGF0001", "first line, warning"),
		mk(one, 0, diag.Error, "IGF0002", "first line, code 2"),
		mk(one, 0, diag.Error, "IGF0001", "first line, code 1"),
		mk(one, 0, diag.Error, "IGF0001", "first line, code 1"),
		{Severity: diag.Error, File: "b.yaml", Message: "no line"},
	}
	var got []string
	for _, d := range diag.Sorted(l) {
		got = append(got, d.Message)
	}
	want := []string{"no line", "first line, code 1", "first line, code 2", "first line, warning", "third line", "other file"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if l[0].Message != "third line" {
		t.Error("the list itself was sorted")
	}
	if n := l.Count(diag.Warning); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
}

func TestWriteJSON(t *testing.T) {
	l := diag.List{
		at(t, "app.yaml", "a: é<b>\n", "<b>", diag.Diagnostic{Code: "IGF0001", Severity: diag.Error, Message: "m <x>", Fix: "f", Object: "Pod p", Document: 1}),
		{Severity: diag.Warning, Message: "nowhere"},
	}
	var b bytes.Buffer
	if err := diag.WriteJSON(&b, l); err != nil {
		t.Fatal(err)
	}
	want := `[
  {
    "code": "IGF0001",
    "severity": "Error",
    "message": "m <x>",
    "fix": "f",
    "file": "app.yaml",
    "line": 1,
    "column": 5,
    "endLine": 1,
    "endColumn": 8,
    "document": 1,
    "object": "Pod p"
  },
  {
    "code": "",
    "severity": "Warning",
    "message": "nowhere"
  }
]
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	if err := diag.WriteJSON(&b, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("no findings: %q, %v", b.String(), err)
	}
}

func TestWriteSARIF(t *testing.T) {
	l := diag.List{
		at(t, "k8s/my app.yaml", "a: b\n", "b", diag.Diagnostic{Code: "IGF0001", Severity: diag.Error, Message: "m", Fix: "f", Object: "Pod p"}),
		{Severity: diag.Warning, Code: "IST0101", File: "-", Message: "w"},
		{Severity: diag.Info, File: "/etc/x.yaml", Message: "i"},
	}
	var b bytes.Buffer
	if err := diag.WriteSARIF(&b, l, diag.Tool{Name: "ingraft", Version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log["runs"].([]any)[0].(map[string]any)
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	if len(rules) != 2 || rules[0].(map[string]any)["id"] != "IGF0001" || rules[0].(map[string]any)["shortDescription"] == nil {
		t.Errorf("rules: %v", rules)
	}
	want := []any{
		map[string]any{
			"ruleId": "IGF0001", "ruleIndex": 0.0, "level": "error", "message": map[string]any{"text": "m; fix: f"},
			"locations": []any{map[string]any{
				"physicalLocation": map[string]any{
					"artifactLocation": map[string]any{"uri": "k8s/my%20app.yaml"},
					"region":           map[string]any{"startLine": 1.0, "startColumn": 4.0, "endLine": 1.0, "endColumn": 5.0},
				},
				"logicalLocations": []any{map[string]any{"fullyQualifiedName": "Pod p", "kind": "object"}},
			}},
		},
		map[string]any{
			"ruleId": "IST0101", "ruleIndex": 1.0, "level": "warning", "message": map[string]any{"text": "w"},
			"locations": []any{map[string]any{"physicalLocation": map[string]any{"artifactLocation": map[string]any{"uri": "stdin"}}}},
		},
		map[string]any{
			"level": "note", "message": map[string]any{"text": "i"},
			"locations": []any{map[string]any{"physicalLocation": map[string]any{"artifactLocation": map[string]any{"uri": "file:///etc/x.yaml"}}}},
		},
	}
	if d := cmp.Diff(want, run["results"]); d != "" {
		t.Error(d)
	}
	if log["version"] != "2.1.0" {
		t.Errorf("version %v", log["version"])
	}
}
