package inject_test

import (
	"bytes"
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// Injected under one configuration and again under another, a pod is as if
// injected under the second alone (I-20), for every case and every pair.
//
// What a template writes into labels and annotations counts as the user's when
// it is met again, as with the mesh's injector; so these configurations differ
// in nothing that ends there.
func TestInjectingAgainUnderAnotherConfiguration(t *testing.T) {
	type setup struct {
		name, mesh, values string
		native             bool
	}
	setups := []setup{
		{name: "default"},
		{name: "native", native: true},
		{name: "other images", values: `{global: {hub: h, tag: "1.99", proxy: {image: p}}}`},
		{name: "held", values: `{global: {proxy: {holdApplicationUntilProxyStarts: true}}}`},
		{name: "certificates mounted", values: `{global: {mountMtlsCerts: true, imagePullSecrets: [regcred]}}`},
		{name: "trust bundle", values: `{pilot: {env: {ENABLE_CLUSTER_TRUST_BUNDLE_API: true}}}`, native: true},
		{name: "status port", mesh: `{defaultConfig: {statusPort: 16020, proxyMetadata: {A: b}}}`},
		{name: "no metrics, no probes", mesh: `{enablePrometheusMerge: false}`, values: `{sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}`},
		{name: "cluster", values: `{global: {multiCluster: {clusterName: c7}}}`},
	}
	engines := make([]*inject.Engine, len(setups))
	for i, s := range setups {
		var mesh, values []byte
		if s.mesh != "" {
			mesh = []byte(s.mesh)
		}
		if s.values != "" {
			values = []byte(s.values)
		}
		engines[i] = defaultEngine(t, mesh, values, inject.Options{})
	}
	odd := map[string]string{
		"prometheus":     "of the annotation's spelling nothing is recorded",
		"override-init":  "that its container stood among the init containers is not recorded",
		"probes":         "of the names of ports only the numbers are recorded",
		"override-saved": "its saved container is for one kind of sidecar, its own for the other",
	}
	for name, c := range loadCases(t) {
		if _, skip := odd[name]; skip || !portion.Takes(name, 6) || c.file("config.yaml") != nil || annotationOf(c, "inject.istio.io/templates") || annotationOf(c, "sidecar.istio.io/status") {
			continue // made for other templates, or injected before
		}
		t.Run(name, func(t *testing.T) {
			r := c.request(t)
			r.Door = inject.CommandLine
			once := make([]*source.Node, len(setups))
			for i, s := range setups {
				r.NativeSidecars = s.native
				if once[i] = engines[i].Run(r).Pod; once[i] == r.Pod {
					return // refused or skipped
				}
			}
			for i, first := range setups {
				// Each configuration after three others.
				for _, j := range [...]int{0, (i + 1) % len(setups), (i + 4) % len(setups)} {
					again := *r
					again.Pod, again.NativeSidecars = once[i], setups[j].native
					if twice := engines[j].Run(&again).Pod; !twice.Equal(once[j]) {
						t.Errorf("%s, then %s:\n%s", first.name, setups[j].name, diffOf(once[j], twice, nil))
					}
				}
			}
		})
	}
}

// A pod that was injected by hand and comes to a webhook of another
// configuration is as if it had come without: nothing of both is mixed (I-23).
func TestI23WebhookReplacesInjectionByHand(t *testing.T) {
	byHand := defaultEngine(t, nil, []byte(`{global: {hub: mine, tag: "1", proxy: {image: p, logLevel: debug}, imagePullSecrets: [regcred]}}`), inject.Options{})
	webhook := defaultEngine(t, nil, nil, inject.Options{})
	doc, err := source.Parse(source.NewText("f", []byte("metadata: {name: p, labels: {app: a, sidecar.istio.io/inject: 'true'}}\nspec: {containers: [{name: a, image: i}]}\n")))
	if err != nil {
		t.Fatal(err)
	}
	run := func(e *inject.Engine, door inject.Door, pod *source.Node) *source.Node {
		t.Helper()
		res := e.Run(&inject.Request{Door: door, Pod: pod, NamespaceName: "shop"})
		if res.Diagnostics.HasErrors() || res.Decision.Verdict != inject.Inject {
			t.Fatalf("%v, %v", res.Decision, res.Diagnostics)
		}
		return res.Pod
	}
	manual := run(byHand, inject.CommandLine, doc.Root)
	if fresh := run(webhook, inject.Admission, doc.Root); manual.Equal(fresh) || !run(webhook, inject.Admission, manual).Equal(fresh) {
		t.Errorf("not as without the injection by hand:\n%s", diffOf(fresh, run(webhook, inject.Admission, manual), nil))
	}
}

func annotationOf(c *caseFile, name string) bool {
	return bytes.Contains(c.file("input.yaml"), []byte(name))
}

// FuzzRun injects arbitrary pods: there is no panic, an error if and only if
// there is no result, the patch makes the result, and injecting again changes
// nothing.
func FuzzRun(f *testing.F) {
	for name, c := range loadCases(f) {
		if !portion.Takes(name, 6) {
			continue
		}
		f.Add(string(c.file("input.yaml")), false)
		f.Add(string(c.file("input.yaml")), true)
	}
	small := compile(f, read(f, "testdata", "config.yaml"), nil, read(f, "testdata", "values.yaml"), inject.Options{})
	full := defaultEngine(f, nil, nil, inject.Options{})
	f.Fuzz(func(t *testing.T, input string, native bool) {
		doc, err := source.Parse(source.NewText("fuzz", []byte(input)))
		if err != nil {
			return
		}
		w, ok := kube.WorkloadOf(doc.Root, nil)
		if !ok || w.Template == nil {
			return
		}
		for _, e := range []*inject.Engine{small, full} {
			r := &inject.Request{Pod: w.Template, Owner: w.Ref, NativeSidecars: native}
			before := source.AppendJSON(nil, r.Pod)
			res := e.Run(r)
			if !bytes.Equal(before, source.AppendJSON(nil, r.Pod)) {
				t.Fatal("Run changed its input")
			}
			if done := res.Pod != r.Pod; done != (res.Decision.Verdict == inject.Inject && !res.Diagnostics.HasErrors()) {
				t.Fatalf("injected %v, decision %v, findings %v", done, res.Decision, res.Diagnostics)
			}
			if patched := applied(t, r.Pod, res.JSONPatch()); !patched.Equal(res.Pod) {
				t.Fatalf("the patch makes another pod:\n%s", diffOf(res.Pod, patched, nil))
			}
			if res.Pod == r.Pod {
				continue
			}
			again := *r
			again.Pod = res.Pod
			if second := e.Run(&again); !second.Pod.Equal(res.Pod) {
				t.Fatalf("injecting again changes the pod (%v):\n%s", second.Diagnostics, diffOf(res.Pod, second.Pod, nil))
			}
		}
	})
}
