package tmpl

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// This file looks at nodes as the Go values that decode would make of them,
// without making them.

// conforms reports whether decode would accept a node.
func conforms(t reflect.Type, n *source.Node, needs *need) bool {
	if needs == nil {
		return true
	}
	if custom(t) {
		return decode(reflect.New(t).Elem(), n, needs) == nil
	}
	if n.IsNull() {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return conforms(t.Elem(), n, needs)
	case reflect.Struct:
		if n.Kind() != source.Map {
			return false
		}
		info := infoOf(t)
		for _, f := range n.Fields() {
			if field := info.keyed(f.Key); field != nil && !conforms(field.typ, f.Value, needs.field(field.name)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return decode(reflect.New(t).Elem(), n, needs) == nil
		}
		if n.Kind() != source.List {
			return false
		}
		for _, item := range n.Items() {
			if !conforms(t.Elem(), item, needs.item()) {
				return false
			}
		}
		return true
	case reflect.Map:
		if n.Kind() != source.Map {
			return false
		}
		for _, f := range n.Fields() {
			if !conforms(t.Elem(), f.Value, needs.item()) {
				return false
			}
		}
		return true
	case reflect.String:
		return n.Kind() == source.String
	case reflect.Bool:
		return n.Kind() == source.Bool
	}
	return decode(reflect.New(t).Elem(), n, needs) == nil
}

// appendTyped appends the JSON that encoding/json writes of the value that
// decode would make of a node. It reports false for what it leaves to them.
func appendTyped(dst []byte, t reflect.Type, n *source.Node) ([]byte, bool) {
	if custom(t) {
		v := reflect.New(t)
		if decode(v.Elem(), n, everything) != nil {
			return dst, false
		}
		js, err := json.Marshal(v.Interface())
		return append(dst, js...), err == nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if n.IsNull() {
			return append(dst, "null"...), true
		}
		return appendTyped(dst, t.Elem(), n)
	case reflect.Struct:
		return appendStruct(dst, t, n)
	case reflect.Slice:
		return appendSlice(dst, t, n)
	case reflect.Map:
		return appendMap(dst, t, n)
	case reflect.String:
		return appendJSONString(dst, n.Str()), n.IsNull() || n.Kind() == source.String
	case reflect.Bool:
		return strconv.AppendBool(dst, n.IsTrue()), n.IsNull() || n.Kind() == source.Bool
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n.IsNull() {
			return append(dst, '0'), true
		}
		i, err := strconv.ParseInt(n.Scalar(), 10, t.Bits())
		return strconv.AppendInt(dst, i, 10), err == nil && n.Kind() == source.Number
	}
	return dst, false
}

func appendStruct(dst []byte, t reflect.Type, n *source.Node) ([]byte, bool) {
	if !n.IsNull() && n.Kind() != source.Map {
		return dst, false
	}
	dst = append(dst, '{')
	start := len(dst)
	info := infoOf(t)
	ok := true
	for i := range info.fields {
		f := &info.fields[i]
		e := n.Get(f.key)
		if f.omitZero {
			return dst, false
		}
		if f.omitEmpty && isEmpty(f.typ, e) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.key...), '"', ':')
		if dst, ok = appendTyped(dst, f.typ, e); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// isEmpty tells what omitempty leaves out.
func isEmpty(t reflect.Type, n *source.Node) bool {
	switch t.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map:
		return n.IsNull() || n.Len() == 0 && n.Str() == ""
	case reflect.String:
		return n.Str() == ""
	case reflect.Bool:
		return n.IsNull() || n.Scalar() == "false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return n.IsNull() || n.Scalar() == "0" || n.Scalar() == "-0"
	}
	return n.IsNull()
}

func appendSlice(dst []byte, t reflect.Type, n *source.Node) ([]byte, bool) {
	switch {
	case n.IsNull():
		return append(dst, "null"...), true
	case n.Kind() != source.List:
		return dst, false // bytes among them
	}
	dst = append(dst, '[')
	ok := true
	for i, item := range n.Items() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, ok = appendTyped(dst, t.Elem(), item); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

func appendMap(dst []byte, t reflect.Type, n *source.Node) ([]byte, bool) {
	switch {
	case n.IsNull():
		return append(dst, "null"...), true
	case n.Kind() != source.Map:
		return dst, false
	}
	fields := slices.Clone(n.Fields())
	slices.SortFunc(fields, func(a, b source.Field) int { return strings.Compare(a.Key, b.Key) })
	dst = append(dst, '{')
	ok := true
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, f.Key), ':')
		if dst, ok = appendTyped(dst, t.Elem(), f.Value); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendJSONString appends a string as encoding/json does.
func appendJSONString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			js, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...) // not reached: every string can be encoded
			}
			return append(dst, js...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
