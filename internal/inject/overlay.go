package inject

import (
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// applyOverlays is how releases since 1.9 inject: what an earlier injection
// added is taken out, and every template's result is merged over the pod.
func applyOverlays(in *injection, pod *source.Node) (*source.Node, diag.List) {
	var findings diag.List
	if in.user, in.was, findings = strip(pod); findings.HasErrors() {
		return nil, findings
	}
	if in.engine.gen.knowsOpenShift && onOpenShift(in.request) {
		in.user = dropAssignedUser(in.user)
	}
	overlays, bad := in.render()
	if bad == nil {
		pod, bad = in.merge(overlays)
	}
	if bad == nil {
		pod, bad = applyOverrides(&in.finishing, pod)
	}
	if bad != nil {
		return nil, append(findings, bad)
	}
	return pod, findings
}
