package tmpl

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Recorder learns, during one rendering, where the output came from.
type Recorder struct {
	// Origins cover the output from its first byte to its last, in order.
	Origins []Origin

	template *Template
	cur      *stmt
	within   *Within
	asked    []Read // by what was evaluated last
}

// Origin is a run of bytes of the output that one piece of the template wrote.
type Origin struct {
	// Start and End are offsets in the output.
	Start, End int
	// Span is the piece of the template: text as it stands there, or an action
	// with its braces. It is the whole text where text/template had to render
	// alone, which tells nothing more.
	Span source.Span
	// Reads lists what the action reads, directly or through variables.
	Reads []Read
	// Within is the innermost statement around, nil for none.
	Within *Within
}

// Within is a statement that something was written inside of: if, with, range,
// or the invocation of a template.
type Within struct {
	// Outer is the next statement around; nil for none.
	Outer *Within
	// Span is the statement's opening action, {{if ...}}.
	Span source.Span
	// Reads lists what the statement's condition, list or argument reads.
	Reads []Read
	// Else tells that the part after {{else}} was taken.
	Else bool
}

// Read is a value that a template read: the names that lead to it from the dot
// ("Values", "global", "hub"), indexes of lists in brackets ("[0]"); "env" and a
// name for a variable of the environment. Nothing need be there.
type Read []string

