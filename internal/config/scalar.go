package config

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// scalar reads a scalar of a Go kind, Slice standing for bytes, and reports
// whether it has the right form. The forms are those of golang/protobuf's
// jsonpb, through which the control plane reads its configuration: null is the
// zero value, numbers may stand in quotes, and a whole number must be spelled
// without fraction or exponent.
func scalar(kind reflect.Kind, n *source.Node) (v reflect.Value, ok bool) {
	switch kind {
	case reflect.Bool:
		return reflect.ValueOf(n.IsTrue()), n.Kind() == source.Bool || n.IsNull()
	case reflect.String:
		return reflect.ValueOf(n.Str()), n.Kind() == source.String || n.IsNull()
	case reflect.Slice:
		b, err := base64.StdEncoding.DecodeString(n.Str())
		return reflect.ValueOf(b), err == nil && (n.Kind() == source.String || n.IsNull())
	}
	digits, ok := number(n)
	var err error
	switch kind {
	case reflect.Int32, reflect.Int64:
		var i int64
		i, err = strconv.ParseInt(digits, 10, bits(kind))
		v = reflect.ValueOf(i)
	case reflect.Uint32, reflect.Uint64:
		var i uint64
		i, err = strconv.ParseUint(digits, 10, bits(kind))
		v = reflect.ValueOf(i)
	case reflect.Float32, reflect.Float64:
		var f float64
		f, ok, err = float(n, digits, ok, bits(kind))
		v = reflect.ValueOf(f)
	}
	return v, ok && err == nil
}

func bits(kind reflect.Kind) int {
	if kind == reflect.Int32 || kind == reflect.Uint32 || kind == reflect.Float32 {
		return 32
	}
	return 64
}

// number returns the JSON spelling of a number that n holds, quoted or not.
func number(n *source.Node) (string, bool) {
	switch n.Kind() {
	case source.Number:
		return n.Scalar(), true
	case source.Null:
		return "0", true
	case source.String:
		s := strings.Trim(n.Str(), " ")
		if s == "null" {
			return "0", true
		}
		return s, s != "" && s[0] <= '9' && json.Valid([]byte(s))
	}
	return "", false
}

func float(n *source.Node, digits string, ok bool, bits int) (float64, bool, error) {
	switch n.Str() {
	case "NaN":
		return math.NaN(), true, nil
	case "Infinity":
		return math.Inf(1), true, nil
	case "-Infinity":
		return math.Inf(-1), true, nil
	}
	f, err := strconv.ParseFloat(digits, bits)
	return f, ok, err
}

// form names what a scalar field of a kind holds, with its article.
func form(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a string in base64"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	}
	return "a whole number"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
