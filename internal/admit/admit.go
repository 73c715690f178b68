// Package admit tells what an API server does before it asks an injection
// webhook about a pod: which MutatingWebhookConfigurations there are, which of
// their webhooks are called, and what becomes of the pod where one does not
// answer. Together with the rules of package inject these make one ordered list
// (Precedence).
package admit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// Hook is one webhook of a MutatingWebhookConfiguration, with the defaults that
// the API server gives to its version.
type Hook struct {
	// Configuration is the name of the object, Name that of the webhook.
	Configuration, Name string
	// Version is that of the object: v1 or v1beta1.
	Version string
	// Revision is what the object's label istio.io/rev says, "" where it has
	// none.
	Revision string
	// Fails tells that a pod is refused where the webhook does not answer
	// (failurePolicy Fail, which is the default since v1).
	Fails bool
	// Timeout is how long the API server waits for an answer, in seconds.
	Timeout int64
	// Reinvoked tells that the webhook is asked once more where a later one
	// changes the pod.
	Reinvoked bool
	// ReviewVersions are the versions of AdmissionReview that it understands.
	ReviewVersions []string
	// SideEffects is what the webhook does beside its answer, "" where v1, which
	// has no default, does not say.
	SideEffects string
	// URL is where it listens, for a webhook outside the cluster; else Service
	// is the namespace/name of its Service, Path and Port where it listens there.
	URL, Service, Path string
	Port               int64
	// CABundle is the base64 of the certificates that its own is checked with;
	// "" means those of the API server's system.
	CABundle string
	// Node is the webhook as it was written.
	Node *source.Node

	namespaces, objects selector
	conditions          []*source.Node
}

// selector is a label selector with its text.
type selector struct {
	labels.Selector
	node *source.Node
}

// ParseHooks reads the webhooks of MutatingWebhookConfigurations, of v1 and of
// v1beta1, in the order in which an API server calls them: by the name of the
// configuration, and as they stand in it. Objects of other kinds are passed
// over. A webhook with a finding of severity Error is left out.
func ParseHooks(objects ...*source.Node) ([]Hook, diag.List) {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b *source.Node) int {
		return cmp.Compare(kube.RefOf(a).Name, kube.RefOf(b).Name)
	})
	var hooks []Hook
	var findings diag.List
	for _, object := range objects {
		ref := kube.RefOf(object)
		if ref.Kind != "MutatingWebhookConfiguration" || kube.Group(ref.APIVersion) != "admissionregistration.k8s.io" {
			continue
		}
		_, version, _ := strings.Cut(ref.APIVersion, "/")
		if version != "v1" && version != "v1beta1" {
			findings = append(findings, &diag.Diagnostic{
				Severity: diag.Error, Span: object.Get("apiVersion").Span(), Object: ref.String(),
				Message: "webhook configurations of version " + strconv.Quote(version) + " are not known", Fix: "write v1, or v1beta1",
			})
			continue
		}
		if list := object.Get("webhooks"); !list.IsNull() && list.Kind() != source.List {
			findings = append(findings, &diag.Diagnostic{
				Severity: diag.Error, Span: list.Span(), Object: ref.String(), Message: "webhooks is no list", Fix: "write a list of webhooks",
			})
		}
		for _, n := range object.Get("webhooks").Items() {
			h, bad := parseHook(n, version == "v1")
			if bad != nil {
				bad.Object = ref.String()
				findings = append(findings, bad)
				continue
			}
			h.Configuration, h.Version, h.Revision = ref.Name, version, object.Get("metadata", "labels", annot.Revision).Scalar()
			hooks = append(hooks, h)
		}
	}
	return hooks, findings
}

