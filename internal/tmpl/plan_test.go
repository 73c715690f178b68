package tmpl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// podWriter makes up pods that a template looks at from all sides. Its own
// numbers decide the shape of a pod, others the texts in it, so that pods of
// the same shape can be made.
type podWriter struct {
	*rand.Rand
	texts *rand.Rand
}

func (w podWriter) pick(list ...string) string { return list[w.IntN(len(list))] }

// text returns a value: mostly one that means nothing in YAML, sometimes one
// that does.
func (w podWriter) text() string {
	w.Rand = w.texts
	if w.IntN(6) > 0 {
		return w.pick("cart", "orders-v2", "v1", "team_a", "registry.example.com/x", "a", "release-2026.08", "front-end", "z9")
	}
	return w.pick("", "true", "no", "null", "~", "12", "0x1f", "1.5", "1e3", "-", "- x", "a: b", "a:b", "#x", "a #b", "\"", "'", "a\"b", "it's", "a\\b",
		"a\nb", " lead", "trail ", "{", "[x]", "&a", "*a", "!t", "|", ">", "%", "@", "`", "é", "\u2028", "\t", "y", "N", "on", "off", "0.0.0.0/0", "10.0.0.0/8,192.168.0.0/16",
		"...", "---", "?", "2001-01-01", "1_000", "<a>&", "$(X)", "=", "<<", "0", "80,443", "-_.x-_.", "averyveryveryveryveryveryveryveryveryveryveryverylongnamethatdoesnotfit", "nope.", "yes/no", "off-line", "_x", "/x", ".x", "-x", "{{ x }}")
}

var podLabels = []string{
	"app", "app.kubernetes.io/name", "service.istio.io/canonical-name", "version", "app.kubernetes.io/version",
	"service.istio.io/canonical-revision", "security.istio.io/tlsMode", "networking.istio.io/tunnel", "service.istio.io/workload-name", "other",
}

var podAnnotations = []string{
	"sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory", "sidecar.istio.io/proxyImage", "sidecar.istio.io/interceptionMode",
	"sidecar.istio.io/nativeSidecar", "kubectl.kubernetes.io/default-container", "traffic.sidecar.istio.io/includeOutboundIPRanges",
	"traffic.sidecar.istio.io/excludeInboundPorts", "traffic.sidecar.istio.io/includeInboundPorts", "sidecar.istio.io/logLevel",
	"readiness.status.sidecar.istio.io/failureThreshold", "sidecar.istio.io/bootstrapOverride", "sidecar.istio.io/userVolume", "status.sidecar.istio.io/port",
	"k8s.v1.cni.cncf.io/networks", "sidecar.istio.io/agentLogLevel", "other", "sidecar.istio.io/capNetBindService",
}

