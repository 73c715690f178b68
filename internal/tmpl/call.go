package tmpl

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/internal/config"
)

var (
	anyType          = reflect.TypeFor[any]()
	stringType       = reflect.TypeFor[string]()
	boolType         = reflect.TypeFor[bool]()
	intType          = reflect.TypeFor[int]()
	int64Type        = reflect.TypeFor[int64]()
	errorType        = reflect.TypeFor[error]()
	stringerType     = reflect.TypeFor[fmt.Stringer]()
	messageType      = reflect.TypeFor[proto.Message]()
	reflectValueType = reflect.TypeFor[reflect.Value]()
	objectMetaType   = reflect.TypeFor[metav1.ObjectMeta]()
	podSpecType      = reflect.TypeFor[corev1.PodSpec]()
)

// funcRef is a function that a program names. The functions bound to a run are
// made for each run; all else is here.
type funcRef struct {
	name    string
	builtin builtin
	bound   bool // needs the run: clock, environment, render
	fn      any
	value   reflect.Value
	method  bool
}

// builtin numbers the functions of text/template that functions of Go cannot
// express, or that are worth a short cut.
type builtin uint8

const (
	notBuiltin builtin = iota
	fnAnd
	fnOr
	fnNot
	fnLen
	fnIndex
	fnEq
	fnNe
	fnLt
	fnLe
	fnGt
	fnGe
	fnAnnotation
	fnOther   // of text/template, left to it
	fnUnknown // in no dialect; only a survey meets one
)

func builtinOf(name string) builtin {
	switch name {
	case "and":
		return fnAnd
	case "or":
		return fnOr
	case "not":
		return fnNot
	case "len":
		return fnLen
	case "index":
		return fnIndex
	case "eq":
		return fnEq
	case "ne":
		return fnNe
	case "lt":
		return fnLt
	case "le":
		return fnLe
	case "gt":
		return fnGt
	case "ge":
		return fnGe
	case "annotation":
		return fnAnnotation
	case "call", "html", "js", "urlquery":
		return fnOther
	}
	return notBuiltin
}

// function returns the index of a function in the program's table; -1 where
// there is none or only text/template may call it.
func (p *parser) function(name string) int32 {
	for i, f := range p.funcs {
		if f.name == name {
			return int32(i)
		}
	}
	f := &funcRef{name: name, builtin: builtinOf(name)}
	if f.builtin == fnOther || !p.dialect.has(name) {
		if !p.dialect.lenient {
			return -1
		}
		if f.builtin != fnOther {
			f.builtin = fnUnknown
		}
		p.funcs = append(p.funcs, f)
		return int32(len(p.funcs) - 1)
	}
	if f.builtin == notBuiltin {
		f.fn = p.dialect.function(name, nil)
		if f.fn == nil {
			return -1
		}
		f.value = reflect.ValueOf(f.fn)
		f.bound = isBound(name) || p.dialect.isBound(name)
		p.renders = p.renders || name == "render"
		p.mutates = p.mutates || mutates(name) && name != "render"
	}
	p.funcs = append(p.funcs, f)
	return int32(len(p.funcs) - 1)
}

// isBound tells the functions that depend on the run.
func isBound(name string) bool {
	switch name {
	case "env", "expandenv", "render", "now", "ago", "date", "date_in_zone", "dateInZone", "htmlDate",
		"htmlDateInZone", "durationRound", "toDate", "mustToDate":
		return true
	}
	return growsLists(name)
}

// growsLists tells the function that needs the run only to be quick: what it
// returns depends on its arguments alone.
func growsLists(name string) bool { return name == "append" || name == "push" }

// call evaluates a function of a command.
func (m *machine) call(f *frame, dot val, fn *funcRef, args []operand, final *val) val {
	switch fn.builtin {
	case fnAnd, fnOr:
		return m.andOr(f, dot, fn.builtin == fnOr, args, final)
	case notBuiltin:
		if fn.bound {
			bound := *fn
			bound.fn = m.dialect.function(fn.name, m.run)
			bound.value = reflect.ValueOf(bound.fn)
			fn = &bound
		}
		return m.apply(f, dot, fn, args, final, nil)
	}
	// Builtin functions take any value as it is.
	in := make([]val, 0, 4)
	for i := range args {
		in = append(in, m.argument(f, dot, &args[i], reflectValueType))
	}
	if final != nil {
		in = append(in, *final)
	}
	if m.watch != nil {
		m.watch.about(in)
	}
	got := m.builtin(fn.builtin, in)
	out := val{v: got}
	if m.watch != nil {
		out = m.watch.call(fn, in, got)
	}
	return out
}

