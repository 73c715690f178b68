package config

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ingraft/ingraft/internal/source"
)

// scalar reads a value of a protobuf field of the given kind, and reports
// whether it has the right form. The forms are those of golang/protobuf's
// jsonpb, through which the control plane reads its configuration: null is the
// zero value, numbers may stand in quotes, and a whole number must be spelled
// without fraction or exponent.
func scalar(kind protoreflect.Kind, n *source.Node) (v protoreflect.Value, ok bool) {
	switch kind {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n.IsTrue()), n.Kind() == source.Bool || n.IsNull()
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(n.Str()), n.Kind() == source.String || n.IsNull()
	case protoreflect.BytesKind:
		b, err := base64.StdEncoding.DecodeString(n.Str())
		return protoreflect.ValueOfBytes(b), err == nil && (n.Kind() == source.String || n.IsNull())
	}
	digits, ok := number(n)
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		i, err := strconv.ParseInt(digits, 10, 32)
		return protoreflect.ValueOfInt32(int32(i)), ok && err == nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		i, err := strconv.ParseInt(digits, 10, 64)
		return protoreflect.ValueOfInt64(i), ok && err == nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		i, err := strconv.ParseUint(digits, 10, 32)
		return protoreflect.ValueOfUint32(uint32(i)), ok && err == nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		i, err := strconv.ParseUint(digits, 10, 64)
		return protoreflect.ValueOfUint64(i), ok && err == nil
	case protoreflect.FloatKind:
		f, valid := float(n, digits, ok, 32)
		return protoreflect.ValueOfFloat32(float32(f)), valid
	case protoreflect.DoubleKind:
		f, valid := float(n, digits, ok, 64)
		return protoreflect.ValueOfFloat64(f), valid
	}
	return v, false
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

func float(n *source.Node, digits string, ok bool, bits int) (float64, bool) {
	switch n.Str() {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	f, err := strconv.ParseFloat(digits, bits)
	return f, ok && err == nil
}
