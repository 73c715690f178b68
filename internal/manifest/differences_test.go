package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/manifest"
	"github.com/ingraft/ingraft/internal/source"
)

// container returns a container of a workload.
func container(root *source.Node, name string) *source.Node {
	for _, c := range root.Get("spec", "template", "spec", "containers").Items() {
		if c.Get("name").Str() == name {
			return c
		}
	}
	return nil
}

// variable returns the value of an environment variable of a container.
func variable(c *source.Node, name string) *source.Node {
	for _, e := range c.Get("env").Items() {
		if e.Get("name").Str() == name {
			return e.Get("value")
		}
	}
	return nil
}

// What looks like a number stays the text that was written.
func TestText(t *testing.T) {
	for _, value := range []string{"1000000", "12345678901", "0123", "1.10", "1e3", "t", "F", "true", "nan", "inf", "0x1F", "a,b"} {
		res, found := generate(t, nil, "values.pilot.env.V="+value, "tag=1.10", "revision=7", "values.pilot.podAnnotations.n="+value)
		if res == nil {
			t.Fatal(told(found))
		}
		istiod := find(res, "Deployment", "istiod-7")
		c := container(istiod, "discovery")
		if v := variable(c, "V"); v.Kind() != source.String || v.Str() != value {
			t.Errorf("V=%s came out as %s", value, v.Scalar())
		}
		if n := istiod.Get("spec", "template", "metadata", "annotations", "n"); n.Kind() != source.String || n.Str() != value {
			t.Errorf("annotation %s came out as %s", value, source.AppendJSON(nil, n))
		}
		if image := c.Get("image").Str(); !strings.HasSuffix(image, ":1.10") {
			t.Errorf("image %s", image)
		}
	}
	res, found := generate(t, operator("  tag: 1.30\n  values:\n    pilot:\n      env: {A: 1.10, B: 0x10, C: 5}\n"))
	if res == nil {
		t.Fatal(told(found))
	}
	c := container(find(res, "Deployment", "istiod"), "discovery")
	if a, b := variable(c, "A").Str(), variable(c, "B").Str(); a != "1.10" || b != "0x10" || !strings.HasSuffix(c.Get("image").Str(), ":1.30") {
		t.Errorf("A=%s B=%s image %s", a, b, c.Get("image").Str())
	}
	if n := strings.Count(told(found), "IGF0805"); n != 3 {
		t.Errorf("%d warnings of 3:\n%s", n, told(found))
	}
}

// Settings that Helm and people spell in ways of their own.
func TestSettingForms(t *testing.T) {
	res, found := generate(t, nil, "values.global.imagePullSecrets={a, b}", "values.global.proxy.includeIPRanges=10.0.0.0/8,192.168.0.0/16",
		`values.pilot.podAnnotations.example\.com//x=1`, "values.global.imagePullSecrets[0]=c", "meshConfig.trustDomain=123")
	if res == nil {
		t.Fatal(told(found))
	}
	values := res.Operator.Get("spec", "values")
	if got := string(source.AppendJSON(nil, values.Get("global", "imagePullSecrets"))); got != `["c","b"]` {
		t.Error(got)
	}
	if got := values.Get("global", "proxy", "includeIPRanges").Str(); got != "10.0.0.0/8,192.168.0.0/16" {
		t.Error(got)
	}
	if got := values.Get("pilot", "podAnnotations", "example.com//x").Str(); got != "1" {
		t.Error(string(source.AppendJSON(nil, values.Get("pilot", "podAnnotations"))))
	}
}

// A setting changes the gateway of the profile, and not an empty one.
func TestProfileLists(t *testing.T) {
	for _, path := range []string{"[0]", "[name:istio-ingressgateway]", ".[name:istio-ingressgateway]"} {
		res, found := generate(t, nil, "components.ingressGateways"+path+".k8s.replicaCount=2")
		if res == nil {
			t.Fatal(told(found))
		}
		if n, _ := find(res, "Deployment", "istio-ingressgateway").Get("spec", "replicas").Int(); n != 2 {
			t.Errorf("%s: %d replicas", path, n)
		}
	}
}

