package tmpl

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Survey is what a template tells without being executed: every branch of it
// counts as taken.
type Survey struct {
	// Functions are the places of functions that the dialect does not have.
	Functions []source.Span
	// Fields are those that the data does not have, in the order of the text.
	Fields []NoField
	// Values are the reads of the values, in the order of the text.
	Values []ValueRead
	// Keys are the annotations and labels that are asked for by name.
	Keys []KeyRead
	// Idle are the names of templates that are defined and never invoked.
	Idle []source.Span
	// Lost tells that not every read of the values can be followed.
	Lost bool
	// Text is the template with Hole for every byte of what writes something,
	// and Silent for every byte of what does not: if and its like, comments,
	// definitions. Blanks and line breaks in them stay.
	Text []byte
}

// What stands in the text of a survey for a byte of an action.
const (
	Hole   = 0
	Silent = 1
)

// NoField is a field that some value does not have.
type NoField struct {
	Name string
	// Of is what was asked for it, and Near the name of a field it does have
	// and that was probably meant, "" for none.
	Of, Near string
	// Path leads to it from the data, where that is known: ProxyConfig.Name.
	Path string
	At   source.Span
}

// ValueRead is a read of the values.
type ValueRead struct {
	// Path leads to what is read: global, hub.
	Path []string
	// Whole tells that everything below is read as well.
	Whole bool
	At    source.Span
}

// KeyRead is an annotation or label that a template looks for.
type KeyRead struct {
	Name  string
	Label bool
	At    source.Span
}

// Survey looks at a template of this dialect. It returns nil for a template
// that cannot be parsed, or that only text/template understands.
func (d *Dialect) Survey(text *source.Text) *Survey { return d.SurveyOn(d, text) }

// SameData reports whether templates of two dialects see the same data.
func (d *Dialect) SameData(o *Dialect) bool { return d.dotType() == o.dotType() }

func (d *Dialect) dotType() reflect.Type { return reflect.TypeOf(d.dot(&Data{former: &Former{}})) }

// SurveyOn is Survey for a template that gets the data of another dialect.
func (d *Dialect) SurveyOn(data *Dialect, text *source.Text) *Survey {
	lenient := *d
	lenient.lenient = true
	p := parseProgram(string(text.Data), &lenient)
	if p == nil {
		return nil
	}
	s := &surveyor{program: p, text: text, out: &Survey{Lost: p.renders}}
	seen := follow(p, s, known{typ: data.dotType(), path: []string{}})
	for _, b := range p.defines {
		if !slices.Contains(seen, b) {
			s.out.Idle = append(s.out.Idle, s.span(b.at))
		}
	}
	for _, o := range p.words {
		if o.kind == operandFunc && p.funcs[o.ref].builtin == fnUnknown {
			s.out.Functions = append(s.out.Functions, s.span(o.textSpan))
		}
	}
	byPlace := func(a, b source.Span) int { return a.Start - b.Start }
	slices.SortFunc(s.out.Functions, byPlace)
	slices.SortFunc(s.out.Idle, byPlace)
	slices.SortStableFunc(s.out.Fields, func(a, b NoField) int { return byPlace(a.At, b.At) })
	s.out.Fields = slices.CompactFunc(s.out.Fields, func(a, b NoField) bool { return a.At == b.At })
	slices.SortStableFunc(s.out.Values, func(a, b ValueRead) int { return byPlace(a.At, b.At) })
	slices.SortStableFunc(s.out.Keys, func(a, b KeyRead) int { return byPlace(a.At, b.At) })
	s.out.Keys = slices.Compact(s.out.Keys)
	s.out.Text = p.masked()
	return s.out
}

// masked returns the text of a survey.
func (p *program) masked() []byte {
	out := []byte(p.text)
	fill := func(out []byte, with byte) {
		for i, c := range out {
			if !isSpace(c) {
				out[i] = with
			}
		}
	}
	fill(out, Silent)
	var keep func(part)
	keep = func(l part) {
		for _, st := range p.list(l) {
			switch st.kind {
			case stmtText:
				copy(out[st.start:st.end], p.text[st.start:st.end])
			case stmtAction:
				if p.pipes[st.pipe].decls == 0 {
					fill(out[st.start:st.end], Hole)
				}
			case stmtTemplate:
				fill(out[st.start:st.end], Hole)
			case stmtIf, stmtWith, stmtRange:
				keep(p.bodies[st.more].list)
				keep(p.bodies[st.more].els)
			}
		}
	}
	keep(p.main.list)
	return out
}

// known is what is known of a value.
type known struct {
	typ reflect.Type // nil for any
	// path leads to it from the data; nil where it was made.
	path []string
	at   source.Span
}

func (k known) isValue() bool { return len(k.path) > 0 && k.path[0] == "Values" }

// surveyor is the flow that types and paths follow.
type surveyor struct {
	program *program
	text    *source.Text
	out     *Survey
}

func (s *surveyor) span(at textSpan) source.Span {
	return source.Span{Text: s.text, Start: int(at.start), End: int(at.end)}
}

