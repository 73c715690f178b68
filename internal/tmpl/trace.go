package tmpl

import (
	"reflect"
	"strings"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// trace is what a run of a program on one pod teaches about others: the
// questions whose answers made it take its way, and where in the output values
// of the pod stand.
type trace struct {
	steps []step
	holes []hole
}

type step struct {
	guard  *guard
	answer outcome
}

// hole is a part of the output that comes from the pod.
type hole struct {
	start, end int
	term       *term
	// quoted tells that the template made a quoted string of the term, and
	// that the hole is what is between the quotes.
	quoted bool
}

// tracer is the observer that makes a trace.
type tracer struct {
	trace
	dialect *Dialect
	places  *places
	cursor  *cursor // on the pod of the run
	asked   map[string]bool
	lists   grower[val]
}

// places hands out the places of pods: one place a path.
type places struct {
	root place
	by   map[placeKey]*place
}

type placeKey struct {
	parent *place
	key    string
	index  int
}

func (ps *places) child(parent *place, key string, index int) *place {
	k := placeKey{parent, key, index}
	p := ps.by[k]
	if p == nil {
		if ps.by == nil {
			ps.by = map[placeKey]*place{}
		}
		p = &place{id: len(ps.by), parent: parent, key: key, index: index}
		ps.by[k] = p
	}
	return p
}

// ask notes a question, with the answer for the pod of the run.
func (t *tracer) ask(g *guard) {
	if t.asked[g.key()] {
		return
	}
	answer, ok := t.cursor.ask(g)
	if !ok {
		giveUp("no answer to a guard")
	}
	t.asked[g.key()] = true
	t.steps = append(t.steps, step{g, answer})
}

func (t *tracer) askPlace(op guardOp, p *place) { t.ask(&guard{op: op, place: p}) }

func (t *tracer) field(from *term, name string, got reflect.Value) *term {
	switch from.op {
	case termRoot:
		switch name {
		case "TypeMeta":
			return &term{op: termType}
		case "DeploymentMeta":
			return &term{op: termOwner}
		case "ObjectMeta":
			return &term{op: termPlace, place: t.places.child(&t.places.root, "metadata", 0), typ: got.Type()}
		case "Spec":
			return &term{op: termPlace, place: t.places.child(&t.places.root, "spec", 0), typ: got.Type()}
		case "ProxyConfig", "MeshConfig", "Values", "Revision", "NativeSidecars", "ProxyImage", "ProxyInitImage", "ProxyUID", "ProxyGID",
			"InboundTrafficPolicyMode", "CompliancePolicy", "EstimatedConcurrency":
			return nil // of the installation, not of the pod
		}
	case termType:
		switch name {
		case "Kind":
			return &term{op: termInput, input: inputKind}
		case "APIVersion":
			return &term{op: termInput, input: inputAPIVersion}
		}
	case termOwner:
		switch name {
		case "Name":
			return &term{op: termInput, input: inputOwnerName}
		case "Namespace":
			return &term{op: termInput, input: inputOwnerNamespace}
		}
	case termPlace:
		return t.placeField(from, name)
	}
	giveUp("field " + name + " of a made value")
	return nil
}

func (t *tracer) placeField(from *term, name string) *term {
	typ := from.typ
	if typ.Kind() == reflect.Pointer {
		t.askPlace(guardValue, from.place)
		typ = typ.Elem()
	}
	switch {
	case typ.Kind() == reflect.Map:
		p := t.places.child(from.place, name, 0)
		t.askPlace(guardPresent, p)
		if t.cursor.at(p) == nil {
			return nil
		}
		return &term{op: termPlace, place: p, typ: typ.Elem()}
	case typ == objectMetaType && name == "Namespace":
		return &term{op: termInput, input: inputNamespace}
	case typ.Kind() == reflect.Struct && !custom(typ):
		if f := infoOf(typ).named(name); f != nil {
			return &term{op: termPlace, place: t.places.child(from.place, f.key, 0), typ: f.typ}
		}
	}
	giveUp("method " + name)
	return nil
}

func (t *tracer) decide(v val) {
	if v.t == nil {
		return
	}
	switch v.t.op {
	case termList, termType, termOwner, termJSON, termRoot:
		return // the same for every pod: structs, JSON and what the template made
	case termPlace:
		switch v.t.typ.Kind() {
		case reflect.Struct:
			return
		case reflect.Slice, reflect.Map:
			t.askPlace(guardFilled, v.t.place)
			return
		case reflect.Pointer:
			t.askPlace(guardValue, v.t.place)
			return
		}
	}
	if v.t.isText() {
		t.ask(&guard{op: guardTruth, term: v.t})
		return
	}
	t.settle(v)
}

// The rest of an observer's tasks do not matter to a tracer: the way that the
// template takes is in its steps.

func (t *tracer) picked(_ []val, got val) val { return got }
func (t *tracer) assigned(v val) val          { return v }
func (t *tracer) enter(*stmt)                 {}
func (t *tracer) inside(*stmt, val, bool)     {}
func (t *tracer) leave()                      {}
func (t *tracer) about([]val)                 {}
func (t *tracer) aboutField(val, string)      {}

func (t *tracer) each(v val, n int) (key, item func(int, reflect.Value) *term) {
	if v.t == nil {
		return noTerm, noTerm
	}
	typ := v.t.typ
	switch {
	case v.t.op == termList:
		return noTerm, func(i int, _ reflect.Value) *term { return v.t.args[i].t }
	case v.t.op == termPlace && typ.Kind() == reflect.Slice:
		t.askPlace(guardLen, v.t.place)
		return noTerm, func(i int, _ reflect.Value) *term {
			return &term{op: termPlace, place: t.places.child(v.t.place, "", i), typ: typ.Elem()}
		}
	case v.t.op == termPlace && typ.Kind() == reflect.Map:
		t.askPlace(guardKeys, v.t.place)
		return noTerm, func(i int, _ reflect.Value) *term {
			key := strings.Split(keysOf(t.cursor.at(v.t.place)), "\x00")[i]
			return &term{op: termPlace, place: t.places.child(v.t.place, key, 0), typ: typ.Elem()}
		}
	}
	t.settle(v)
	return noTerm, noTerm
}

func (t *tracer) print(v val, start, end int) {
	switch {
	case v.t == nil:
	case v.t.op == termCall && v.t.fn.name == "quote" && len(v.t.args) == 1 && v.t.args[0].t != nil:
		t.holes = append(t.holes, hole{start + 1, end - 1, v.t.args[0].t, true})
	case v.t.op == termConcat:
		if whole, ok := t.cursor.text(v.t); !ok || len(whole) != end-start {
			giveUp("a text that is not the sum of its parts")
		}
		for _, part := range v.t.args {
			text, ok := t.cursor.argument(part)
			if !ok {
				giveUp("no text of a part")
			}
			if part.t != nil {
				t.holes = append(t.holes, hole{start, start + len(text), part.t, false})
			}
			start += len(text)
		}
	case v.t.isText():
		t.holes = append(t.holes, hole{start, end, v.t, false})
	default:
		t.settle(v)
	}
}

// settle makes the template's way depend on all of a value: from here on it is
// a constant.
func (t *tracer) settle(v val) val {
	switch {
	case v.t == nil:
	case v.t.isText():
		t.ask(&guard{op: guardText, term: v.t})
	case v.t.op == termPlace:
		t.askPlace(guardNode, v.t.place)
		if v.t.typ == objectMetaType { // its namespace may come from elsewhere
			t.ask(&guard{op: guardText, term: &term{op: termInput, input: inputNamespace}})
		}
	case v.t.op == termList:
		for _, item := range v.t.args {
			t.settle(item)
		}
	case v.t.op == termType:
		t.settle(val{t: &term{op: termInput, input: inputKind}})
		t.settle(val{t: &term{op: termInput, input: inputAPIVersion}})
	case v.t.op == termOwner:
		t.settle(val{t: &term{op: termInput, input: inputOwnerName}})
		t.settle(val{t: &term{op: termInput, input: inputOwnerNamespace}})
	default:
		giveUp("the data as a whole")
	}
	return val{v: v.v}
}

// call keeps the result of a function open where it is a string made of
// strings, or a part of the pod; else it depends on the arguments in full.
func (t *tracer) call(fn *funcRef, args []val, got reflect.Value) val {
	if fn.bound && !growsLists(fn.name) {
		return t.boundCall(fn, args, got)
	}
	open := false
	for _, a := range args {
		open = open || a.t != nil
	}
	if !open {
		return val{v: got}
	}
	if fn.method {
		giveUp("method of a part of the pod")
	}
	if v, ok := t.known(fn, args, got); ok {
		return v
	}
	if fn.fn != nil && allTexts(args) {
		switch {
		case got.IsValid() && got.Type() == stringType:
			return val{got, &term{op: termCall, fn: fn, args: args}}
		case got.IsValid() && got.Type() == boolType:
			t.ask(&guard{op: guardCall, fn: fn, args: args})
			return val{v: got}
		}
	}
	for _, a := range args {
		t.settle(a)
	}
	return val{v: got}
}

// allTexts reports whether all arguments that come from the pod are strings.
func allTexts(args []val) bool {
	for _, a := range args {
		if a.t != nil && (!a.t.isText() || a.v.Type() != stringType) {
			return false
		}
	}
	return true
}

// boundCall lets the result of a function that looks at more than its arguments
// depend on those in full, and on what it looks at.
func (t *tracer) boundCall(fn *funcRef, args []val, got reflect.Value) val {
	switch {
	case fn.name == "env":
		t.ask(&guard{op: guardEnv, env: args[0].v.String()})
	case fn.name == "render" && args[0].t == nil && !strings.Contains(args[0].v.String(), t.dialect.left):
		return val{v: got} // a text without actions stays what it is
	case t.dialect.isBound(fn.name):
		// It looks at the release and at the installation.
	default:
		giveUp("function " + fn.name)
	}
	for _, a := range args {
		t.settle(a)
	}
	return val{v: got}
}

// known handles the functions that pick from the pod.
func (t *tracer) known(fn *funcRef, args []val, got reflect.Value) (val, bool) {
	first := args[0]
	switch fn.name {
	case "index":
		if len(args) == 2 && args[1].t == nil {
			return t.index(first, args[1].v, got)
		}
	case "isset":
		if p, ok := t.entry(first, args[1]); ok {
			t.askPlace(guardPresent, p)
			return val{v: got}, true
		}
	case "annotation":
		return t.annotation(args, got)
	case "default":
		if len(args) == 2 {
			v := elemOf(args[1].v)
			return t.either(args[1], args[0], !v.IsValid() || !isTrue(v), got)
		}
	case "valueOrDefault":
		v := elemOf(first.v)
		return t.either(first, args[1], !v.IsValid() || v.Type() == stringType && v.String() == "", got)
	case "not":
		return val{v: got}, true // decide was told
	case "eq", "ne":
		if len(args) == 2 && args[0].isString() && args[1].isString() {
			a, b := args[0], args[1]
			if a.t == nil {
				a, b = b, a
			}
			t.ask(&guard{op: guardEqual, term: a.t, other: b})
			return val{v: got}, true
		}
	case "len":
		if first.t.op == termPlace && (first.t.typ.Kind() == reflect.Slice || first.t.typ.Kind() == reflect.Map) {
			t.askPlace(guardLen, first.t.place)
			return val{v: got}, true
		}
		if first.t.op == termList {
			return val{v: got}, true
		}
	case "list", "tuple":
		return val{got, &term{op: termList, args: args}}, true
	case "append", "push":
		if items, ok := itemsOf(first); ok {
			return val{got, &term{op: termList, args: t.lists.grow(items, args[1])}}, true
		}
	case "join":
		return t.join(args, got)
	case "structToJSON":
		if first.t.op == termPlace {
			return val{got, &term{op: termJSON, place: first.t.place, typ: first.t.typ}}, true
		}
	case "indent":
		if len(args) == 2 && args[0].t == nil && args[1].t != nil && args[1].t.op == termJSON && got.String() == args[1].v.String() {
			return val{got, args[1].t}, true // the first line stays where it is, and JSON has one
		}
	case "toJSON", "toJson":
		if _, own := fn.fn.(func(map[string]string) string); own && first.t.op == termPlace && first.t.typ == textMapType {
			t.askPlace(guardValue, first.t.place)
			if t.cursor.at(first.t.place).IsNull() {
				return val{v: got}, true // {}, where structToJSON writes null
			}
			return val{got, &term{op: termJSON, place: first.t.place, typ: first.t.typ}}, true
		}
	case "otelResourceAttributes":
		if args[0].t == nil && !asksForOtel(args[0].v) {
			return val{v: got}, true
		}
		return t.typedCall(fn, args, got)
	case "includeInboundPorts", "applicationPorts":
		return t.typedCall(fn, args, got)
	}
	return val{}, false
}

// isString reports whether a value is a string that text/template compares as
// such, constant or not.
func (v val) isString() bool {
	if v.t != nil {
		return v.t.isText()
	}
	return v.v.IsValid() && v.v.Type() == stringType
}

// entry returns the place of a map's entry with a constant key.
func (t *tracer) entry(m, key val) (*place, bool) {
	if m.t == nil || m.t.op != termPlace || m.t.typ.Kind() != reflect.Map || key.t != nil ||
		key.v.Kind() != reflect.String || key.v.String() == "" {
		return nil, false
	}
	return t.places.child(m.t.place, key.v.String(), 0), true
}

func (t *tracer) index(of val, i, got reflect.Value) (val, bool) {
	switch {
	case of.t.op == termList && i.CanInt() && of.v.Kind() == reflect.Slice:
		item := of.t.args[i.Int()]
		return val{got, item.t}, true
	case of.t.op == termPlace && of.t.typ.Kind() == reflect.Slice && i.CanInt():
		t.askPlace(guardLen, of.t.place)
		return val{got, &term{op: termPlace, place: t.places.child(of.t.place, "", int(i.Int())), typ: of.t.typ.Elem()}}, true
	case of.t.op == termPlace && of.t.typ.Kind() == reflect.Map && of.t.typ.Elem() == stringType:
		// What is not there is the empty string, as for a node that is not.
		p, ok := t.entry(of, val{v: i})
		if !ok {
			return val{}, false
		}
		t.askPlace(guardPresent, p)
		if t.cursor.at(p) == nil {
			return val{v: got}, true
		}
		return val{got, &term{op: termPlace, place: p, typ: stringType}}, true
	}
	return val{}, false
}

func (t *tracer) annotation(args []val, got reflect.Value) (val, bool) {
	meta := args[0].t
	if meta == nil || meta.op != termPlace || meta.typ != objectMetaType || args[1].t != nil || args[1].v.String() == "" {
		return val{}, false
	}
	p := t.places.child(t.places.child(meta.place, "annotations", 0), args[1].v.String(), 0)
	t.askPlace(guardPresent, p)
	if t.cursor.at(p) != nil {
		return val{got, &term{op: termPlace, place: p, typ: stringType}}, true
	}
	if args[2].t != nil && args[2].t.isText() {
		return val{got, args[2].t}, true
	}
	t.settle(args[2])
	return val{v: got}, true
}

// either handles the functions that return a value, or another where it is
// empty.
func (t *tracer) either(v, def val, empty bool, got reflect.Value) (val, bool) {
	if v.t != nil && (!v.t.isText() || v.v.Type() != stringType) {
		return val{}, false
	}
	t.decide(v)
	if empty {
		return val{got, def.t}, true
	}
	return val{got, v.t}, true
}

// itemsOf returns the items of a list that the template made.
func itemsOf(v val) ([]val, bool) {
	if v.t != nil {
		return v.t.args, v.t.op == termList
	}
	if v.v.Kind() != reflect.Slice || v.v.Type() != anySliceType {
		return nil, false
	}
	items := make([]val, v.v.Len())
	for i := range items {
		items[i] = val{v: elemOf(v.v.Index(i))}
	}
	return items, true
}

var (
	anySliceType = reflect.TypeFor[[]any]()
	textMapType  = reflect.TypeFor[map[string]string]()
)

func (t *tracer) join(args []val, got reflect.Value) (val, bool) {
	if args[0].t != nil || args[1].t.op != termList {
		return val{}, false
	}
	var parts []val
	for i, item := range args[1].t.args {
		if !item.isString() || item.t != nil && item.v.IsValid() && elemOf(item.v).Type() != stringType {
			return val{}, false
		}
		if i > 0 {
			parts = append(parts, args[0])
		}
		parts = append(parts, val{elemOf(item.v), item.t})
	}
	return val{got, &term{op: termConcat, args: parts}}, true
}

// typedCall keeps the result of a function open that reads little of large
// parts of the pod.
func (t *tracer) typedCall(fn *funcRef, args []val, got reflect.Value) (val, bool) {
	parts := partsRead(fn.name)
	needs := make([]*need, len(args))
	for i, a := range args {
		switch {
		case a.t == nil || a.t.isText():
		case a.t.op == termPlace:
			needs[i] = everything
			if i < len(parts) && parts[i] != nil {
				needs[i] = needOf(parts[i])
			}
		default:
			return val{}, false
		}
	}
	return val{got, &term{op: termCall, fn: fn, args: args, needs: needs}}, true
}

func asksForOtel(mesh reflect.Value) bool {
	m, ok := anyOf(mesh).(*meshv1alpha1.MeshConfig)
	return !ok || enrichesServiceAttributes(m)
}
