package conformance

import (
	"bytes"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/log"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// callWriter makes up calls of the injector's template functions.
type callWriter struct{ *rand.Rand }

func (w callWriter) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w callWriter) str() string {
	return w.pick("``", "`a`", "`app`", "`15020`", "` 15020 `", "`0`", "`a,b`", "`80, 443,,80`", "`a\nb\n\nc\n`", "`/a/b`", "`b/`", "`/`", "`istio-cni`", "`default/istio-cni`",
		"`a/b/c`", "`[{\"name\":\"a\"}]`", "`[{\"name\":\"istio-cni\",\"namespace\":\"default\"}]`", "`[{\"name\":\"istio-cni\"}]`", "`[broken]`", "`a, istio-cni`", "`{`",
		"`{\"a\":{\"b\":null},\"c\":[null,1,\"<x>\"]}`", "`<a>&\"é`", "`A-Z`", "`x]`", "`null`", "`[]`", "`[null]`", "`1e3`", "`12345678901`", "`ISTIO_CONFORMANCE`", "`UNSET`")
}

func (w callWriter) any() string {
	switch w.IntN(6) {
	case 0:
		return w.str()
	case 1:
		return w.pick("0", "1", "-3", "15020", "1.5", "true", "false", "nil")
	case 2:
		return w.pick(".Values.num", ".Values.null", ".Values.none", ".Values.none.x", ".Values.list", ".Values.map", ".Values.empty", ".Values.text", ".Values.yes", ".Values")
	case 3:
		return w.pick(".ProxyConfig", ".ProxyConfig.InterceptionMode", ".ProxyConfig.Tracing", ".ProxyConfig.DrainDuration", ".ProxyConfig.Concurrency", ".MeshConfig.TrustDomain",
			".ProxyConfig.ProxyMetadata", ".MeshConfig.DefaultConfig", ".ProxyConfig.StatusPort", ".ProxyConfig.HoldApplicationUntilProxyStarts")
	case 4:
		return w.pick("(index .Spec.Containers 0)", "(index .Spec.Containers 0).Ports", ".Spec.SecurityContext", ".Spec.Volumes", ".ObjectMeta.Labels", ".ObjectMeta", ".DeploymentMeta",
			"(index (index .Spec.Containers 0).Ports 0)", "(index .Spec.Containers 0).Resources", ".Spec.Tolerations")
	}
	return w.pick("(list 1 `a` nil)", "(dict `a` 1 `b` nil)", "(strdict `k` `v`)", "(fromJSON `{\"a\":[null,{\"b\":null}]}`)", "(list)")
}

func (w callWriter) stringMap() string {
	return w.pick(".ObjectMeta.Labels", ".ObjectMeta.Annotations", "nil", "(strdict)", "(strdict `k` `<v>` `app` `y` `z`)", ".Spec.NodeSelector", ".Values.none", "(dict `a` `b`)",
		"(mergeMaps .ObjectMeta.Labels (strdict `x` `y`))")
}

func (w callWriter) containers() string {
	return w.pick(".Spec.Containers", ".Spec.InitContainers", "nil")
}

