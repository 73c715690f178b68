package config

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Findings point into the file, also from within a string of a ConfigMap.
func TestPlaces(t *testing.T) {
	mesh := func(text *source.Text) diag.List { _, d := ParseMesh(text); return d }
	values := func(text *source.Text) diag.List { _, d := ParseValues(text); return d }
	injection := func(text *source.Text) diag.List { _, d := ParseInjection(text); return d }
	for _, test := range []struct {
		name, text string
		parse      func(*source.Text) diag.List
		want       string
	}{
		{"a type", "rootNamespace: x\ndefaultConfig:\n  drainDuration: 5\n", mesh, "f:3:18"},
		{"an unknown field", "defaultConfig:\n  drainDuraton: 5s\n", mesh, "f:2:3"},
		{"a refused value", "defaultConfig:\n  tracing:\n    zipkin: {address: x}\n", mesh, "f:3:23"},
		{"a refused value by its proto name", "default_providers: {}\nproxy_listen_port: 0\n", mesh, "f:2:20"},
		{"an item", "serviceSettings:\n- hosts:\n  - a\n  - b_\n", mesh, "f:4:5"},
		{"what is missing, by what is above it", "defaultConfig:\n  privateKeyProvider:\n    qat: {}\n", mesh, "f:3:10"},
		{"a value in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata:\n  mesh: |-\n    trustDomain: x\n    proxyListenPort: a\n", mesh, "f:6:22"},
		{"JSON in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata:\n  values: '{\"global\": {\"hub\": 5}}'\n", values, "f:4:31"},
		{"syntax in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    templates:\n      a: [\n", injection, "f:6:10"},
		{"a selector", "templates: {a: b}\nneverInjectSelector:\n- matchExpressions:\n  - key: x\n    operator: is\n", injection, "f:4:5"},
	} {
		diags := test.parse(source.NewText("f", []byte(test.text)))
		if len(diags) == 0 {
			t.Errorf("%s: no finding", test.name)
			continue
		}
		last := diags[len(diags)-1]
		if got := last.Pos().String(); got != test.want {
			t.Errorf("%s: got %s, want %s (%s)", test.name, got, test.want, last.Message)
		}
	}
}

// A template knows where it stands, however deep.
func TestTemplatePlaces(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    policy: enabled\n    templates:\n      sidecar: |\n        spec:\n          {{ nonsense }}\n"
	inj, diags := ParseInjection(source.NewText("cm.yaml", []byte(text)))
	quiet(t, diags)
	template := inj.Templates[0].Text
	if got := template.Pos(strings.Index(string(template.Data), "nonsense")).String(); got != "cm.yaml:9:14" {
		t.Errorf("the word is said to be at %s", got)
	}
}
