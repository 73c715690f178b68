package inject

import (
	"time"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Door says which way a request came in. Policy, selectors and namespace
// labels are asked at admission only, as the control plane does since 1.8;
// nothing else differs between the doors.
type Door uint8

// The doors.
const (
	CommandLine Door = iota
	Admission
)

// Request is one pod (or pod template) to decide on and to inject, with
// everything environmental resolved by the caller. It is never changed.
type Request struct {
	Door Door
	// Pod holds metadata and spec of the pod, or is the pod template.
	Pod *source.Node
	// Owner is the workload: for a pod template the object that holds it, for
	// a bare pod what kube.OwnerOf tells from the pod.
	Owner kube.Ref
	// OwnerMeta is the metadata of the workload, where that holds the pod
	// template. Only templates of releases before 1.22 see more of it than the
	// name.
	OwnerMeta *source.Node
	// NamespaceName is the namespace that the pod will live in; "" unknown. On
	// the command line it counts before the one in Pod, which for a pod template
	// is not where its pods live.
	NamespaceName string
	// Namespace is the Namespace object, nil where it is not known. Only its
	// labels and annotations are read.
	Namespace *source.Node
	// ProxyConfigs are the ProxyConfig objects of the cluster; nil for none.
	ProxyConfigs *ProxyConfigs
	// NativeSidecars tells that the cluster runs native sidecars.
	NativeSidecars bool
	// PodSecurity is the level to judge the injected pod by; the zero value
	// means that of the Namespace's labels, if any.
	PodSecurity PodSecurity
	// Revision is the control plane's revision; "" means default.
	Revision string
	// ProxyEnv holds variables for the proxy from the request path: name to
	// value (ISTIO_META_CLUSTER_ID, ISTIO_META_NETWORK, ...).
	ProxyEnv map[string]string
	// Getenv answers the template function env and the switches that the
	// control plane reads from its environment; nil means all unset.
	Getenv func(string) string
	// Now is the time that template functions see.
	Now time.Time
	// Explain asks for Result.Renderings.
	Explain bool
}

// getenv is Getenv with everything unset where there is none.
func (r *Request) getenv(name string) string {
	if r.Getenv == nil {
		return ""
	}
	return r.Getenv(name)
}

// Verdict is the outcome of a decision.
type Verdict uint8

// The verdicts.
const (
	Skip Verdict = iota
	Inject
)

// String returns skip or inject.
func (v Verdict) String() string { return [...]string{"skip", "inject"}[v] }

// Reason is the code of a decision, stable for metrics and scripts.
type Reason string

// Consulted is one rule that the decision asked, in order.
type Consulted struct {
	// Rule is the name of the rule, as the precedence table in docs prints it.
	Rule string
	// Decided tells that this rule ended the decision.
	Decided bool
	// Evidence says what the rule saw: `label sidecar.istio.io/inject: "false"`.
	Evidence string
	// Span is where that stands; may be zero.
	Span source.Span
}

// Decision is a verdict together with how it came about.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	// Message says it to a person: "host networking is on".
	Message string
	Rules   []Consulted
	// Diagnostics are findings that the rules made on the way.
	Diagnostics diag.List
}

// Result is what Engine.Run returns.
type Result struct {
	Decision Decision
	// Pod is the injected pod: metadata and spec, sharing every node that
	// injection left alone with Request.Pod. Where the verdict is Skip, or
	// Diagnostics holds an error, it is Request.Pod.
	Pod *source.Node
	// Diagnostics are findings about the pod, its annotations and the
	// configuration; if one is an error, nothing was injected.
	Diagnostics diag.List

	// Renderings tell, where Request.Explain asks for it, what each template
	// made, in order. A node of Pod that came from a template points into the
	// text of that rendering, and its Recorder leads from there to the part of
	// the template.
	Renderings []Rendering

	request *source.Node // Request.Pod
}

// Rendering is what one template made of a pod.
type Rendering struct {
	// Template is the template's name in the configuration.
	Template string
	// Text is the output, and Overlay what it says; nil where it is empty.
	Text    *source.Text
	Overlay *source.Node
	// Recorder knows which part of the template wrote which part of Text.
	Recorder *tmpl.Recorder
}
