package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// decoder fills the messages of the mesh's configuration from nodes. It
// accepts what the control plane accepts (golang/protobuf's jsonpb with
// unknown fields allowed), tells the place of what it refuses, and warns of
// unknown fields.
type decoder struct {
	diags diag.List
	path  []string // keys that lead to the value being read
	// installing tells that only what the installer's type has is known.
	installing bool
}

// message sets the fields of a message (a pointer to a struct) that n holds;
// null, as a whole or as the value of a field, changes nothing.
func (d *decoder) message(m any, n *source.Node) {
	if n.IsNull() || d.wellKnown(m, n) {
		return
	}
	if n.Kind() != source.Map {
		d.mistyped(n, "an object")
		return
	}
	into := reflect.ValueOf(m).Elem()
	typ := messageOf(into.Type())
	var chosen map[int]*fieldType // of each oneof, the field that was set
	for _, f := range n.Fields() {
		field := typ.field(f.Key)
		if field == nil {
			d.unknown(f, typ.names())
			continue
		}
		if f.Key != field.json && n.Get(field.json) != nil {
			continue // both spellings: the JSON name wins
		}
		if f.Value.IsNull() {
			continue
		}
		d.path = append(d.path, f.Key)
		v, ok := d.field(field.typ, f.Value)
		d.path = d.path[:len(d.path)-1]
		switch {
		case !ok:
		case field.member == nil:
			into.Field(field.index).Set(v)
		case chosen[field.index] == nil || typ.before(chosen[field.index], field):
			// Of the fields of a oneof the last in the order of the type wins.
			if chosen == nil {
				chosen = map[int]*fieldType{}
			}
			chosen[field.index] = field
			member := reflect.New(field.member)
			member.Elem().Field(0).Set(v)
			into.Field(field.index).Set(member)
		}
	}
}

// before reports whether a is declared before b.
func (m *messageType) before(a, b *fieldType) bool {
	for i := range m.fields {
		if f := &m.fields[i]; f == a || f == b {
			return f == a
		}
	}
	return false
}

// field reads the value of a field, and reports whether it could.
func (d *decoder) field(typ reflect.Type, n *source.Node) (reflect.Value, bool) {
	switch {
	case typ.Kind() == reflect.Map:
		return d.object(typ, n)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		return d.array(typ, n)
	}
	return d.single(typ, n)
}

func (d *decoder) array(typ reflect.Type, n *source.Node) (reflect.Value, bool) {
	if n.Kind() != source.List {
		return reflect.Value{}, d.mistyped(n, "an array")
	}
	list, ok := reflect.Zero(typ), true // empty stays nil, as protobuf has it
	for i, item := range n.Items() {
		d.path = append(d.path, fmt.Sprintf("[%d]", i))
		v, valid := d.single(typ.Elem(), item)
		d.path = d.path[:len(d.path)-1]
		if ok = ok && valid; ok {
			list = reflect.Append(list, v)
		}
	}
	return list, ok
}

// object reads a map, whose keys are strings: the mesh has no others.
func (d *decoder) object(typ reflect.Type, n *source.Node) (reflect.Value, bool) {
	if n.Kind() != source.Map {
		return reflect.Value{}, d.mistyped(n, "an object")
	}
	object, ok := reflect.MakeMapWithSize(typ, n.Len()), true
	for _, f := range n.Fields() {
		d.path = append(d.path, f.Key)
		v, valid := d.single(typ.Elem(), f.Value)
		d.path = d.path[:len(d.path)-1]
		if ok = ok && valid; ok {
			object.SetMapIndex(reflect.ValueOf(f.Key), v)
		}
	}
	return object, ok
}

// single reads one value: a field that is no list or map, or an element.
func (d *decoder) single(typ reflect.Type, n *source.Node) (reflect.Value, bool) {
	switch {
	case isMessage(typ):
		v := reflect.New(typ.Elem())
		before := len(d.diags)
		d.message(v.Interface(), n)
		return v, !d.diags[before:].HasErrors()
	case isEnum(typ):
		return d.enum(typ, n)
	}
	v, ok := scalar(typ.Kind(), n)
	if !ok {
		return v, d.mistyped(n, form(typ.Kind()))
	}
	return v.Convert(typ), true
}

