package config

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// CheckMesh judges a mesh configuration that stands within another document,
// under the keys at: what the control plane refuses is an error, what it does
// not know or warns of a warning.
func CheckMesh(root *source.Node, at ...string) diag.List {
	if root.IsNull() {
		return nil
	}
	d := &decoder{path: at}
	config := DefaultMeshConfig()
	d.mesh(config, root)
	if d.diags.HasErrors() {
		return d.diags
	}
	around := root
	for i := len(at) - 1; i >= 0; i-- {
		around = source.NewMap(source.F(at[i], around))
	}
	c := checker{root: around, path: at}
	c.mesh(config)
	return append(d.diags, c.diags...)
}

// CheckValues judges the values that are given to an install, which stand
// within another document under the keys at: a value of the wrong type is an
// error, and so is a setting that the installer of the newest release does not
// know, though a chart may read it.
func CheckValues(root *source.Node, at ...string) diag.List {
	if root.IsNull() {
		return nil
	}
	d := &decoder{path: at, installing: true}
	d.values(root, 0)
	for _, f := range d.diags {
		if f.Code == CodeUnknown {
			f.Severity, f.Message = diag.Error, strings.TrimSuffix(f.Message, ignored)
		}
	}
	return d.diags
}

// Form says what a setting holds, as far as its text has to be read by it.
type Form uint8

// The forms of settings. Anything stands for what may be of any form, and for
// settings that do not exist.
const (
	Anything Form = iota
	Text
	Flag
	Number
	Array
	Object
)

// ValuesForm returns the form of a setting of the values of the newest
// release.
func ValuesForm(path ...string) Form {
	message := 0
	for i, key := range path {
		field := valuesFieldOf(valuesMessages[message], key)
		if field == nil || key == "" {
			return Anything
		}
		rest := path[i+1:]
		switch {
		case field.list && len(rest) == 0:
			return Array
		case field.object && len(rest) == 0:
			return Object
		case field.list || field.object:
			rest = rest[1:] // of an item, or a value
		}
		if field.form == formMessage && len(rest) > 0 && !field.list && !field.object {
			message = field.ref
			continue
		}
		if len(rest) > 0 {
			return Anything
		}
		switch field.form {
		case formMessage, formObject:
			return Object
		case formBool:
			return Flag
		case formString, formDuration:
			return Text
		case formInt32, formInt64, formUint32, formDouble:
			return Number
		}
		return Anything
	}
	return Object
}

// MeshForm returns the form of a setting of the mesh configuration. Items of
// arrays are not looked into.
func MeshForm(path ...string) Form {
	typ := reflect.TypeFor[*meshv1alpha1.MeshConfig]()
	for _, key := range path {
		if typ.Kind() == reflect.Map {
			typ = typ.Elem()
			continue
		}
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
			typ = typ.Elem() // the key is an index
			continue
		}
		if !isMessage(typ) || isWellKnown(typ) {
			return Anything
		}
		field := messageOf(typ.Elem()).field(key)
		if field == nil {
			return Anything
		}
		typ = field.typ
	}
	return formOf(typ)
}

func isWellKnown(typ reflect.Type) bool {
	switch typ {
	case reflect.TypeFor[*durationpb.Duration](), reflect.TypeFor[*structpb.Struct](), reflect.TypeFor[*wrapperspb.BoolValue](),
		reflect.TypeFor[*wrapperspb.StringValue](), reflect.TypeFor[*wrapperspb.Int32Value](), reflect.TypeFor[*wrapperspb.Int64Value](),
		reflect.TypeFor[*wrapperspb.UInt32Value](), reflect.TypeFor[*wrapperspb.UInt64Value](),
		reflect.TypeFor[*wrapperspb.FloatValue](), reflect.TypeFor[*wrapperspb.DoubleValue]():
		return true
	}
	return false
}

func formOf(typ reflect.Type) Form {
	switch typ {
	case reflect.TypeFor[*durationpb.Duration](), reflect.TypeFor[*wrapperspb.StringValue]():
		return Text
	case reflect.TypeFor[*wrapperspb.BoolValue]():
		return Flag
	case reflect.TypeFor[*structpb.Struct]():
		return Object
	}
	switch {
	case isWellKnown(typ):
		return Number
	case isMessage(typ), typ.Kind() == reflect.Map:
		return Object
	case isEnum(typ):
		return Anything // a name or a number
	case typ.Kind() == reflect.String:
		return Text
	case typ.Kind() == reflect.Bool:
		return Flag
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		return Array
	case typ.Kind() == reflect.Slice:
		return Text
	}
	return Number
}
