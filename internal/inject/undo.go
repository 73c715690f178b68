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
	u.containers(&was)
	u.pod = dropStale(u.pod, nil, &was)
	u.labels()
	u.annotations(&was)
	u.group(proxy)
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
