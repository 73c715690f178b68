package config

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/ingraft/ingraft/internal/source"
)

// valuesField is a field of a message of the values.
type valuesField struct {
	name   string // its JSON name
	proto  string // its name in the proto file, where that is another one
	form   valuesForm
	list   bool // an array of what form says
	object bool // an object of what form says
	ref    int  // number of its message or enum
}

// valuesForm says what a field of the values holds.
type valuesForm uint8

const (
	formAny valuesForm = iota
	formObject
	formMessage
	formEnum
	formBool
	formString
	formInt32
	formInt64
	formUint32
	formDouble
	formDuration
	formIntOrString
)

// IsValue reports whether the values of the newest release have a setting at a
// path.
func IsValue(path ...string) bool {
	message := 0
	for i, key := range path {
		field := valuesFieldOf(valuesMessages[message], key)
		switch {
		case field == nil || key == "":
			return false
		case field.form != formMessage || field.list || field.object:
			return i == len(path)-1 || field.form == formAny || field.form == formObject || field.object
		}
		message = field.ref
	}
	return len(path) > 0
}

// ValuesAt returns the names of the settings below a path of the values of the
// newest release; nil where it leads to none.
func ValuesAt(path ...string) []string {
	message := 0
	for _, key := range path {
		field := valuesFieldOf(valuesMessages[message], key)
		if field == nil || field.form != formMessage || field.list || field.object {
			return nil
		}
		message = field.ref
	}
	var names []string
	for _, f := range valuesMessages[message] {
		names = append(names, f.name)
	}
	return names
}

// values refuses what the control plane's type of the values cannot hold, and
// warns of what it does not know. The value is a message of that number.
func (d *decoder) values(n *source.Node, message int) {
	if n.Kind() != source.Map {
		d.mistyped(n, "an object")
		return
	}
	fields := valuesMessages[message]
	for _, f := range n.Fields() {
		field := valuesFieldOf(fields, f.Key)
		if field == nil {
			d.unknownValue(f, fields)
			continue
		}
		if f.Value.IsNull() || f.Key != field.name && n.Get(field.name) != nil {
			continue // both spellings: the JSON name wins
		}
		d.path = append(d.path, f.Key)
		d.valuesField(field, f.Value)
		d.path = d.path[:len(d.path)-1]
	}
}

func valuesFieldOf(fields []valuesField, key string) (named *valuesField) {
	for i := range fields {
		if fields[i].name == key {
			return &fields[i]
		}
		if fields[i].proto == key {
			named = &fields[i]
		}
	}
	return named
}

func (d *decoder) valuesField(field *valuesField, n *source.Node) {
	switch {
	case field.list && n.Kind() != source.List:
		d.mistyped(n, "an array")
	case field.object && n.Kind() != source.Map:
		d.mistyped(n, "an object")
	case field.list:
		for i, item := range n.Items() {
			d.path = append(d.path, "["+strconv.Itoa(i)+"]")
			d.value(field, item)
			d.path = d.path[:len(d.path)-1]
		}
	case field.object:
		for _, f := range n.Fields() {
			d.path = append(d.path, f.Key)
			d.value(field, f.Value)
			d.path = d.path[:len(d.path)-1]
		}
	default:
		d.value(field, n)
	}
}

// value judges one value: a field that is no list or object, or an element,
// where null is always accepted.
func (d *decoder) value(field *valuesField, n *source.Node) {
	if n.IsNull() {
		return
	}
	switch field.form {
	case formAny:
	case formObject:
		if n.Kind() != source.Map {
			d.mistyped(n, "an object")
		}
	case formMessage:
		d.values(n, field.ref)
	case formEnum:
		names := valuesEnums[field.ref]
		if _, ok := scalar(reflect.Int32, n); n.Kind() == source.String || !ok {
			for _, name := range names {
				if n.Kind() == source.String && name == n.Str() {
					return
				}
			}
			d.notOneOf(n, names)
		}
	case formDuration:
		if _, err := time.ParseDuration(n.Str()); err != nil || n.Kind() != source.String {
			d.mistyped(n, wantDuration)
		}
	case formIntOrString:
		i, ok := n.Int()
		if n.Kind() != source.String && (!ok || i != int64(int32(i))) {
			d.mistyped(n, "a whole number or a string")
		}
	default:
		kind := valuesKinds[field.form]
		if _, ok := scalar(kind, n); !ok {
			d.mistyped(n, form(kind))
		}
	}
}

// valuesKinds maps the forms of scalars to the kinds that scalar reads.
var valuesKinds = [...]reflect.Kind{
	formBool:   reflect.Bool,
	formString: reflect.String,
	formInt32:  reflect.Int32,
	formInt64:  reflect.Int64,
	formUint32: reflect.Uint32,
	formDouble: reflect.Float64,
}

// unknownValue warns of a field that neither the control plane's type has nor
// the chart.
func (d *decoder) unknownValue(f source.Field, fields []valuesField) {
	path := d.at(f.Key)
	if _, ok := slices.BinarySearch(valuesOfChart[:], path); !d.installing && (ok || slices.Contains(valuesOfOlder, path)) {
		return
	}
	var known []string
	for i := range fields {
		known = append(known, fields[i].name)
		if fields[i].proto != "" {
			known = append(known, fields[i].proto)
		}
	}
	d.unknown(f, known)
}

// valuesOfOlder lists what the installs of releases since 1.9 hand to the
// injector and 1.31 knows no more: nobody wrote it, so nobody is warned.
var valuesOfOlder = []string{
	"global.autoscalingv2API",
	"global.oneNamespace",
	"global.useMCP",
	"sidecarInjectorWebhook.objectSelector",
	"sidecarInjectorWebhook.useLegacySelectors",
}
