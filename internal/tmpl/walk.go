package tmpl

import "slices"

// flow says what becomes of values while a walker follows them through a
// program. The zero V is a value of no interest.
type flow[V any] interface {
	// field returns what a field of a value is. at is where its name stands.
	field(v V, name string, at textSpan) V
	// item returns what the items of a list or map are.
	item(v V) V
	// all is told that a value is read in full, or lost sight of.
	all(v V)
	// assigned returns what a variable is that may have got another value.
	assigned(old, v V) V
	// call returns what a function makes of its arguments. There is one more
	// value than operands where a pipe hands it on.
	call(fn *funcRef, args []operand, values []V) V
}

// walker follows values through a program without running it: every branch is
// taken, every loop goes round once.
type walker[V any] struct {
	program *program
	flow    flow[V]
	vars    []V // by slot
	active  []*block
	seen    []*block // invoked at least once
	follows int      // blocks followed so far
}

// maxFollow bounds how many calls of templates are followed.
const maxFollow = 200

// follow walks through a program, and returns the templates that it invokes.
func follow[V any](p *program, f flow[V], root V) []*block {
	w := &walker[V]{program: p, flow: f}
	w.block(p.main, root)
	return w.seen
}

func (w *walker[V]) block(b *block, dot V) {
	w.follows++
	if slices.Contains(w.active, b) || w.follows > maxFollow {
		w.flow.all(dot)
		return
	}
	outer := w.vars
	w.active = append(w.active, b)
	w.vars = make([]V, b.slots)
	w.vars[0] = dot
	w.list(b.list, dot)
	w.active = w.active[:len(w.active)-1]
	w.vars = outer
}

func (w *walker[V]) list(l part, dot V) {
	for i := range w.program.list(l) {
		w.stmt(&w.program.stmts[int(l.first)+i], dot)
	}
}

func (w *walker[V]) stmt(st *stmt, dot V) {
	var v V
	if st.pipe >= 0 && st.kind != stmtRange {
		v = w.pipe(&w.program.pipes[st.pipe], dot)
	}
	switch st.kind {
	case stmtAction:
		if w.program.pipes[st.pipe].decls == 0 {
			w.flow.all(v)
		}
	case stmtIf:
		w.list(w.program.bodies[st.more].list, dot)
		w.list(w.program.bodies[st.more].els, dot)
	case stmtWith:
		w.list(w.program.bodies[st.more].list, v)
		w.list(w.program.bodies[st.more].els, dot)
	case stmtRange:
		w.loop(&w.program.pipes[st.pipe], &w.program.bodies[st.more], dot)
	case stmtTemplate:
		name := w.program.names[st.more]
		b := w.program.defines[name]
		if b == nil && name == engineName {
			b = w.program.main
		}
		if b != nil {
			w.seen = append(w.seen, b)
			w.block(b, v)
		}
	}
}

func (w *walker[V]) loop(p *pipe, b *body, dot V) {
	v := w.flow.item(w.value(p, dot))
	for i, slot := range p.declares() {
		var key V // the index or key is of no interest
		switch {
		case p.assign:
			w.vars[slot] = w.flow.assigned(w.vars[slot], v)
		case i == int(p.decls)-1:
			w.vars[slot] = v
		default:
			w.vars[slot] = key
		}
	}
	w.list(b.list, v)
	w.list(b.els, dot)
}

// pipe follows a pipeline and what it declares.
func (w *walker[V]) pipe(p *pipe, dot V) V {
	v := w.value(p, dot)
	for _, slot := range p.declares() {
		if p.assign {
			w.vars[slot] = w.flow.assigned(w.vars[slot], v)
		} else {
			w.vars[slot] = v
		}
	}
	return v
}

func (w *walker[V]) value(p *pipe, dot V) V {
	var v V
	for i, c := range w.program.commands(p) {
		v = w.command(w.program.operands(c), dot, v, i > 0)
	}
	return v
}

func (w *walker[V]) command(words []operand, dot, final V, piped bool) V {
	var none V
	head, args := &words[0], words[1:]
	if head.kind == operandFunc {
		values := make([]V, 0, len(args)+1)
		for i := range args {
			values = append(values, w.operand(&args[i], dot))
		}
		if piped {
			values = append(values, final)
		}
		return w.flow.call(w.program.funcs[head.ref], args, values)
	}
	v := w.operand(head, dot)
	if len(args) == 0 && !piped {
		return v
	}
	w.flow.all(v)
	w.flow.all(final)
	for i := range args {
		w.flow.all(w.operand(&args[i], dot))
	}
	return none
}

func (w *walker[V]) operand(o *operand, dot V) V {
	switch o.kind {
	case operandDot:
		return dot
	case operandField:
		return w.chain(dot, o)
	case operandVar:
		return w.chain(w.vars[o.ref], o)
	case operandPipe:
		return w.chain(w.pipe(&w.program.pipes[o.ref], dot), o)
	case operandFunc:
		return w.flow.call(w.program.funcs[o.ref], nil, nil)
	}
	var none V
	return none
}

// chain takes the fields that follow an operand, which ends with them.
func (w *walker[V]) chain(v V, o *operand) V {
	at := o.end
	for i := range int32(o.fields) {
		at -= int32(len(w.program.field(o.first+i))) + 1
	}
	for i := range int32(o.fields) {
		name := w.program.field(o.first + i)
		at++ // the dot
		v = w.flow.field(v, name, textSpan{at, at + int32(len(name))})
		at += int32(len(name))
	}
	return v
}