// input makes up a pod with its owner.
func (w podWriter) input(data *Data) *Input {
	meta := source.NewMap()
	for range w.IntN(4) {
		meta = meta.WithAt(source.NewString(w.text()), "labels", podLabels[w.IntN(len(podLabels))])
	}
	if w.IntN(2) == 0 {
		for range 1 + w.IntN(2) {
			value := w.text()
			switch w.IntN(4) {
			case 0:
				value = w.pick("true", "false", "NONE", "TPROXY", "REDIRECT", "100m", "1Gi", "15021", "4", "*", `{"v":{"emptyDir":{}}}`, `[{"name":"a"}]`)
			}
			meta = meta.WithAt(source.NewString(value), "annotations", podAnnotations[w.IntN(len(podAnnotations))])
		}
	}
	if w.IntN(3) == 0 {
		meta = meta.With("namespace", source.NewString(w.text()))
	}
	if w.IntN(10) == 0 {
		meta = meta.With(w.pick("labels", "annotations"), source.NewNull())
	}
	var containers []*source.Node
	for range w.IntN(4) {
		c := source.NewMap(source.F("name", source.NewString(w.pick("app", "web", "istio-proxy", "side-car", w.text()))))
		if w.IntN(3) > 0 {
			c = c.With("image", source.NewString(w.text()))
		}
		var ports []*source.Node
		for range w.IntN(3) {
			p := source.NewMap(source.F("containerPort", source.NewInt(w.Int64N(70000))))
			if w.IntN(2) == 0 {
				p = p.With("name", source.NewString(w.text()))
			}
			if w.IntN(3) == 0 {
				p = p.With("protocol", source.NewString(w.pick("TCP", "UDP", "")))
			}
			ports = append(ports, p)
		}
		if ports != nil {
			c = c.With("ports", source.NewList(ports...))
		}
		containers = append(containers, c)
	}
	spec := source.NewMap(source.F("containers", source.NewList(containers...)))
	if w.IntN(2) == 0 {
		spec = spec.With("serviceAccountName", source.NewString(w.text()))
	}
	if w.IntN(3) == 0 {
		spec = spec.WithAt(source.NewInt(1), "securityContext", "fsGroup")
	}
	d := *data
	d.TypeMeta.Kind, d.TypeMeta.APIVersion = w.pick("Deployment", "StatefulSet", "Pod", "", w.text()), w.pick("apps/v1", "v1", "", w.text())
	d.DeploymentMeta = types.NamespacedName{Name: w.text(), Namespace: w.pick("", "shop", w.text())}
	pod := source.NewMap(source.F("metadata", meta), source.F("spec", spec))
	if w.IntN(40) == 0 { // the wrong type
		pod = w.spoil(pod)
	}
	return &Input{Pod: pod, Namespace: w.pick("shop", "", w.text()), Data: &d, Env: testEnv}
}

func (w podWriter) spoil(pod *source.Node) *source.Node {
	wrong := []*source.Node{source.NewInt(1), source.NewBool(true), source.NewList(), source.NewMap(), source.NewString("x"), source.NewNull()}[w.IntN(6)]
	switch w.IntN(4) {
	case 0:
		return pod.WithAt(wrong, "metadata", "labels", "app")
	case 1:
		return pod.WithAt(wrong, "metadata", "annotations", "other")
	case 2:
		return pod.WithAt(wrong, "spec", "containers")
	}
	return pod.WithAt(source.NewList(source.NewMap(source.F("name", wrong))), "spec", "containers")
}

var errRefused = errors.New("refused")

// slowly renders and parses an input by text/template.
func slowly(tm *Template, in *Input) (*source.Node, error) {
	data, ok := in.fill(tm.Needs())
	if !ok {
		return nil, errRefused
	}
	out, d := tm.Reference().Render(data, in.Env, nil)
	if d != nil {
		return nil, d
	}
	doc, err := source.Parse(source.NewText("", out))
	if err != nil {
		return nil, err
	}
	if doc.Root.Kind() != source.Map || !acceptable(doc.Root) {
		return nil, errRefused
	}
	return doc.Root, nil
}

func acceptable(n *source.Node) bool {
	list := kube.Checker{Strict: true}.Check(n, kube.TypePod)
	return !list.HasErrors()
}

// checkPlans runs many pods through a planner and through text/template.
func checkPlans(t *testing.T, tm *Template, data *Data, inputs []*Input) (served, planned int) {
	t.Helper()
	var p *Planner
	for i, in := range inputs {
		if i%150 == 0 { // hostile pods make a planner stop learning
			p = NewPlanner(tm, acceptable)
		}
		before := p.plans()
		got, ok := p.Overlay(in)
		if !ok {
			continue
		}
		served++
		if p.plans() == before {
			planned++
		}
		want, err := slowly(tm, in)
		if err != nil {
			t.Fatalf("pod %d: the planner gives an overlay where the slow path fails: %v\n%s\n%s", i, err, source.AppendYAML(nil, in.Pod), source.AppendYAML(nil, got))
		}
		if string(source.AppendJSON(nil, got)) != string(source.AppendJSON(nil, want)) {
			t.Fatalf("pod %d: overlays differ for\n%s%+v %+v %s\n plan: %s\n slow: %s", i, source.AppendYAML(nil, in.Pod), in.Data.TypeMeta, in.Data.DeploymentMeta, in.Namespace,
				source.AppendJSON(nil, got), source.AppendJSON(nil, want))
		}
	}
	return served, planned
}

