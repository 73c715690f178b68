package tmpl

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Needs says which parts of a pod a template can read. The zero Needs reads
// nothing of it.
type Needs struct{ meta, spec *need }

// AllNeeds reads every part of a pod.
func AllNeeds() Needs { return Needs{everything, everything} }

// Union returns what either of two templates can read.
func (n Needs) Union(o Needs) Needs {
	return Needs{n.meta.union(o.meta), n.spec.union(o.spec)}
}

// need is one place of the pod's type that is read: everything below it, or the
// named fields. Of a struct without named fields only its existence is read; a
// scalar, or a map of scalars, is always read in full.
type need struct {
	typ    reflect.Type
	all    bool
	fields map[string]*need // by Go field name; elem for items of lists and maps
}

// elem is the name of "any item" in need.fields.
const elem = "[]"

var everything = &need{all: true}

// field returns what is needed of a field; nil for nothing.
func (n *need) field(name string) *need {
	if n.all {
		return n
	}
	return n.fields[name]
}

// item returns what is needed of the items of a list or map. They are there
// even where nothing of them is read, since their number is.
func (n *need) item() *need {
	if sub := n.field(elem); sub != nil {
		return sub
	}
	return &need{}
}

func (n *need) union(o *need) *need {
	switch {
	case n == nil:
		return o
	case o == nil:
		return n
	case n.all || o.all:
		return everything
	}
	u := &need{typ: n.typ, fields: map[string]*need{}}
	maps.Copy(u.fields, n.fields)
	for name, f := range o.fields {
		u.fields[name] = u.fields[name].union(f)
	}
	return u
}

// reader finds the needs of a program: a flow that follows the pod's parts.
// What it cannot follow counts as read in full.
type reader struct{ meta, spec *need }

// refs are the places of the pod that a value may be, or the root of all data.
type refs struct {
	root bool
	at   []*need
}

func needsOf(p *program) Needs {
	r := &reader{
		meta: &need{typ: reflect.TypeFor[metav1.ObjectMeta]()},
		spec: &need{typ: reflect.TypeFor[corev1.PodSpec]()},
	}
	follow(p, r, refs{root: true})
	return Needs{r.meta.used(), r.spec.used()}
}

// used turns a place that nothing touched into nil.
func (n *need) used() *need {
	if !n.all && len(n.fields) == 0 {
		return nil
	}
	return n
}

// call takes of a function's arguments what is known to be read of them, else
// all.
func (r *reader) call(fn *funcRef, _ []operand, values []refs) refs {
	parts := partsRead(fn.name)
	for i, v := range values {
		if i >= len(parts) || parts[i] == nil {
			r.all(v)
			continue
		}
		for _, path := range parts[i] {
			w := v
			for _, name := range path {
				w = r.field(w, name, textSpan{})
			}
			r.all(w)
		}
	}
	if fn.name == "render" || fn.name == "call" {
		r.meta.all, r.spec.all = true, true
	}
	return refs{}
}

// partsRead lists, by argument, the paths that an injector function reads of
// it; nil for everything.
func partsRead(name string) [][][]string {
	switch name {
	case "annotation":
		return [][][]string{{{"Annotations"}}}
	case "includeInboundPorts", "applicationPorts":
		return [][][]string{{{elem, "Name"}, {elem, "Ports", elem, "Protocol"}, {elem, "Ports", elem, "ContainerPort"}}}
	case "otelResourceAttributes":
		return [][][]string{nil, nil, nil, nil, {{elem, "Name"}, {elem, "Image"}}}
	}
	return nil
}

// needOf returns the need of some paths.
func needOf(paths [][]string) *need {
	root := &need{}
	for _, path := range paths {
		n := root
		for _, name := range path {
			if n.fields == nil {
				n.fields = map[string]*need{}
			}
			if n.fields[name] == nil {
				n.fields[name] = &need{}
			}
			n = n.fields[name]
		}
		n.all = true
	}
	return root
}

// field returns the place of a field or item of v, and notes that it is read.
func (r *reader) field(v refs, name string, _ textSpan) refs {
	var out refs
	if v.root {
		switch name {
		case "ObjectMeta":
			out.at = append(out.at, r.meta)
		case "Spec":
			out.at = append(out.at, r.spec)
		}
	}
	for _, n := range v.at {
		if c := n.child(name); c != nil {
			out.at = append(out.at, c)
		} else {
			n.all = true // a method, or a key of a map
		}
	}
	return out
}

func (r *reader) item(v refs) refs { return r.field(v, elem, textSpan{}) }

// assigned keeps what a variable is after another value was put into it: that
// may have happened, or flow backwards in a loop.
func (r *reader) assigned(old, v refs) refs {
	r.all(v)
	return old
}

func (n *need) child(name string) *need {
	if n.all || n.typ == nil {
		return nil
	}
	t := n.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var ct reflect.Type
	switch {
	case name == elem && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map):
		ct = t.Elem()
	case t.Kind() == reflect.Struct && !custom(t):
		if f := infoOf(t).named(name); f != nil {
			ct = f.typ
		}
	}
	if ct == nil {
		return nil
	}
	c := n.fields[name]
	if c == nil {
		if n.fields == nil {
			n.fields = map[string]*need{}
		}
		c = &need{typ: ct}
		n.fields[name] = c
	}
	return c
}

func (r *reader) all(v refs) {
	if v.root {
		r.meta.all, r.spec.all = true, true
	}
	for _, n := range v.at {
		n.all = true
	}
}

// Reads reports whether a template may read the value at a path of Go field
// names that begins with ObjectMeta or Spec; "[]" stands for any item of a
// list.
func (n Needs) Reads(path ...string) bool {
	at := n.spec
	if path[0] == "ObjectMeta" {
		at = n.meta
	}
	for _, name := range path[1:] {
		if at == nil {
			return false
		}
		at = at.field(name)
	}
	return at != nil
}
