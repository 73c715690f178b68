package inject

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// A container that a pod has and a template adds too is the user's way to
// customise the sidecar: what the user wrote wins over the template. It is
// saved in an annotation, so that injecting again can start from it.

// overrides holds containers that the user wrote, by the list in which the
// templates have them.
type overrides struct {
	containers, initContainers []*source.Node
}

func (o *overrides) isEmpty() bool { return len(o.containers)+len(o.initContainers) == 0 }

// in reports whether a pod has all the containers; false where there are none.
func (o *overrides) in(pod *source.Node) bool {
	for _, list := range [...][]*source.Node{o.containers, o.initContainers} {
		for _, c := range list {
			if found, _ := findContainer(pod, nameOf(c)); found == nil {
				return false
			}
		}
	}
	return !o.isEmpty()
}

// parseOverrides reads the annotation.
func parseOverrides(n *source.Node) (overrides, *diag.Diagnostic) {
	bad := func(why string) (overrides, *diag.Diagnostic) {
		return overrides{}, &diag.Diagnostic{
			Code: CodeOverrides, Severity: diag.Error, Span: n.Span(),
			Message: "annotation " + annot.ProxyOverrides + " cannot be read: " + why,
			Fix:     "remove the annotation, which is injection's own, and write the container istio-proxy instead",
		}
	}
	root, err := parseJSON(n.Scalar())
	switch {
	case err != nil:
		return bad(err.Error())
	case root.Kind() != source.Map && !root.IsNull():
		return bad("it is no JSON object")
	}
	var o overrides
	for list, into := range map[string]*[]*source.Node{
		listContainers: &o.containers, listInitContainers: &o.initContainers,
	} {
		value := root.Get(list)
		if value.Kind() != source.List && !value.IsNull() {
			return bad(list + " is no list")
		}
		for i, c := range value.Items() {
			if c.Kind() != source.Map {
				return bad(list + "[" + strconv.Itoa(i) + "] is no container")
			}
			// Nothing converts JSON in an annotation: a number is no string there.
			if wrong := firstError(kube.Checker{Strict: true}.Check(c, kube.TypeContainer)); wrong != nil {
				return bad(list + "[" + strconv.Itoa(i) + "]: " + wrong.Message)
			}
			c = kube.Normalize(c, kube.TypeContainer)
			if c.Get("resources").Len() == 0 {
				c = c.Without("resources") // always written, also where the user has none
			}
			*into = append(*into, c)
		}
	}
	return o, nil
}

// String writes the annotation as the mesh's injector does.
func (o *overrides) String() string {
	b := []byte{'{'}
	for _, part := range [...]struct {
		list  string
		items []*source.Node
	}{{listContainers, o.containers}, {listInitContainers, o.initContainers}} {
		if len(part.items) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, part.list), ":["...)
		for i, c := range part.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = kube.AppendTyped(b, c, kube.TypeContainer)
		}
		b = append(b, ']')
	}
	return string(append(b, '}'))
}

// applyOverrides puts what the user wrote on top of what the templates made,
// and saves it. user is the pod before injection, templates the pod of nothing
// but the templates.
func applyOverrides(f *finishing, pod *source.Node) (*source.Node, *diag.Diagnostic) {
	var used overrides
	for _, part := range [...]struct {
		list  string
		added []string
		saved []*source.Node
		used  *[]*source.Node
	}{
		{listContainers, f.was.containers, f.was.saved.containers, &used.containers},
		{listInitContainers, f.was.initContainers, f.was.saved.initContainers, &used.initContainers},
	} {
		for _, t := range specList(f.templates, part.list) {
			name := nameOf(t)
			if find(specList(pod, part.list), name) < 0 {
				continue // moved to the other list
			}
			c := userContainer(f.user, part.list, part.saved, name)
			if c == nil || f.was.isLeft(name, part.added) {
				continue
			}
			if c.Get("image").Scalar() == autoImage {
				c = c.Without("image")
			}
			*part.used = append(*part.used, c)
			// What the user left empty says nothing.
			overlay := source.NewMap(source.F("spec", source.NewMap(source.F(part.list, source.NewList(kube.Sparse(c, kube.TypeContainer))))))
			pod, overlay, _ = settleHandlers(pod, overlay, noHandler)
			merged, err := kube.Merge(pod, overlay, kube.TypePod)
			if err != nil {
				return nil, &diag.Diagnostic{
					Code: CodeOverlay, Severity: diag.Error, Span: c.Span(),
					Message: "the pod's container " + strconv.Quote(name) + " cannot be merged into the template's: " + err.Error(),
				}
			}
			pod = merged
		}
	}
	switch {
	case !used.isEmpty():
		pod = withAnnotation(pod, annot.ProxyOverrides, used.String())
	case f.was.injected && !f.was.saved.in(f.user):
		// Nothing to lay over this time, and the annotation is all that is left.
		if n := annotation(f.request.Pod, annot.ProxyOverrides); n != nil {
			pod = withAnnotation(pod, annot.ProxyOverrides, n.Scalar())
		}
	}
	return f.engine.gen.alignUser(f, pod), nil
}

