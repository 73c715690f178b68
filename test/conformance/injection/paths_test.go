package injection

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// configText is a configuration as a whole, valuesText are values.
func configText(text string) []edit { return []edit{{In: "config", Value: text}} }

func valuesText(text string) []edit { return []edit{{In: "values", Value: text}} }

func customTemplate(text string) []edit {
	return []edit{{In: "config", Path: []string{"templates", "custom"}, Value: text}}
}

// pathCases lead to places of the peer that chance seldom finds: mostly
// refusals.
var pathCases = []struct {
	name   string
	world  world
	edits  []edit
	door   string
	object string
}{
	{name: "a configuration that is no YAML", edits: configText("policy: [\n"), object: plainPod},
	{name: "a template that is none", edits: customTemplate("{{ if }}"), object: plainPod},
	{name: "values of the wrong kind", edits: valuesText(`{"global": 3}`), object: plainPod},
	{name: "no values", edits: valuesText("null"), object: plainPod},
	{name: "an object whose kind is a number", door: doorCLI, object: "apiVersion: v1\nkind: 3\n"},
	{name: "an object of another shape", door: doorCLI, object: "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: 3}}}\n"},
	{name: "a list with an item of another shape", door: doorCLI, object: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, spec: {containers: 3}}\n"},
	{name: "a workload without a pod template", door: doorCLI, object: "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: r}\nspec: {replicas: 1}\n"},
	{name: "an interception mode that is none", object: annotated("sidecar.istio.io/interceptionMode: OTHER")},
	{name: "a scrape target on the agent's port", object: annotated("prometheus.istio.io/scrape-targets: '15020:/m'")},
	{name: "a scrape target on a port of the mesh", object: annotated("prometheus.istio.io/scrape-targets: '15090:/m'")},
	{name: "a scrape target without a port", object: annotated("prometheus.istio.io/scrape-targets: 'x:/m'")},
	{name: "metrics on the agent's port, spelt otherwise", object: annotated("prometheus.io/port: '015020'")},
	{name: "metrics on a port of the mesh", object: annotated("prometheus.io/port: '15090'")},
	{name: "metrics on no port", object: annotated("prometheus.io/port: 'http'")},
	{
		name:  "an own sidecar that no annotation goes with",
		edits: append(customTemplate("spec:\n  containers:\n  - name: istio-proxy\n    image: proxy\n"), edit{In: "config", Path: []string{"defaultTemplates"}, Value: []string{"custom"}}),
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: auto, args: [x]}]}
`,
	},
	{
		name:  "an own user of a sidecar that a template takes out, which is to be root",
		edits: customTemplate("spec:\n  initContainers:\n  - name: istio-init\n    image: init\n    args: [-u, '1']\n  containers:\n  - name: istio-proxy\n    $patch: delete\n"),
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {inject.istio.io/templates: custom, proxy.istio.io/config: "interceptionMode: TPROXY"}}
spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: auto, securityContext: {runAsUser: 5}}]}
`,
	},
	{
		name:  "an own user where the check has no security context",
		edits: customTemplate("spec:\n  initContainers:\n  - name: istio-validation\n    image: init\n    args: [-u, '1']\n  containers:\n  - name: istio-proxy\n    image: proxy\n"),
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {inject.istio.io/templates: custom}}
spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: auto, securityContext: {runAsUser: 5, runAsGroup: 6}}]}
`,
	},
	{
		name: "an application's container that was saved and is there",
		object: `
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {proxy.istio.io/overrides: '{"containers":[{"name":"app","image":"app","resources":{}}]}'}
spec: {containers: [{name: app, image: app}]}
`,
	},
	{
		name: "an init container of the mesh's that was saved and is there",
		object: `
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {proxy.istio.io/overrides: '{"initContainers":[{"name":"istio-init","image":"mine","resources":{}}]}'}
spec: {containers: [{name: app, image: app}], initContainers: [{name: istio-init, image: mine}]}
`,
	},
	{name: "a quantity with a line break", object: annotated(`sidecar.istio.io/proxyCPU: "1\n2"`)},
	{
		name: "probes of an earlier injection that cannot be read",
		object: `
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {sidecar.istio.io/status: '{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":null,"imagePullSecrets":null,"revision":"default"}'}
spec:
  initContainers: [{name: istio-init, image: old}]
  containers:
  - {name: app, image: app, ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 80}}}
  - {name: istio-proxy, image: old, env: [{name: ISTIO_KUBE_APP_PROBERS, value: bad}]}
