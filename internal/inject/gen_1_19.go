package inject

import "strconv"

// Releases 1.19 to 1.26: the sidecar may be a native one.

func gen1_19() Generation {
	g := gen1_18()
	g.native = nativeByEnv
	g.prepare = nil
	g.probes.lists = []string{listInitContainers, listContainers}
	g.probes.tcpSwitch = ""
	return g
}

func gen1_20() Generation {
	g := gen1_19()
	g.knowsOpenShift = true
	g.alignUser = alignUser
	return g
}

func gen1_21() Generation {
	g := gen1_20()
	g.owner.podItself = false
	return g
}

func gen1_22() Generation {
	g := gen1_21()
	g.owner = ownerRules{newest: true}
	g.former = nil
	return g
}

func gen1_25() Generation {
	g := gen1_22()
	g.probes.hooks = hooks[:]
	return g
}

func nativeByEnv(r *Request) bool {
	on, _ := strconv.ParseBool(r.getenv("ENABLE_NATIVE_SIDECARS"))
	return on
}