// An empty key in a file says nothing.
func TestEmptyKeys(t *testing.T) {
	res, found := generate(t, operator("  components:\n    pilot:\n  values:\n  meshConfig:\n"), "components.pilot.enabled=false")
	if res == nil {
		t.Fatal(told(found))
	}
	if find(res, "Deployment", "istiod") != nil {
		t.Error("the setting is lost")
	}
	if image := container(find(res, "Deployment", "istio-ingressgateway"), "istio-proxy").Get("image").Str(); !strings.HasPrefix(image, "registry.istio.io/release/") {
		t.Errorf("image %s", image)
	}
}

func TestOverlays(t *testing.T) {
	for _, tc := range []struct {
		name, kind, object, patch string
		path                      []string
		want                      string
	}{
		{"text in a ConfigMap", "ConfigMap", "istio", "path: data.mesh\n            value: |\n              trustDomain: x\n", []string{"data", "mesh"}, `"trustDomain: x\n"`},
		{"new text in a ConfigMap", "ConfigMap", "istio", "path: data.more\n            value: 'a: b'\n", []string{"data", "more"}, `"a: b"`},
		{"an object as text", "Deployment", "istiod", "path: spec.strategy\n            value: 'type: Recreate'\n", []string{"spec", "strategy"}, `{"type":"Recreate"}`},
		{"a label that is a number", "Deployment", "istiod", "path: metadata.labels.n\n            value: 5\n", []string{"metadata", "labels", "n"}, `"5"`},
		{"a label of the template", "Deployment", "istiod", "path: spec.template.metadata.labels\n            value: {a: 1.10}\n", []string{"spec", "template", "metadata", "labels"}, `{"a":"1.10"}`},
		{"a list that is not there", "Deployment", "istiod", "path: spec.template.spec.hostAliases[0].ip\n            value: 1.2.3.4\n", []string{"spec", "template", "spec", "hostAliases"}, `[{"ip":"1.2.3.4"}]`},
		{"C-60 removing a map", "Deployment", "istiod", "path: spec.strategy\n", []string{"spec", "strategy"}, "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, found := generate(t, operator(overlay(tc.kind, tc.object, strings.TrimSuffix(tc.patch, "\n"))))
			if res == nil {
				t.Fatal(told(found))
			}
			if got := string(source.AppendJSON(nil, find(res, tc.kind, tc.object).Get(tc.path...))); got != tc.want {
				t.Errorf("got %s, want %s\n%s", got, tc.want, told(found))
			}
		})
	}
}

// Switches of the values do what they say.
func TestSwitches(t *testing.T) {
	count := func(settings ...string) (crds int) {
		res, found := generate(t, nil, settings...)
		if res == nil {
			t.Fatal(told(found))
		}
		for _, o := range res.Objects {
			if o.Kind == "CustomResourceDefinition" {
				crds++
			}
		}
		return crds
	}
	if n := count(); n != 15 {
		t.Errorf("%d CRDs", n)
	}
	if n := count("values.base.enableIstioConfigCRDs=false"); n != 0 {
		t.Errorf("C-65: %d CRDs are left", n)
	}
	if n := count("values.base.excludedCRDs[0]=gateways.networking.istio.io"); n != 14 {
		t.Errorf("%d CRDs, want 14", n)
	}
}

// Gateways of one name in two namespaces are two (C-62), a budget comes with
// replicas (C-68), a validator with the default revision (C-71), and gateways
// go where they are told (C-72).
func TestGatewaysAndRevisions(t *testing.T) {
	res, found := generate(t, operator("  components:\n    ingressGateways:\n    - {name: gw, namespace: ns0}\n    - {name: gw, namespace: ns1}\n"),
		"components.pilot.k8s.hpaSpec.minReplicas=2", "components.pilot.k8s.hpaSpec.maxReplicas=5", "revision=canary", "values.defaultRevision=canary")
	if res == nil {
		t.Fatal(told(found))
	}
	var namespaces []string
	for _, o := range res.Objects {
		if o.Kind == "Deployment" && o.Name == "gw" {
			namespaces = append(namespaces, o.Namespace)
		}
	}
	if !slices.Equal(namespaces, []string{"ns0", "ns1"}) {
		t.Errorf("gateways in %q", namespaces)
	}
	if find(res, "PodDisruptionBudget", "istiod-canary") == nil || find(res, "ValidatingWebhookConfiguration", "istiod-default-validator") == nil {
		t.Error("no budget, or no validator")
	}
	if n := len(manifest.WithNamespaces(res.Objects)) - len(res.Objects); n != 3 {
		t.Errorf("%d namespaces, want istio-system, ns0 and ns1", n)
	}
}
