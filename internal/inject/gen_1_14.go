package inject

// Releases 1.14 to 1.18: templates are read once.

func gen1_14() Generation { return gen1_13() }

func gen1_17() Generation {
	g := gen1_14()
	g.rules = []rule{ // what is injected already is injected again
		ruleHostNetwork, ruleWindows, ruleNamespace, ruleLegalPolicy, ruleFuzzyLabel, ruleFuzzyAnnotationUnlessLabel,
		ruleNever, ruleAlways, rulePolicy, ruleCommandLine,
	}
	return g
}

func gen1_18() Generation {
	g := gen1_17()
	g.former = formerOverlay
	return g
}
