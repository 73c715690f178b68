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
	decide(v val, truth bool)
	// each is told that a range begins, and returns the terms of keys and items.
	each(v val, n int) (key, item func(i int, v reflect.Value) *term)
	// leave is told that the statement of the last decide or each ended.
	leave()
	// enter is told that a statement begins, and its output with it.
	enter(b *block, st *stmt)
	// print is told what an action wrote, or that text was written.
	print(v val, start, end int)
}

// unsure is the panic of a machine that leaves the template to text/template.
type unsure struct{ why string }

func giveUp(why string) { panic(unsure{why}) }

// frame holds the variables of a template being run.
type frame struct {
	block *block
	vars  []val
}

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
	f := &frame{block: b, vars: make([]val, b.slots)}
	f.vars[0] = dot
	m.list(f, dot, b.list)
	m.run.depth--
}

func (m *machine) step() {
	if m.run.steps++; m.run.steps > maxSteps || len(m.out) > maxOutput {
		giveUp("too long")
	}
}

func (m *machine) list(f *frame, dot val, list []stmt) signal {
	for i := range list {
		st := &list[i]
		if m.watch != nil {
			m.watch.enter(f.block, st)
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
		v := m.pipe(f, dot, st.pipe)
		if st.pipe.decl == nil {
			m.print(v)
		}
	case stmtIf, stmtWith:
		return m.branch(f, dot, st)
	case stmtRange:
		return m.loop(f, dot, st)
	case stmtTemplate:
		b := m.defines[st.name]
		if b == nil {
			if st.name != engineName {
				giveUp("template not defined")
			}
			b = m.main
		}
		m.run.steps += 4 // as above
		m.step()
		m.invoke(b, m.pipe(f, dot, st.pipe))
	case stmtBreak:
		return atBreak
	case stmtContinue:
		return atContinue
	}
	return atEnd
}

func (m *machine) branch(f *frame, dot val, st *stmt) signal {
	v := m.pipe(f, dot, st.pipe)
	yes := m.truth(v)
	var s signal
	switch {
	case yes && st.kind == stmtWith:
		s = m.list(f, v, st.list)
	case yes:
		s = m.list(f, dot, st.list)
	default:
		s = m.list(f, dot, st.els)
	}
	if m.watch != nil {
		m.watch.leave()
	}
	return s
}

// truth tells whether a value counts as true, and lets the observer know that
// something depends on it.
func (m *machine) truth(v val) bool {
	yes := isTrue(v.v)
	if m.watch != nil {
		m.watch.decide(v, yes)
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
	whole := m.pipe(f, dot, st.pipe)
	v, _ := indirect(whole.v)
	decl := st.pipe.decl
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
		n = int(min(max(v.Int(), 0), maxSteps+1))
		key = func(int) reflect.Value { return reflect.Value{} }
		item = func(i int) reflect.Value { return reflect.ValueOf(i).Convert(v.Type()) }
	default:
		giveUp("range over " + v.Kind().String())
	}
	keyTerm, itemTerm := noTerm, noTerm
	if m.watch != nil {
		keyTerm, itemTerm = m.watch.each(whole, n)
		defer m.watch.leave()
	}
	if n == 0 {
		return m.list(f, dot, st.els)
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
		switch m.list(f, e, st.list) {
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
	if p == nil {
		return v
	}
	for i := range p.cmds {
		var final *val
		if i > 0 {
			last := v
			final = &last
		}
		v = m.command(f, dot, &p.cmds[i], final)
		if v.v.Kind() == reflect.Interface && v.v.NumMethod() == 0 {
			v.v = v.v.Elem()
		}
	}
	for _, slot := range p.decl {
		f.vars[slot] = v
	}
	return v
}

// command evaluates one command; final is the result of the one before.
func (m *machine) command(f *frame, dot val, c *cmd, final *val) val {
	head := c.head()
	if head.kind == operandFunc {
		return m.call(f, dot, head.fn, c.args(), final)
	}
	if len(c.words) == 1 && final == nil {
		return m.operand(f, dot, head)
	}
	if len(head.fields) == 0 {
		giveUp("arguments for a value")
	}
	// A method with arguments.
	o := *head
	last := o.fields[len(o.fields)-1]
	o.fields = o.fields[:len(o.fields)-1]
	var recv val
	if len(o.fields) == 0 && o.kind == operandField {
		recv = dot
	} else {
		recv = m.operand(f, dot, &o)
	}
	return m.method(f, dot, recv, last.name, c.args(), final)
}

// operand evaluates an operand that is no literal nil and no function.
func (m *machine) operand(f *frame, dot val, o *operand) val {
	switch o.kind {
	case operandDot:
		return dot
	case operandConst:
		return val{v: m.consts[o.slot].value}
	case operandField:
		return m.chain(dot, o.fields)
	case operandVar:
		return m.chain(f.vars[o.slot], o.fields)
	case operandPipe:
		return m.chain(m.pipe(f, dot, o.pipe), o.fields)
	case operandFunc:
		return m.call(f, dot, o.fn, nil, nil)
	}
	giveUp("nil")
	return val{}
}

func (m *machine) chain(v val, fields []fieldRef) val {
	for i := range fields {
		got := m.fieldOf(v.v, &fields[i])
		if v.t != nil {
			v.t = m.watch.field(v.t, fields[i].name, got)
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
}

type fieldHow uint8

const (
	plainField fieldHow = iota
	protoGetter
	method
)

// fieldOf evaluates .name of a receiver.
func (p *program) fieldOf(recv reflect.Value, f *fieldRef) reflect.Value {
	if !recv.IsValid() {
		return recv // of what is not there, nothing is there
	}
	recv, isNil := indirect(recv)
	if recv.Kind() == reflect.Interface {
		giveUp("field of a nil interface")
	}
	if recv.Kind() == reflect.Map && recv.NumMethod() == 0 && recv.Type().Name() == "" {
		return mapEntry(recv, f.name)
	}
	typ := recv.Type()
	if isNil {
		typ = typ.Elem()
	}
	memo := p.memos[f.id].Load()
	if memo == nil || memo.typ != typ {
		memo = memoOf(typ, f.name)
		p.memos[f.id].Store(memo)
	}
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
	return callMethod(recv, f.name)
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