`,
	},
	{name: "ranges that are none", world: ocp, object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: half}\nspec: {containers: [{name: app, image: app}]}\n"},
}

const plainPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: app, image: app, ports: [{containerPort: 80}]}]}\n"

// annotated is a pod with an annotation.
func annotated(annotation string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    " + annotation +
		"\nspec: {containers: [{name: app, image: app}]}\n"
}

// TestPaths runs the cases that lead to odd places of the peer.
func TestPaths(t *testing.T) {
	tally := newTally("cases for odd paths")
	byWorld := map[world][]testCase{}
	for _, p := range pathCases {
		var o object
		if err := yaml.Unmarshal([]byte(p.object), &o); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for _, door := range []string{doorCLI, doorWebhook} {
			if p.door == "" && !(p.world.OpenShift && door == doorCLI) || p.door == door {
				byWorld[p.world] = append(byWorld[p.world], testCase{World: p.world, Recipe: recipe{Edits: p.edits}, Door: door, Object: o})
			}
		}
	}
	for _, w := range []world{classic, ocp} {
		t.Run(w.String(), func(t *testing.T) { runCases(t, tally, w, slices.Values(byWorld[w])) })
	}
	report.add(tally)
}

// TestBrokenRequests sends to both webhooks what is no pod, and to both
// commands what is no object: neither makes anything of it.
func TestBrokenRequests(t *testing.T) {
	classic.enter(t)
	silencePeer()
	b, err := newBenches(t, classic).get(recipe{})
	if err != nil || b.peerErr != nil || b.oursErr != nil {
		t.Fatal(err, b.peerErr, b.oursErr)
	}
	for _, pod := range []string{`{"metadata":3}`, `{"spec":{"containers":{}}}`, `{"metadata":{"labels":{"a":1}}}`} {
		if p, o := b.peer.admit([]byte(pod), "shop", ""), b.ours.admit([]byte(pod), "shop", ""); !p.refused || !o.refused {
			t.Errorf("%s: the peer refuses: %v, ingraft: %v", pod, p.refused, o.refused)
		}
	}
	dir := t.TempDir()
	for _, file := range []string{"a: [\n", "apiVersion: v1\nkind: Pod\nspec: 3\n", "apiVersion: v1\nkind: Pod\n---\n\t: x\n"} {
		theirs, err := b.peer.file([]byte(file))
		if ours, ourErr := b.ours.file(t, dir, []byte(file)); err == nil || ourErr == nil || ours != nil {
			t.Errorf("%q: the peer: %v, %d bytes; ingraft: %v, %d bytes", file, err, len(theirs), ourErr, len(ours))
		}
	}
}

// TestConfigurationsAsKept gives the peer's webhook its configuration as a
// control plane keeps it, in files and in a ConfigMap, instead of decoded.
func TestConfigurationsAsKept(t *testing.T) {
	native.enter(t)
	silencePeer()
	all := newBenches(t, native)
	tally := newTally("configurations as files and as a ConfigMap")
	for _, r := range []recipe{{}, {File: "custom-template.iop.yaml"}, {Edits: customTemplate("spec: {dnsConfig: {searches: [custom]}}\n")}} {
		b, err := all.get(r)
		if err != nil || b.peerErr != nil || b.oursErr != nil {
			t.Fatal(err, b.peerErr, b.oursErr)
		}
		dir := t.TempDir()
		config, values := filepath.Join(dir, "config"), filepath.Join(dir, "values")
		for file, text := range map[string]string{config: b.setting.config, values: b.setting.values} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		files, err := inject.NewFileWatcher(config, values)
		if err != nil {
			t.Fatal(err)
		}
		configMap := inject.NewConfigMapWatcher(kube.NewFakeClient(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "istio-sidecar-injector"},
			Data:       map[string]string{"config": b.setting.config, "values": b.setting.values},
		}), "istio-system", "istio-sidecar-injector", "config", "values")
		for _, kept := range []inject.Watcher{files, configMap} {
			handler, err := b.peer.serve(kept, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, templates := range []string{"sidecar", "sidecar,custom", "gateway"} {
				pod := annotated("inject.istio.io/templates: " + templates)
				var o object
				if err := yaml.Unmarshal([]byte(pod), &o); err != nil {
					t.Fatal(err)
				}
				c := testCase{World: native, Recipe: r, Door: doorWebhook, Object: o, Namespace: "shop"}
				v := all.judge(c, b, o, o, ask(handler, mustJSON(o), "shop", ""), b.ours.admit(mustJSON(o), "shop", ""))
				tally.count(v)
				if v.class != "" {
					t.Errorf("%s, templates %s: %s\n%s", r, templates, v.class, v.detail)
				}
			}
		}
	}
	report.add(tally)
}
