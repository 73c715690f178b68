package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/source"
)

// Guess is something in an injected pod that most likely came from injection,
// although nothing in the pod says so.
type Guess struct {
	// Span is where it stands.
	Span source.Span
	// Message says what is taken for injection's, and why.
	Message string
}

// Undo returns a pod as it was before an injector, of the mesh or this one,
// injected into it, as far as the pod tells: by the status annotation what was
// added, by the overrides annotation what the user wrote in its place, by the
// variables of the proxy what probes and metrics annotations were. What no
// record tells is guessed, and each guess is listed. A pod that was not
// injected is returned as it is.
func Undo(pod *source.Node) (*source.Node, []Guess) {
	u := undoing{pod: pod}
	proxy, _ := findContainer(pod, proxyContainer)
	user, was, findings := strip(pod)
	if !was.injected {
		return pod, nil
	}
	for _, f := range findings {
		u.guess(f.Span, f.Message)
	}
	u.pod = user
	u.ports(pod)
	u.containers(&was)
	u.pod = dropStale(u.pod, nil, &was)
	u.labels()
	u.annotations(&was)
	if contains(was.initContainers, validationContainer) {
		u.forPlugin()
	}
	u.group(proxy)
	u.sysctls(proxy)
	u.pod = withoutAnnotations(u.pod, func(name string) bool { return name == annot.UndoRecord })
	if meta := u.pod.Get("metadata"); meta.Len() == 0 && pod.Get("metadata").Len() > 0 {
		u.pod = u.pod.Without("metadata")
	}
	return u.pod, u.guesses
}

type undoing struct {
	pod     *source.Node
	guesses []Guess
}

func (u *undoing) guess(span source.Span, message string) {
	u.guesses = append(u.guesses, Guess{span, message})
}

// containers removes those that the status names and that strip leaves, as
// their names are not the mesh's.
func (u *undoing) containers(was *earlier) {
	for _, part := range [...]struct {
		list     string
		injected []string
		saved    []*source.Node
	}{
		{listInitContainers, was.initContainers, was.saved.initContainers},
		{listContainers, was.containers, was.saved.containers},
	} {
		var kept []*source.Node
		for _, c := range specList(u.pod, part.list) {
			name := nameOf(c)
			if !contains(part.injected, name) || find(part.saved, name) >= 0 || isMeshContainer(name) {
				kept = append(kept, c)
				continue
			}
			u.guess(c.Span(), "container "+quote(name)+" is removed: the status annotation says that a template made it, or a part of it")
		}
		u.pod = withSpecList(u.pod, part.list, kept)
	}
}

// ports lists probes that may have asked a port by its name: the prober map has
// its number only.
func (u *undoing) ports(injected *source.Node) {
	for _, list := range [...]string{listInitContainers, listContainers} {
		for i, c := range specList(u.pod, list) {
			was := find(specList(injected, list), nameOf(c))
			if was < 0 || nameOf(c) == proxyContainer {
				continue
			}
			for j := range hooks {
				u.port(&hooks[j], list, specList(injected, list)[was], specList(u.pod, list)[i])
			}
		}
	}
}

func (u *undoing) port(h *hook, list string, injected, c *source.Node) {
	now := injected.Get(h.path...)
	kind, action := h.action(c.Get(h.path...))
	if kind == "grpc" || action == nil || now.Get("httpGet", "path").Scalar() != h.url(nameOf(c)) || action.Get("port").Equal(now.Get("httpGet", "port")) {
		return // not put back
	}
	for _, p := range c.Get("ports").Items() {
		if name := p.Get("name").Scalar(); name != "" && p.Get("containerPort").Scalar() == action.Get("port").Scalar() {
			u.guess(now.Get("httpGet", "port").Span(), "spec."+list+"["+nameOf(c)+"]."+strings.Join(h.path, ".")+" asks port "+
				p.Get("containerPort").Scalar()+": whether it did by the name "+quote(name)+" is not recorded")
			return
		}
	}
}

