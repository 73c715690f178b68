package tmpl

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/ingraft/ingraft/internal/config"
)

// This file runs programs. A machine gives the output that text/template would
// give, or says that it is unsure: then text/template is asked, which is also
// who explains errors. Values are reflect.Values as in text/template: invalid
// for what a map does not have, Interface only for a nil that is there.

// val is a value, and where it came from if an observer watches.
type val struct {
	v reflect.Value
	t *term
}

// machine is one run of a program.
type machine struct {
	*program
	run   *run
	out   []byte
	watch observer // nil for a plain run
	root  val
}

// observer watches a run: it follows values from the data to the output. A
// value whose term is nil is of no interest to it.
type observer interface {
	// field is told that a chain took a field, or the result of a method, of a
	// value; it returns the term of the result.
	field(from *term, name string, got reflect.Value) *term
	// call is told the result of a function; it may replace it.
	call(fn *funcRef, args []val, got reflect.Value) val
	// decide is told that the truth of a value decides what comes next.
	decide(v val)
	// each is told that a range begins, and returns the terms of keys and items.
	each(v val, n int) (key, item func(i int, v reflect.Value) *term)
	// picked is told that and or or picked one of the values that it looked at.
	picked(looked []val, got val) val
	// assigned is told that a variable gets a value that is there after the
	// statement around, or that it might have got one there.
	assigned(v val) val
	// enter is told that a statement begins, inside that its value is known and
	// what is in it begins, leave that this ends.
	enter(st *stmt)
	inside(st *stmt, v val, yes bool)
	leave()
	// about and aboutField are told what a function is asked of, and which
	// field of a value is, before that is done.
	about(args []val)
	aboutField(of val, name string)
	// print is told what an action wrote, or that text was written.
	print(v val, start, end int)
}

// unsure is the panic of a machine that leaves the template to text/template.
type unsure struct{ why string }

func giveUp(why string) { panic(unsure{why}) }

// frame holds the variables of a template being run, by slot.
type frame struct{ vars []val }

// signal says how a list of statements ended.
type signal uint8

const (
	atEnd signal = iota
	atBreak
	atContinue
)

// execute runs the program on the data of a run. It reports false where it is
// unsure, for whatever reason, faults of the template included.
func (p *program) execute(r *run, watch observer) (out []byte, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	m := &machine{program: p, run: r, watch: watch, out: make([]byte, 0, 8<<10)}
	m.root.v = reflect.ValueOf(p.dialect.dot(r.data))
	if watch != nil {
		m.root.t = rootTerm
	}
	m.invoke(p.main, m.root)
	if len(m.out) > maxOutput {
		return nil, false
	}
	return m.out, true
}

// invoke runs a block with a dot of its own.
func (m *machine) invoke(b *block, dot val) {
	if m.run.depth++; m.run.depth > maxDepth {
		giveUp("too deep")
	}
	f := &frame{make([]val, b.slots)}
	f.vars[0] = dot
	m.statements(f, dot, b.list)
	m.run.depth--
}

func (m *machine) step() {
	if m.run.steps++; m.run.steps > maxSteps || len(m.out) > maxOutput {
		giveUp("too long")
	}
}

func (m *machine) statements(f *frame, dot val, p part) signal {
	list := m.list(p)
	for i := range list {
		st := &list[i]
		if m.watch != nil {
			m.watch.enter(st)
		}
		if s := m.stmt(f, dot, st); s != atEnd {
			return s
		}
	}
	return atEnd
}

func (m *machine) stmt(f *frame, dot val, st *stmt) signal {
	switch st.kind {
	case stmtText:
		m.step()
		start := len(m.out)
		m.out = append(m.out, m.text[st.start:st.end]...)
		if m.watch != nil {
			m.watch.print(val{}, start, len(m.out))
		}
	case stmtAction:
		p := &m.pipes[st.pipe]
		if v := m.pipe(f, dot, p); p.decls == 0 {
			m.print(v)
		}
	case stmtIf, stmtWith:
		return m.branch(f, dot, st)
	case stmtRange:
		return m.loop(f, dot, st)
	case stmtTemplate:
		name := m.names[st.more]
		b := m.defines[name]
		if b == nil {
			if name != engineName {
				giveUp("template not defined")
			}
			b = m.main
		}
		var argument val
		if st.pipe >= 0 {
			argument = m.pipe(f, dot, &m.pipes[st.pipe])
		}
		if m.watch != nil {
			m.watch.inside(st, argument, true)
			defer m.watch.leave()
		}
		m.run.steps += 4 // as above
		m.step()
		m.invoke(b, argument)
	case stmtBreak:
		return atBreak
	case stmtContinue:
		return atContinue
	}
	return atEnd
}