// andOr evaluates arguments only until one decides.
func (m *machine) andOr(f *frame, dot val, or bool, args []operand, final *val) val {
	if len(args) == 0 && final == nil {
		giveUp("no arguments")
	}
	var looked []val // of interest to an observer only
	got := final
	for i := range args {
		v := m.argument(f, dot, &args[i], reflectValueType)
		got = &v
		// The last one is the result, whether it is true or not.
		if i == len(args)-1 && final == nil || m.truth(v) == or {
			break
		}
		if m.watch != nil {
			looked = append(looked, v)
		}
		got = final
	}
	if m.watch != nil {
		return m.watch.picked(looked, *got)
	}
	return *got
}

func (m *machine) builtin(fn builtin, in []val) reflect.Value {
	if len(in) == 0 {
		giveUp("no arguments")
	}
	switch fn {
	case fnNot:
		one(in, 1)
		return reflect.ValueOf(!m.truth(in[0]))
	case fnLen:
		one(in, 1)
		v, isNil := indirect(in[0].v)
		switch v.Kind() {
		case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
			if !isNil {
				return reflect.ValueOf(v.Len())
			}
		}
	case fnIndex:
		return index(in)
	case fnEq:
		return reflect.ValueOf(equal(in[0].v, in[1:]))
	case fnNe:
		one(in, 2)
		return reflect.ValueOf(!equal(in[0].v, in[1:]))
	case fnLt:
		return reflect.ValueOf(compare(in) < 0)
	case fnLe:
		return reflect.ValueOf(compare(in) <= 0)
	case fnGt:
		return reflect.ValueOf(compare(in) > 0)
	case fnGe:
		return reflect.ValueOf(compare(in) >= 0)
	case fnAnnotation:
		return annotationOf(in)
	}
	giveUp("builtin function")
	return reflect.Value{}
}

func one(in []val, n int) {
	if len(in) != n {
		giveUp("number of arguments")
	}
}

// annotationOf is the injector's function annotation, without copying the
// metadata.
func annotationOf(in []val) reflect.Value {
	one(in, 3)
	if !in[0].v.IsValid() || in[0].v.Type() != objectMetaType || in[1].v.Kind() != reflect.String || in[1].v.Type() != stringType {
		giveUp("arguments of annotation")
	}
	if !in[0].v.CanAddr() {
		giveUp("metadata in a copy")
	}
	if v, ok := annotationsOf(in[0].v)[in[1].v.String()]; ok {
		return reflect.ValueOf(v)
	}
	return reflect.ValueOf(sprint(in[2].v))
}

func annotationsOf(meta reflect.Value) map[string]string {
	return meta.Addr().Interface().(*metav1.ObjectMeta).Annotations
}

// hasAnnotation tells whether the function annotation found what it was asked
// for.
func hasAnnotation(in []val) bool {
	_, ok := annotationsOf(in[0].v)[in[1].v.String()]
	return ok
}

// sprint is fmt.Sprint of an argument of type any.
func sprint(v reflect.Value) string {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "<nil>"
	}
	if v.Kind() == reflect.Int32 {
		if s, ok := config.EnumName(v.Interface()); ok {
			return s
		}
	}
	return fmt.Sprint(v.Interface())
}

func elemOf(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// index is text/template's function index.
func index(in []val) reflect.Value {
	v := elemOf(in[0].v)
	if !v.IsValid() {
		giveUp("index of nil")
	}
	for _, i := range in[1:] {
		x := elemOf(i.v)
		var isNil bool
		if v, isNil = indirect(v); isNil {
			giveUp("index of a nil pointer")
		}
		switch v.Kind() {
		case reflect.Slice, reflect.String, reflect.Array:
			var n int64
			switch x.Kind() {
			case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
				n = x.Int()
			default:
				giveUp("index of that type")
			}
			if n < 0 || n >= int64(v.Len()) {
				giveUp("index out of range")
			}
			v = v.Index(int(n))
		case reflect.Map:
			if !x.IsValid() || !x.Type().AssignableTo(v.Type().Key()) {
				giveUp("key of that type")
			}
			if e := v.MapIndex(x); e.IsValid() {
				v = e
			} else {
				v = reflect.Zero(v.Type().Elem())
			}
		default:
			giveUp("index of that type")
		}
	}
	return v
}

// basicKind sorts the kinds that can be compared.
func basicKind(v reflect.Value) reflect.Kind {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return reflect.Int
	case reflect.Bool:
		return reflect.Bool
	case reflect.String:
		return reflect.String
	case reflect.Float32, reflect.Float64:
		return reflect.Float64
	}
	return reflect.Invalid
}

