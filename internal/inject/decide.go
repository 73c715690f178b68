package inject

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// The reasons.
const (
	HostNetwork     Reason = "host-network"
	Windows         Reason = "windows"
	SystemNamespace Reason = "system-namespace"
	IllegalPolicy   Reason = "illegal-policy"
	Label           Reason = "label"
	Annotation      Reason = "annotation"
	NeverSelector   Reason = "never-inject-selector"
	AlwaysSelector  Reason = "always-inject-selector"
	Policy          Reason = "policy"
	AskedFor        Reason = "asked-for"
)

// rule is one rule of the decision. The first that decides ends it.
type rule struct {
	name string
	// effect says what the rule does, for the precedence table.
	effect string
	// door tells who asks the rule; nil means every door.
	only *Door
	ask  func(*Engine, *Request) answer
}

// answer is what a rule has to say about a pod.
type answer struct {
	decided  bool
	verdict  Verdict
	reason   Reason
	message  string // for people, where decided
	evidence string
	span     source.Span
	findings diag.List
}

// RuleInfo is one line of the precedence table.
type RuleInfo struct {
	Name, Effect string
	// AdmissionOnly tells that the rule is not asked on the command line,
	// CommandLineOnly the reverse.
	AdmissionOnly, CommandLineOnly bool
}

// Precedence lists the rules in the order in which Decide asks them.
func (g Generation) Precedence() []RuleInfo {
	table := make([]RuleInfo, len(g.rules))
	for i, r := range g.rules {
		table[i] = RuleInfo{Name: r.name, Effect: r.effect}
		if r.only != nil {
			table[i].AdmissionOnly = *r.only == Admission
			table[i].CommandLineOnly = *r.only == CommandLine
		}
	}
	return table
}

var atAdmission, atCommandLine = Admission, CommandLine

// The rules of the decision. Sources: the mesh's injectRequired, and I-53
// (Windows).
var (
	ruleHostNetwork = rule{"host network", "skips a pod of the host's network: redirection would change the node", nil, askHostNetwork}
	ruleWindows     = rule{"Windows", "skips a pod for Windows nodes: the proxy runs on Linux only", nil, askWindows}
	ruleNamespace   = rule{"system namespace", "skips kube-system, kube-public, kube-node-lease and local-path-storage", nil, askNamespace}
	ruleLegalPolicy = rule{"legal policy", "skips everything where the configuration's policy is neither enabled nor disabled", &atAdmission, askLegalPolicy}
	ruleLabel       = rule{"label sidecar.istio.io/inject", `injects at "true", skips at "false"; hides the annotation, whatever its value`, nil, askLabel}
	ruleAnnotation  = rule{"annotation sidecar.istio.io/inject", `injects at "true", skips at "false"`, nil, askAnnotation}
	ruleNever       = rule{"neverInjectSelector", "skips a pod whose labels one of the selectors matches", &atAdmission, askNever}
	ruleAlways      = rule{"alwaysInjectSelector", "injects into a pod whose labels one of the selectors matches", &atAdmission, askAlways}
	rulePolicy      = rule{"policy", "enabled: injects; disabled: skips", &atAdmission, askPolicy}
	ruleCommandLine = rule{"command line", "injects: that is what was asked for", &atCommandLine, askDefault}
)

// rules131 are the rules since release 1.27.
var rules131 = []rule{
	ruleHostNetwork, ruleWindows, ruleNamespace, ruleLegalPolicy, ruleLabel, ruleAnnotation,
	ruleNever, ruleAlways, rulePolicy, ruleCommandLine,
}

// Decide tells whether the pod of a request gets a sidecar, and why.
func (e *Engine) Decide(r *Request) Decision {
	d := Decision{Rules: make([]Consulted, 0, len(e.gen.rules))}
	for i := range e.gen.rules {
		rule := &e.gen.rules[i]
		if rule.only != nil && *rule.only != r.Door {
			continue
		}
		a := rule.ask(e, r)
		d.Diagnostics = append(d.Diagnostics, a.findings...)
		d.Rules = append(d.Rules, Consulted{Rule: rule.name, Decided: a.decided, Evidence: a.evidence, Span: a.span})
		if a.decided {
			d.Verdict, d.Reason, d.Message = a.verdict, a.reason, a.message
			return d
		}
	}
	return d
}

func askHostNetwork(_ *Engine, r *Request) answer {
	n := r.Pod.Get("spec", "hostNetwork")
	if !n.IsTrue() {
		return answer{evidence: "spec.hostNetwork is not true", span: n.Span()}
	}
	return answer{
		decided: true, verdict: Skip, reason: HostNetwork, message: "host networking is on",
		evidence: "spec.hostNetwork: true", span: n.Span(),
	}
}

func askWindows(_ *Engine, r *Request) answer {
	for _, path := range [...][]string{
		{"spec", "os", "name"},
		{"spec", "nodeSelector", annot.NodeOS},
		{"spec", "nodeSelector", annot.NodeOSBeta},
	} {
		if n := r.Pod.Get(path...); n.Str() == "windows" {
			return answer{
				decided: true, verdict: Skip, reason: Windows,
				message:  "it is a pod for Windows nodes, where the proxy does not run",
				evidence: "spec." + path[1] + "." + path[2] + ": windows", span: n.Span(),
			}
		}
	}
	return answer{evidence: "no Windows in spec.os and spec.nodeSelector"}
}

