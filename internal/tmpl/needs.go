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

func (r *reader) list(l part, dot refs) {
	for i := range r.program.list(l) {
		r.stmt(&r.program.stmts[int(l.first)+i], dot)
	}
}

func (r *reader) stmt(st *stmt, dot refs) {
	var v refs
	if st.pipe >= 0 && st.kind != stmtRange {
		v = r.pipe(&r.program.pipes[st.pipe], dot)
	}
	switch st.kind {
	case stmtAction:
		if r.program.pipes[st.pipe].decls == 0 {
			r.all(v)
		}
	case stmtIf:
		r.list(r.program.bodies[st.more].list, dot)
		r.list(r.program.bodies[st.more].els, dot)
	case stmtWith:
		r.list(r.program.bodies[st.more].list, v)
		r.list(r.program.bodies[st.more].els, dot)
	case stmtRange:
		r.loop(&r.program.pipes[st.pipe], &r.program.bodies[st.more], dot)
	case stmtTemplate:
		name := r.program.names[st.more]
		b := r.program.defines[name]
		if b == nil && name == engineName {
			b = r.program.main
		}
		if b != nil {
			r.block(b, v)
		}
	}
}

func (r *reader) loop(p *pipe, b *body, dot refs) {
	v := r.field(r.pipeValue(p, dot), elem)
	for i, slot := range p.declares() {
		switch {
		case p.assign:
			r.all(v)
		case i == int(p.decls)-1:
			r.vars[slot] = v
		default: // the index or key
			r.vars[slot] = refs{}
		}
	}
	r.list(b.list, v)
	r.list(b.els, dot)
}

// pipe follows a pipeline and what it declares.
func (r *reader) pipe(p *pipe, dot refs) refs {
	v := r.pipeValue(p, dot)
	for _, slot := range p.declares() {
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
	for i, c := range r.program.commands(p) {
		v = r.command(r.program.operands(c), dot, v, i > 0)
	}
	return v
}

func (r *reader) command(words []operand, dot, final refs, piped bool) refs {
	head, args := &words[0], words[1:]
	if head.kind == operandFunc {
		return r.call(r.program.funcs[head.ref].name, args, dot, final)
	}
	v := r.operand(head, dot)
	if len(args) > 0 || piped {
		r.all(v)
		r.all(final)
		for i := range args {
			r.all(r.operand(&args[i], dot))
		}
		return refs{}
	}
	return v
}

// call follows a function's arguments: what is known of the function, else all
// of them in full.
func (r *reader) call(name string, args []operand, dot, final refs) refs {
	parts := partsRead(name)
	for i := range len(args) + 1 {
		v := final
		if i < len(args) {
			v = r.operand(&args[i], dot)
		}
		if i >= len(parts) || parts[i] == nil {
			r.all(v)
			continue
		}
		for _, path := range parts[i] {
			w := v
			for _, name := range path {
				w = r.field(w, name)
			}
			r.all(w)
		}
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

func (r *reader) operand(o *operand, dot refs) refs {
	switch o.kind {
	case operandDot:
		return dot
	case operandField:
		return r.chain(dot, o)
	case operandVar:
		return r.chain(r.vars[o.ref], o)
	case operandPipe:
		return r.chain(r.pipe(&r.program.pipes[o.ref], dot), o)
	case operandFunc:
		return r.call(r.program.funcs[o.ref].name, nil, dot, refs{})
	}
	return refs{}
}

func (r *reader) chain(v refs, o *operand) refs {
	for i := range int32(o.fields) {
		v = r.field(v, r.program.field(o.first+i))
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
