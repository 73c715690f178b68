package inject

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/release"
)

// Releases 1.6 to 1.8, the last that append: pods have a proxy configuration of
// their own, and metrics are merged.

func steps1_6() injectionSteps {
	s := steps1_5()
	s.labels = []specStep{{"TLS", markTLS}, {"service", nameService}, {"revision", markRevision}}
	s.marks = []specStep{{"TLS", markTLS}, {"revision", setRevision}}
	s.metrics = []specStep{{"metrics merge", mergeMetrics6}}
	s.cliLists = specLists[:]
	s.first = validationFirst
	s.probes.portOfArgs = false
	return s
}

func gen1_6() Generation {
	g := gen1_5()
	g.validate = validatorOf(release.V(1, 6))
	g.mergeProxy = replaceMetadata
	g.proxyEnv = pathEnv
	g.owner.cronDigits, g.owner.cronVersion = 10, "batch/v1beta1"
	g.specSteps = steps1_6().byDoor()
	return g
}

func steps1_7() injectionSteps {
	s := steps1_6()
	s.announce = []specStep{{"metrics", announceMetrics}}
	s.first = func(a *appending, name string) bool {
		return validationFirst(a, name) || heldFirst(a, name)
	}
	s.firstByCLI = heldFirst
	s.probes.hooks = hooks[:3]
	return s
}

func gen1_7() Generation {
	g := gen1_6()
	g.specSteps = steps1_7().byDoor()
	return g
}

func gen1_8() Generation {
	g := gen1_7()
	g.rules = []rule{
		ruleHostNetwork, ruleWindows, ruleOldNamespaceEverywhere, ruleLegalPolicy, ruleFuzzyAnnotation,
		ruleNever, ruleAlways, rulePolicy, ruleHasProxy, ruleCommandLine,
	}
	g.owner.anyReplicaSet = false
	g.proxyEnv = (*Engine).proxyEnv
	s := steps1_7()
	s.security = specStep{"security", setFSGroup(usesLegacyGroup)}
	s.labels = append(s.labels[:len(s.labels):len(s.labels)], specStep{"network", markNetwork})
	s.probes.always = false
	s.first = func(a *appending, name string) bool {
		return validationFirst(a, name) || heldFirst(a, name) || name == proxyContainer && heldByConfig(a)
	}
	steps := s.byDoor()
	// The command line makes the same patch as the webhook and applies it.
	g.specSteps = [2][]specStep{CommandLine: steps[Admission], Admission: steps[Admission]}
	return g
}

var ruleOldNamespaceEverywhere = rule{
	"system namespace", "skips kube-system and kube-public", nil, askOldNamespace,
}

// pathEnv returns the variables of the request path.
func pathEnv(_ *Engine, r *Request) map[string]string { return r.ProxyEnv }

// validationFirst puts the check of redirection before all else.
func validationFirst(_ *appending, name string) bool { return name == validationContainer }

// heldFirst puts the proxy before the application that is to wait for it.
func heldFirst(a *appending, name string) bool {
	return name == proxyContainer && a.engine.settings.hold
}

func heldByConfig(a *appending) bool {
	return a.proxy.GetHoldApplicationUntilProxyStarts().GetValue()
}

// usesLegacyGroup tells that files must belong to the proxy's group: so where
// tokens are mounted for it, unless the control plane is told.
func usesLegacyGroup(a *appending) bool {
	if on, err := strconv.ParseBool(a.request.getenv("ENABLE_LEGACY_FSGROUP_INJECTION")); err == nil {
		return on
	}
	return a.engine.values.Root.Get("global", "jwtPolicy").Scalar() != "first-party-jwt"
}
