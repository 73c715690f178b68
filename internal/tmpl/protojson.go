package tmpl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// This file writes protobuf messages as the injector's protoToJSON does:
// canonical JSON without blanks, fields in the order of their declaration,
// strings escaped as encoding/json escapes them (protojson does not, and puts
// in blanks at random).

// appendProtoJSON appends a message; nil is an error.
func appendProtoJSON(dst []byte, m proto.Message) ([]byte, error) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return dst, errors.New("no message")
	}
	if pc, ok := m.(*meshv1alpha1.ProxyConfig); ok {
		return appendFields(append(dst, '{'), m.ProtoReflect(), func(f protoreflect.Name) bool { return isDefault(pc, f) })
	}
	return appendMessage(dst, m.ProtoReflect())
}

// isDefault tells the fields of a proxy configuration that the injector leaves
// out, because the proxy has the same built-in default.
func isDefault(pc *meshv1alpha1.ProxyConfig, field protoreflect.Name) bool {
	switch field {
	case "config_path":
		return pc.GetConfigPath() == "./etc/istio/proxy"
	case "binary_path":
		return pc.GetBinaryPath() == "/usr/local/bin/envoy"
	case "service_cluster":
		return pc.GetServiceCluster() == "istio-proxy"
	case "drain_duration":
		return isSeconds(pc.GetDrainDuration(), 45)
	case "termination_drain_duration":
		return isSeconds(pc.GetTerminationDrainDuration(), 5)
	case "discovery_address":
		return pc.GetDiscoveryAddress() == "istiod.istio-system.svc:15012"
	case "proxy_admin_port":
		return pc.GetProxyAdminPort() == 15000
	case "control_plane_auth_policy":
		return pc.GetControlPlaneAuthPolicy() == meshv1alpha1.AuthenticationPolicy_MUTUAL_TLS
	case "stat_name_length":
		return pc.GetStatNameLength() == 189
	case "status_port":
		return pc.GetStatusPort() == 15020
	}
	return false
}

func isSeconds(d *durationpb.Duration, s int64) bool { return d.GetSeconds() == s && d.GetNanos() == 0 }

// appendFields appends the fields of a message and the closing brace; dst ends
// with the opening brace, or with a field.
func appendFields(dst []byte, m protoreflect.Message, skip func(protoreflect.Name) bool) ([]byte, error) {
	fields := m.Descriptor().Fields()
	var err error
	for i := 0; i < fields.Len(); i++ {
		f := fields.Get(i)
		if oneof := f.ContainingOneof(); oneof != nil {
			// The members of a oneof stand together, at the place of the first.
			i += oneof.Fields().Len() - 1
			if f = m.WhichOneof(oneof); f == nil {
				continue
			}
		}
		if !m.Has(f) || skip(f.Name()) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.JSONName()...), '"', ':')
		if dst, err = appendValue(dst, f, m.Get(f)); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func keepAll(protoreflect.Name) bool { return false }

func appendValue(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	var err error
	switch {
	case f.IsList():
		dst = append(dst, '[')
		for i := range v.List().Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendSingle(dst, f, v.List().Get(i)); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case f.IsMap():
		var keys []protoreflect.MapKey
		for k := range v.Map().Range {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, compareKeys)
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k.String()), ':')
			if dst, err = appendSingle(dst, f.MapValue(), v.Map().Get(k)); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return appendSingle(dst, f, v)
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch a.Interface().(type) {
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return strings.Compare(a.String(), b.String())
}

func appendString(dst []byte, s string) []byte {
	js, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...) // not reached: every string can be encoded
	}
	return append(dst, js...)
}

func appendSingle(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendMessage(dst, v.Message())
	case protoreflect.EnumKind:
		if f.Enum().FullName() == "google.protobuf.NullValue" {
			return append(dst, "null"...), nil
		}
		name := f.Enum().Values().ByNumber(v.Enum())
		if name == nil {
			return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
		}
		return append(append(append(dst, '"'), name.Name()...), '"'), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return append(append(append(dst, '"'), v.String()...), '"'), nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		switch x := v.Float(); {
		case math.IsNaN(x):
			return append(dst, `"NaN"`...), nil
		case math.IsInf(x, 1):
			return append(dst, `"Infinity"`...), nil
		case math.IsInf(x, -1):
			return append(dst, `"-Infinity"`...), nil
		}
	}
	js, err := json.Marshal(v.Interface())
	return append(dst, js...), err
}

