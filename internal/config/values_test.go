package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/source"
)

func TestParseValues(t *testing.T) {
	v, diags := ParseValues(source.NewText("", []byte(`{"global": {"hub": "h", "tag": 1.5, "variant": "debug", "network": "n",
		"proxy": {"image": "p", "holdApplicationUntilProxyStarts": true}, "proxy_init": {"image": "i"},
		"multiCluster": {"clusterName": "c"}}, "sidecarInjectorWebhook": {"rewriteAppHTTPProbe": true}}`)))
	quiet(t, diags)
	got := []any{v.Hub(), v.Tag(), v.Variant(), v.Network(), v.ProxyImage(), v.ProxyInitImage(), v.ClusterName(), v.HoldApplicationUntilProxyStarts(), v.RewriteAppHTTPProbe()}
	want := []any{"h", "1.5", "debug", "n", "p", "i", "c", true, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v.Map["global"].(map[string]any)["tag"] != 1.5 {
		t.Errorf("Map is %v", v.Map)
	}
}

func TestValuesLeftOut(t *testing.T) {
	for _, text := range []string{"", "{}", "null", "# nothing", "global:", "global: {tag: }\n"} {
		v, diags := ParseValues(source.NewText("", []byte(text)))
		quiet(t, diags)
		if v == nil || v.Map == nil {
			t.Errorf("%q: no values", text)
			continue
		}
		// A tag that is null is a value to the control plane, which prints it
		// as Go does.
		wantTag := ""
		if text == "global: {tag: }\n" {
			wantTag = "<nil>"
		}
		if v.Hub() != "" || v.Tag() != wantTag || v.RewriteAppHTTPProbe() {
			t.Errorf("%q: hub %q, tag %q", text, v.Hub(), v.Tag())
		}
	}
}

func TestParseValuesFindings(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"global: {hbu: x}", "warning IGF0302: unknown field global.hbu: the control plane ignores it (did you mean hub?)\n"},
		{"global: {waypoint: {tolerations: []}, oneNamespace: true}\nautoscaleMin: 3", ""},
		{"global: {proxy: {holdApplicationUntilProxyStarts: 'true'}}", "error IGF0301: global.proxy.holdApplicationUntilProxyStarts must be a boolean, not the string \"true\"\n"},
		{"global: {hub: [a]}", "error IGF0301: global.hub must be a string, not an array\n"},
		{"global: {proxy: {statusPort: -1}}", "error IGF0301: global.proxy.statusPort must be a whole number that is not negative, not the number -1\n"},
		{"global: {proxy: {tracer: zipkn}}", "error IGF0301: global.proxy.tracer must be one of zipkin, lightstep, datadog, stackdriver, openCensusAgent, none, not the string \"zipkn\" (did you mean zipkin?)\n"},
		{"global: {proxy: {tracer: 77}}", ""},
		{"global: {sts: 5}", "error IGF0301: global.sts must be an object, not the number 5\n"},
		{"global: {defaultResources: 5}", "error IGF0301: global.defaultResources must be an object, not the number 5\n"},
		{"global: {imagePullSecrets: a}", "error IGF0301: global.imagePullSecrets must be an array, not the string \"a\"\n"},
		{"revisionTags: [null, 5]", "error IGF0301: revisionTags[1] must be a string, not the number 5\n"},
		{"cni: {rollingMaxUnavailable: 1.5}", "error IGF0301: cni.rollingMaxUnavailable must be a whole number or a string, not the number 1.5\n"},
		{"cni: {rollingMaxUnavailable: 10%}", ""},
		{"- a", "error IGF0301: the document must be an object, not an array\n"},
		{"templates: {sidecar: x}", "error IGF0201: this is an injection configuration, not the values of an install (take the string under key values of ConfigMap istio-sidecar-injector, or that ConfigMap)\n"},
		{"defaultConfig: {}", "error IGF0201: this is a mesh configuration, not the values of an install (take the string under key values of ConfigMap istio-sidecar-injector, or that ConfigMap)\n"},
		{"apiVersion: v1\nkind: ConfigMap\ndata: {values: {}}", "error IGF0301: data.values of a ConfigMap must be a string, not an object\n"},
		{"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, data: {values: '{}'}}]", ""},
	} {
		v, diags := ParseValues(source.NewText("values.yaml", []byte(test.text)))
		if got := findings(diags); got != test.want {
			t.Errorf("%s\ngot  %swant %s", test.text, got, test.want)
		}
		if (v == nil) != diags.HasErrors() {
			t.Errorf("%s: a value is there: %v, errors: %v", test.text, v != nil, diags.HasErrors())
		}
	}
}

func TestValuesListsAreSorted(t *testing.T) {
	if !slices.IsSorted(valuesOfChart[:]) {
		t.Error("valuesOfChart is searched as a sorted list, and is not sorted")
	}
}