// namespaceOf returns the namespace of the pod: its own, else the one that it
// will be made in, else its workload's. On the command line it may be a pod
// template, whose own namespace means nothing.
func namespaceOf(r *Request) (string, source.Span) {
	n := r.Pod.Get("metadata", "namespace")
	if own := n.Scalar(); own != "" && (r.Door == Admission || r.NamespaceName == "" || r.NamespaceName == own) {
		return own, n.Span()
	}
	if r.NamespaceName != "" {
		return r.NamespaceName, source.Span{}
	}
	return r.Owner.Namespace, source.Span{}
}

func askNamespace(_ *Engine, r *Request) answer {
	ns, span := namespaceOf(r)
	switch ns {
	case "":
		return answer{evidence: "the namespace is not known"}
	case "kube-system", "kube-public", "kube-node-lease", "local-path-storage":
		return answer{
			decided: true, verdict: Skip, reason: SystemNamespace,
			message:  "namespace " + ns + " is the system's, where nothing is injected",
			evidence: "namespace " + ns, span: span,
		}
	}
	return answer{evidence: "namespace " + ns, span: span}
}

func askLegalPolicy(e *Engine, _ *Request) answer {
	switch p := e.config.Policy; p {
	case config.PolicyEnabled, config.PolicyDisabled:
		return answer{evidence: "policy: " + p}
	default:
		return answer{
			decided: true, verdict: Skip, reason: IllegalPolicy,
			message:  "the injection configuration's policy is neither enabled nor disabled",
			evidence: "policy: " + strconv.Quote(p),
		}
	}
}

func askLabel(_ *Engine, r *Request) answer {
	f, ok := r.Pod.Get("metadata", "labels").Field(annot.SidecarInject)
	if !ok || f.Value.IsNull() {
		return answer{evidence: "no label " + annot.SidecarInject}
	}
	return explicit("label", Label, f)
}

func askAnnotation(_ *Engine, r *Request) answer {
	if label(r.Pod, annot.SidecarInject) != nil {
		return answer{evidence: "not asked: the label is there"}
	}
	f, ok := r.Pod.Get("metadata", "annotations").Field(annot.SidecarInject)
	if !ok || f.Value.IsNull() {
		return answer{evidence: "no annotation " + annot.SidecarInject}
	}
	return explicit("annotation", Annotation, f)
}

func explicit(what string, reason Reason, f source.Field) answer {
	value := f.Value.Scalar()
	a := answer{
		reason: reason, span: f.Value.Span(),
		evidence: what + " " + f.Key + ": " + strconv.Quote(value),
	}
	switch value {
	case "true":
		a.decided, a.verdict, a.message = true, Inject, a.evidence
	case "false":
		a.decided, a.verdict, a.message = true, Skip, a.evidence
	case "":
	default:
		a.findings = diag.List{{
			Code: CodeInjectValue, Severity: diag.Warning, Span: a.span,
			Message: what + " " + f.Key + " is " + strconv.Quote(value) + `, which counts as unset: only "true" and "false" mean something`,
			Fix:     `write "true" or "false"`,
		}}
	}
	return a
}

func askSelectors(list []config.Selector, key string, r *Request, v Verdict, reason Reason) answer {
	labels := r.Pod.Get("metadata", "labels")
	for i, s := range list {
		// A selector that is wrong is passed over; reading the configuration
		// has warned of it.
		if ok, err := s.Matches(labels); err == nil && ok {
			evidence := key + "[" + strconv.Itoa(i) + "] matches the pod's labels"
			return answer{
				decided: true, verdict: v, reason: reason,
				message: evidence, evidence: evidence, span: s.Node.Span(),
			}
		}
	}
	if len(list) == 0 {
		return answer{evidence: "no " + key}
	}
	return answer{evidence: key + " does not match"}
}

func askNever(e *Engine, r *Request) answer {
	return askSelectors(e.config.NeverInject, "neverInjectSelector", r, Skip, NeverSelector)
}

func askAlways(e *Engine, r *Request) answer {
	return askSelectors(e.config.AlwaysInject, "alwaysInjectSelector", r, Inject, AlwaysSelector)
}

func askPolicy(e *Engine, _ *Request) answer {
	a := answer{decided: true, reason: Policy, evidence: "policy: " + e.config.Policy}
	if e.config.Policy == config.PolicyEnabled {
		a.verdict, a.message = Inject, "the injection configuration's policy is enabled"
	} else {
		a.verdict, a.message = Skip, "the injection configuration's policy is disabled, and nothing on the pod asks for injection"
	}
	return a
}

func askDefault(*Engine, *Request) answer {
	return answer{
		decided: true, verdict: Inject, reason: AskedFor,
		message: "asked for on the command line", evidence: "nothing speaks against it",
	}
}
