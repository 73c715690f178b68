package tmpl

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// Bounds of what is told about the inputs of a statement that failed.
const (
	maxInputs    = 4
	maxInputText = 40
)

// inputs says what the innermost statement around an offset read, with the
// values that it had: `.Values.global.tag is "1.31", annotation a/b is not set`.
// Of lists only their length is told, objects are not, and it is "" where there are none.
func (r *reference) inputs(pos int, data *Data) string {
	pipe := r.statement(pos)
	var told []string
	tell := func(name, value string) {
		if s := name + " is " + value; len(told) < maxInputs && !slices.Contains(told, s) {
			told = append(told, s)
		}
	}
	annotations := false
	walk(pipe, func(n parse.Node) {
		f, ok := n.(*parse.FieldNode)
		if !ok {
			return
		}
		if f.Ident[0] == "ObjectMeta" && (len(f.Ident) == 1 || f.Ident[1] == "Annotations") {
			annotations = true
			return
		}
		if value, ok := scalarAt(reflect.ValueOf(data), f.Ident); ok {
			tell("."+strings.Join(f.Ident, "."), value)
		}
	})
	if annotations {
		walk(pipe, func(n parse.Node) {
			s, ok := n.(*parse.StringNode)
			if !ok || !strings.Contains(s.Text, "/") {
				return
			}
			if value, ok := data.ObjectMeta.Annotations[s.Text]; ok {
				tell("annotation "+s.Text, shortened(strconv.Quote(value)))
			} else {
				tell("annotation "+s.Text, "not set")
			}
		})
	}
	return strings.Join(told, ", ")
}

// scalarAt returns the text, number or boolean at a path of fields.
func scalarAt(v reflect.Value, path []string) (string, bool) {
	for _, key := range path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Struct:
			v = v.FieldByName(key)
		case reflect.Map:
			if v.Type().Key().Kind() != reflect.String {
				return "", false
			}
			v = v.MapIndex(reflect.ValueOf(key).Convert(v.Type().Key()))
		default:
			return "", false
		}
	}
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return shortened(strconv.Quote(v.String())), true
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Float64:
		return fmt.Sprint(v.Interface()), true
	case reflect.Slice:
		return fmt.Sprintf("a list of %d", v.Len()), true
	}
	return "", false
}

func shortened(quoted string) string {
	if len(quoted) <= maxInputText {
		return quoted
	}
	return strings.ToValidUTF8(quoted[:maxInputText-4], "") + `..."`
}
