package injection

import (
	"math/rand/v2"
	"strings"
)

// installs are flags and files for the installer: what the charts themselves
// make of values cannot be had by editing the rendered documents.
var installs = []recipe{
	{},
	{Set: []string{"components.cni.enabled=true"}},
	{Set: []string{"components.cni.enabled=true", "values.cni.provider=multus"}},
	{Set: []string{"values.global.proxy.holdApplicationUntilProxyStarts=true"}},
	{Set: []string{"revision=canary"}, Revision: "canary"},
	{Set: []string{"values.global.variant=distroless"}},
	{Set: []string{"values.global.platform=openshift"}},
	{File: "custom-template.iop.yaml"},
	{File: "hello-template-in-values.iop.yaml"},
	{File: "proxy-resources-mixed-null.iop.yaml"},
	{File: "spire-template.iop.yaml"},
}

// settingNumber returns the nth setting; 0 is the default installation.
func settingNumber(n uint64) recipe {
	if n == 0 {
		return recipe{}
	}
	g := gen{Rand: rand.New(rand.NewPCG(31, n))}
	r := installs[0]
	if g.chance(0.5) {
		r = oneOf(g, installs...)
	}
	for _, c := range some(g, 0, 6, choices) {
		r.Edits = append(r.Edits, edit{In: c.in, Path: strings.Split(c.path, "."), Value: oneOf(g, c.values...)})
	}
	if g.chance(0.5) && r.File == "" {
		r.Edits = append(r.Edits, edit{In: "config", Path: []string{"templates", "custom"}, Value: oneOf(g, customTemplates...)})
	}
	if r.File == "" && g.chance(0.8) {
		// Reading the many templates of gateways costs more than an injection.
		r.Edits = append(r.Edits, edit{In: "config", Path: []string{"only"}, Value: []any{"sidecar", "gateway", "grpc-simple", "grpc-agent", "custom"}})
	}
	if g.chance(0.1) && r.Revision == "" {
		r.Revision = oneOf(g, "default", "canary", "1-31")
	}
	if g.chance(0.04) {
		r.Edits = append(r.Edits, edit{In: "config", Path: []string{"templates", "custom"}, Value: oneOf(g, refusedTemplates...)})
	}
	return r
}
