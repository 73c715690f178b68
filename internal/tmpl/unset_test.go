package tmpl

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

func TestUnset(t *testing.T) {
	const text = "a: {{ .Values.set }}\nb: {{ .Values.x.b }}\nc: {{ .Name }}\n  same: {{ .Values.x.c | quote }}\n{{ .Values.d }}\n"
	tpl, bad := Parse("sidecar", source.NewText("inject.yaml", []byte(text)))
	if bad != nil {
		t.Fatal(bad)
	}
	data := &Data{Values: map[string]any{"set": 1.0, "x": map[string]any{}}}
	for _, c := range []struct{ line, want string }{
		{"b: <no value>", "inject.yaml:2:7: template \"sidecar\": values: x.b is not set"},
		{"  same: <no value>", "inject.yaml:4:12: template \"sidecar\": values: x.c is not set"},
		{"a: <no value>", ""}, // that value is set: something else wrote it
		{"c: <no value>", ""}, // not one of the values
		{"<no value>", ""},    // too little to tell
		{"z: <no value>", ""},
		{"b: 1", ""},
		{"", ""},
	} {
		d := tpl.Unset([]byte(c.line), data)
		switch {
		case d == nil && c.want != "":
			t.Errorf("%q: nothing found, want %s", c.line, c.want)
		case d != nil && (c.want == "" || !strings.HasPrefix(d.Error(), c.want) || d.Fix == ""):
			t.Errorf("%q: got %v, want %q", c.line, d, c.want)
		}
	}
}