// plans counts what a planner has learnt.
func (p *Planner) plans() (n int) {
	if sets := p.sets.Load(); sets != nil {
		for _, s := range *sets {
			n += s.plans + s.refusals
		}
	}
	return n
}

func madeUp(data *Data, seed uint64, n int) []*Input {
	texts := rand.New(rand.NewPCG(seed, 7))
	inputs := make([]*Input, n)
	for i := range inputs {
		shape := rand.New(rand.NewPCG(seed+uint64(i/150), texts.Uint64N(12)))
		inputs[i] = podWriter{shape, texts}.input(data)
	}
	return inputs
}

func TestPlansOfShippedTemplates(t *testing.T) {
	for _, file := range []string{"injection-template", "gateway-injection-template", "grpc-simple", "grpc-agent"} {
		t.Run(file, func(t *testing.T) {
			tm, d := Parse(file, shipped(t, file))
			if d != nil {
				t.Fatal(d)
			}
			data := testData(t, nil, Needs{})
			n := portion.Of(300, 2)
			served, planned := checkPlans(t, tm, data, madeUp(data, 1, n))
			t.Logf("%d of %d pods served, %d by plans made before", served, n, planned)
			if planned < n/2 {
				t.Errorf("only %d pods were served by plans", planned)
			}
		})
	}
}

