package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// AppendProtoJSON appends a message of the mesh's configuration (a non-nil
// pointer to MeshConfig, ProxyConfig or whatever they hold) as compact JSON:
// fields in the order of their declaration, unset ones left out, enums by
// name, byte for byte as golang/protobuf's jsonpb writes it. It spares the
// process the first use of protobuf's reflection. The error says what the
// notation cannot hold: a value of google.protobuf.Struct that is none.
func AppendProtoJSON(dst []byte, message any) ([]byte, error) {
	e := encoder{out: dst}
	e.message(message)
	return e.out, e.err
}

type encoder struct {
	out []byte
	err error
}

func (e *encoder) message(m any) {
	switch m := m.(type) {
	case *durationpb.Duration:
		e.duration(m)
		return
	case *structpb.Struct:
		e.structure(m)
		return
	case *wrapperspb.BoolValue, *wrapperspb.StringValue, *wrapperspb.Int32Value, *wrapperspb.Int64Value,
		*wrapperspb.UInt32Value, *wrapperspb.UInt64Value, *wrapperspb.FloatValue, *wrapperspb.DoubleValue:
		e.single(reflect.ValueOf(m).Elem().FieldByName("Value"))
		return
	}
	from := reflect.ValueOf(m).Elem()
	e.out = append(e.out, '{')
	start := len(e.out)
	for _, f := range messageOf(from.Type()).fields {
		v := from.Field(f.index)
		if f.member != nil { // set if the oneof holds this member
			if v.IsNil() || v.Elem().Type().Elem() != f.member {
				continue
			}
			v = v.Elem().Elem().Field(0)
		} else if !isSet(v) {
			continue
		}
		if len(e.out) > start {
			e.out = append(e.out, ',')
		}
		e.out = append(strconv.AppendQuote(e.out, f.json), ':')
		e.field(v)
	}
	e.out = append(e.out, '}')
}

// isSet reports whether a field holds something else than its zero value.
func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	case reflect.Float32, reflect.Float64:
		return v.Float() != 0 || math.Signbit(v.Float())
	}
	return !v.IsZero()
}

func (e *encoder) field(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		e.out = append(e.out, '{')
		for i, key := range keys {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.json(key.String())
			e.out = append(e.out, ':')
			e.single(v.MapIndex(key))
		}
		e.out = append(e.out, '}')
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		e.out = append(e.out, '[')
		for i := range v.Len() {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.single(v.Index(i))
		}
		e.out = append(e.out, ']')
	default:
		e.single(v)
	}
}

func (e *encoder) single(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		e.out = append(e.out, "{}"...) // an empty message, within a oneof or array
	case v.Kind() == reflect.Pointer:
		e.message(v.Interface())
	case isEnum(v.Type()):
		if name, ok := EnumName(v.Interface()); ok {
			e.out = strconv.AppendQuote(e.out, name)
		} else {
			e.out = strconv.AppendInt(e.out, v.Int(), 10)
		}
	case v.Kind() == reflect.Int64:
		e.out = append(strconv.AppendInt(append(e.out, '"'), v.Int(), 10), '"')
	case v.Kind() == reflect.Uint64:
		e.out = append(strconv.AppendUint(append(e.out, '"'), v.Uint(), 10), '"')
	case v.CanFloat():
		e.float(v)
	default:
		e.json(v.Interface())
	}
}

func (e *encoder) float(v reflect.Value) {
	switch f := v.Float(); {
	case math.IsInf(f, 1):
		e.out = append(e.out, `"Infinity"`...)
	case math.IsInf(f, -1):
		e.out = append(e.out, `"-Infinity"`...)
	case math.IsNaN(f):
		e.out = append(e.out, `"NaN"`...)
	default:
		e.json(v.Interface())
	}
}

// json appends a string, number, boolean or bytes as encoding/json does.
func (e *encoder) json(v any) {
	b, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.out = append(e.out, b...)
}

// duration writes seconds with 0, 3, 6 or 9 digits of fraction.
func (e *encoder) duration(d *durationpb.Duration) {
	sign, s, ns := "", d.GetSeconds(), d.GetNanos()
	if s < 0 || ns < 0 {
		sign, s, ns = "-", -s, -ns
	}
	text := fmt.Sprintf("%s%d.%09d", sign, s, ns)
	for _, zeros := range []string{"000", "000", ".000"} {
		text = strings.TrimSuffix(text, zeros)
	}
	e.out = append(append(append(e.out, '"'), text...), `s"`...)
}

func (e *encoder) structure(s *structpb.Struct) {
	e.out = append(e.out, '{')
	for i, key := range slices.Sorted(maps.Keys(s.GetFields())) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.json(key)
		e.out = append(e.out, ':')
		e.value(s.GetFields()[key])
	}
	e.out = append(e.out, '}')
}

func (e *encoder) value(v *structpb.Value) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		e.structure(kind.StructValue)
	case *structpb.Value_ListValue:
		e.out = append(e.out, '[')
		for i, item := range kind.ListValue.GetValues() {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			e.value(item)
		}
		e.out = append(e.out, ']')
	case *structpb.Value_NumberValue:
		e.float(reflect.ValueOf(kind.NumberValue))
	case *structpb.Value_StringValue:
		e.json(kind.StringValue)
	case *structpb.Value_BoolValue:
		e.out = strconv.AppendBool(e.out, kind.BoolValue)
	case *structpb.Value_NullValue:
		e.out = append(e.out, "null"...)
	default:
		if e.err == nil {
			e.err = fmt.Errorf("encoding a value of google.protobuf.Struct: it has no kind")
		}
	}
}