func parseHook(n *source.Node, v1 bool) (Hook, *diag.Diagnostic) {
	if bad := checkFields(n, v1); bad != nil {
		return Hook{}, bad
	}
	h := Hook{
		Name: n.Get("name").Str(), Node: n,
		Fails: v1, Timeout: 30, ReviewVersions: []string{"v1beta1"}, SideEffects: "Unknown",
		Reinvoked:  n.Get("reinvocationPolicy").Str() == "IfNeeded",
		URL:        n.Get("clientConfig", "url").Str(),
		CABundle:   n.Get("clientConfig", "caBundle").Str(),
		conditions: n.Get("matchConditions").Items(),
	}
	if v1 {
		h.Timeout, h.ReviewVersions, h.SideEffects = 10, nil, ""
	}
	if e := n.Get("sideEffects").Str(); e != "" {
		h.SideEffects = e
	}
	if p := n.Get("failurePolicy").Str(); p != "" {
		h.Fails = p == "Fail"
	}
	if t, ok := n.Get("timeoutSeconds").Int(); ok {
		h.Timeout = t
	}
	if list := n.Get("admissionReviewVersions").Items(); len(list) > 0 {
		h.ReviewVersions = texts(list)
	}
	if s := n.Get("clientConfig", "service"); !s.IsNull() {
		h.Service = s.Get("namespace").Str() + "/" + s.Get("name").Str()
		h.Path, h.Port = s.Get("path").Str(), 443
		if p, ok := s.Get("port").Int(); ok {
			h.Port = p
		}
	}
	var bad *diag.Diagnostic
	if h.namespaces, bad = parseSelector(n, "namespaceSelector"); bad != nil {
		return Hook{}, bad
	}
	if h.objects, bad = parseSelector(n, "objectSelector"); bad != nil {
		return Hook{}, bad
	}
	return h, nil
}

func texts(list []*source.Node) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Scalar()
	}
	return out
}

// parseSelector reads a selector; one that is not there matches everything.
func parseSelector(hook *source.Node, key string) (selector, *diag.Diagnostic) {
	n := hook.Get(key)
	if n.IsNull() {
		return selector{labels.Everything(), nil}, nil
	}
	var s metav1.LabelSelector
	err := json.Unmarshal(source.AppendJSON(nil, n), &s)
	var parsed labels.Selector
	if err == nil {
		parsed, err = metav1.LabelSelectorAsSelector(&s)
	}
	if err != nil {
		return selector{}, &diag.Diagnostic{
			Severity: diag.Error, Span: n.Span(),
			Message: key + " of webhook " + strconv.Quote(hook.Get("name").Str()) + " is none that an API server takes: " + err.Error(),
			Fix:     "write matchLabels and matchExpressions as in other label selectors",
		}
	}
	return selector{parsed, n}, nil
}

// Verdict says whether a webhook is asked.
type Verdict uint8

// The verdicts.
const (
	// NotAsked: the pod is made without the webhook.
	NotAsked Verdict = iota
	// Perhaps: it cannot be told, as a condition is in CEL or the namespace is
	// not known.
	Perhaps
	// Asked: the webhook is called.
	Asked
)

// String returns not asked, perhaps or asked.
func (v Verdict) String() string { return [...]string{"not asked", "perhaps", "asked"}[v] }

// Answer tells whether a webhook is asked about a pod, and why.
type Answer struct {
	Verdict Verdict
	// Rules are those that were gone through. The one that keeps the webhook
	// from being asked is the last, and has Decided.
	Rules []inject.Consulted
}

// rule is one thing that an API server looks at. It says no, or does not know,
// or has nothing against it.
type rule struct {
	name, effect string
	ask          func(h *Hook, pod, namespace *source.Node) (Verdict, inject.Consulted)
}

// rules are asked in this order, as the API server does (the generic webhook
// dispatcher of k8s.io/apiserver).
var rules = [...]rule{
	{"webhook: rules", "calls the webhook only if its rules list the creation of v1 pods", askRules},
	{"webhook: namespaceSelector", "calls the webhook only if the labels of the namespace match", askNamespaces},
	{"webhook: objectSelector", "calls the webhook only if the labels of the pod match", askObjects},
	{"webhook: matchConditions", "calls the webhook only if all expressions (CEL) are true", askConditions},
}

// Ask tells whether an API server asks the webhook about a new pod. pod holds
// its metadata, namespace is the Namespace object, nil where it is not known.
func (h *Hook) Ask(pod, namespace *source.Node) Answer {
	a := Answer{Verdict: Asked}
	for _, r := range rules {
		v, c := r.ask(h, pod, namespace)
		c.Rule, c.Decided = r.name, v == NotAsked
		a.Rules = append(a.Rules, c)
		if a.Verdict = min(a.Verdict, v); v == NotAsked {
			break
		}
	}
	return a
}