// equal is text/template's function eq, for what is usual.
func equal(v reflect.Value, others []val) bool {
	v = elemOf(v)
	if len(others) == 0 {
		giveUp("nothing to compare with")
	}
	k := basicKind(v)
	for _, o := range others {
		w := elemOf(o.v)
		if !v.IsValid() || !w.IsValid() {
			if nilOrInvalid(v) && nilOrInvalid(w) {
				return true
			}
			continue
		}
		if k == reflect.Invalid || k != basicKind(w) {
			giveUp("comparing kinds")
		}
		same := false
		switch k {
		case reflect.Int:
			same = v.Int() == w.Int()
		case reflect.Bool:
			same = v.Bool() == w.Bool()
		case reflect.String:
			same = v.String() == w.String()
		case reflect.Float64:
			same = v.Float() == w.Float()
		}
		if same {
			return true
		}
	}
	return false
}

func nilOrInvalid(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// compare orders two values of the same kind.
func compare(in []val) int {
	one(in, 2)
	v, w := elemOf(in[0].v), elemOf(in[1].v)
	if basicKind(v) != basicKind(w) {
		giveUp("comparing kinds")
	}
	switch basicKind(v) {
	case reflect.Int:
		return cmp.Compare(v.Int(), w.Int())
	case reflect.String:
		return strings.Compare(v.String(), w.String())
	case reflect.Float64:
		if v.Float() != v.Float() || w.Float() != w.Float() {
			giveUp("not a number")
		}
		return cmp.Compare(v.Float(), w.Float())
	}
	giveUp("ordering kinds")
	return 0
}

func sortedMapKeys(m reflect.Value) []reflect.Value {
	if m.Type().Key().Kind() != reflect.String {
		giveUp("range over a map without string keys")
	}
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// argument evaluates an argument for a parameter of a type.
func (m *machine) argument(f *frame, dot val, o *operand, typ reflect.Type) val {
	switch o.kind {
	case operandNil:
		if !canBeNil(typ) {
			giveUp("nil argument")
		}
		if typ == reflectValueType {
			return val{}
		}
		return val{v: reflect.Zero(typ)}
	case operandString:
		return val{v: literal(&constant{value: m.str(o)}, typ)}
	case operandConst:
		return val{v: literal(&m.consts[o.ref], typ)}
	}
	v := m.operand(f, dot, o)
	v.v = assignable(v.v, typ)
	return v
}

// literal returns a literal as a value of a type.
func literal(o *constant, typ reflect.Type) reflect.Value {
	switch typ.Kind() {
	case reflect.Interface:
		if typ.NumMethod() == 0 {
			return reflect.ValueOf(o.value)
		}
	case reflect.Struct:
		if typ == reflectValueType {
			return reflect.ValueOf(o.value)
		}
	case reflect.String, reflect.Bool:
		if v := reflect.ValueOf(o.value); o.num == nil && v.Kind() == typ.Kind() {
			return v.Convert(typ)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if o.num != nil && o.num.IsInt {
			v := reflect.New(typ).Elem()
			v.SetInt(o.num.Int64)
			return v
		}
	case reflect.Float32, reflect.Float64:
		if o.num != nil && o.num.IsFloat {
			v := reflect.New(typ).Elem()
			v.SetFloat(o.num.Float64)
			return v
		}
	}
	giveUp("literal for that parameter")
	return reflect.Value{}
}

func canBeNil(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return typ == reflectValueType
}

// assignable returns a value as an argument of a type, as text/template
// converts it: nothing becomes nil, one pointer is followed.
func assignable(v reflect.Value, typ reflect.Type) reflect.Value {
	if typ == reflectValueType {
		return v
	}
	if !v.IsValid() {
		if !canBeNil(typ) {
			giveUp("nothing for a parameter")
		}
		return reflect.Zero(typ)
	}
	t := v.Type()
	if t == typ || t.AssignableTo(typ) {
		return v
	}
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
		if t = v.Type(); t.AssignableTo(typ) {
			return v
		}
	}
	switch {
	case v.Kind() == reflect.Pointer && t.Elem().AssignableTo(typ):
		if v.IsNil() {
			giveUp("nil pointer for a parameter")
		}
		return v.Elem()
	case v.CanAddr() && reflect.PointerTo(t).AssignableTo(typ):
		return v.Addr()
	}
	giveUp("type of a parameter")
	return v
}

// apply evaluates arguments for the parameters of a Go function and calls it.
func (m *machine) apply(f *frame, dot val, fn *funcRef, args []operand, final *val, recv *val) val {
	typ := fn.value.Type()
	n := len(args)
	if final != nil {
		n++
	}
	fixed := typ.NumIn()
	if typ.IsVariadic() {
		fixed--
		if n < fixed {
			giveUp("number of arguments")
		}
	} else if n != fixed {
		giveUp("number of arguments")
	}
	param := func(i int) reflect.Type {
		if i >= fixed {
			return typ.In(fixed).Elem()
		}
		return typ.In(i)
	}
	in := make([]val, n)
	for i := range args {
		in[i] = m.argument(f, dot, &args[i], param(i))
	}
	if final != nil {
		in[n-1] = val{assignable(final.v, param(n-1)), final.t}
	}
	if m.watch == nil {
		return val{v: invoke(fn, in, fixed)}
	}
	all := in
	if recv != nil {
		all = append([]val{*recv}, in...)
	}
	m.watch.about(all)
	return m.watch.call(fn, all, invoke(fn, in, fixed))
}

// invoke calls a function. Reflection's own Call is slow, slower still the
// first time for each type, so the usual types are called directly.
func invoke(fn *funcRef, in []val, fixed int) reflect.Value {
	s := func(i int) string { return in[i].v.String() }
	switch call := fn.fn.(type) {
	case func(string) string:
		return reflect.ValueOf(call(s(0)))
	case func(string, string) string:
		return reflect.ValueOf(call(s(0), s(1)))
	case func(string, string) bool:
		return reflect.ValueOf(call(s(0), s(1)))
	case func(map[string]string, string) bool:
		return reflect.ValueOf(call(in[0].v.Interface().(map[string]string), s(1)))
	case func(int, string) string:
		return reflect.ValueOf(call(int(in[0].v.Int()), s(1)))
	case func(int, string) (string, error):
		return checked(call(int(in[0].v.Int()), s(1)))
	case func(string, ...any) (string, error):
		return checked(call(s(0), anys(in[1:])...))
	case func(any) string:
		return reflect.ValueOf(call(anyOf(in[0].v)))
	case func(any) any:
		return reflect.ValueOf(call(anyOf(in[0].v)))
	case func(any, any) any:
		return reflect.ValueOf(call(anyOf(in[0].v), anyOf(in[1].v)))
	case func(any, any) []any:
		return reflect.ValueOf(call(anyOf(in[0].v), anyOf(in[1].v)))
	case func(any, string) string:
		return reflect.ValueOf(call(anyOf(in[0].v), s(1)))
	case func(string, any) string:
		return reflect.ValueOf(call(s(0), anyOf(in[1].v)))
	case func(string, any) (string, error):
		return checked(call(s(0), anyOf(in[1].v)))
	case func(any, ...any) any:
		return reflect.ValueOf(call(anyOf(in[0].v), anys(in[1:])...))
	case func(...any) string:
		return reflect.ValueOf(call(anys(in)...))
	case func(...any) (string, error):
		return checked(call(anys(in)...))
	case func(...any) []any:
		return reflect.ValueOf(call(anys(in)...))
	case func(string) any:
		return reflect.ValueOf(call(s(0)))
	case func(proto.Message) string:
		m, _ := anyOf(in[0].v).(proto.Message)
		return reflect.ValueOf(call(m))
	}
	args := make([]reflect.Value, len(in))
	for i := range in {
		args[i] = in[i].v
		if !args[i].IsValid() {
			args[i] = reflect.Zero(fn.value.Type().In(min(i, fixed)))
		}
	}
	return result(fn.value.Call(args))
}

func checked(s string, err error) reflect.Value {
	if err != nil {
		giveUp("error of a function")
	}
	return reflect.ValueOf(s)
}

func anyOf(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func anys(in []val) []any {
	out := make([]any, len(in))
	for i := range in {
		out[i] = anyOf(in[i].v)
	}
	return out
}
