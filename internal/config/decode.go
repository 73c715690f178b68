package config

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// decoder fills protobuf messages from nodes. It accepts what the control
// plane accepts (golang/protobuf's jsonpb with unknown fields allowed), tells
// the place of what it refuses, and warns of unknown fields.
type decoder struct {
	diags diag.List
	path  []string // keys that lead to the value being read
}

// message sets the fields of m that n holds; a null, as a whole or as the
// value of a field, changes nothing.
func (d *decoder) message(m protoreflect.Message, n *source.Node) {
	if d.wellKnown(m, n) || n.IsNull() {
		return
	}
	if n.Kind() != source.Map {
		d.mistyped(n, "an object")
		return
	}
	fields := m.Descriptor().Fields()
	chosen := map[protoreflect.OneofDescriptor]int{}
	for _, f := range n.Fields() {
		fd := fields.ByJSONName(f.Key)
		if fd == nil {
			if fd = fields.ByName(protoreflect.Name(f.Key)); fd != nil && n.Get(fd.JSONName()) != nil {
				continue // both spellings: the JSON name wins
			}
		}
		if fd == nil {
			d.unknown(f, fieldNames(fields))
			continue
		}
		if f.Value.IsNull() && !keepsNull(fd) {
			continue
		}
		d.path = append(d.path, f.Key)
		v, ok := d.field(m, fd, f.Value)
		d.path = d.path[:len(d.path)-1]
		if !ok {
			continue
		}
		// Of the fields of a oneof, the last in the order of the type wins.
		if one := fd.ContainingOneof(); one != nil {
			if last, set := chosen[one]; set && last > fd.Index() {
				continue
			}
			chosen[one] = fd.Index()
		}
		m.Set(fd, v)
	}
}

// field reads the value of a field, and reports whether it could.
func (d *decoder) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, n *source.Node) (protoreflect.Value, bool) {
	v := m.NewField(fd)
	switch {
	case fd.IsList():
		if n.Kind() != source.List {
			return v, d.mistyped(n, "an array")
		}
		ok := true
		for i, item := range n.Items() {
			d.path = append(d.path, fmt.Sprintf("[%d]", i))
			e, valid := d.single(v.List().NewElement, fd, item)
			d.path = d.path[:len(d.path)-1]
			if ok = ok && valid; valid {
				v.List().Append(e)
			}
		}
		return v, ok
	case fd.IsMap():
		if n.Kind() != source.Map {
			return v, d.mistyped(n, "an object")
		}
		ok := true
		for _, f := range n.Fields() {
			d.path = append(d.path, f.Key)
			key, keyOK := scalar(fd.MapKey().Kind(), source.NewString(f.Key))
			if !keyOK {
				d.mistyped(f.Value, "a key that is "+article(form(fd.MapKey().Kind())))
			}
			e, valid := d.single(v.Map().NewValue, fd.MapValue(), f.Value)
			d.path = d.path[:len(d.path)-1]
			if ok = ok && keyOK && valid; keyOK && valid {
				v.Map().Set(key.MapKey(), e)
			}
		}
		return v, ok
	}
	return d.single(func() protoreflect.Value { return v }, fd, n)
}

// single reads one value: a field that is no list or map, or an element.
func (d *decoder) single(fresh func() protoreflect.Value, fd protoreflect.FieldDescriptor, n *source.Node) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		v := fresh()
		before := len(d.diags)
		d.message(v.Message(), n)
		return v, !d.diags[before:].HasErrors()
	case protoreflect.EnumKind:
		return d.enum(fd.Enum(), n)
	}
	v, ok := scalar(fd.Kind(), n)
	if !ok {
		d.mistyped(n, article(form(fd.Kind())))
	}
	return v, ok
}

func (d *decoder) enum(ed protoreflect.EnumDescriptor, n *source.Node) (protoreflect.Value, bool) {
	values := ed.Values()
	if n.Kind() == source.String {
		if v := values.ByName(protoreflect.Name(n.Str())); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), true
		}
	} else if v, ok := scalar(protoreflect.Int32Kind, n); ok {
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(v.Int())), true
	}
	names := make([]string, values.Len())
	for i := range names {
		names[i] = string(values.Get(i).Name())
	}
	d.notOneOf(n, names)
	return protoreflect.Value{}, false
}

// wellKnown reads the types of protobuf that have a notation of their own, and
// reports whether m is of such a type.
func (d *decoder) wellKnown(m protoreflect.Message, n *source.Node) bool {
	md := m.Descriptor()
	if md.ParentFile().Package() != "google.protobuf" {
		return false
	}
	switch md.Name() {
	case "Duration":
		if n.IsNull() {
			return true
		}
		t, err := time.ParseDuration(n.Str())
		if err != nil || n.Kind() != source.String {
			d.mistyped(n, `a duration such as "10s" or "1m30s"`)
			return true
		}
		m.Set(md.Fields().ByNumber(1), protoreflect.ValueOfInt64(int64(t/time.Second)))
		m.Set(md.Fields().ByNumber(2), protoreflect.ValueOfInt32(int32(t%time.Second)))
	case "BoolValue", "BytesValue", "StringValue", "Int32Value", "UInt32Value", "Int64Value", "UInt64Value", "FloatValue", "DoubleValue":
		if n.IsNull() {
			return true
		}
		fd := md.Fields().ByNumber(1)
		if v, ok := scalar(fd.Kind(), n); ok {
			m.Set(fd, v)
		} else {
			d.mistyped(n, article(form(fd.Kind())))
		}
	case "Struct":
		if n.IsNull() {
			return true
		}
		object, ok := n.Any().(map[string]any)
		if !ok {
			d.mistyped(n, "an object")
			return true
		}
		s, err := structpb.NewStruct(object)
		if err != nil {
			d.mistyped(n, "text that is valid UTF-8")
			return true
		}
		m.Set(md.Fields().ByNumber(1), s.ProtoReflect().Get(s.ProtoReflect().Descriptor().Fields().ByNumber(1)))
	default:
		return false
	}
	return true
}

// keepsNull reports whether null is a value for a field, not its absence.
func keepsNull(fd protoreflect.FieldDescriptor) bool {
	return !fd.IsList() && !fd.IsMap() && fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Value"
}

func (d *decoder) unknown(f source.Field, known []string) {
	at := f.KeySpan
	if !at.IsValid() {
		at = f.Value.Span()
	}
	w := d.add(finding(diag.Warning, CodeUnknown, at, "unknown field %s: the control plane ignores it", d.at(f.Key)))
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
	return article(n.Kind().String())
}

func article(noun string) string {
	if strings.IndexByte("aeiou", noun[0]) >= 0 {
		return "an " + noun
	}
	return "a " + noun
}

// form names what a field of a kind holds.
func form(kind protoreflect.Kind) string {
	switch kind {
	case protoreflect.BoolKind:
		return "boolean"
	case protoreflect.StringKind:
		return "string"
	case protoreflect.BytesKind:
		return "string in base64"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "number"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "whole number that is not negative"
	}
	return "whole number"
}

func fieldNames(fields protoreflect.FieldDescriptors) []string {
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = fields.Get(i).JSONName()
	}
	return names
}
