package tmpl

import (
	"maps"
	"reflect"
	"slices"

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

// reader finds the needs of a program by following where the pod's parts flow
// in it. What it cannot follow counts as read in full.
type reader struct {
	program *program
	meta    *need
	spec    *need
	vars    []refs // by slot
	active  []*block
	follows int // templates followed so far
}

// refs are the places of the pod that a value may be, or the root of all data.
type refs struct {
	root bool
	at   []*need
}

func needsOf(p *program) Needs {
	r := &reader{
		program: p,
		meta:    &need{typ: reflect.TypeFor[metav1.ObjectMeta]()},
		spec:    &need{typ: reflect.TypeFor[corev1.PodSpec]()},
	}
	r.block(p.main, refs{root: true})
	return Needs{r.meta.used(), r.spec.used()}
}

// used turns a place that nothing touched into nil.
func (n *need) used() *need {
	if !n.all && len(n.fields) == 0 {
		return nil
	}
	return n
}

// maxFollow bounds how many calls of templates are followed.
const maxFollow = 200

func (r *reader) block(b *block, dot refs) {
	r.follows++
	if slices.Contains(r.active, b) || r.follows > maxFollow {
		r.all(dot)
		return
	}
	outer := r.vars
	r.active = append(r.active, b)
	r.vars = make([]refs, b.slots)
	r.vars[0] = dot
	r.list(b.list, dot)
	r.active = r.active[:len(r.active)-1]
	r.vars = outer
}

func (r *reader) list(list []stmt, dot refs) {
	for i := range list {
		r.stmt(&list[i], dot)
	}
}

func (r *reader) stmt(st *stmt, dot refs) {
	switch st.kind {
	case stmtAction:
		v := r.pipe(st.pipe, dot)
		if st.pipe.decl == nil {
			r.all(v)
		}
	case stmtIf:
		r.pipe(st.pipe, dot)
		r.list(st.list, dot)
		r.list(st.els, dot)
	case stmtWith:
		v := r.pipe(st.pipe, dot)
		r.list(st.list, v)
		r.list(st.els, dot)
	case stmtRange:
		v := r.field(r.pipeValue(st.pipe, dot), elem)
		for i, slot := range st.pipe.decl {
			switch {
			case st.pipe.assign:
				r.all(v)
			case i == len(st.pipe.decl)-1:
				r.vars[slot] = v
			default: // the index or key
				r.vars[slot] = refs{}
			}
		}
		r.list(st.list, v)
		r.list(st.els, dot)
	case stmtTemplate:
		v := r.pipe(st.pipe, dot)
		b := r.program.defines[st.name]
		if b == nil && st.name == engineName {
			b = r.program.main
		}
		if b != nil {
			r.block(b, v)
		}
	}
}

// pipe follows a pipeline and what it declares.
func (r *reader) pipe(p *pipe, dot refs) refs {
	if p == nil {
		return refs{}
	}
	v := r.pipeValue(p, dot)
	for _, slot := range p.decl {
		if p.assign {
			r.all(v) // may flow backwards in a loop
		} else {
			r.vars[slot] = v
		}
	}
	return v
}

func (r *reader) pipeValue(p *pipe, dot refs) refs {
	var v refs
	for i := range p.cmds {
		v = r.command(&p.cmds[i], dot, v, i > 0)
	}
	return v
}

func (r *reader) command(c *cmd, dot, final refs, piped bool) refs {
	if c.head().kind == operandFunc {
		return r.call(c.head().fn.name, c.args(), dot, final)
	}
	v := r.operand(c.head(), dot)
	if len(c.words) > 1 || piped {
		r.all(v)
		r.all(final)
		for i := range c.args() {
			r.all(r.operand(&c.args()[i], dot))
		}
		return refs{}
	}
	return v
}

// call follows a function's arguments: what is known of the function, else all
// of them in full.
func (r *reader) call(name string, args []operand, dot, final refs) refs {
	in := make([]refs, 0, len(args)+1)
	for i := range args {
		in = append(in, r.operand(&args[i], dot))
	}
	in = append(in, final)
	parts := partsRead(name)
	for i, v := range in {
		if i < len(parts) && parts[i] != nil {
			for _, path := range parts[i] {
				w := v
				for _, name := range path {
					w = r.field(w, name)
				}
				r.all(w)
			}
			continue
		}
		r.all(v)
	}
	if name == "render" || name == "call" {
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

func (r *reader) operand(o *operand, dot refs) refs {
	switch o.kind {
	case operandDot:
		return dot
	case operandField:
		return r.chain(dot, o.fields)
	case operandVar:
		return r.chain(r.vars[o.slot], o.fields)
	case operandPipe:
		return r.chain(r.pipe(o.pipe, dot), o.fields)
	case operandFunc:
		return r.call(o.fn.name, nil, dot, refs{})
	}
	return refs{}
}

func (r *reader) chain(v refs, fields []fieldRef) refs {
	for i := range fields {
		v = r.field(v, fields[i].name)
	}
	return v
}

// field returns the place of a field or item of v, and notes that it is read.
func (r *reader) field(v refs, name string) refs {
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
		info := infoOf(t)
		for i := range info.fields {
			if info.fields[i].name == name {
				ct = info.fields[i].typ
			}
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