func (d *decoder) enum(typ reflect.Type, n *source.Node) (reflect.Value, bool) {
	values := enumValues(reflect.Zero(typ).Interface())
	if n.Kind() == source.String {
		for _, e := range values {
			if e.name == n.Str() {
				return reflect.ValueOf(e.number).Convert(typ), true
			}
		}
	} else if v, ok := scalar(reflect.Int32, n); ok {
		return v.Convert(typ), true
	}
	names := make([]string, len(values))
	for i, e := range values {
		names[i] = e.name
	}
	d.notOneOf(n, names)
	return reflect.Value{}, false
}

const wantDuration = `a duration such as "10s" or "1m30s"`

// wellKnown reads the types of protobuf that have a notation of their own, and
// reports whether m is of such a type. The mesh uses no others of them.
func (d *decoder) wellKnown(m any, n *source.Node) bool {
	switch m := m.(type) {
	case *durationpb.Duration:
		t, err := time.ParseDuration(n.Str())
		if err != nil || n.Kind() != source.String {
			d.mistyped(n, wantDuration)
			return true
		}
		m.Seconds, m.Nanos = int64(t/time.Second), int32(t%time.Second)
	case *structpb.Struct:
		object, ok := n.Any().(map[string]any)
		if !ok {
			d.mistyped(n, "an object")
			return true
		}
		s, err := structpb.NewStruct(object)
		if err != nil {
			d.mistyped(n, "an object of valid UTF-8")
			return true
		}
		m.Fields = s.Fields
	case *wrapperspb.BoolValue, *wrapperspb.StringValue, *wrapperspb.Int32Value, *wrapperspb.Int64Value,
		*wrapperspb.UInt32Value, *wrapperspb.UInt64Value, *wrapperspb.FloatValue, *wrapperspb.DoubleValue:
		value := reflect.ValueOf(m).Elem().FieldByName("Value")
		if v, ok := d.single(value.Type(), n); ok {
			value.Set(v)
		}
	default:
		return false
	}
	return true
}

// ignored says what becomes of an unknown field.
const ignored = ": the control plane ignores it"

func (d *decoder) unknown(f source.Field, known []string) {
	at := f.KeySpan
	if !at.IsValid() {
		at = f.Value.Span()
	}
	w := d.add(finding(diag.Warning, CodeUnknown, at, "unknown field %s"+ignored, d.at(f.Key)))
	if near := diag.Nearest(f.Key, known); near != "" {
		w.Fix = "did you mean " + near + "?"
	}
}

// mistyped adds an error about a value of the wrong type. It returns false.
func (d *decoder) mistyped(n *source.Node, want string) bool {
	d.add(finding(diag.Error, CodeType, n.Span(), "%s must be %s, not %s", d.at(), want, describe(n)))
	return false
}

func (d *decoder) notOneOf(n *source.Node, names []string) {
	e := d.add(finding(diag.Error, CodeType, n.Span(), "%s must be one of %s, not %s", d.at(), strings.Join(names, ", "), describe(n)))
	if near := diag.Nearest(n.Str(), names); near != "" {
		e.Fix = "did you mean " + near + "?"
	}
}

// at spells the path of the value being read, followed by more keys.
func (d *decoder) at(more ...string) string {
	var b strings.Builder
	for _, key := range append(d.path[:len(d.path):len(d.path)], more...) {
		if b.Len() > 0 && !strings.HasPrefix(key, "[") {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	if b.Len() == 0 {
		return "the document"
	}
	return b.String()
}

// describe says what a value is: its type, and short scalars as they are.
func describe(n *source.Node) string {
	switch n.Kind() {
	case source.Number, source.Bool:
		return fmt.Sprintf("the %s %s", n.Kind(), n.Scalar())
	case source.String:
		if len(n.Str()) <= 60 {
			return fmt.Sprintf("the string %q", n.Str())
		}
		return "a string"
	case source.Null:
		return "null"
	}
	return "an " + n.Kind().String() // object, array
}