// forPlugin takes back the annotations that the shipped template writes for the
// CNI plugin. Values of the pod's own it writes as they are, and adds to lists.
func (u *undoing) forPlugin() {
	for _, a := range [...]struct{ name, value string }{
		{annot.SidecarInterceptionMode, "REDIRECT"},
		{annot.TrafficIncludeOutboundIPRanges, "*"},
		{annot.TrafficIncludeInboundPorts, "*"},
	} {
		n := annotation(u.pod, a.name)
		if n != nil && n.Scalar() == a.value {
			u.guess(n.Span(), "annotation "+a.name+": "+n.Scalar()+" is removed: injection adds it so for the CNI plugin")
			u.remove("metadata", "annotations", a.name)
		}
	}
	for _, a := range [...]struct{ name, item string }{
		{annot.TrafficExcludeInboundPorts, "15020"},
		{annot.MultusNetworks, "default/istio-cni"},
	} {
		n := annotation(u.pod, a.name)
		rest, ok := strings.CutSuffix(n.Scalar(), a.item)
		rest = strings.TrimRight(rest, ", ")
		switch {
		case !ok && a.name == annot.MultusNetworks && strings.Contains(n.Scalar(), "istio-cni"):
			u.guess(n.Span(), "annotation "+a.name+" stays as it is: injection may have added istio-cni to its list")
		case !ok:
		case rest == "":
			u.guess(n.Span(), "annotation "+a.name+": "+n.Scalar()+" is removed: injection adds it so for the CNI plugin")
			u.remove("metadata", "annotations", a.name)
		default:
			u.guess(n.Span(), "annotation "+a.name+" becomes "+rest+": injection adds "+a.item+" to its list for the CNI plugin")
			u.pod = withAnnotation(u.pod, a.name, rest)
		}
	}
}

// sysctls removes what lets a gateway listen on low ports.
func (u *undoing) sysctls(proxy *source.Node) {
	const lowPorts = "net.ipv4.ip_unprivileged_port_start"
	args := proxy.Get("args").Items()
	list := u.pod.Get("spec", "securityContext", "sysctls")
	if len(args) < 2 || args[1].Scalar() != "router" {
		return
	}
	var rest []*source.Node
	for _, s := range list.Items() {
		if nameOf(s) == lowPorts && s.Get("value").Scalar() == "0" {
			u.guess(s.Span(), "spec.securityContext.sysctls["+lowPorts+"] is removed: injection of a gateway adds it so")
			continue
		}
		rest = append(rest, s)
	}
	switch {
	case len(rest) == list.Len():
	case len(rest) == 0:
		u.remove("spec", "securityContext", "sysctls")
	default:
		u.pod = u.pod.WithAt(list.WithItems(rest...), "spec", "securityContext", "sysctls")
	}
}

// IsInjected reports whether the metadata of a pod say that it was injected.
func IsInjected(meta *source.Node) bool { return meta.Get("annotations", annot.SidecarStatus) != nil }

// labels removes what the shipped templates add.
func (u *undoing) labels() {
	labels := u.pod.Get("metadata", "labels")
	name, revision := canonicalOf(labels)
	for _, l := range [...]struct{ name, value string }{
		{annot.SecurityTLSMode, "istio"},
		{annot.ServiceCanonicalName, name},
		{annot.ServiceCanonicalRevision, revision},
	} {
		n := labels.Get(l.name)
		if n == nil || l.value != "" && n.Scalar() != l.value {
			continue
		}
		u.guess(n.Span(), "label "+l.name+": "+n.Scalar()+" is removed: injection adds it so")
		u.remove("metadata", "labels", l.name)
	}
}

// canonicalOf returns the values that injection derives from other labels; the
// name is "" where it comes from the workload, so that any may be right.
func canonicalOf(labels *source.Node) (name, revision string) {
	for _, l := range [...]string{annot.KubernetesName, annot.App} {
		if name == "" {
			name = labels.Get(l).Scalar()
		}
	}
	for _, l := range [...]string{annot.KubernetesVersion, annot.Version} {
		if revision == "" {
			revision = labels.Get(l).Scalar()
		}
	}
	if revision == "" {
		revision = "latest"
	}
	return name, revision
}

