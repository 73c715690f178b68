package inject

import "github.com/ingraft/ingraft/internal/release"

// Releases 1.1 to 1.5: selectors, probes by way of the agent, labels.

// injectionSteps are the parts that the two doors' steps are put together from,
// in releases 1.1 to 1.7.
type injectionSteps struct {
	security   specStep   // of the pod
	labels     []specStep // of the pod, by the webhook
	marks      []specStep // of the pod, by the command line
	probes     formerProbes
	metrics    []specStep // by the webhook
	announce   []specStep // by the command line
	extras     []specStep // annotations, by the webhook
	redirect   []specStep // annotations, by the command line
	first      func(*appending, string) bool
	firstByCLI func(*appending, string) bool
	cliLists   []string
}

func (s injectionSteps) byDoor() [2][]specStep {
	cli := []specStep{
		{"concurrency", setConcurrency},
		{"append", appendTo(s.cliLists, s.firstByCLI)},
		{"DNS", assignDNS},
		s.security,
	}
	cli = append(append(append(cli, s.redirect...), specStep{"status", writeStatus}), s.marks...)
	cli = append(append(cli, s.announce...), specStep{"probes", s.probes.rewrite})
	admission := []specStep{
		{"concurrency", setConcurrency},
		{"path", setPathEnv},
		{"service account", shareServiceAccount},
		{"earlier injection", removeEarlier},
		{"append", appendTo(specLists[:], s.first)},
		{"DNS", setDNS},
		s.security,
		{"status", writeStatus},
	}
	admission = append(append(append(admission, s.extras...), s.metrics...), s.labels...)
	return [2][]specStep{CommandLine: cli, Admission: append(admission, specStep{"probes", s.probes.rewrite})}
}

func steps1_1() injectionSteps {
	return injectionSteps{
		security: specStep{"security", replaceSecurity(usesTokenMount)},
		probes:   formerProbes{hooks: hooks[:2], portOfArgs: true, always: true},
		first:    nothingFirst, firstByCLI: nothingFirst, cliLists: specLists[:3],
	}
}

func gen1_1() Generation {
	g := gen0_8()
	g.rules = []rule{
		ruleHostNetwork, ruleWindows, ruleOldNamespace, ruleLegalPolicy, ruleFuzzyAnnotationAtAdmission,
		ruleNever, ruleAlways, rulePolicy, ruleCommandLine,
	}
	g.validate = validatorOf(release.V(1, 1))
	g.specSteps = steps1_1().byDoor()
	return g
}

func steps1_2() injectionSteps {
	s := steps1_1()
	s.probes.byAnnotation, s.probes.toHTTP = true, true
	return s
}

func gen1_2() Generation {
	g := gen1_1()
	g.rules = []rule{
		ruleHostNetwork, ruleWindows, ruleOldNamespace, ruleLegalPolicy, ruleFuzzyAnnotationAtAdmission,
		ruleNever, ruleAlways, rulePolicy, ruleHasProxy, ruleCommandLine,
	}
	g.validate = validatorOf(release.V(1, 2))
	g.specSteps = steps1_2().byDoor()
	return g
}

func steps1_3() injectionSteps {
	s := steps1_2()
	s.security = specStep{"security", replaceSecurity(usesNodeAgent)}
	s.redirect = []specStep{{"redirection", addRedirectAnnotations}}
	return s
}

func gen1_3() Generation {
	g := gen1_2()
	g.owner = ownerRules{podItself: true, anyReplicaSet: true}
	g.former = formerOverlay
	g.specSteps = steps1_3().byDoor()
	return g
}

func steps1_4() injectionSteps {
	s := steps1_3()
	s.security = specStep{"security", setFSGroup(usesNodeAgent)}
	s.extras = []specStep{{"annotations", addAnnotations}}
	s.labels = []specStep{{"TLS", markTLS}}
	s.marks = s.labels
	return s
}

func gen1_4() Generation {
	g := gen1_3()
	g.specSteps = steps1_4().byDoor()
	return g
}

func steps1_5() injectionSteps {
	s := steps1_4()
	s.labels = []specStep{{"TLS", markTLS}, {"service", nameService}}
	s.probes.withTimeout = true
	return s
}

func gen1_5() Generation {
	g := gen1_4()
	g.specSteps = steps1_5().byDoor()
	return g
}

var (
	ruleOldNamespace = rule{
		"system namespace", "skips kube-system and kube-public", &atAdmission, askOldNamespace,
	}
	ruleHasProxy = rule{
		"injected already", "skips a pod of several containers, one of which is istio-proxy", &atCommandLine, askHasProxy,
	}
)

func askOldNamespace(_ *Engine, r *Request) answer {
	return systemNamespace(namespaceOf(r))
}

func askHasProxy(_ *Engine, r *Request) answer {
	containers := specList(r.Pod, listContainers)
	at := find(containers, proxyContainer)
	if len(containers) < 2 || at < 0 {
		return answer{evidence: "no container istio-proxy"}
	}
	return answer{
		decided: true, verdict: Skip, reason: Injected, message: "it has been injected already",
		evidence: "container istio-proxy", span: containers[at].Span(),
	}
}
