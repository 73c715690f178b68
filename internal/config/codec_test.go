package config

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/source"
)

// A message that protobuf's own library wrote is read as it was, and written
// as that library writes it, blanks aside.
func TestCodecAgreesWithProtobuf(t *testing.T) {
	for seed := range uint64(300) {
		want := &meshv1alpha1.MeshConfig{}
		fill(rand.New(rand.NewPCG(seed, 1)), want.ProtoReflect(), 0)
		js, err := protojson.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := source.Parse(source.NewText("mesh.json", js))
		if err != nil {
			t.Fatal(err)
		}
		got, d := &meshv1alpha1.MeshConfig{}, &decoder{}
		d.message(got, doc.Root)
		for _, f := range d.diags {
			t.Errorf("seed %d: %v", seed, f)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatalf("seed %d: reading (-want +got):\n%s", seed, diff)
		}
		out, err := AppendProtoJSON(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(out, &a); err != nil {
			t.Fatalf("seed %d: %v in %s", seed, err, out)
		}
		if err := json.Unmarshal(js, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatalf("seed %d: writing (-want +got):\n%s", seed, diff)
		}
	}
}

func TestAppendProtoJSON(t *testing.T) {
	for _, test := range []struct {
		m    proto.Message
		want string
	}{
		{&meshv1alpha1.ProxyConfig{}, `{}`},
		{&meshv1alpha1.ProxyConfig{ClusterName: &meshv1alpha1.ProxyConfig_ServiceCluster{}}, `{"serviceCluster":""}`},
		{&meshv1alpha1.ProxyConfig{ControlPlaneAuthPolicy: 7}, `{"controlPlaneAuthPolicy":7}`},
		{&meshv1alpha1.ProxyConfig{ProxyMetadata: map[string]string{"b": "<", "a": "\""}}, `{"proxyMetadata":{"a":"\"","b":"\u003c"}}`},
		{DefaultProxyConfig(), `{"configPath":"./etc/istio/proxy","binaryPath":"/usr/local/bin/envoy","serviceCluster":"istio-proxy",` +
			`"drainDuration":"45s","discoveryAddress":"istiod.istio-system.svc:15012","proxyAdminPort":15000,` +
			`"controlPlaneAuthPolicy":"MUTUAL_TLS","statNameLength":189,"statusPort":15020,"terminationDrainDuration":"5s"}`},
	} {
		got, err := AppendProtoJSON(nil, test.m)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s, %v\nwant %s", got, err, test.want)
		}
	}
	if _, err := AppendProtoJSON(nil, &structpb.Struct{Fields: map[string]*structpb.Value{"a": {}}}); err == nil {
		t.Error("a value without kind was written")
	}
}

// fill sets some fields of a message to random values.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	switch m.Descriptor().FullName() {
	case "google.protobuf.Struct":
		s, _ := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{true, nil, "x"}, "c": map[string]any{}})
		proto.Merge(m.Interface(), s)
		return
	case "google.protobuf.Duration":
		sign := r.Int64N(3) - 1
		m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(sign*r.Int64N(1e6)))
		m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(int32(sign)*r.Int32N(1000)*1000))
		return
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if depth > 0 && r.IntN(4) > 0 && fd.Message() != nil || depth > 5 || r.IntN(3) == 0 {
			continue
		}
		switch {
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range r.IntN(3) {
				list.Append(random(r, fd, list.NewElement, depth))
			}
		case fd.IsMap():
			object := m.Mutable(fd).Map()
			for range r.IntN(3) {
				object.Set(protoreflect.ValueOfString(word(r)).MapKey(), random(r, fd.MapValue(), object.NewValue, depth))
			}
		default:
			m.Set(fd, random(r, fd, func() protoreflect.Value { return m.NewField(fd) }, depth))
		}
	}
}

func random(r *rand.Rand, fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value, depth int) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(word(r))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(word(r)))
	case protoreflect.EnumKind:
		if r.IntN(10) == 0 {
			return protoreflect.ValueOfEnum(9999)
		}
		return protoreflect.ValueOfEnum(fd.Enum().Values().Get(r.IntN(fd.Enum().Values().Len())).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(r.Uint32()))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(r.Uint64()))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(r.Uint32())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(r.Uint64())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(r.Float32())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.Float64() * 1e9)
	}
	v := fresh()
	fill(r, v.Message(), depth+1)
	return v
}

func word(r *rand.Rand) string {
	return []string{"", "a", "true", "12", "ü\n", `"<&>"`, "10s", "istiod.istio-system.svc:15012"}[r.IntN(8)]
}
