package inject

import (
	"maps"
	"slices"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// step is one thing that is done to the merged pod and cannot be done in a
// template. A step takes a pod and returns one, and changes nothing.
type step struct {
	name string
	do   func(*finishing, *source.Node) *source.Node
}

// steps131 are the steps since release 1.31, in order.
var steps131 = []step{
	{"cluster and network", setClusterEnv},
	{"metrics merge", mergePrometheus},
	{"secure metrics port", announceSecurePort},
	{"probes", rewriteProbes},
	{"metadata", setMetadata},
	{"container order", orderContainers},
}

// finishing is what the steps see besides the pod.
type finishing struct {
	engine  *Engine
	request *Request
	// user is the pod before any injection; was tells of an earlier one.
	user *source.Node
	was  *earlier
	// templates is the pod that the templates alone make.
	templates *source.Node
	// proxy is the proxy configuration of the pod.
	proxy *meshv1alpha1.ProxyConfig
	// env holds variables for the proxy, by name.
	env map[string]string
	// kept names volumes and pull secrets of the user's that the templates have too,
	// and containers as status.keptContainers says.
	keptVolumes, keptPullSecrets, keptContainers []string
	findings                                     *diag.List
}

// proxyEnv returns the variables that are set on every proxy: those of the
// request path, and cluster and network. The pod's network label wins over the
// path, which wins over the values.
func (e *Engine) proxyEnv(r *Request) map[string]string {
	cluster, network := e.settings.cluster, e.settings.network
	if v := r.ProxyEnv[envCluster]; v != "" {
		cluster = v
	}
	if v := r.ProxyEnv[envNetwork]; v != "" {
		network = v
	}
	if n := label(r.Pod, annot.TopologyNetwork); n != nil {
		network = n.Scalar()
	}
	if len(r.ProxyEnv) == 0 && cluster == "" && network == "" {
		return nil
	}
	env := make(map[string]string, len(r.ProxyEnv)+2)
	for name, value := range r.ProxyEnv {
		env[name] = value
	}
	if cluster != "" {
		env[envCluster] = cluster
	}
	if network != "" {
		env[envNetwork] = network
	}
	return env
}

// setClusterEnv puts the variables at the end of the proxy's environment, in
// place of those that the template wrote.
func setClusterEnv(f *finishing, pod *source.Node) *source.Node {
	proxy, at := findContainer(pod, proxyContainer)
	if proxy == nil || len(f.env) == 0 {
		return pod
	}
	env := proxy.Get("env")
	items := make([]*source.Node, 0, env.Len()+len(f.env))
	for _, v := range env.Items() {
		if _, set := f.env[nameOf(v)]; !set {
			items = append(items, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.env)) {
		items = append(items, newVariable(name, f.env[name]))
	}
	return withContainer(pod, at, proxy.With("env", env.WithItems(items...)))
}

// setMetadata writes the network label and the annotations of injection.
func setMetadata(f *finishing, pod *source.Node) *source.Node {
	if network, ok := f.env[envNetwork]; ok {
		pod = withText(pod, network, "metadata", "labels", annot.TopologyNetwork)
	}
	s := statusOf(f.templates, f.request.Revision)
	s.keptVolumes, s.keptPullSecrets, s.keptContainers = f.keptVolumes, f.keptPullSecrets, f.keptContainers
	pairs := []string{annot.SidecarStatus, f.engine.gen.status(s)}
	injected := f.engine.config.InjectedAnnotations
	for _, name := range slices.Sorted(maps.Keys(injected)) {
		pairs = append(pairs, name, injected[name])
	}
	return withAnnotations(pod, pairs...)
}

// orderContainers puts the containers of the mesh where they work.
//
// The proxy comes last of the containers, so that kubectl's default stays the
// application's; or first, where the application waits for it. A native
// sidecar comes first of the init containers, behind redirection, so that the
// others are in the mesh. Without one, redirection comes last, since nothing
// answers yet; but its check comes first, to stop all others if it fails.
func orderContainers(f *finishing, pod *source.Node) *source.Node {
	hold := f.engine.settings.hold || f.proxy.GetHoldApplicationUntilProxyStarts().GetValue()
	containers := specList(pod, listContainers)
	if hold {
		containers = toFront(containers, proxyContainer)
	} else {
		containers = toBack(containers, proxyContainer)
	}
	pod = withSpecList(pod, listContainers, containers)

	inits := specList(pod, listInitContainers)
	if find(inits, proxyContainer) >= 0 {
		inits = toFront(inits, coreDumpContainer)
		inits = toFront(inits, proxyContainer)
		inits = toFront(inits, validationContainer)
		inits = toFront(inits, initContainer)
	} else {
		inits = toFront(inits, validationContainer)
		inits = toBack(inits, initContainer)
		inits = toBack(inits, coreDumpContainer)
	}
	return withSpecList(pod, listInitContainers, inits)
}

// toFront moves the container of that name to the front. Of several of that
// name the last one stays, and the others go.
func toFront(items []*source.Node, name string) []*source.Node {
	c, rest := split(items, name)
	if c == nil || items[0] == c && len(rest) == len(items)-1 {
		return items
	}
	return append(append(make([]*source.Node, 0, len(items)), c), rest...)
}

// toBack moves the container of that name to the back, as toFront does.
func toBack(items []*source.Node, name string) []*source.Node {
	c, rest := split(items, name)
	if c == nil || items[len(items)-1] == c && len(rest) == len(items)-1 {
		return items
	}
	return append(rest, c)
}

func split(items []*source.Node, name string) (found *source.Node, rest []*source.Node) {
	if find(items, name) < 0 {
		return nil, nil
	}
	rest = make([]*source.Node, 0, len(items))
	for _, c := range items {
		if nameOf(c) == name {
			found = c
		} else {
			rest = append(rest, c)
		}
	}
	return found, rest
}
