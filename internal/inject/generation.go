package inject

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Generation is a span of releases of the mesh that inject alike. What differs
// between releases is chosen here, once: the engine asks its generation, and
// nowhere which release it is. docs/generations.md tells how to add the next.
type Generation struct {
	// release is the one asked for; since is the first of the generation.
	release, since release.Release
	shape          release.Shape
	// rules decide about a pod, steps finish an injected one.
	rules []rule
	steps []step
	// validate judges the annotations of a pod.
	validate func(pod *source.Node) diag.List
	// mergeProxy lays a pod's own proxy configuration over the mesh's.
	mergeProxy func(mesh *config.Mesh, text string) (*meshv1alpha1.ProxyConfig, diag.List)
	// proxyObjects tells that ProxyConfig objects are merged, too.
	proxyObjects bool
	// proxyImage is the image of the sidecar, as templates see it.
	proxyImage func(*settings, *meshv1alpha1.ProxyConfig, *source.Node) string
	// former returns what templates see that later releases dropped; may be nil.
	former func(*injection) *tmpl.Former
	// native tells whether the proxy is to be a native sidecar, where the pod
	// does not say.
	native func(*Request) bool
	// owner tells the workload of a bare pod.
	owner ownerRules
	// apply makes a pod of the user's one and of what the templates render.
	apply func(in *injection, pod *source.Node) (*source.Node, diag.List)
	// judge tells what keeps a rendering from being applied; its errors follow
	// the word misfit.
	judge  func(*source.Node) diag.List
	misfit string
	// prepare cleans what a template rendered of fields that the pods of the
	// release did not have.
	prepare func(*source.Node) *source.Node
	// knowsOpenShift tells that users which OpenShift assigned are minded.
	knowsOpenShift bool
	// alignUser makes redirection know the user of the user's own sidecar.
	alignUser func(*finishing, *source.Node) *source.Node
	// specSteps append what the template rendered, by door.
	specSteps [2][]specStep
	// proxyEnv returns the variables that are set on every proxy.
	proxyEnv func(*Engine, *Request) map[string]string
	// probes says which probes go to the agent.
	probes probeRules
	// status writes the status annotation.
	status func(status) string
}

// generations is the list of generations, the oldest first. Each is made from
// the one before it, where they have anything in common.
var generations = [...]struct {
	since release.Release
	make  func() Generation
}{
	{release.V(0, 8), gen0_8},
	{release.V(1, 1), gen1_1},
	{release.V(1, 2), gen1_2},
	{release.V(1, 3), gen1_3},
	{release.V(1, 4), gen1_4},
	{release.V(1, 5), gen1_5},
	{release.V(1, 6), gen1_6},
	{release.V(1, 7), gen1_7},
	{release.V(1, 8), gen1_8},
	{release.V(1, 9), gen1_9},
	{release.V(1, 10), gen1_10},
	{release.V(1, 11), gen1_11},
	{release.V(1, 12), gen1_12},
	{release.V(1, 13), gen1_13},
	{release.V(1, 14), gen1_14},
	{release.V(1, 17), gen1_17},
	{release.V(1, 18), gen1_18},
	{release.V(1, 19), gen1_19},
	{release.V(1, 20), gen1_20},
	{release.V(1, 21), gen1_21},
	{release.V(1, 22), gen1_22},
	{release.V(1, 25), gen1_25},
	{release.V(1, 27), gen1_27},
	{release.V(1, 30), gen1_30},
	{release.V(1, 31), gen1_31},
}

// GenerationOf returns the generation that a release belongs to; that of the
// newest release for the zero Release. It reports false for a release that is
// not known.
func GenerationOf(r release.Release) (Generation, bool) {
	if r.IsZero() {
		r = release.Newest
	}
	for i := len(generations) - 1; i >= 0 && r.Known(); i-- {
		if g := &generations[i]; !r.Before(g.since) {
			made := g.make()
			made.release, made.since = r, g.since
			return made, true
		}
	}
	return Generation{}, false
}

// Newest returns the generation of the newest release.
func Newest() Generation {
	g, _ := GenerationOf(release.Newest)
	return g
}

// Release returns the release that the generation stands for.
func (g Generation) Release() release.Release { return g.release }

// String returns that release.
func (g Generation) String() string { return g.release.String() }

// generationFor returns the generation for a configuration.
func generationFor(cfg *config.Injection, mesh *config.Mesh, r release.Release) (Generation, *diag.Diagnostic) {
	if r.IsZero() {
		r = mesh.Release
	}
	if r.IsZero() {
		r = release.Newest
	}
	gen, ok := GenerationOf(r)
	if ok && gen.shape == cfg.Shape {
		return gen, nil
	}
	bad := &diag.Diagnostic{
		Code: config.CodeOldShape, Severity: diag.Error, Span: placeOfTemplates(cfg),
		Message: "the injection configuration has templates that are merged into pods, which release " + r.String() + " does not know",
		Fix:     "read it as one of release 1.9 or newer, or leave --generation out",
	}
	if cfg.Shape == release.Spec {
		bad.Message = "the injection configuration has one template, whose result is appended to pods, which release " + r.String() + " does not do any more"
		bad.Fix = "read it as one of release 1.8 or older, or leave --generation out"
	}
	return Generation{}, bad
}

// placeOfTemplates returns the key that holds the templates.
func placeOfTemplates(cfg *config.Injection) source.Span {
	for _, k := range cfg.Keys {
		if k.Name == "templates" && cfg.Shape == release.Overlays || k.Name == "template" && cfg.Shape == release.Spec {
			return k.At
		}
	}
	return source.Span{Text: cfg.Text}
}

// Release returns the release whose behaviour the engine has.
func (e *Engine) Release() release.Release { return e.gen.release }

// OwnerOf tells which workload a bare pod belongs to, as the engine's release
// does.
func (e *Engine) OwnerOf(door Door, pod *source.Node) kube.Ref {
	return e.gen.owner.of(door, pod)
}