func (m *machine) branch(f *frame, dot val, st *stmt) signal {
	v := m.pipe(f, dot, &m.pipes[st.pipe])
	yes := m.truth(v)
	b := &m.bodies[st.more]
	taken, other := b.list, b.els
	if !yes {
		taken, other = other, taken
	}
	if m.watch != nil {
		m.watch.inside(st, v, yes)
		defer m.watch.leave()
		m.skipped(f, other)
	}
	if yes && st.kind == stmtWith {
		dot = v
	}
	return m.statements(f, dot, taken)
}

// skipped tells the observer which variables statements that are not executed
// would have assigned.
func (m *machine) skipped(f *frame, p part) {
	list := m.list(p)
	for i := range list {
		st := &list[i]
		if st.pipe >= 0 && m.pipes[st.pipe].assign {
			for _, slot := range m.pipes[st.pipe].declares() {
				f.vars[slot] = m.watch.assigned(f.vars[slot])
			}
		}
		if st.kind == stmtIf || st.kind == stmtWith || st.kind == stmtRange {
			m.skipped(f, m.bodies[st.more].list)
			m.skipped(f, m.bodies[st.more].els)
		}
	}
}

// truth tells whether a value counts as true, and lets the observer know that
// something depends on it.
func (m *machine) truth(v val) bool {
	yes := isTrue(v.v)
	if m.watch != nil {
		m.watch.decide(v)
	}
	return yes
}

func isTrue(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() > 0
	case reflect.Bool:
		return v.Bool()
	case reflect.Pointer, reflect.Interface, reflect.Func:
		return !v.IsNil()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int() != 0
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.Uint() != 0
	case reflect.Float32, reflect.Float64:
		return v.Float() != 0
	case reflect.Struct:
		return true
	}
	giveUp("truth of " + v.Kind().String())
	return false
}

func (m *machine) loop(f *frame, dot val, st *stmt) signal {
	pi, b := &m.pipes[st.pipe], &m.bodies[st.more]
	whole := m.pipe(f, dot, pi)
	v, _ := indirect(whole.v)
	decl := pi.declares()
	n := 0
	var key, item func(int) reflect.Value
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Slice, reflect.Array:
		n = v.Len()
		key, item = func(i int) reflect.Value { return reflect.ValueOf(i) }, v.Index
	case reflect.Map:
		keys := sortedMapKeys(v)
		n = len(keys)
		key = func(i int) reflect.Value { return keys[i] }
		item = func(i int) reflect.Value { return v.MapIndex(keys[i]) }
	case reflect.Int, reflect.Int32, reflect.Int64:
		if len(decl) > 1 {
			giveUp("two variables over a number")
		}
		n = int(min(max(v.Int(), 0), int64(maxSteps)+1))
		key = func(int) reflect.Value { return reflect.Value{} }
		item = func(i int) reflect.Value { return reflect.ValueOf(i).Convert(v.Type()) }
	default:
		giveUp("range over " + v.Kind().String())
	}
	keyTerm, itemTerm := noTerm, noTerm
	if m.watch != nil {
		keyTerm, itemTerm = m.watch.each(whole, n)
		m.watch.inside(st, whole, n > 0)
		defer m.watch.leave()
		if n == 0 {
			m.skipped(f, b.list)
		} else {
			m.skipped(f, b.els)
		}
	}
	if n == 0 {
		return m.statements(f, dot, b.els)
	}
	for i := range n {
		// Never less than what text/template is charged for a round: what it
		// refuses must not pass here.
		m.step()
		m.step()
		k, e := val{v: key(i)}, val{v: item(i)}
		k.t, e.t = keyTerm(i, k.v), itemTerm(i, e.v)
		switch {
		case len(decl) == 1:
			f.vars[decl[0]] = e
		case len(decl) == 2:
			f.vars[decl[0]], f.vars[decl[1]] = k, e
		}
		switch m.statements(f, e, b.list) {
		case atBreak:
			return atEnd
		}
	}
	return atEnd
}

func noTerm(int, reflect.Value) *term { return nil }

// indirect follows pointers and interfaces; it stops at a nil one.
func indirect(v reflect.Value) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	return v, false
}

