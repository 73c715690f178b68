package inject

import "github.com/ingraft/ingraft/internal/source"

// The lists of a pod that injection adds to.
const (
	listContainers     = "containers"
	listInitContainers = "initContainers"
	listVolumes        = "volumes"
	listPullSecrets    = "imagePullSecrets"
)

// annotation returns the value of a pod's annotation, nil where it has none.
// The empty value is not nil.
func annotation(pod *source.Node, name string) *source.Node {
	return present(pod.Get("metadata", "annotations", name))
}

// label returns the value of a pod's label, nil where it has none.
func label(pod *source.Node, name string) *source.Node {
	return present(pod.Get("metadata", "labels", name))
}

// present turns a null into nil: an annotation or a field that is null is not
// there, as far as Kubernetes is concerned.
func present(n *source.Node) *source.Node {
	if n.IsNull() {
		return nil
	}
	return n
}

func withAnnotation(pod *source.Node, name, value string) *source.Node {
	return withText(pod, value, "metadata", "annotations", name)
}

// withAnnotations sets several annotations: a name, its value, and so on.
func withAnnotations(pod *source.Node, pairs ...string) *source.Node {
	meta := pod.Get("metadata")
	old := meta.Get("annotations")
	fields := append(make([]source.Field, 0, old.Len()+len(pairs)/2), old.Fields()...)
	changed := false
next:
	for p := 0; p < len(pairs); p += 2 {
		for i := range fields {
			if fields[i].Key == pairs[p] {
				if v := fields[i].Value; v.Kind() != source.String || v.Str() != pairs[p+1] {
					fields[i].Value, changed = source.NewString(pairs[p+1]), true
				}
				continue next
			}
		}
		fields, changed = append(fields, source.F(pairs[p], source.NewString(pairs[p+1]))), true
	}
	if !changed {
		return pod
	}
	return pod.With("metadata", meta.With("annotations", old.WithFields(fields...)))
}

// withText sets a string, and leaves the pod as it is where that string is
// there already.
func withText(pod *source.Node, value string, path ...string) *source.Node {
	if old := pod.Get(path...); old.Kind() == source.String && old.Str() == value {
		return pod
	}
	return pod.WithAt(source.NewString(value), path...)
}

// withoutAnnotations removes the annotations that drop names, and the map with
// the last of them.
func withoutAnnotations(pod *source.Node, drop func(name string) bool) *source.Node {
	old := pod.Get("metadata", "annotations")
	rest := old
	for _, f := range old.Fields() {
		if drop(f.Key) {
			rest = rest.Without(f.Key)
		}
	}
	if rest == old {
		return pod
	}
	meta := pod.Get("metadata")
	if rest.Len() == 0 {
		return pod.With("metadata", meta.Without("annotations"))
	}
	return pod.With("metadata", meta.With("annotations", rest))
}

// specList returns a list of the pod's spec.
func specList(pod *source.Node, list string) []*source.Node {
	return pod.Get("spec", list).Items()
}

// withSpecList replaces a list of the pod's spec. The pod itself is returned
// where the items are the same; an empty list is removed.
func withSpecList(pod *source.Node, list string, items []*source.Node) *source.Node {
	old := pod.Get("spec", list)
	if same(old.Items(), items) {
		return pod
	}
	spec := pod.Get("spec")
	if len(items) == 0 {
		return pod.With("spec", spec.Without(list))
	}
	return pod.With("spec", spec.With(list, old.WithItems(items...)))
}

func same(a, b []*source.Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// nameOf returns the name of a container, a volume, a variable or the like.
func nameOf(item *source.Node) string { return item.Get("name").Scalar() }

// find returns the index of the first item of that name, or -1.
func find(items []*source.Node, name string) int {
	for i, item := range items {
		if nameOf(item) == name {
			return i
		}
	}
	return -1
}

// place is where a container stands in a pod.
type place struct {
	list  string
	index int
}

// findContainer returns the first container of that name, looking through
// containers before initContainers, and nil where there is none.
func findContainer(pod *source.Node, name string) (*source.Node, place) {
	for _, list := range [...]string{listContainers, listInitContainers} {
		items := specList(pod, list)
		if i := find(items, name); i >= 0 {
			return items[i], place{list, i}
		}
	}
	return nil, place{}
}

// withContainer puts a container in the place of another.
func withContainer(pod *source.Node, at place, c *source.Node) *source.Node {
	return withSpecList(pod, at.list, replaced(specList(pod, at.list), at.index, c))
}

// replaced returns items with one of them replaced; items itself where it is
// the same.
func replaced(items []*source.Node, i int, item *source.Node) []*source.Node {
	if items[i] == item {
		return items
	}
	return append(append(append(make([]*source.Node, 0, len(items)), items[:i]...), item), items[i+1:]...)
}

// mapped returns items with each one replaced by what f makes of it; items
// itself where none changes.
func mapped(items []*source.Node, f func(*source.Node) *source.Node) []*source.Node {
	var out []*source.Node
	for i, item := range items {
		now := f(item)
		if now != item && out == nil {
			out = append(make([]*source.Node, 0, len(items)), items...)
		}
		if out != nil {
			out[i] = now
		}
	}
	if out == nil {
		return items
	}
	return out
}

// removed returns items without one of them.
func removed(items []*source.Node, i int) []*source.Node {
	return append(append(make([]*source.Node, 0, len(items)), items[:i]...), items[i+1:]...)
}

// variable returns the value of the first environment variable of that name
// that has one, and whether there is one.
func variable(container *source.Node, name string) (string, bool) {
	for _, v := range container.Get("env").Items() {
		if nameOf(v) == name {
			return v.Get("value").Scalar(), true
		}
	}
	return "", false
}

// withVariable appends an environment variable.
func withVariable(container *source.Node, name, value string) *source.Node {
	env := container.Get("env")
	items := append(append(make([]*source.Node, 0, env.Len()+1), env.Items()...), newVariable(name, value))
	return container.With("env", env.WithItems(items...))
}

func newVariable(name, value string) *source.Node {
	return source.NewMap(source.F("name", source.NewString(name)), source.F("value", source.NewString(value)))
}
