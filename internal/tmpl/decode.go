package tmpl

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// This file decodes nodes into Go values by their json tags: what
// encoding/json would do with the node's JSON, except that keys match in their
// exact case (as the API server has it) and that only what a template needs is
// decoded. encoding/json itself spends 2 ms on building its tables for PodSpec.

// structInfo is what decoding and encoding know of a struct type.
type structInfo struct {
	fields []fieldInfo // in the order of encoding/json, inlined structs in place
	custom bool        // the type decodes itself
}

type fieldInfo struct {
	key       string // the json key
	name      string // the Go name
	typ       reflect.Type
	index     int   // of the field, or of the inlined struct
	inner     []int // the way on from there; nil for a field of the struct itself
	omitEmpty bool
	omitZero  bool
}

// of returns the field of a struct.
func (f *fieldInfo) of(v reflect.Value) reflect.Value {
	v = v.Field(f.index)
	for _, i := range f.inner {
		v = v.Field(i)
	}
	return v
}

// keyed returns the field with a json key, nil for none.
func (info *structInfo) keyed(key string) *fieldInfo {
	for i := range info.fields {
		if info.fields[i].key == key {
			return &info.fields[i]
		}
	}
	return nil
}

// named returns the field with a Go name, nil for none.
func (info *structInfo) named(name string) *fieldInfo {
	for i := range info.fields {
		if info.fields[i].name == name {
			return &info.fields[i]
		}
	}
	return nil
}

var structInfos sync.Map // reflect.Type -> *structInfo

func infoOf(t reflect.Type) *structInfo {
	if info, ok := structInfos.Load(t); ok {
		return info.(*structInfo)
	}
	info := &structInfo{fields: make([]fieldInfo, 0, t.NumField()), custom: reflect.PointerTo(t).Implements(unmarshalerType)}
	info.add(t, nil)
	actual, _ := structInfos.LoadOrStore(t, info)
	return actual.(*structInfo)
}

func (info *structInfo) add(t reflect.Type, outer []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" || !f.IsExported() {
			continue
		}
		if key == "" && f.Anonymous && f.Type.Kind() == reflect.Struct {
			info.add(f.Type, append(outer[:len(outer):len(outer)], i))
			continue
		}
		if key == "" {
			key = f.Name
		}
		fi := fieldInfo{
			key: key, name: f.Name, typ: f.Type, index: i,
			omitEmpty: hasOption(opts, "omitempty"), omitZero: hasOption(opts, "omitzero"),
		}
		if len(outer) > 0 {
			fi.index, fi.inner = outer[0], append(outer[1:len(outer):len(outer)], i)
		}
		info.fields = append(info.fields, fi)
	}
}

func hasOption(opts, name string) bool {
	for opt := range strings.SplitSeq(opts, ",") {
		if opt == name {
			return true
		}
	}
	return false
}

// mismatch says which value of a pod has the wrong type.
type mismatch struct {
	node *source.Node
	path string
	want string
}

func (m *mismatch) in(prefix string) *mismatch {
	switch {
	case m.path == "":
		m.path = prefix
	case m.path[0] == '[':
		m.path = prefix + m.path
	default:
		m.path = prefix + "." + m.path
	}
	return m
}

func (m *mismatch) diagnostic() *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:     CodePodType,
		Severity: diag.Error,
		Span:     m.node.Span(),
		Message:  fmt.Sprintf("reading %s of the pod: expected %s, found %s", m.path, m.want, found(m.node)),
	}
}

func found(n *source.Node) string {
	switch n.Kind() {
	case source.String:
		return "string " + strconv.Quote(clip(n.Str(), 40))
	case source.Number, source.Bool:
		return n.Kind().String() + " " + n.Scalar()
	}
	return n.Kind().String()
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}