// TestPlansOfOlderTemplates takes the injection configurations of older
// releases, which lie beside a checkout of the project's sources if at all.
func TestPlansOfOlderTemplates(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/legacy/*/inject-config.yaml")
	if len(files) == 0 {
		t.Skip("no configurations of older releases beside the checkout")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var major, minor int
		tag := filepath.Base(filepath.Dir(file))
		if _, err := fmt.Sscanf(tag, "%d.%d", &major, &minor); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Templates map[string]string
			Template  string // until 1.8
		}
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		values := chartValues(t)
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "values.json")); err == nil {
			if err := yaml.Unmarshal(text, &values); err != nil {
				t.Fatal(err)
			}
		}
		if minor < 9 {
			doc.Templates = map[string]string{"sidecar": doc.Template}
		}
		for name, text := range doc.Templates {
			if !portion.Takes(tag+name, 6) {
				continue
			}
			t.Run(tag+"/"+name, func(t *testing.T) {
				tm, d := DialectOf(release.V(major, minor)).Parse(name, source.NewText(tag, []byte(text)))
				if d != nil {
					t.Fatal(d)
				}
				if tm.program == nil {
					t.Error("no program")
				}
				data := testData(t, nil, Needs{})
				data.Values = values
				data.SetFormer(&Former{EstimatedConcurrency: 2})
				served, planned := checkPlans(t, tm, data, madeUp(data, 2, 60))
				t.Logf("%d of 60 pods served, %d by plans made before", served, planned)
			})
		}
	}
}

// TestPlanServesFurtherPods: what the planner is for. Ordinary pods that differ
// in names only are served without rendering from the third on.
func TestPlanServesFurtherPods(t *testing.T) {
	tm, _ := Parse("sidecar", shipped(t, "injection-template"))
	p := NewPlanner(tm, acceptable)
	data := testData(t, nil, Needs{})
	for i := range 5 {
		d := *data
		d.DeploymentMeta.Name = fmt.Sprint("cart-", i)
		in := &Input{Pod: node(t, helloPod).WithAt(source.NewString(fmt.Sprint("app-", i)), "metadata", "labels", "app"), Data: &d, Env: testEnv}
		got, ok := p.Overlay(in)
		if ok != (i > 0) {
			t.Fatalf("pod %d: served %v", i, ok)
		}
		if set := p.set(&d); i > 0 && set.plans != 1 {
			t.Fatalf("pod %d: %d plans", i, set.plans)
		}
		if i > 0 && got.Get("metadata", "labels", "service.istio.io/canonical-name").Str() != fmt.Sprint("app-", i) {
			t.Errorf("pod %d: %s", i, source.AppendYAML(nil, got))
		}
	}
}

func TestPlannerIsConcurrent(t *testing.T) {
	tm, _ := Parse("sidecar", shipped(t, "injection-template"))
	data := testData(t, nil, Needs{})
	inputs := madeUp(data, 3, 60)
	want := make([]string, len(inputs))
	for i, in := range inputs {
		if n, err := slowly(tm, in); err == nil {
			want[i] = string(source.AppendJSON(nil, n))
		}
	}
	p := NewPlanner(tm, acceptable)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, in := range inputs {
				if n, ok := p.Overlay(in); ok && string(source.AppendJSON(nil, n)) != want[i] {
					t.Errorf("pod %d: overlays differ", i)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzPlan compares plans with text/template on made-up pods, templates and
// switches of the installation.
func FuzzPlan(f *testing.F) {
	files := []string{"injection-template", "gateway-injection-template", "grpc-simple", "grpc-agent"}
	for i := range files {
		f.Add(uint64(i), uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, file, switches uint8) {
		tm, d := Parse("fuzz", shipped(t, files[int(file)%len(files)]))
		if d != nil {
			t.Fatal(d)
		}
		data := testData(t, nil, Needs{})
		if switches&1 != 0 {
			data.Values["pilot"] = map[string]any{"cni": map[string]any{"enabled": true, "provider": "multus"}}
		}
		if switches&2 != 0 {
			data.NativeSidecars = true
		}
		if switches&4 != 0 {
			data.ProxyConfig.ProxyMetadata = map[string]string{"A": "b", "ISTIO_META_ENABLE_HBONE": "true"}
		}
		if switches&8 != 0 {
			data.CompliancePolicy = "fips-140-3"
			data.Values["global"].(map[string]any)["mountMtlsCerts"] = true
		}
		checkPlans(t, tm, data, madeUp(data, seed, 40))
	})
}

// FuzzPlanTemplate does so for made-up templates.
func FuzzPlanTemplate(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := "metadata:\n  annotations:\n    a: \"" + randomTemplate(rand.New(rand.NewPCG(seed, 5))) + "\"\n"
		tm, d := Parse("fuzz", source.NewText("fuzz", []byte(text)))
		if d != nil {
			return
		}
		data := testData(t, nil, Needs{})
		checkPlans(t, tm, data, madeUp(data, seed, 30))
	})
}

// TestPlansOfFunctionsOnContainers: functions that read little of containers do
// not make a plan depend on the rest of them.
func TestPlansOfFunctionsOnContainers(t *testing.T) {
	tm := parseTemplate(t, "metadata:\n  annotations:\n    a: \"{{ includeInboundPorts .Spec.Containers }}\"\n    b: \"{{ applicationPorts .Spec.Containers }}\"\n"+
		"    c: \"{{ otelResourceAttributes .MeshConfig .ObjectMeta.Annotations .ObjectMeta.Labels .DeploymentMeta.Namespace .Spec.Containers }}\"\n")
	data := testData(t, nil, Needs{})
	data.MeshConfig.ExtensionProviders = []*meshv1alpha1.MeshConfig_ExtensionProvider{{
		Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Opentelemetry{
			Opentelemetry: &meshv1alpha1.MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider{
				ServiceAttributeEnrichment: meshv1alpha1.MeshConfig_ExtensionProvider_OTEL_SEMANTIC_CONVENTIONS,
			},
		},
	}}
	served, planned := checkPlans(t, tm, data, madeUp(data, 4, 150))
	if served < 140 || planned < 120 {
		t.Errorf("%d of 150 pods served, %d by plans made before", served, planned)
	}
}

// TestPlansOfFormerReleases: what only older releases have does not keep pods
// from being served by plans: labels as JSON, their own functions on ports,
// and function render where the text has no actions.
func TestPlansOfFormerReleases(t *testing.T) {
	tests := []struct {
		release release.Release
		text    string
		want    int // least number of pods of 60 served without rendering
	}{
		{release.V(1, 8), `a: "{{ render .Values.plain }}"` + "\n    l: |\n      {{ toJSON .ObjectMeta.Labels }}\n", 40},
		{release.V(1, 8), `a: "{{ join "-" (list .DeploymentMeta.Name "x" .ObjectMeta.Name) }}"` + "\n    l: |\n      {{ toJSON .ObjectMeta.Labels | indent 6 }}\n", 40},
		{release.V(1, 8), `a: "{{ render .Values.action }}"` + "\n", 0},
		{release.V(1, 8), `a: "{{ render .Values.changing }}{{ .Values.plain }}"` + "\n", 0},
		{release.V(1, 1), `a: "[[ applicationPorts .Spec.Containers ]][[ valueOrDefault .DeploymentMeta.Name "x" ]]"` + "\n    l: |\n      [[ toJson .ObjectMeta.Labels ]]\n", 40},
	}
	for _, tt := range tests {
		tm, d := DialectOf(tt.release).Parse("sidecar", source.NewText("t", []byte("metadata:\n  annotations:\n    "+tt.text)))
		if d != nil {
			t.Fatal(d)
		}
		data := testData(t, nil, Needs{})
		data.Values["plain"] = "svc.cluster.local"
		data.Values["action"] = "{{ .DeploymentMeta.Name }}"
		data.Values["changing"] = `{{ $_ := set .Values "plain" "changed" }}`
		data.SetFormer(&Former{EstimatedConcurrency: 2})
		_, planned := checkPlans(t, tm, data, madeUp(data, 5, 60))
		if planned < tt.want || tt.want == 0 && planned > 0 {
			t.Errorf("%s %s: %d of 60 pods served by plans made before, want %d", tt.release, tt.text, planned, tt.want)
		}
		if data.Values["plain"] != "svc.cluster.local" {
			t.Errorf("%s: the template changed the values", tt.text)
		}
	}
}

// TestPlansOfQuantities: resources that pods ask for the proxy do not need a
// plan each, and what is no quantity is never planned.
func TestPlansOfQuantities(t *testing.T) {
	tm := parseTemplate(t, `spec:
  containers:
  - name: istio-proxy
    resources:
      requests:
        cpu: "{{ index .ObjectMeta.Annotations "sidecar.istio.io/proxyCPU" }}"
        memory: '{{ index .ObjectMeta.Annotations "sidecar.istio.io/proxyMemory" }}'
`)
	data := testData(t, nil, Needs{})
	var inputs []*Input
	for i, q := range []string{"1", "100m", "1.5", "2", "0", "128Mi", "1e3", "-1", "", ".5", "5.", "1.2345", "many", "1 Gi", "1Gi", "0x10", "12345678901234567890", "5M", "5MB"} {
		for k, memory := range []string{"1Gi", "64Mi"} {
			inputs = append(inputs, &Input{Data: data, Env: testEnv, Pod: node(t, fmt.Sprintf(
				"metadata: {name: p%d-%d, annotations: {sidecar.istio.io/proxyCPU: %q, sidecar.istio.io/proxyMemory: %q}}\nspec: {containers: [{name: a}]}", i, k, q, memory))})
		}
	}
	if served, planned := checkPlans(t, tm, data, inputs); planned < 16 {
		t.Errorf("%d of %d pods served, %d by plans made before", served, len(inputs), planned)
	}
}

func FuzzIsQuantity(f *testing.F) {
	for _, s := range []string{"1", "100m", "1.5Gi", "", ".", "1.", "1Ki", "12345678901", "1e3", "1 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := resource.ParseQuantity(s); err != nil && isQuantity(s) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
