package inject

import (
	"math"
	"strconv"
	"strings"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Releases 1.9 to 1.13: templates became overlays of pods, of which a
// configuration has several.

func gen1_9() Generation {
	return Generation{
		shape: release.Overlays,
		rules: []rule{
			ruleHostNetwork, ruleWindows, ruleNamespace, ruleLegalPolicy, ruleFuzzyAnnotation,
			ruleNever, ruleAlways, rulePolicy, ruleInjected, ruleCommandLine,
		},
		steps: []step{
			{"cluster and network", setClusterEnv},
			{"metrics merge", mergePrometheus9},
			{"probes", rewriteProbes},
			{"metadata", setMetadata},
			{"container order", orderContainers},
		},
		validate:   validatorOf(release.V(1, 9)),
		mergeProxy: replaceMetadata,
		proxyImage: imageOfMessage,
		former:     formerOverlay,
		native:     func(*Request) bool { return false },
		owner:      ownerRules{podItself: true, cronDigits: 10, cronVersion: "batch/v1beta1"},
		apply:      applyOverlays,
		judge:      judgeOverlay,
		misfit:     "is no part of a pod: ",
		proxyEnv:   (*Engine).proxyEnv,
		prepare:    asPodOfTheTime,
		alignUser:  keepUser,
		probes:     probeRules{hooks: hooks[:3], handlers: []string{"httpGet"}, lists: []string{listContainers}},
		status:     statusWithoutRevision,
	}
}

func gen1_10() Generation {
	g := gen1_9()
	g.mergeProxy = mergedProxyConfig
	g.owner.cronDigits = 8
	return g
}

func gen1_11() Generation {
	g := gen1_10()
	g.former = formerConcurrency
	g.status = status.String
	return g
}

func gen1_12() Generation {
	g := gen1_11()
	g.rules = []rule{
		ruleHostNetwork, ruleWindows, ruleNamespace, ruleLegalPolicy, ruleFuzzyLabel, ruleFuzzyAnnotationUnlessLabel,
		ruleNever, ruleAlways, rulePolicy, ruleInjected, ruleCommandLine,
	}
	g.probes.handlers = []string{"httpGet", "tcpSocket"}
	g.probes.tcpSwitch = "REWRITE_TCP_PROBES"
	g.owner.configs = true
	return g
}

func gen1_13() Generation {
	g := gen1_12()
	g.steps = []step{
		{"cluster and network", setClusterEnv},
		{"metrics merge", mergePrometheus13},
		{"probes", rewriteProbes},
		{"metadata", setMetadata},
		{"container order", orderContainers},
	}
	g.probes.handlers = handlerKinds[:]
	g.proxyObjects = true
	return g
}

var (
	ruleFuzzyAnnotation = rule{
		"annotation sidecar.istio.io/inject",
		"injects at y, yes, true and on, in upper or lower case, skips at all else", nil, askFuzzyAnnotation,
	}
	ruleFuzzyAnnotationUnlessLabel = rule{
		"annotation sidecar.istio.io/inject",
		"injects at y, yes, true and on, in upper or lower case, skips at all else", nil, askFuzzyAnnotationUnlessLabel,
	}
	ruleFuzzyLabel = rule{
		"label sidecar.istio.io/inject",
		"injects at y, yes, true and on, in upper or lower case, skips at all else; hides the annotation, whatever its value", nil, askFuzzyLabel,
	}
	ruleInjected = rule{
		"injected already", "skips a pod that has a sidecar and a status annotation", &atCommandLine, askInjected,
	}
)

func askFuzzyAnnotation(_ *Engine, r *Request) answer {
	f, ok := r.Pod.Get("metadata", "annotations").Field(annot.SidecarInject)
	if !ok || f.Value.IsNull() {
		return answer{evidence: "no annotation " + annot.SidecarInject}
	}
	return fuzzy("annotation", Annotation, f)
}

func askFuzzyAnnotationUnlessLabel(e *Engine, r *Request) answer {
	if label(r.Pod, annot.SidecarInject) != nil {
		return answer{evidence: "not asked: the label is there"}
	}
	return askFuzzyAnnotation(e, r)
}

func askFuzzyLabel(_ *Engine, r *Request) answer {
	f, ok := r.Pod.Get("metadata", "labels").Field(annot.SidecarInject)
	if !ok || f.Value.IsNull() {
		return answer{evidence: "no label " + annot.SidecarInject}
	}
	return fuzzy("label", Label, f)
}

// fuzzy reads a wish as releases until 1.26 did: everything that is not yes is
// no, except nothing.
func fuzzy(what string, reason Reason, f source.Field) answer {
	value := f.Value.Scalar()
	a := answer{
		reason: reason, span: f.Value.Span(),
		evidence: what + " " + f.Key + ": " + strconv.Quote(value),
	}
	a.message = a.evidence
	switch strings.ToLower(value) {
	case "y", "yes", "true", "on":
		a.decided, a.verdict = true, Inject
	case "":
	default:
		a.decided, a.verdict = true, Skip
	}
	return a
}

func askInjected(_ *Engine, r *Request) answer {
	containers := specList(r.Pod, listContainers)
	at := find(containers, proxyContainer)
	if len(containers) < 2 || at < 0 || annotation(r.Pod, annot.SidecarStatus) == nil {
		return answer{evidence: "not injected yet"}
	}
	return answer{
		decided: true, verdict: Skip, reason: Injected, message: "it has been injected already",
		evidence: "container istio-proxy, and annotation " + annot.SidecarStatus, span: containers[at].Span(),
	}
}

// Injected is the reason to skip a pod that has a sidecar already.
const Injected Reason = "injected-already"

// validatorOf returns the check of annotations of a release.
func validatorOf(r release.Release) func(*source.Node) diag.List {
	return func(pod *source.Node) diag.List {
		annotations := pod.Get("metadata", "annotations")
		judged := annotations
		for _, f := range annotations.Fields() {
			if since := judgedSince(f.Key); r.Before(since) && !isComposite(f.Value) {
				judged = judged.Without(f.Key)
			}
		}
		return annot.Validate(judged, config.CheckProxyConfig)
	}
}

func isComposite(n *source.Node) bool { return n.Kind() == source.Map || n.Kind() == source.List }

// judgedSince tells since when the control plane looks at the value of an
// annotation.
func judgedSince(name string) release.Release {
	switch name {
	case annot.SidecarProxyCPU, annot.SidecarProxyCPULimit, annot.SidecarProxyMemory, annot.SidecarProxyMemoryLimit:
		return release.V(1, 27)
	case annot.TrafficExcludeInterfaces, annot.TrafficKubevirtInterfaces, annot.RerouteVirtualInterfaces:
		return release.V(1, 30)
	case annot.PrometheusMergeMetrics, annot.ProxyConfig:
		return release.V(1, 6)
	case annot.TrafficExcludeOutboundPorts:
		return release.V(1, 2)
	case annot.SidecarStatusPort, annot.ReadinessInitialDelaySeconds, annot.ReadinessPeriodSeconds, annot.ReadinessFailureThreshold:
		return release.V(1, 0)
	}
	return release.Oldest
}

// replaceMetadata merges a pod's proxy configuration as releases until 1.9 did:
// its proxyMetadata takes the place of the mesh's.
func replaceMetadata(mesh *config.Mesh, text string) (*meshv1alpha1.ProxyConfig, diag.List) {
	proxy, findings := mergedProxyConfig(mesh, text)
	if findings.HasErrors() {
		return nil, findings
	}
	doc, err := source.Parse(source.NewText("", []byte(text)))
	if err != nil {
		return proxy, findings
	}
	if metadata := doc.Root.Get("proxyMetadata"); metadata.Kind() == source.Map {
		proxy.ProxyMetadata = textMap(metadata)
	}
	return proxy, findings
}

// imageOfMessage is the image until 1.30: where the proxy configuration says
// anything about the image, its type counts, even if empty.
func imageOfMessage(s *settings, proxy *meshv1alpha1.ProxyConfig, annotations *source.Node) string {
	typed := *s
	if proxy.GetImage() != nil {
		typed.variant = ""
	}
	return typed.sidecarImage(proxy.GetImage().GetImageType(), annotations)
}

func formerOverlay(in *injection) *tmpl.Former { return formerOf(in) }

// formerOf returns the metadata of the workload, and the fields of mesh and
// proxy configuration that later releases dropped.
func formerOf(in *injection) *tmpl.Former {
	r := in.request
	f := &tmpl.Former{Config: in.engine.mesh.Former}
	f.DeploymentMeta = metav1.ObjectMeta{
		Labels: textMap(r.OwnerMeta.Get("labels")), Annotations: textMap(r.OwnerMeta.Get("annotations")),
	}
	return f
}

func textMap(n *source.Node) map[string]string {
	if n.Len() == 0 {
		return nil
	}
	m := make(map[string]string, n.Len())
	for _, f := range n.Fields() {
		m[f.Key] = f.Value.Scalar()
	}
	return m
}

func formerConcurrency(in *injection) *tmpl.Former {
	f := formerOf(in)
	f.EstimatedConcurrency = estimatedConcurrency(in)
	return f
}

// estimatedConcurrency is the number of worker threads: as configured, or where
// that is 0, as many as the CPUs that the proxy gets.
func estimatedConcurrency(in *injection) int {
	configured := in.proxy.GetConcurrency()
	if configured.GetValue() > 0 {
		return int(configured.GetValue())
	}
	if configured != nil {
		annotations := in.user.Get("metadata", "annotations")
		resources := in.engine.values.Root.Get("global", "proxy", "resources")
		for _, n := range []*source.Node{
			annotations.Get(annot.SidecarProxyCPULimit), annotations.Get(annot.SidecarProxyCPU),
			resources.Get("limits", "cpu"), resources.Get("requests", "cpu"),
		} {
			if cpus, ok := wholeCPUs(n); ok {
				return cpus
			}
		}
	}
	return 2
}

// wholeCPUs reads a quantity of CPUs, rounded up.
func wholeCPUs(n *source.Node) (int, bool) {
	q, err := resource.ParseQuantity(n.Scalar())
	if n.IsNull() || err != nil || q.Sign() <= 0 {
		return 0, false
	}
	return int(math.Ceil(float64(q.MilliValue()) / 1000)), true
}

// asPodOfTheTime takes from an overlay what the pods of the release did not
// have: templates until 1.14 wrote fsGroup into containers, and 1.11 to 1.14 an
// annotation beside the annotations. The API server refuses such fields, or
// drops them.
func asPodOfTheTime(root *source.Node) *source.Node {
	return withoutRestartPolicy(pruned(root, kube.TypePod))
}

// withoutRestartPolicy takes restartPolicy from containers: templates wrote it
// there before containers had such a field.
func withoutRestartPolicy(root *source.Node) *source.Node {
	for _, list := range [...]string{listInitContainers, listContainers} {
		items := specList(root, list)
		for i, c := range items {
			items = replaced(items, i, c.Without("restartPolicy"))
		}
		root = withSpecList(root, list, items)
	}
	return root
}

func keepUser(_ *finishing, pod *source.Node) *source.Node { return pod }

func statusWithoutRevision(s status) string {
	return string(append(s.appendLists([]byte{'{'}), '}'))
}
