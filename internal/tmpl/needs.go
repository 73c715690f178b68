package tmpl

import (
	"maps"
	"reflect"
	"text/template/parse"

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

// reader finds the needs of a template by following where the pod's parts flow
// in its parse trees. What it cannot follow counts as read in full.
type reader struct {
	trees map[string]*parse.Tree
	meta  *need
	spec  *need
	vars  []readVar
	calls []string // templates being followed
}

// refs are the places of the pod that a value may be; dot of the main template
// is the root.
type refs struct {
	root bool
	at   []*need
}

type readVar struct {
	name string
	refs refs
}

func needsOf(trees map[string]*parse.Tree, main *parse.Tree) Needs {
	r := &reader{
		trees: trees,
		meta:  &need{typ: reflect.TypeFor[metav1.ObjectMeta]()},
		spec:  &need{typ: reflect.TypeFor[corev1.PodSpec]()},
	}
	if main != nil {
		r.template(main, refs{root: true})
	}
	return Needs{r.meta.used(), r.spec.used()}
}

// used turns a place that nothing touched into nil.
func (n *need) used() *need {
	if !n.all && len(n.fields) == 0 {
		return nil
	}
	return n
}

// maxFollow bounds how deep calls of templates are followed.
const maxFollow = 20

func (r *reader) template(t *parse.Tree, dot refs) {
	if len(r.calls) >= maxFollow {
		r.all(dot)
		return
	}
	r.calls = append(r.calls, t.Name)
	outer := r.vars
	r.vars = []readVar{{"$", dot}}
	if t.Root != nil {
		r.list(t.Root, dot)
	}
	r.vars = outer
	r.calls = r.calls[:len(r.calls)-1]
}

func (r *reader) list(l *parse.ListNode, dot refs) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.node(n, dot)
	}
}

func (r *reader) node(n parse.Node, dot refs) {
	switch n := n.(type) {
	case *parse.ActionNode:
		v := r.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			r.all(v)
		}
	case *parse.IfNode:
		mark := len(r.vars)
		r.pipe(n.Pipe, dot)
		r.list(n.List, dot)
		r.list(n.ElseList, dot)
		r.vars = r.vars[:mark]
	case *parse.WithNode:
		mark := len(r.vars)
		v := r.pipe(n.Pipe, dot)
		r.list(n.List, v)
		r.list(n.ElseList, dot)
		r.vars = r.vars[:mark]
	case *parse.RangeNode:
		mark := len(r.vars)
		v := r.field(r.pipeValue(n.Pipe, dot), elem)
		for i, d := range n.Pipe.Decl {
			switch {
			case n.Pipe.IsAssign:
				r.all(v)
			case i == len(n.Pipe.Decl)-1:
				r.vars = append(r.vars, readVar{d.Ident[0], v})
			default: // the index or key
				r.vars = append(r.vars, readVar{d.Ident[0], refs{}})
			}
		}
		r.list(n.List, v)
		r.list(n.ElseList, dot)
		r.vars = r.vars[:mark]
	case *parse.TemplateNode:
		v := r.pipe(n.Pipe, dot)
		if t := r.trees[n.Name]; t != nil {
			r.template(t, v)
		}
	}
}

// pipe follows a pipeline and what it declares.
func (r *reader) pipe(p *parse.PipeNode, dot refs) refs {
	if p == nil {
		return refs{}
	}
	v := r.pipeValue(p, dot)
	for _, d := range p.Decl {
		if p.IsAssign {
			r.all(v) // may flow backwards in a loop
		} else {
			r.vars = append(r.vars, readVar{d.Ident[0], v})
		}
	}
	return v
}

func (r *reader) pipeValue(p *parse.PipeNode, dot refs) refs {
	var v refs
	for i, c := range p.Cmds {
		v = r.command(c, dot, v, i > 0)
	}
	return v
}

func (r *reader) command(c *parse.CommandNode, dot, final refs, piped bool) refs {
	if id, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return r.call(id.Ident, c.Args[1:], dot, final)
	}
	v := r.arg(c.Args[0], dot)
	if len(c.Args) > 1 || piped {
		r.all(v)
		r.all(final)
		for _, a := range c.Args[1:] {
			r.all(r.arg(a, dot))
		}
		return refs{}
	}
	return v
}

// call follows a function's arguments: what is known of the function, else all
// of them in full.
func (r *reader) call(name string, args []parse.Node, dot, final refs) refs {
	in := make([]refs, 0, len(args)+1)
	for _, a := range args {
		in = append(in, r.arg(a, dot))
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

func (r *reader) arg(n parse.Node, dot refs) refs {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return r.fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(r.vars) - 1; i >= 0; i-- {
			if r.vars[i].name == n.Ident[0] {
				return r.fields(r.vars[i].refs, n.Ident[1:])
			}
		}
	case *parse.ChainNode:
		return r.fields(r.arg(n.Node, dot), n.Field)
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.IdentifierNode:
		return r.call(n.Ident, nil, dot, refs{})
	}
	return refs{}
}

func (r *reader) fields(v refs, names []string) refs {
	for _, name := range names {
		v = r.field(v, name)
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
