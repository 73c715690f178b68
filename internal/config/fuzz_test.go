package config

import (
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// The parsers hold one promise on any input: no panic, and a value if and only
// if no finding is an error.

func FuzzParseInjection(f *testing.F) {
	for _, s := range []string{
		"", "templates: {sidecar: x}", "policy: enabled\ntemplate: x", "{{ .Values }}", "templates:\n  a: |\n    b\n  c: 1.5e3\n",
		"neverInjectSelector: [{matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}]\ntemplates: {a: b}",
		"apiVersion: v1\nkind: ConfigMap\ndata: {config: 'templates: {a: b}'}", "aliases: {a: [b, null]}\nTEMPLATES: {a: true}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inj, diags := ParseInjection(source.NewText("config.yaml", data))
		agree(t, inj != nil, diags)
		if inj != nil && (len(inj.Templates) == 0 || len(inj.DefaultTemplates) == 0) {
			t.Error("a configuration without templates was accepted")
		}
		if inj != nil {
			for _, s := range append(inj.AlwaysInject, inj.NeverInject...) {
				s.Matches(source.NewMap(source.F("a", source.NewString("b")))) //nolint:errcheck // must not panic
			}
		}
	})
}

func FuzzParseValues(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"global": {"tag": 1.5, "proxy": {"tracer": 1}}}`, "global: {proxy: {resources: {}}, sts: {servicePort: '5'}}",
		"revisionTags: [null, a]", "cni: {rollingMaxUnavailable: 10%}", "apiVersion: v1\nkind: ConfigMap\ndata: {values: '{}'}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, diags := ParseValues(source.NewText("values.yaml", data))
		agree(t, v != nil, diags)
		if v != nil && v.Map == nil {
			t.Error("values without a map")
		}
	})
}

func FuzzParseMesh(f *testing.F) {
	for _, s := range []string{
		"", "rootNamespace: x\ndefaultConfig: {proxyMetadata: {A: b}, tracing: {zipkin: {address: 'a:1'}}}",
		"extensionProviders: [{name: a, envoyOtelAls: {logFormat: {labels: {a: [1, null, {}]}}}}, null]",
		"localityLbSetting: {distribute: [{from: a/*, to: {b: 100}}]}", "connectTimeout: 5s\naccessLogEncoding: 1",
		"apiVersion: v1\nkind: ConfigMap\ndata: {mesh: '{}'}", "default_config: {status_port: '7'}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, diags := ParseMesh(source.NewText("mesh.yaml", data))
		agree(t, m != nil, diags)
		if m == nil {
			return
		}
		if m.Config.GetDefaultConfig() == nil {
			t.Error("a mesh without defaultConfig")
		}
		if _, err := AppendProtoJSON(nil, m.Config); err != nil {
			t.Error(err)
		}
	})
}

func FuzzProxyConfig(f *testing.F) {
	for _, s := range []string{"", "concurrency: 2", "proxyHeaders: {server: {value: x}}\nproxyMetadata: {A: b}", "image: {imageType: debug}", "tracing: {customTags: {a: null}}"} {
		f.Add([]byte(s))
	}
	mesh, _ := ParseMesh(source.NewText("", []byte("defaultConfig: {proxyMetadata: {A: a}, proxyHeaders: {requestId: {disabled: true}}}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := source.NewText("annotation", data)
		m, diags := mesh.WithProxyConfig(text)
		agree(t, m != nil, diags)
		if m == nil && !CheckProxyConfig(text).HasErrors() {
			t.Error("what cannot be read was found to be sound")
		}
		if mesh.Config.DefaultConfig.ProxyMetadata["A"] != "a" || len(mesh.Config.DefaultConfig.ProxyMetadata) != 1 {
			t.Error("the mesh was changed")
		}
	})
}

func agree(t *testing.T, value bool, diags diag.List) {
	t.Helper()
	if value == diags.HasErrors() {
		t.Errorf("a value is there: %v; findings: %v", value, diags)
	}
	for _, d := range diags {
		if d.Message == "" || d.Code == "" {
			t.Errorf("incomplete finding %+v", d)
		}
		_ = d.Pos().String() // must not panic on any place
	}
}