// call returns a call of a function, mostly with arguments of the right types.
func (w callWriter) call(name string) string {
	switch name {
	case "formatDuration":
		return name + " " + w.pick(".ProxyConfig.DrainDuration", ".ProxyConfig.TerminationDrainDuration", "nil", ".Values.none")
	case "isset":
		return name + " " + w.stringMap() + " " + w.str()
	case "excludeInboundPort", "appendMultusNetwork", "contains", "env":
		first := w.str()
		if name == "excludeInboundPort" {
			first = w.any()
		}
		return name + " " + first + " " + w.str()
	case "includeInboundPorts", "applicationPorts":
		return name + " " + w.containers()
	case "kubevirtInterfaces", "excludeInterfaces", "directory", "toLower", "fromJSON":
		return name + " " + w.str()
	case "annotation":
		return name + " .ObjectMeta " + w.str() + " " + w.any()
	case "valueOrDefault":
		return name + " " + w.any() + " " + w.any()
	case "toJSON":
		return name + " " + w.stringMap()
	case "structToJSON", "toYaml", "omitNil":
		return name + " " + w.any()
	case "protoToJSON":
		return name + " " + w.pick(".ProxyConfig", ".MeshConfig", ".ProxyConfig.Tracing", ".ProxyConfig.Image", ".ProxyConfig.DrainDuration", ".ProxyConfig.Concurrency", "nil",
			".MeshConfig.DefaultConfig", ".ProxyConfig.GatewayTopology")
	case "indent":
		return name + " " + w.pick("0", "2", "13", "-2") + " " + w.str()
	case "omit":
		return name + " " + w.stringMap() + " " + w.str() + w.pick("", " "+w.str())
	case "strdict":
		return strings.TrimSpace(name + " " + w.pick("", w.str(), w.str()+" "+w.str(), w.str()+" "+w.str()+" "+w.str()))
	case "toJsonMap", "mergeMaps":
		return strings.TrimSpace(name + " " + w.pick("", w.stringMap(), w.stringMap()+" "+w.stringMap()))
	case "otelResourceAttributes":
		return name + " .MeshConfig " + w.stringMap() + " " + w.stringMap() + " " + w.str() + " " + w.containers()
	}
	return "" // a function that this test does not know: see below
}

// pod makes up what templates see.
func (w callWriter) pod() (metav1.ObjectMeta, corev1.PodSpec) {
	meta := metav1.ObjectMeta{Name: "p", Namespace: "ns"}
	if w.IntN(3) > 0 {
		meta.Labels = map[string]string{"app": w.pick("x", "", "<y>"), "app.kubernetes.io/version": w.pick("", "v1")}
	}
	if w.IntN(3) > 0 {
		meta.Annotations = map[string]string{w.pick("a", "app", "15020", "resource.opentelemetry.io/service.version"): w.pick("", "v", "1,2")}
	}
	container := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Image: w.pick("", "a:1", "r:5000/a", "a@sha256:00", "a:1@sha256:00")}
		for range w.IntN(3) {
			c.Ports = append(c.Ports, corev1.ContainerPort{
				ContainerPort: int32(w.IntN(70000)), Name: w.pick("", "http<"), Protocol: corev1.Protocol(w.pick("", "TCP", "UDP", "SCTP")),
			})
		}
		return c
	}
	spec := corev1.PodSpec{Containers: []corev1.Container{container(w.pick("app", "istio-proxy"))}}
	if w.IntN(2) == 0 {
		spec.Containers = append(spec.Containers, container("istio-proxy"))
	}
	if w.IntN(2) == 0 {
		id := int64(1)
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &id}
		spec.NodeSelector = map[string]string{"n": "s"}
	}
	return meta, spec
}

func (w callWriter) mesh() *meshv1alpha1.MeshConfig {
	m := mesh.DefaultMeshConfig()
	p := m.DefaultConfig
	if w.IntN(2) == 0 {
		p.DrainDuration = durationpb.New(time.Duration(w.IntN(100000)) * time.Millisecond)
		p.ProxyMetadata = map[string]string{"A": "<b>", "B": ""}
		p.InterceptionMode = meshv1alpha1.ProxyConfig_InboundInterceptionMode(w.IntN(4))
		p.Concurrency = wrapperspb.Int32(int32(w.IntN(3)))
	}
	if w.IntN(2) == 0 {
		p.Tracing = &meshv1alpha1.Tracing{
			Sampling: float64(w.IntN(3)) / 3, MaxPathTagLength: 7,
			Tracer: &meshv1alpha1.Tracing_Zipkin_{Zipkin: &meshv1alpha1.Tracing_Zipkin{Address: "z:9411"}},
		}
		p.StatusPort, p.ConfigPath = 15021, "/x"
	}
	if w.IntN(3) == 0 {
		m.ExtensionProviders = []*meshv1alpha1.MeshConfig_ExtensionProvider{{
			Name: "otel", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Opentelemetry{
				Opentelemetry: &meshv1alpha1.MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider{
					Service: "o", ServiceAttributeEnrichment: meshv1alpha1.MeshConfig_ExtensionProvider_ServiceAttributeEnrichment(w.IntN(2)),
				},
			},
		}}
	}
	return m
}