func askRules(h *Hook, _, _ *source.Node) (Verdict, inject.Consulted) {
	list := h.Node.Get("rules")
	for i, r := range list.Items() {
		has := func(key string, wanted ...string) bool {
			return slices.ContainsFunc(texts(r.Get(key).Items()), func(s string) bool { return slices.Contains(wanted, s) })
		}
		scope := r.Get("scope").Str()
		if has("operations", "CREATE", "*") && has("apiGroups", "", "*") && has("apiVersions", "v1", "*") &&
			has("resources", "pods", "*", "pods/*", "*/*") && scope != "Cluster" {
			return Asked, inject.Consulted{Evidence: "rules[" + strconv.Itoa(i) + "] lists CREATE of v1 pods", Span: r.Span()}
		}
	}
	return NotAsked, inject.Consulted{Evidence: "no rule lists CREATE of v1 pods", Span: list.Span()}
}

func askNamespaces(h *Hook, _, namespace *source.Node) (Verdict, inject.Consulted) {
	c := inject.Consulted{Span: h.namespaces.node.Span()}
	if h.namespaces.Empty() {
		c.Evidence = "no namespaceSelector"
		return Asked, c
	}
	if namespace == nil {
		c.Evidence = "the labels of the namespace are not known"
		return Perhaps, c
	}
	set := labelsOf(namespace)
	if name := namespace.Get("metadata", "name").Str(); name != "" {
		set[annot.NamespaceName] = name
	}
	return matches(h.namespaces, set, "namespaceSelector", "the namespace's labels", c)
}

func askObjects(h *Hook, pod, _ *source.Node) (Verdict, inject.Consulted) {
	c := inject.Consulted{Span: h.objects.node.Span()}
	if h.objects.Empty() {
		c.Evidence = "no objectSelector"
		return Asked, c
	}
	return matches(h.objects, labelsOf(pod), "objectSelector", "the pod's labels", c)
}

// matches tells whether a selector matches, and else which of its conditions
// does not hold.
func matches(s selector, set labels.Set, what, whose string, c inject.Consulted) (Verdict, inject.Consulted) {
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		if !r.Matches(set) {
			has := "is not there"
			if v, ok := set[r.Key()]; ok {
				has = "is " + strconv.Quote(v)
			}
			c.Evidence = what + " wants " + strconv.Quote(r.String()) + ", but label " + r.Key() + " " + has
			return NotAsked, c
		}
	}
	c.Evidence = what + " matches " + whose
	return Asked, c
}

func labelsOf(object *source.Node) labels.Set {
	set := labels.Set{}
	for _, f := range object.Get("metadata", "labels").Fields() {
		set[f.Key] = f.Value.Scalar()
	}
	return set
}

func askConditions(h *Hook, _, _ *source.Node) (Verdict, inject.Consulted) {
	if len(h.conditions) == 0 {
		return Asked, inject.Consulted{Evidence: "no matchConditions"}
	}
	names := make([]string, len(h.conditions))
	for i, n := range h.conditions {
		names[i] = strconv.Quote(n.Get("name").Str())
	}
	return Perhaps, inject.Consulted{
		Evidence: "expressions are not evaluated: " + strings.Join(names, ", "), Span: h.conditions[0].Span(),
	}
}

// Step is one line of the precedence table.
type Step struct {
	Name, Effect string
	// Asked says when the rule is asked.
	Asked string
}

// Precedence lists everything that decides about a pod's sidecar, in order: the
// rules of the API server, those of the engine of the newest release, and what
// happens where the webhook does not answer.
func Precedence() []Step {
	var list []Step
	for _, r := range rules {
		list = append(list, Step{r.name, r.effect, "by the API server"})
	}
	list = append(list, Step{
		"webhook: failurePolicy",
		"where the webhook does not answer in time, or with an error status: Fail refuses the pod, Ignore makes it without a sidecar", "by the API server",
	})
	for _, r := range inject.Newest().Precedence() {
		asked := "always"
		if r.AdmissionOnly {
			asked = "at admission"
		} else if r.CommandLineOnly {
			asked = "on the command line"
		}
		list = append(list, Step{r.Name, r.Effect, asked})
	}
	return list
}