// String writes the read as a template would.
func (r Read) String() string {
	var b strings.Builder
	for i, name := range r {
		switch {
		case strings.HasPrefix(name, "["):
			b.WriteString(name)
		case isIdentifier(name) || i == 0:
			b.WriteString("." + name)
		default:
			b.WriteString("[" + strconv.Quote(name) + "]")
		}
	}
	if len(r) == 0 {
		return "."
	}
	return b.String()
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

// Everything returns what an origin depends on: its own reads and those of the
// statements around it, innermost first, each once.
func (o *Origin) Everything() []Read {
	all := slices.Clone(o.Reads)
	for w := o.Within; w != nil; w = w.Outer {
		all = addReads(all, w.Reads)
	}
	return all
}

func addReads(to, reads []Read) []Read {
	for _, r := range reads {
		if !slices.ContainsFunc(to, func(have Read) bool { return slices.Equal(have, r) }) {
			to = append(to, r)
		}
	}
	return to
}

// readsOf returns what a value came from.
func readsOf(v val) []Read {
	switch {
	case v.t == nil:
		return nil
	case v.t == rootTerm:
		return []Read{{}}
	case v.t.path != nil:
		return addReads([]Read{v.t.path}, v.t.reads)
	}
	return v.t.reads
}

// madeOf returns a value together with what it was made of.
func madeOf(got reflect.Value, from ...val) val {
	var reads []Read
	for _, v := range from {
		reads = addReads(reads, readsOf(v))
	}
	if reads == nil {
		return val{v: got}
	}
	return val{got, &term{op: termRecorded, reads: reads}}
}

// below returns the term of what a name leads to.
func below(t *term, name string) *term {
	switch {
	case t == rootTerm:
		return &term{op: termRecorded, path: Read{name}}
	case t.path == nil:
		return t // part of a value that the template made
	}
	return &term{op: termRecorded, path: append(t.path[:len(t.path):len(t.path)], name), reads: t.reads}
}

func (r *Recorder) field(from *term, name string, _ reflect.Value) *term {
	switch {
	case name == "String" || name == "GetValue":
		return from
	case len(name) > 3 && strings.HasPrefix(name, "Get"):
		name = name[3:]
	}
	return below(from, name)
}

func (r *Recorder) about(args []val) {
	r.asked = nil
	for _, v := range args {
		r.asked = addReads(r.asked, readsOf(v))
	}
}

func (r *Recorder) aboutField(of val, name string) {
	r.asked = readsOf(val{t: r.field(of.t, name, reflect.Value{})})
}

func (r *Recorder) call(fn *funcRef, args []val, got reflect.Value) val {
	switch fn.name {
	case "env":
		v := madeOf(got, args...)
		read := Read{"env", args[0].v.String()}
		if v.t == nil {
			v.t = &term{op: termRecorded}
		}
		v.t = &term{op: termRecorded, reads: addReads([]Read{read}, v.t.reads)}
		return v
	case "index":
		if args[0].t != nil && len(args) == 2 {
			return r.entry(args[0], args[1], got)
		}
	case "isset":
		if args[0].t != nil {
			return madeOf(got, r.entry(args[0], args[1], got))
		}
	case "annotation":
		if args[0].t != nil {
			a := r.entry(val{t: below(args[0].t, "Annotations")}, args[1], got)
			if !hasAnnotation(args) {
				return madeOf(got, a, args[2])
			}
			return a
		}
	}
	return madeOf(got, args...)
}

// entry returns the term of an entry of a map or list.
func (r *Recorder) entry(of, key val, got reflect.Value) val {
	name := fmt.Sprint(anyOf(elemOf(key.v)))
	if elemOf(key.v).CanInt() {
		name = "[" + name + "]"
	}
	t := *below(of.t, name)
	t.reads = addReads(slices.Clip(t.reads), readsOf(key))
	return val{got, &t}
}

func (r *Recorder) decide(val) {}

func (r *Recorder) picked(looked []val, got val) val {
	if len(looked) == 0 {
		return got
	}
	return madeOf(got.v, append(looked, got)...)
}

// assigned adds the conditions that the assignment depends on.
func (r *Recorder) assigned(v val) val {
	reads := readsOf(v)
	for w := r.within; w != nil; w = w.Outer {
		reads = addReads(slices.Clip(reads), w.Reads)
	}
	if len(reads) == len(readsOf(v)) {
		return v
	}
	return val{v.v, &term{op: termRecorded, reads: reads}}
}

func (r *Recorder) each(v val, _ int) (key, item func(int, reflect.Value) *term) {
	if v.t == nil {
		return noTerm, noTerm
	}
	whole, _ := indirect(v.v)
	isMap := whole.Kind() == reflect.Map
	var keys []reflect.Value
	if isMap {
		keys = sortedMapKeys(whole)
	}
	return func(int, reflect.Value) *term { return madeOf(reflect.Value{}, v).t },
		func(i int, _ reflect.Value) *term {
			if isMap {
				return below(v.t, keys[i].String())
			}
			return below(v.t, "["+strconv.Itoa(i)+"]")
		}
}

func (r *Recorder) enter(st *stmt) { r.cur = st }

func (r *Recorder) inside(st *stmt, v val, yes bool) {
	r.within = &Within{Outer: r.within, Span: r.span(st.textSpan), Reads: readsOf(v), Else: !yes}
}

func (r *Recorder) leave() { r.within = r.within.Outer }

func (r *Recorder) print(v val, start, end int) {
	if start < end {
		r.Origins = append(r.Origins, Origin{start, end, r.span(r.cur.textSpan), readsOf(v), r.within})
	}
}

func (r *Recorder) span(s textSpan) source.Span {
	return source.Span{Text: r.template.text, Start: int(s.start), End: int(s.end)}
}

// render renders with a recorder; false as for a program without.
func (r *Recorder) render(t *Template, data *Data, env Env) ([]byte, bool) {
	*r = Recorder{template: t}
	if t.program == nil {
		return nil, false
	}
	if t.program.mutates || t.program.renders {
		data = data.clone()
	}
	return t.program.execute(&run{template: t, data: data, env: env}, r)
}

// whole says of an output only that the template wrote it.
func (r *Recorder) whole(t *Template, out []byte) {
	*r = Recorder{}
	if len(out) > 0 {
		r.Origins = []Origin{{End: len(out), Span: source.Span{Text: t.text, End: len(t.text.Data)}}}
	}
}