func (s *surveyor) field(v known, name string, at textSpan) known {
	if v.typ == nil && !v.isValue() {
		return known{}
	}
	got := known{at: s.span(at)}
	if v.path != nil {
		got.path = append(slices.Clip(v.path), name)
	}
	if v.isValue() {
		s.read(got, false)
		return got
	}
	typ, ok := fieldType(v.typ, name)
	if !ok {
		s.out.Fields = append(s.out.Fields, NoField{
			Name: name, Of: describeType(v.typ.String()), Near: diag.Nearest(name, fieldNames(v.typ, strings.HasPrefix(name, "Get"))),
			Path: strings.Join(got.path, "."), At: got.at,
		})
		return known{}
	}
	got.typ = typ
	return got
}

func (s *surveyor) read(v known, whole bool) {
	s.out.Values = append(s.out.Values, ValueRead{Path: v.path[1:], Whole: whole, At: v.at})
}

func (s *surveyor) item(v known) known {
	if v.isValue() {
		s.all(v)
		return known{}
	}
	typ := pointed(v.typ)
	if typ == nil {
		return known{}
	}
	switch typ.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return known{typ: concrete(typ.Elem())}
	}
	return known{}
}

func (s *surveyor) all(v known) {
	switch {
	case v.path == nil:
	case len(v.path) == 0:
		s.out.Lost = true
	case v.isValue():
		s.read(v, true)
	}
}

func (s *surveyor) assigned(old, v known) known {
	s.all(old)
	s.all(v)
	return known{}
}

func (s *surveyor) call(fn *funcRef, args []operand, values []known) known {
	switch fn.name {
	case "annotation":
		if len(args) > 1 {
			s.key(args[1], false)
		}
	case "index", "get", "hasKey", "isset":
		if got, ok := s.entry(args, values); ok {
			return got
		}
	case "render", "call":
		s.out.Lost = true
	}
	for _, v := range values {
		s.all(v)
	}
	return known{}
}

// entry follows a function that takes an entry of a map or list.
func (s *surveyor) entry(args []operand, values []known) (known, bool) {
	if len(values) < 2 || len(args) != len(values) {
		return known{}, false
	}
	v := values[0]
	for i := 1; i < len(args); i++ {
		key, ok := s.program.literal(&args[i])
		switch {
		case v.isValue() && ok:
			v = s.field(v, key, textSpan{args[i].start, args[i].end})
		case v.isValue():
			return known{}, false
		case v.typ == nil:
			return known{}, true
		default:
			if last := len(v.path) - 1; last >= 0 && (v.path[last] == "Annotations" || v.path[last] == "Labels") {
				s.key(args[i], v.path[last] == "Labels")
			}
			v = s.item(v)
		}
	}
	return v, true
}

func (s *surveyor) key(o operand, label bool) {
	if name, ok := s.program.literal(&o); ok {
		s.out.Keys = append(s.out.Keys, KeyRead{name, label, s.span(textSpan{o.start + 1, o.end - 1})})
	}
}

// literal returns the string that an operand spells.
func (p *program) literal(o *operand) (string, bool) {
	switch o.kind {
	case operandString:
		return p.str(o), true
	case operandConst:
		s, ok := p.consts[o.ref].value.(string)
		return s, ok
	}
	return "", false
}

// pointed returns what a type points to, nil for any.
func pointed(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// concrete returns nil for a type whose values may be of any other.
func concrete(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// fieldType returns the type of what text/template takes a name of a value of a
// type for: a method, a field, or an entry of a map.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	t = pointed(t)
	if m, ok := reflect.PointerTo(t).MethodByName(name); ok && m.Type.NumOut() > 0 {
		return concrete(m.Type.Out(0)), true
	}
	switch t.Kind() {
	case reflect.Struct:
		if f, ok := t.FieldByName(name); ok && f.IsExported() {
			return concrete(f.Type), true
		}
	case reflect.Map:
		return concrete(t.Elem()), true
	}
	return nil, false
}

// fieldNames lists the names that a value of a type has.
func fieldNames(t reflect.Type, getters bool) []string {
	t = pointed(t)
	var names []string
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous {
				names = append(names, f.Name)
			}
		}
	}
	if getters {
		methods := reflect.PointerTo(t)
		for i := range methods.NumMethod() {
			if name := methods.Method(i).Name; strings.HasPrefix(name, "Get") {
				names = append(names, name)
			}
		}
	}
	return names
}

// describeType names a type to people, from what package reflect calls it.
func describeType(typ string) string {
	typ = strings.TrimLeft(typ, "*")
	pkg, name, ok := strings.Cut(typ, ".")
	if !ok || strings.ContainsRune(typ, '[') {
		return "a " + typ
	}
	switch bare := strings.TrimRightFunc(name, unicode.IsDigit); {
	case pkg == "tmpl" && strings.EqualFold(bare, "data"):
		return "the template's data"
	case strings.EqualFold(bare, "proxyConfig"):
		return "the proxy configuration"
	case strings.EqualFold(bare, "meshConfig"):
		return "the mesh configuration"
	case strings.ContainsAny(bare[:1], "AEIO"):
		return "an " + bare
	default:
		return "a " + bare
	}
}
