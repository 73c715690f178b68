package settings

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"istio.io/istio/pkg/log"
	"sigs.k8s.io/yaml"
)

var (
	cases = flag.Int("cases", 3000, "number of documents that each test generates")
	seed  = flag.Uint64("seed", 1, "seed of the first document")
)

// each calls check with the random source of every document.
func each(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	for i := range uint64(*cases) {
		t.Run(strconv.FormatUint(*seed+i, 10), func(t *testing.T) { check(t, rand.New(rand.NewPCG(*seed+i, 0))) })
		if t.Failed() {
			t.Fatalf("stopped; run it again with -seed %d -cases 1", *seed+i)
		}
	}
}

// generator makes documents for a message: mostly sound ones, with few fields.
type generator struct {
	*rand.Rand
	odd int // one value in so many is of another type or form
}

// text spells a document as JSON or YAML.
func (g generator) text(t *testing.T, v any) string {
	t.Helper()
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if g.IntN(2) == 0 {
		return string(js)
	}
	y, err := yaml.JSONToYAML(js)
	if err != nil {
		t.Fatal(err)
	}
	return string(y)
}

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

// message makes an object with some of the fields of a message.
func (g generator) message(md protoreflect.MessageDescriptor, depth int) any {
	if v, ok := g.wellKnown(md); ok {
		return v
	}
	object := map[string]any{}
	fields := md.Fields()
	for range 1 + g.IntN(4) {
		if fields.Len() == 0 {
			break
		}
		fd := fields.Get(g.IntN(fields.Len()))
		if depth == 0 && g.oneIn(3) {
			if d := fields.ByName("default_config"); d != nil {
				fd = d
			}
			if d := fields.ByName("global"); d != nil {
				fd = d
			}
		}
		if depth > 4 && fd.Message() != nil {
			continue
		}
		name := fd.JSONName()
		switch {
		case g.oneIn(15):
			name = string(fd.Name())
		case g.oneIn(40):
			name += "x"
		}
		object[name] = g.field(fd, depth)
	}
	return object
}

func (g generator) field(fd protoreflect.FieldDescriptor, depth int) any {
	switch {
	case g.oneIn(30):
		return nil
	case g.oneIn(g.odd):
		return g.anything()
	case fd.IsList():
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.single(fd, depth))
		}
		return list
	case fd.IsMap():
		object := map[string]any{}
		for range g.IntN(3) {
			object[pick(g, "a", "b/c", "b/c/d", "e", "ISTIO_META_DNS_AUTO_ALLOCATE", "")] = g.single(fd.MapValue(), depth)
		}
		return object
	}
	return g.single(fd, depth)
}

func (g generator) single(fd protoreflect.FieldDescriptor, depth int) any {
	if g.oneIn(60) {
		return nil
	}
	if g.oneIn(g.odd) {
		return g.anything()
	}
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return g.message(fd.Message(), depth+1)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		v := values.Get(g.IntN(values.Len()))
		if g.oneIn(10) {
			return int(v.Number())
		}
		return string(v.Name())
	}
	return g.scalar(fd.Kind())
}

func (g generator) scalar(kind protoreflect.Kind) any {
	switch kind {
	case protoreflect.BoolKind:
		return g.oneIn(2)
	case protoreflect.StringKind:
		return pick(g, "a", "a.b", "istiod.istio-system.svc:15012", "a.b:80", "a.b:80", "127.0.0.1:1", "[::1]:9", "$(HOST_IP):80", "P-256",
			"", "*", "*.a", "a_b", "b/c", "b/*", "x:0", "12", "configmap://a/b", "topology.istio.io/subzone", "prometheus", "envoy")
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return pick[any](g, 0, 1, 0.5, 100, -1, "NaN", "Infinity", "1.5")
	}
	n := pick(g, 0, 1, 50, 100, 15021, 65535, 70000, 15021, 100, 100)
	switch {
	case g.oneIn(12):
		return -n
	case g.oneIn(12):
		return strconv.Itoa(n)
	}
	return n
}

// wellKnown makes a value of a type of protobuf that has its own notation, or
// of the one type of the values that has.
func (g generator) wellKnown(md protoreflect.MessageDescriptor) (any, bool) {
	switch md.FullName() {
	case "google.protobuf.Duration":
		return pick(g, "1s", "5s", "10s", "100ms", "1m30s", "1h", "2h", "1us", "0s", "-1s", "1500ms", "1d", ""), true
	case "google.protobuf.Struct":
		return map[string]any{"a": g.anything()}, true
	case "google.protobuf.Value":
		return g.anything(), true
	case "istio.operator.v1alpha1.IntOrString":
		return pick[any](g, 1, "10%", 1.5, true, nil, -3, 5000000000), true
	}
	if md.ParentFile().Package() == "google.protobuf" {
		return g.scalar(md.Fields().ByNumber(1).Kind()), true
	}
	return nil, false
}

// anything makes a value of any type.
func (g generator) anything() any {
	return pick[any](g, nil, true, 1, -1, 1.5, 1e30, "", "a", "true", "null", " 5 ", "05", "+5", "1e2", "\t1", "0x1", []any{}, []any{1}, []any{nil}, map[string]any{}, map[string]any{"a": 1})
}

func verdict(err error) string {
	if err == nil {
		return "accepted"
	}
	return fmt.Sprintf("refused: %v", err)
}

// TestMain silences the mesh's log, which tells of every broken document.
func TestMain(m *testing.M) {
	for _, scope := range log.Scopes() {
		scope.SetOutputLevel(log.NoneLevel)
	}
	os.Exit(m.Run())
}