// decodeInto decodes n into the struct that ptr points to.
func decodeInto(ptr any, n *source.Node, needs *need, path string) *mismatch {
	if needs == nil {
		return nil
	}
	if m := decode(reflect.ValueOf(ptr).Elem(), n, needs); m != nil {
		return m.in(path)
	}
	return nil
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// custom tells types that decode themselves: quantities, times, int-or-string.
// All that a pod holds are structs.
func custom(t reflect.Type) bool { return t.Kind() == reflect.Struct && infoOf(t).custom }

func decode(v reflect.Value, n *source.Node, needs *need) *mismatch {
	t := v.Type()
	if custom(t) {
		if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(source.AppendJSON(nil, n)); err != nil {
			return &mismatch{node: n, want: wantOf(t)}
		}
		return nil
	}
	if n.IsNull() {
		return nil // as encoding/json: null leaves the zero value
	}
	switch t.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		if m := decode(p.Elem(), n, needs); m != nil {
			return m
		}
		v.Set(p)
	case reflect.Struct:
		return decodeStruct(v, n, needs)
	case reflect.Slice:
		return decodeSlice(v, n, needs)
	case reflect.Map:
		return decodeMap(v, n, needs)
	case reflect.String:
		if n.Kind() != source.String {
			return &mismatch{node: n, want: "a string"}
		}
		v.SetString(n.Str())
	case reflect.Bool:
		if n.Kind() != source.Bool {
			return &mismatch{node: n, want: "true or false"}
		}
		v.SetBool(n.IsTrue())
	case reflect.Int, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(n.Scalar(), 10, t.Bits())
		if n.Kind() != source.Number || err != nil {
			return &mismatch{node: n, want: "a whole number"}
		}
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(n.Scalar(), t.Bits())
		if n.Kind() != source.Number || err != nil {
			return &mismatch{node: n, want: "a number"}
		}
		v.SetFloat(f)
	default:
		// No field of a pod has another kind; proven by a test.
		return &mismatch{node: n, want: t.String()}
	}
	return nil
}

func wantOf(t reflect.Type) string {
	switch t.Name() {
	case "Quantity":
		return "a quantity"
	case "IntOrString":
		return "a whole number or a string"
	case "Time", "MicroTime":
		return "a time"
	}
	return "a " + t.Name()
}

func decodeStruct(v reflect.Value, n *source.Node, needs *need) *mismatch {
	if n.Kind() != source.Map {
		return &mismatch{node: n, want: "an object"}
	}
	info := infoOf(v.Type())
	for _, f := range n.Fields() {
		field := info.keyed(f.Key)
		if field == nil {
			continue
		}
		sub := needs.field(field.name)
		if sub == nil {
			continue
		}
		if m := decode(field.of(v), f.Value, sub); m != nil {
			return m.in(f.Key)
		}
	}
	return nil
}

func decodeSlice(v reflect.Value, n *source.Node, needs *need) *mismatch {
	t := v.Type()
	if t.Elem().Kind() == reflect.Uint8 {
		data, err := base64.StdEncoding.DecodeString(n.Str())
		if n.Kind() != source.String || err != nil {
			return &mismatch{node: n, want: "a base64 string"}
		}
		v.SetBytes(data)
		return nil
	}
	if n.Kind() != source.List {
		return &mismatch{node: n, want: "an array"}
	}
	s := reflect.MakeSlice(t, n.Len(), n.Len())
	for i, item := range n.Items() {
		if m := decode(s.Index(i), item, needs.item()); m != nil {
			return m.in("[" + strconv.Itoa(i) + "]")
		}
	}
	v.Set(s)
	return nil
}

func decodeMap(v reflect.Value, n *source.Node, needs *need) *mismatch {
	if n.Kind() != source.Map {
		return &mismatch{node: n, want: "an object"}
	}
	t := v.Type()
	if t == reflect.TypeFor[map[string]string]() {
		m := make(map[string]string, n.Len())
		for _, f := range n.Fields() {
			if f.Value.Kind() != source.String && !f.Value.IsNull() {
				return (&mismatch{node: f.Value, want: "a string"}).in("[" + strconv.Quote(f.Key) + "]")
			}
			m[f.Key] = f.Value.Str()
		}
		v.Set(reflect.ValueOf(m))
		return nil
	}
	m := reflect.MakeMapWithSize(t, n.Len())
	for _, f := range n.Fields() {
		e := reflect.New(t.Elem()).Elem()
		if m := decode(e, f.Value, needs.item()); m != nil {
			return m.in("[" + strconv.Quote(f.Key) + "]")
		}
		m.SetMapIndex(reflect.ValueOf(f.Key).Convert(t.Key()), e)
	}
	v.Set(m)
	return nil
}