// pipe evaluates a pipeline, and sets the variables that it declares.
func (m *machine) pipe(f *frame, dot val, p *pipe) val {
	var v val
	for i, c := range m.commands(p) {
		var final *val
		if i > 0 {
			last := v
			final = &last
		}
		v = m.command(f, dot, m.operands(c), final)
		if v.v.Kind() == reflect.Interface && v.v.NumMethod() == 0 {
			v.v = v.v.Elem()
		}
	}
	for _, slot := range p.declares() {
		f.vars[slot] = v
		if p.assign && m.watch != nil {
			f.vars[slot] = m.watch.assigned(v)
		}
	}
	return v
}

// command evaluates one command; final is the result of the one before.
func (m *machine) command(f *frame, dot val, words []operand, final *val) val {
	head, args := &words[0], words[1:]
	if head.kind == operandFunc {
		return m.call(f, dot, m.funcs[head.ref], args, final)
	}
	if len(args) == 0 && final == nil {
		return m.operand(f, dot, head)
	}
	if head.fields == 0 {
		giveUp("arguments for a value")
	}
	// A method with arguments.
	o := *head
	o.fields--
	recv := dot
	if o.fields > 0 || o.kind != operandField {
		recv = m.operand(f, dot, &o)
	}
	return m.method(f, dot, recv, m.field(o.first+int32(o.fields)), args, final)
}

// operand evaluates an operand.
func (m *machine) operand(f *frame, dot val, o *operand) val {
	switch o.kind {
	case operandDot:
		return dot
	case operandConst:
		return val{v: reflect.ValueOf(m.consts[o.ref].value)}
	case operandString:
		return val{v: reflect.ValueOf(m.str(o))}
	case operandField:
		return m.chain(dot, o)
	case operandVar:
		return m.chain(f.vars[o.ref], o)
	case operandPipe:
		return m.chain(m.pipe(f, dot, &m.pipes[o.ref]), o)
	case operandFunc:
		return m.call(f, dot, m.funcs[o.ref], nil, nil)
	}
	giveUp("nil is no value by itself")
	return val{}
}

// chain takes the fields that follow an operand.
func (m *machine) chain(v val, o *operand) val {
	for i := o.first; i < o.first+int32(o.fields); i++ {
		if v.t != nil {
			m.watch.aboutField(v, m.field(i))
		}
		got := m.fieldOf(v.v, i)
		if v.t != nil {
			v.t = m.watch.field(v.t, m.field(i), got)
		}
		v.v = got
	}
	return v
}

// fieldMemo remembers what a name means for a type.
type fieldMemo struct {
	typ   reflect.Type // of the receiver, pointers and interfaces followed
	index []int        // of the field
	how   fieldHow
	next  *fieldMemo // for another type
}

type fieldHow uint8

const (
	plainField fieldHow = iota
	protoGetter
	method
)

// fieldOf evaluates a field of a chain.
func (p *program) fieldOf(recv reflect.Value, field int32) reflect.Value {
	if !recv.IsValid() {
		return recv // of what is not there, nothing is there
	}
	recv, isNil := indirect(recv)
	if recv.Kind() == reflect.Interface {
		giveUp("field of a nil interface")
	}
	if recv.Kind() == reflect.Map && recv.NumMethod() == 0 && recv.Type().Name() == "" {
		return mapEntry(recv, p.field(field))
	}
	typ := recv.Type()
	if isNil {
		typ = typ.Elem()
	}
	memo := p.memo(p.fields[field], typ)
	switch memo.how {
	case plainField:
		if isNil {
			giveUp("field of a nil pointer")
		}
		return recv.FieldByIndex(memo.index)
	case protoGetter:
		if isNil {
			return reflect.Zero(typ.Field(memo.index[0]).Type)
		}
		return recv.FieldByIndex(memo.index)
	}
	return callMethod(recv, p.field(field))
}

// mapEntry returns an entry of a map with string keys: invalid where there is
// none, a nil interface where it is nil.
func mapEntry(m reflect.Value, key string) reflect.Value {
	switch m := m.Interface().(type) {
	case map[string]any:
		v, ok := m[key]
		if ok && v == nil {
			return reflect.Zero(anyType)
		}
		return reflect.ValueOf(v)
	case map[string]string:
		if v, ok := m[key]; ok {
			return reflect.ValueOf(v)
		}
		return reflect.Value{}
	}
	if m.Type().Key().Kind() != reflect.String || m.Type().Key() != stringType {
		giveUp("key of a " + m.Type().String())
	}
	return m.MapIndex(reflect.ValueOf(key))
}

