package inject

import (
	"strconv"
	"sync"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Options are the knobs of Compile.
type Options struct {
	// Release is the release whose behaviour the engine has: what config.Load
	// found out. The zero value stands for the one that the mesh configuration
	// was read as.
	Release release.Release
	// Eager parses all templates in Compile, and not each when a pod asks for it
	// first: the list then tells what is wrong with any of them.
	Eager bool
	// Reference turns off everything that is only there for speed, so that
	// tests can compare.
	Reference bool
}

// Engine decides on pods and injects into them, as one configuration asks. It
// never changes, and any number of goroutines may use it.
type Engine struct {
	gen       Generation
	config    *config.Injection
	mesh      *config.Mesh
	values    *config.Values
	reference bool
	settings  settings
	templates templates
	proxies   proxyCache
	// tokenNamed is what namesTokenVolume found out.
	tokenOnce  sync.Once
	tokenNamed bool
}

// settings is what injection reads of mesh configuration and values apart from
// the templates.
type settings struct {
	hub, tag, variant     string
	proxyImage, initImage string
	cluster, network      string
	rewriteProbes, hold   bool
	includePorts          string
	excludePorts          string
	statusPort            int64
	mergeMetrics          bool
	statusPortText        string
}

// Compile makes an engine of a configuration. The list holds warnings, or the
// errors that kept it from making one; the engine is then nil.
func Compile(cfg *config.Injection, mesh *config.Mesh, values *config.Values, opts Options) (*Engine, diag.List) {
	gen, bad := generationFor(cfg, mesh, opts.Release)
	if bad != nil {
		return nil, diag.List{bad}
	}
	e := &Engine{
		gen: gen, config: cfg, mesh: mesh, values: values, reference: opts.Reference,
		settings: newSettings(mesh, values), templates: newTemplates(cfg, &gen, opts.Reference),
	}
	if opts.Eager {
		if findings := e.templates.check(); findings.HasErrors() {
			return nil, findings
		}
	}
	return e, nil
}

func newSettings(mesh *config.Mesh, values *config.Values) settings {
	statusPort := int64(mesh.Config.GetDefaultConfig().GetStatusPort())
	s := settings{
		hub:            values.Hub(),
		tag:            values.Tag(),
		variant:        values.Variant(),
		proxyImage:     values.ProxyImage(),
		initImage:      values.ProxyInitImage(),
		cluster:        values.ClusterName(),
		network:        values.Network(),
		rewriteProbes:  values.RewriteAppHTTPProbe(),
		hold:           values.HoldApplicationUntilProxyStarts(),
		includePorts:   "*",
		statusPort:     statusPort,
		statusPortText: strconv.FormatInt(statusPort, 10),
		mergeMetrics:   true,
	}
	proxy := values.Root.Get("global", "proxy")
	if n := proxy.Get("includeInboundPorts"); !n.IsNull() {
		s.includePorts = text(n)
	}
	s.excludePorts = text(proxy.Get("excludeInboundPorts"))
	if m := mesh.Config.GetEnablePrometheusMerge(); m != nil {
		s.mergeMetrics = m.Value
	}
	return s
}

// text is how a template prints a value that should be a string.
func text(n *source.Node) string { return n.Scalar() }