// userContainer returns the container that the user wrote under a name that a
// template uses too: the saved one, else the pod's.
func userContainer(user *source.Node, list string, saved []*source.Node, name string) *source.Node {
	if i := find(saved, name); i >= 0 {
		return saved[i]
	}
	c, at := findContainer(user, name)
	switch {
	case c == nil || list == listInitContainers || at.list == list:
		return c
	case name == proxyContainer:
		return classicProxy(c)
	}
	return nil
}

// alignUser makes the redirection know the user that the user's own
// istio-proxy container runs as: traffic of that user is the proxy's own and
// must not be redirected.
func alignUser(f *finishing, pod *source.Node) *source.Node {
	own, _ := findContainer(f.user, proxyContainer)
	user := present(own.Get("securityContext", "runAsUser"))
	group := present(own.Get("securityContext", "runAsGroup"))
	if user == nil && group == nil {
		return pod
	}
	inits := specList(pod, listInitContainers)
	at := find(inits, initContainer)
	if at < 0 {
		at = find(inits, validationContainer)
	}
	if at < 0 {
		return pod
	}
	tproxy := f.proxy.GetInterceptionMode().String() == "TPROXY" ||
		annotation(pod, annot.SidecarInterceptionMode).Scalar() == "TPROXY"
	if tproxy && user != nil {
		// TPROXY needs the proxy to be root.
		proxy, place := findContainer(pod, proxyContainer)
		if proxy == nil {
			return pod
		}
		pod = withContainer(pod, place, proxy.WithAt(source.NewInt(0), "securityContext", "runAsUser"))
		inits = specList(pod, listInitContainers)
	}
	init := inits[at]
	if !tproxy && nameOf(init) == validationContainer {
		if user != nil {
			init = init.WithAt(user, "securityContext", "runAsUser")
		}
		if group != nil {
			init = init.WithAt(group, "securityContext", "runAsGroup")
		}
	}
	// The owner that redirection makes an exception for must not be root.
	if id, _ := user.Int(); user != nil && id != 0 {
		init = withOwner(init, user.Scalar())
	}
	return withSpecList(pod, listInitContainers, replaced(inits, at, init))
}

// withOwner replaces the argument that follows -u.
func withOwner(c *source.Node, uid string) *source.Node {
	args := c.Get("args")
	for i, arg := range args.Items() {
		if arg.Scalar() == "-u" && i+1 < args.Len() {
			return c.With("args", args.WithItems(replaced(args.Items(), i+1, source.NewString(uid))...))
		}
	}
	return c
}

// oneProxy puts a pod's istio-proxy container into the list in which the
// templates have theirs: native sidecars are among initContainers, and there
// must not be a second one in the other list.
func oneProxy(pod *source.Node, list string) *source.Node {
	from := listContainers
	if list == from {
		from = listInitContainers
	}
	items, into := specList(pod, from), specList(pod, list)
	if at := find(items, proxyContainer); at >= 0 && find(into, proxyContainer) < 0 {
		c := items[at]
		if c.Get("$patch").Scalar() == "replace" {
			return pod // of a template: it speaks of the list that it is in
		}
		if list == listContainers {
			c = classicProxy(c)
		}
		pod = withSpecList(pod, from, removed(items, at))
		return withSpecList(pod, list, append(into[:len(into):len(into)], c))
	}
	return pod
}

// classicProxy takes from an istio-proxy that leaves the init containers what
// made it a sidecar there.
func classicProxy(c *source.Node) *source.Node {
	if c.Get("restartPolicy").Scalar() == "Always" {
		return c.Without("restartPolicy")
	}
	return c
}