// memo returns what an ident means for a type.
func (p *program) memo(ident int32, typ reflect.Type) *fieldMemo {
	known := p.memos[ident].Load()
	for m := known; m != nil; m = m.next {
		if m.typ == typ {
			return m
		}
	}
	m := memoOf(typ, p.idents[ident])
	m.next = known
	p.memos[ident].Store(m) // another goroutine's may be lost: it will be made again
	return m
}

func memoOf(t reflect.Type, name string) *fieldMemo {
	if t.Kind() != reflect.Struct {
		return &fieldMemo{typ: t, how: method}
	}
	if f, ok := t.FieldByName(name); ok {
		if !f.IsExported() {
			giveUp("unexported field")
		}
		// A type cannot have a field and a method of the same name, but one
		// may be promoted from an embedded field.
		if len(f.Index) > 1 {
			if _, ok := reflect.PointerTo(t).MethodByName(name); ok {
				return &fieldMemo{typ: t, how: method}
			}
		}
		return &fieldMemo{typ: t, index: f.Index}
	}
	// The getters of messages read a field, for a nil message as for others.
	if len(name) > 3 && name[:3] == "Get" && reflect.PointerTo(t).Implements(messageType) {
		f, ok := t.FieldByName(name[3:])
		if ok && len(f.Index) == 1 && f.IsExported() && f.Type.Kind() != reflect.Interface &&
			(f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() == reflect.Struct) {
			return &fieldMemo{typ: t, index: f.Index, how: protoGetter}
		}
	}
	return &fieldMemo{typ: t, how: method}
}

// callMethod calls a method without arguments.
func callMethod(recv reflect.Value, name string) reflect.Value {
	if name == "String" && recv.Kind() == reflect.Int32 {
		if s, ok := config.EnumName(recv.Interface()); ok {
			return reflect.ValueOf(s)
		}
	}
	fn := methodOf(recv, name)
	if fn.Type().NumIn() != 0 {
		giveUp("method with arguments")
	}
	return result(fn.Call(nil))
}

func methodOf(recv reflect.Value, name string) reflect.Value {
	if recv.Kind() != reflect.Pointer && recv.CanAddr() {
		recv = recv.Addr()
	}
	fn := recv.MethodByName(name)
	if !fn.IsValid() {
		giveUp("no method " + name)
	}
	return fn
}

// result checks what a function returned: a value, or a value and an error.
func result(out []reflect.Value) reflect.Value {
	switch len(out) {
	case 1:
		return unwrap(out[0])
	case 2:
		if out[1].Type() == errorType && out[1].IsNil() {
			return unwrap(out[0])
		}
	}
	giveUp("error or number of results")
	return reflect.Value{}
}

func unwrap(v reflect.Value) reflect.Value {
	if v.Type() == reflectValueType {
		return v.Interface().(reflect.Value)
	}
	return v
}

// method calls a method with arguments.
func (m *machine) method(f *frame, dot, recv val, name string, args []operand, final *val) val {
	if !recv.v.IsValid() {
		return val{} // as for a field of what is not there
	}
	v, _ := indirect(recv.v)
	if v.Kind() == reflect.Interface {
		giveUp("method of a nil interface")
	}
	fn := &funcRef{name: name, value: methodOf(v, name), method: true}
	return m.apply(f, dot, fn, args, final, &recv)
}

// print writes a value as text/template does.
func (m *machine) print(v val) {
	m.step()
	start := len(m.out)
	m.out = appendValue(m.out, v.v)
	if m.watch != nil {
		m.watch.print(v, start, len(m.out))
	}
}

func appendValue(out []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Pointer {
		v, _ = indirect(v)
	}
	if !v.IsValid() {
		return append(out, "<no value>"...)
	}
	switch v.Type() {
	case stringType:
		return append(out, v.String()...)
	case intType, int64Type:
		return strconv.AppendInt(out, v.Int(), 10)
	case boolType:
		return strconv.AppendBool(out, v.Bool())
	}
	if v.Kind() == reflect.Int32 {
		if s, ok := config.EnumName(v.Interface()); ok {
			return append(out, s...)
		}
	}
	t := v.Type()
	if !t.Implements(errorType) && !t.Implements(stringerType) {
		if p := reflect.PointerTo(t); v.CanAddr() && (p.Implements(errorType) || p.Implements(stringerType)) {
			v = v.Addr()
		} else if v.Kind() == reflect.Chan || v.Kind() == reflect.Func {
			giveUp("printing a function")
		}
	}
	return fmt.Append(out, v.Interface())
}
