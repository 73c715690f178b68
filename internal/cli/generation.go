package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
)

// checkGeneration refuses releases that are not known.
func (k *kubeInject) checkGeneration() error {
	if k.generation == "" {
		return nil
	}
	if _, err := release.Parse(k.generation); err != nil {
		return usagef("--generation: %v", err).
			hinted("Leave it out: the release is told from the configuration; 'ingraft injector config show' says how.")
	}
	return nil
}

// load reads the configuration as the release that was asked for, or that it is
// evidently of. The built-in one is of the newest.
func (k *kubeInject) load(p *pieces) (*config.Set, diag.List) {
	asked, _ := release.Parse(k.generation)
	if p.template.kind == fromBuiltin && k.generation == "" {
		asked = release.Newest
	}
	own := p.template.kind != fromBuiltin
	set, list := config.Documents{
		Injection: p.template.text, Mesh: p.mesh.text, Values: p.values.text,
		MeshIsDefault: own && p.mesh.kind == fromBuiltin, ValuesAreDefault: own && p.values.kind == fromBuiltin,
	}.Load(asked)
	if set != nil {
		list = inject.WithoutReadValues(set, list)
	}
	if set != nil && len(set.Mesh.Text.Data) == 0 && len(p.mesh.text.Data) > 0 && p.mesh.kind == fromBuiltin {
		p.mesh.from = "the defaults of release " + set.Detected.Release.String()
	}
	return set, list
}

// tellRelease says which release a configuration is of, and what tells.
func tellRelease(w io.Writer, d *release.Detected) {
	if len(d.Evidence) == 0 {
		fmt.Fprintf(w, "reading the configuration as one of release %s, as asked for\n", d.Release)
		return
	}
	fmt.Fprintf(w, "reading the configuration as one of release %s:\n", d.Release)
	for _, e := range d.Evidence {
		fmt.Fprintf(w, "  %s\n", evidenceLine(&e))
	}
}

func evidenceLine(e *release.Evidence) string {
	line := fmt.Sprintf("%s: %s", e.What, e.Span)
	switch {
	case e.Decided:
		line += ", which decides"
	case e.Ignored:
		line += ", which does not fit the rest"
	}
	if e.At.IsValid() {
		line += fmt.Sprintf(" (%s)", e.At.Pos())
	}
	return line
}

// formerFlag is a flag of kube-inject that older releases had.
type formerFlag struct {
	name, until string
	// takesValue tells flags that are no switches.
	takesValue bool
	instead    string
}

const inTemplate = "It was a parameter of a template that those releases generated; change the template or its values in --injectConfigFile and --valuesFile instead"

// inValues is for what releases until 1.1 wrote into the template, and later
// ones read from the values.
const inValues = "Releases until 1.1 have it in the template: change it there, in --injectConfigFile; later ones in the values: "

// formerFlags lists them, sorted by name.
var formerFlags = [...]formerFlag{
	{"coreDump", "1.1", false, inValues + "global.proxy.enableCoreDump"},
	{"debug", "1.1", false, inTemplate},
	{"emitTemplate", "1.9", false, "Use 'ingraft injector config show', which lists the templates"},
	{"excludeIPRanges", "1.1", true, "Annotate the pod: traffic.sidecar.istio.io/excludeOutboundIPRanges"},
	{"excludeInboundPorts", "1.1", true, "Annotate the pod: traffic.sidecar.istio.io/excludeInboundPorts"},
	{"hub", "1.1", true, inValues + "global.hub"},
	{"imagePullPolicy", "1.1", true, inValues + "global.imagePullPolicy"},
	{"includeIPRanges", "1.1", true, "Annotate the pod: traffic.sidecar.istio.io/includeOutboundIPRanges"},
	{"includeInboundPorts", "1.1", true, "Annotate the pod: traffic.sidecar.istio.io/includeInboundPorts"},
	{"readinessFailureThreshold", "1.1", true, "Annotate the pod: readiness.status.sidecar.istio.io/failureThreshold"},
	{"readinessInitialDelaySeconds", "1.1", true, "Annotate the pod: readiness.status.sidecar.istio.io/initialDelaySeconds"},
	{"readinessPeriodSeconds", "1.1", true, "Annotate the pod: readiness.status.sidecar.istio.io/periodSeconds"},
	{"rewriteAppProbe", "1.1", false, "Annotate the pod: sidecar.istio.io/rewriteAppHTTPProbers"},
	{"setVersionString", "1.1", true, inTemplate},
	{"sidecarProxyUID", "1.1", true, inTemplate},
	{"statusPort", "1.1", true, "Annotate the pod: status.sidecar.istio.io/port"},
	{"tag", "1.1", true, inValues + "global.tag"},
	{"verbosity", "1.1", true, inValues + "global.proxy.logLevel"},
}

// registerFormerFlags makes the flags known, so that they can be refused with
// what to do instead.
func registerFormerFlags(c *cobra.Command) {
	for _, old := range formerFlags {
		usage := "refused: a flag of kube-inject until release " + old.until
		if old.takesValue {
			c.Flags().String(old.name, "", usage)
		} else {
			c.Flags().Bool(old.name, false, usage)
		}
		_ = c.Flags().MarkHidden(old.name)
	}
}

func checkFormerFlags(c *cobra.Command) error {
	for _, old := range formerFlags {
		if c.Flags().Changed(old.name) {
			return usagef("--%s is a flag of kube-inject until release %s", old.name, old.until).hinted("%s.", old.instead)
		}
	}
	return nil
}
