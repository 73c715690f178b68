package config

import (
	"reflect"
	"strings"
	"sync"
)

// This file knows the Go types of the mesh's configuration (generated structs
// of istio.io/api) by their struct tags. Reading them through protobuf's own
// reflection would be shorter, but its first use in a process costs three
// milliseconds, more than all the rest of an injection.

// messageType is what decoding and encoding know of a message.
type messageType struct {
	fields []fieldType // in the order of the declaration
}

// fieldType is a field of a message.
type fieldType struct {
	name, json string
	typ        reflect.Type // of the value
	index      int          // of the field in the Go struct
	// member is the struct that holds the value where the field is one of a
	// oneof; index is then the field of the oneof.
	member reflect.Type
}

var messageTypes sync.Map // reflect.Type of a struct -> *messageType

// messageOf returns what is known of a message, given its struct type.
func messageOf(t reflect.Type) *messageType {
	if known, ok := messageTypes.Load(t); ok {
		return known.(*messageType)
	}
	m := &messageType{fields: make([]fieldType, 0, t.NumField())}
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, ok := f.Tag.Lookup("protobuf"); ok {
			m.add(tag, fieldType{typ: f.Type, index: i})
		} else if _, ok := f.Tag.Lookup("protobuf_oneof"); ok {
			for _, v := range oneofMembers(reflect.Zero(reflect.PointerTo(t)).Interface()) {
				if p := reflect.TypeOf(v); p.Implements(f.Type) {
					value := p.Elem().Field(0)
					m.add(value.Tag.Get("protobuf"), fieldType{typ: value.Type, index: i, member: p.Elem()})
				}
			}
		}
	}
	known, _ := messageTypes.LoadOrStore(t, m)
	return known.(*messageType)
}

// add appends a field, whose names stand in its protobuf tag.
func (m *messageType) add(tag string, f fieldType) {
	for part := range strings.SplitSeq(tag, ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			f.name, f.json = name, name
		} else if name, ok := strings.CutPrefix(part, "json="); ok {
			f.json = name // stands after name=, and only where it differs
		}
	}
	m.fields = append(m.fields, f)
}

// field finds a field by its JSON name, else by its name in the proto file.
func (m *messageType) field(key string) *fieldType {
	var named *fieldType
	for i := range m.fields {
		if m.fields[i].json == key {
			return &m.fields[i]
		}
		if m.fields[i].name == key {
			named = &m.fields[i]
		}
	}
	return named
}

// names returns the JSON names of the fields.
func (m *messageType) names() []string {
	names := make([]string, len(m.fields))
	for i := range names {
		names[i] = m.fields[i].json
	}
	return names
}

// isMessage reports whether t is the type of a field that holds a message.
func isMessage(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// isEnum reports whether t is the type of a field that holds an enum.
func isEnum(t reflect.Type) bool { return t.Kind() == reflect.Int32 && t.PkgPath() != "" }

// enumValue is a name of an enum and its number.
type enumValue struct {
	name   string
	number int32
}

// EnumName returns the name of an enum value of the mesh's configuration, as
// its method String would, but without the cost of protobuf's reflection. It
// reports false for a value of another type, or one that has no name.
func EnumName(v any) (string, bool) {
	values := enumValues(v)
	if values == nil {
		return "", false
	}
	number := int32(reflect.ValueOf(v).Int())
	for _, e := range values {
		if e.number == number {
			return e.name, true
		}
	}
	return "", false
}

// shallow returns a copy of a message that shares what its fields refer to.
func shallow[M any](m *M) *M {
	c := new(M)
	from, to := reflect.ValueOf(m).Elem(), reflect.ValueOf(c).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return c
}