// TestTemplateFunctions calls every template function of the mesh's injector
// with made-up arguments, in its template engine and in ours: both give the
// same text, or both fail.
func TestTemplateFunctions(t *testing.T) {
	t.Setenv("ISTIO_CONFORMANCE", "set")
	scope := log.FindScope(log.DefaultScopeName)
	level := scope.GetOutputLevel()
	scope.SetOutputLevel(log.NoneLevel) // it warns about every bad argument
	t.Cleanup(func() { scope.SetOutputLevel(level) })
	var names []string
	for name := range inject.InjectionFuncmap {
		if (callWriter{rand.New(rand.NewPCG(0, 0))}).call(name) == "" {
			t.Errorf("function %s of the injector is not tested", name)
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	values := map[string]any{
		"num": 15020.0, "null": nil, "list": []any{1.0, "a", nil}, "map": map[string]any{"b": "true", "a": 1.0, "n": nil, "l": []any{}}, "empty": "", "text": "x\ny", "yes": true,
	}
	env := tmpl.Env{Getenv: os.Getenv, Now: time.Unix(1e9, 0).UTC()}
	equal, failed := map[string]int{}, map[string]int{}
	for seed := range uint64(20000) {
		w := callWriter{rand.New(rand.NewPCG(seed, 1))}
		name := names[w.IntN(len(names))]
		call := w.call(name)
		if w.IntN(3) == 0 {
			call = name + " " + w.any() + w.pick("", " "+w.any(), " "+w.any()+" "+w.any())
		}
		text := "{{ " + call + w.pick("", "", " | quote", " | toString | indent 2", " | toYaml", " | len") + " }}"
		meta, spec := w.pod()
		m := w.mesh()
		owner := types.NamespacedName{Name: "o", Namespace: "ns"}

		peer, err := template.New("inject").Funcs(sprig.TxtFuncMap()).Funcs(inject.InjectionFuncmap).Parse(text)
		var want bytes.Buffer
		if err == nil {
			err = peer.Execute(&want, &inject.SidecarTemplateData{
				DeploymentMeta: owner, ObjectMeta: meta, Spec: spec, ProxyConfig: m.DefaultConfig, MeshConfig: m, Values: values,
			})
		}
		ours, bad := tmpl.Parse("sidecar", source.NewText("", []byte(text)))
		var got []byte
		if bad == nil {
			got, bad = ours.Render(&tmpl.Data{
				DeploymentMeta: owner, ObjectMeta: meta, Spec: spec, ProxyConfig: m.DefaultConfig, MeshConfig: m, Values: values,
			}, env, nil)
		}
		switch {
		case (err != nil) != (bad != nil):
			if name == "omit" && err != nil {
				continue // also takes the maps that omit of releases before 1.18 took
			}
			t.Errorf("%s:\n peer %q %v\n ours %q %v", text, want.String(), err, got, bad)
		case err == nil && sameForm(want.String()) != sameForm(string(got)):
			t.Errorf("%s:\n peer %q\n ours %q", text, want.String(), got)
		case err != nil:
			failed[name]++
		default:
			equal[name]++
		}
	}
	for _, name := range names {
		t.Logf("%-24s %5d equal, %4d refused by both", name, equal[name], failed[name])
		if equal[name] < 200 {
			t.Errorf("%s: only %d calls gave a result", name, equal[name])
		}
	}
}

var addresses = regexp.MustCompile(`0x[0-9a-f]{8,}|:[0-9]{12,}`)

// sameForm hides addresses, which printing a pointer prints.
func sameForm(s string) string { return addresses.ReplaceAllString(s, "0x") }
