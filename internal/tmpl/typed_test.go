package tmpl

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ingraft/ingraft/internal/source"
)

// damage changes a few values below a node: takes them out, makes them null,
// gives them another type.
func damage(r *rand.Rand, n *source.Node) *source.Node {
	switch {
	case r.IntN(30) == 0:
		return []*source.Node{
			source.NewNull(), source.NewString("<x>&\"é"), source.NewInt(-7), source.NewBool(false), source.NewMap(), source.NewList(),
			source.NewString(""), source.NewInt(0), source.NewNumber("1.5"), source.NewString("10m"),
		}[r.IntN(10)]
	case n.Kind() == source.Map:
		var fields []source.Field
		for _, f := range n.Fields() {
			if r.IntN(8) > 0 {
				fields = append(fields, source.F(f.Key, damage(r, f.Value)))
			}
		}
		return source.NewMap(fields...)
	case n.Kind() == source.List:
		var items []*source.Node
		for _, item := range n.Items() {
			items = append(items, damage(r, item))
		}
		return source.NewList(items...)
	}
	return n
}

// TestTyped compares what is said of nodes as typed values with the values.
func TestTyped(t *testing.T) {
	var pod corev1.Pod
	n := 0
	fill(reflect.ValueOf(&pod.Spec).Elem(), &n)
	fill(reflect.ValueOf(&pod.ObjectMeta).Elem(), &n)
	js, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	whole := node(t, string(js))
	right, wrong, left := 0, 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 3))
		typ := []reflect.Type{
			reflect.TypeFor[corev1.ContainerPort](), reflect.TypeFor[corev1.Container](), podSpecType, objectMetaType, reflect.TypeFor[corev1.Volume](),
			reflect.TypeFor[*corev1.SecurityContext](), reflect.TypeFor[[]corev1.EnvVar](),
		}[r.IntN(7)]
		container := whole.Get("spec", "containers").Items()[0]
		n := map[string]*source.Node{
			"ContainerPort": container.Get("ports").Items()[0], "Container": container, "PodSpec": whole.Get("spec"), "ObjectMeta": whole.Get("metadata"),
			"Volume": whole.Get("spec", "volumes").Items()[0],
		}[typ.Name()]
		switch typ.Kind() {
		case reflect.Pointer:
			n = container.Get("securityContext")
		case reflect.Slice:
			n = container.Get("env")
		}
		for range 1 + r.IntN(2) {
			n = damage(r, n)
		}
		v := reflect.New(typ)
		m := decode(v.Elem(), n, everything)
		if ok := conforms(typ, n, everything); ok != (m == nil) {
			t.Fatalf("conforms says %v, decode %+v of\n%s", ok, m, source.AppendJSON(nil, n))
		}
		got, ok := appendTyped(nil, typ, n)
		if m != nil {
			wrong++
			continue
		}
		if !ok {
			left++
			continue
		}
		want, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		right++
		if string(got) != string(want) {
			t.Fatalf("JSON of\n%s\n got %s\nwant %s", source.AppendJSON(nil, n), got, want)
		}
	}
	t.Logf("%d right, %d of the wrong type, %d left to encoding/json", right, wrong, left)
	if right < 100 || wrong < 100 {
		t.Error("too few cases of a sort")
	}
}
