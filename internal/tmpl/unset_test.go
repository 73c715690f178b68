package tmpl

import (
	"strings"
	"testing"
)

func TestUnset(t *testing.T) {
	const text = `{{ $x := .Values.x }}a: {{ .Values.set }}
b: {{ .Values.x.b }}
c: {{ .ObjectMeta.Labels.none }}
  same: {{ $x.c | quote }}
d: {{ annotation .ObjectMeta "none" .Values.x.d }}
{{ with .Values.x }}e: {{ .e }}{{ end }}
`
	tpl := parseTemplate(t, text)
	data := &Data{Values: map[string]any{"set": 1.0, "x": map[string]any{"y": 1.0}}}
	out, bad := tpl.Render(data, testEnv, nil)
	if bad != nil {
		t.Fatal(bad)
	}
	for _, c := range []struct{ line, want string }{
		{"b: <no", "test.yaml:2:4: template \"test\": values: x.b is not set"},
		{"same:", "values: x.b and x.d and x.e is not set"}, // what quote makes of nothing is no text
		{"d: <nil>", "test.yaml:5:4: template \"test\": values: x.d is not set"},
		{"e: <no", "test.yaml:6:24: template \"test\": values: x.e is not set"},
	} {
		d := tpl.Unset(strings.Index(string(out), c.line), data, testEnv)
		if d == nil || !strings.Contains(d.Error(), c.want) || d.Fix == "" {
			t.Errorf("%q: got %v, want %q in\n%s", c.line, d, c.want, out)
		}
	}
	if d := tpl.Unset(0, &Data{Values: map[string]any{"set": 1.0, "x": map[string]any{"b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0}}}, testEnv); d != nil {
		t.Errorf("all values are set, but: %v", d) // the label is the pod's
	}
	if d := parseTemplate(t, `{{ .Values.x }}{{ fail "x" }}`).Unset(0, data, testEnv); d != nil {
		t.Errorf("of a template that fails: %v", d)
	}
}
