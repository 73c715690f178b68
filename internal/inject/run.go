package inject

import (
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// injection is one run of the engine on a pod.
type injection struct {
	finishing
	was        earlier
	native     bool
	renderings []Rendering
}

// Run decides on a request, and injects where the decision says so. The
// request stays as it is.
func (e *Engine) Run(r *Request) *Result {
	res := &Result{Pod: r.Pod, request: r.Pod, Decision: e.Decide(r)}
	res.Diagnostics = append(res.Diagnostics, checkTypes(r)...)
	if res.Diagnostics.HasErrors() {
		return res
	}
	res.Diagnostics = append(res.Diagnostics, res.Decision.Diagnostics...)
	in := injection{native: e.gen.native(r)}
	in.finishing = finishing{engine: e, request: r, was: &in.was, findings: &res.Diagnostics, env: e.gen.proxyEnv(e, r)}
	if res.Decision.Verdict == Skip {
		res.Diagnostics = append(res.Diagnostics, adviseContradictions(&in)...)
		res.Diagnostics = append(res.Diagnostics, advisePlaceholder(&in, r.Pod)...)
		return res
	}
	for _, advise := range advicesBefore {
		res.Diagnostics = append(res.Diagnostics, advise(&in)...)
	}
	pod := in.run()
	res.Renderings = in.renderings
	if pod != nil && !res.Diagnostics.HasErrors() {
		res.Pod = pod
	}
	return res
}

// run returns the injected pod; where it cannot, there is an error among the
// findings.
func (in *injection) run() *source.Node {
	e, r := in.engine, in.request
	pod := kube.Normalize(r.Pod, kube.TypePod)
	add := func(list ...*diag.Diagnostic) bool {
		*in.findings = append(*in.findings, list...)
		return in.findings.HasErrors()
	}
	if add(e.gen.validate(pod)...) {
		return nil
	}
	var findings diag.List
	if in.proxy, findings = e.ProxyConfig(r); add(findings...) {
		return nil
	}
	if pod, findings = e.gen.apply(in, pod); add(findings...) {
		return nil
	}
	for _, s := range e.gen.steps {
		pod = s.do(&in.finishing, pod)
	}
	for i := range advices {
		add(advices[i].give(in, pod)...)
	}
	return pod
}