// annotations removes what the shipped templates add.
func (u *undoing) annotations(was *earlier) {
	containers := specList(u.pod, listContainers)
	first := ""
	if len(containers) > 0 {
		first = nameOf(containers[0])
	}
	revision := was.revision
	if revision == "" {
		revision = defaultRevision
	}
	for _, a := range [...]struct{ name, value string }{
		{annot.Revision, revision},
		{annot.DefaultContainer, first},
		{annot.DefaultLogsContainer, first},
	} {
		n := annotation(u.pod, a.name)
		if n == nil || n.Scalar() != a.value {
			continue
		}
		u.guess(n.Span(), "annotation "+a.name+": "+n.Scalar()+" is removed: injection adds it so")
		u.remove("metadata", "annotations", a.name)
	}
}

// group removes the group that lets the proxy read its token.
func (u *undoing) group(proxy *source.Node) {
	const proxyGroup = 1337
	context := u.pod.Get("spec", "securityContext")
	n := context.Get("fsGroup")
	if id, ok := n.Int(); !ok || id != proxyGroup || proxy == nil {
		return
	}
	u.guess(n.Span(), "spec.securityContext.fsGroup: 1337 is removed: injection adds it so")
	u.remove("spec", "securityContext", "fsGroup")
}

// remove removes a key, and the map around it with its last key.
func (u *undoing) remove(path ...string) {
	u.pod = removeAt(u.pod, path)
}

func removeAt(n *source.Node, path []string) *source.Node {
	value := n.Get(path[0])
	if len(path) == 1 {
		return n.Without(path[0])
	}
	rest := removeAt(value, path[1:])
	if rest.Len() == 0 && path[0] != "spec" && path[0] != "metadata" {
		return n.Without(path[0])
	}
	return n.With(path[0], rest)
}

// Sent is an HTTP request of a probe or hook that injection sent to the agent.
type Sent struct {
	// Action is the httpGet of the probe or hook; nil where that is gone.
	Action *source.Node
	// Path is the path of the agent that it was given.
	Path string
}

// SentToAgent returns the probes and hooks of an injected pod that ask the
// agent, in the order of the prober map, which later edits leave alone. One
// whose container has another name by now is found by its path, and one whose
// path was changed by its container.
func SentToAgent(pod *source.Node) []Sent {
	proxy, _ := findContainer(pod, proxyContainer)
	text, ok := variable(proxy, envProbers)
	if !ok {
		return nil
	}
	probers, err := parseJSON(text)
	if err != nil {
		return nil
	}
	byPath, byHook := map[string]*source.Node{}, map[string]*source.Node{}
	for _, list := range [...]string{listInitContainers, listContainers} {
		for _, c := range specList(pod, list) {
			for i := range hooks {
				get := c.Get(hooks[i].path...).Get("httpGet")
				if get == nil {
					continue
				}
				byHook[hooks[i].url(nameOf(c))] = get
				if path := get.Get("path").Str(); path != "" && byPath[path] == nil {
					byPath[path] = get
				}
			}
		}
	}
	list := make([]Sent, 0, probers.Len())
	for _, f := range probers.Fields() {
		get := byPath[f.Key]
		if get == nil {
			get = byHook[f.Key]
		}
		list = append(list, Sent{get, f.Key})
	}
	return list
}

// LeftProbe returns a path to a probe or hook of a pod that asks the sidecar's
// agent, "" where there is none.
func LeftProbe(pod *source.Node) string {
	for _, list := range [...]string{listInitContainers, listContainers} {
		for _, c := range specList(pod, list) {
			for i := range hooks {
				h := &hooks[i]
				if nameOf(c) != proxyContainer && strings.HasPrefix(c.Get(h.path...).Get("httpGet", "path").Scalar(), h.prefix) {
					return "spec." + list + "[" + nameOf(c) + "]." + strings.Join(h.path, ".")
				}
			}
		}
	}
	return ""
}