// appendMessage appends a message; canonical JSON writes some in a form of
// their own.
func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	d := m.Descriptor()
	if d.FullName().Parent() == "google.protobuf" {
		switch d.Name() {
		case "BoolValue", "BytesValue", "StringValue", "Int32Value", "UInt32Value", "FloatValue",
			"Int64Value", "UInt64Value", "DoubleValue", "Struct", "ListValue":
			f := d.Fields().ByNumber(1)
			return appendValue(dst, f, m.Get(f))
		case "Value":
			f := m.WhichOneof(d.Oneofs().Get(0))
			if f == nil {
				return dst, errors.New("a google.protobuf.Value without a value")
			}
			return appendValue(dst, f, m.Get(f))
		case "Duration":
			return appendDuration(dst, m.Get(d.Fields().ByNumber(1)).Int(), m.Get(d.Fields().ByNumber(2)).Int())
		case "Timestamp":
			return appendTimestamp(dst, m.Get(d.Fields().ByNumber(1)).Int(), m.Get(d.Fields().ByNumber(2)).Int())
		case "Any":
			return appendAny(dst, m.Get(d.Fields().ByNumber(1)).String(), m.Get(d.Fields().ByNumber(2)).Bytes())
		}
	}
	return appendFields(append(dst, '{'), m, keepAll)
}

// appendDuration writes seconds with 0, 3, 6 or 9 digits after the point.
func appendDuration(dst []byte, s, ns int64) ([]byte, error) {
	const most = 315_576_000_000 // seconds, about 10,000 years
	if s < -most || s > most || ns <= -1e9 || ns >= 1e9 || s > 0 && ns < 0 || s < 0 && ns > 0 {
		return dst, fmt.Errorf("duration out of range: %ds %dns", s, ns)
	}
	dst = append(dst, '"')
	if s < 0 || ns < 0 {
		dst, s, ns = append(dst, '-'), -s, -ns
	}
	dst = append(dst, trimZeros(fmt.Sprintf("%d.%09d", s, ns))...)
	return append(dst, 's', '"'), nil
}

func appendTimestamp(dst []byte, s, ns int64) ([]byte, error) {
	if ns < 0 || ns >= 1e9 {
		return dst, fmt.Errorf("timestamp out of range: %dns", ns)
	}
	text := time.Unix(s, ns).UTC().Format("2006-01-02T15:04:05.000000000")
	return append(append(append(dst, '"'), trimZeros(text)...), 'Z', '"'), nil
}

func trimZeros(s string) string {
	s = strings.TrimSuffix(s, "000")
	s = strings.TrimSuffix(s, "000")
	return strings.TrimSuffix(s, ".000")
}

func appendAny(dst []byte, url string, value []byte) ([]byte, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		return dst, err
	}
	m := typ.New()
	if err := proto.Unmarshal(value, m.Interface()); err != nil {
		return dst, err
	}
	dst = appendString(append(dst, `{"@type":`...), url)
	if wellKnown(m.Descriptor()) {
		dst, err = appendMessage(append(dst, `,"value":`...), m)
		return append(dst, '}'), err
	}
	return appendFields(dst, m, keepAll)
}

func wellKnown(d protoreflect.MessageDescriptor) bool {
	if d.FullName().Parent() != "google.protobuf" {
		return false
	}
	switch d.Name() {
	case "Any", "BoolValue", "BytesValue", "StringValue", "Int32Value", "UInt32Value", "FloatValue",
		"Int64Value", "UInt64Value", "DoubleValue", "Duration", "Timestamp", "Value", "Struct", "ListValue":
		return true
	}
	return false
}
