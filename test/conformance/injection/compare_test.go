package injection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// statusAnnotation holds JSON whose spelling does not matter.
const statusAnnotation = "sidecar.istio.io/status"

// decodeObject reads an object, YAML or JSON, into its Kubernetes type, and
// one of a type that the peer does not know into a tree. A result that cannot
// be decoded is a broken one: it panics, which the callers take for a refusal.
func decodeObject(text []byte) runtime.Object {
	var meta metav1.TypeMeta
	if bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &meta) == nil {
		// JSON need not go through the YAML parser, which most of the time went to.
		if obj, err := inject.FromRawToObject(mustJSON(meta)); err == nil {
			if err := json.Unmarshal(text, obj); err != nil {
				panic(fmt.Errorf("decoding an object: %w", err))
			}
			return obj
		}
	}
	obj, err := inject.FromRawToObject(text)
	if runtime.IsNotRegisteredError(err) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			panic(fmt.Errorf("decoding an object: %w", err))
		}
		return u
	}
	if err != nil {
		panic(fmt.Errorf("decoding an object: %w", err))
	}
	return obj
}

func decodePod(js []byte) runtime.Object {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(js, pod); err != nil {
		panic(fmt.Errorf("decoding a pod: %w", err))
	}
	return pod
}

// normal returns a copy of an object in which what does not matter is gone:
// empty lists and maps are nil, quantities have their canonical spelling, the
// status annotation is compact JSON with sorted keys, and creation times and
// the status of the object are zero.
func normal(obj runtime.Object) any {
	if list, ok := obj.(*corev1.List); ok {
		items := make([]any, len(list.Items))
		for i, raw := range list.Items {
			switch {
			case raw.Object != nil:
				items[i] = normal(raw.Object)
			default:
				items[i] = normal(decodeObject(raw.Raw))
			}
		}
		return items
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		// Whole numbers are int64 or float64, as the decoder liked.
		js, err := json.Marshal(u.Object)
		if err != nil {
			panic(err)
		}
		var v object
		if err := json.Unmarshal(js, &v); err != nil {
			panic(err)
		}
		for _, w := range workloadsOf(v) {
			// The pod template has a type, whatever holds it.
			pod := podOf(w.template)
			normalise(reflect.ValueOf(pod).Elem())
			t, err := tree(pod)
			if err != nil {
				panic(err)
			}
			w.template["metadata"], w.template["spec"] = t["metadata"], t["spec"]
		}
		return prune(v)
	}
	c := obj.DeepCopyObject()
	v := reflect.ValueOf(c).Elem()
	if status := v.FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	normalise(v)
	return c
}

// prune drops empty lists, maps and nulls of a tree.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e = prune(e); e == nil {
				delete(v, k)
				continue
			}
			v[k] = prune(e)
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i, e := range v {
			v[i] = prune(e)
		}
	}
	return v
}

func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			normalise(v.Elem())
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			normalise(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
			return
		}
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			normalise(e)
			if k.Kind() == reflect.String && k.String() == statusAnnotation && e.Kind() == reflect.String {
				e.SetString(compactJSON(e.String()))
			}
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		switch p := v.Addr().Interface().(type) {
		case *resource.Quantity:
			if q, err := resource.ParseQuantity(p.String()); err == nil {
				_ = q.String() // keeps the canonical spelling inside
				*p = q
			}
			return
		case *metav1.ObjectMeta:
			p.CreationTimestamp = metav1.Time{}
		case *metav1.Time:
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				normalise(f)
			}
		}
	}
}

func compactJSON(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	b, err := json.Marshal(prune(v))
	if err != nil {
		return s
	}
	return string(b)
}

// difference tells how two outcomes differ: the class is the same for cases
// that differ in the same places; both are empty where nothing does.
type difference struct {
	class, detail string
}

func compare(peer, ours outcome) difference {
	switch {
	case peer.refused && ours.refused:
		return difference{}
	case peer.refused:
		return difference{"only the peer refuses: " + abridge(peer.message), "peer: " + peer.message}
	case ours.refused:
		return difference{"only ingraft refuses: " + abridge(ours.message), "ingraft: " + ours.message}
	case peer.injected != ours.injected:
		who := map[bool]string{true: "the peer", false: "ingraft"}[peer.injected]
		return difference{"only " + who + " injects: " + ours.message, ours.message}
	}
	if bytes.Equal(mustJSON(peer.object), mustJSON(ours.object)) {
		return difference{} // as most are, to the byte
	}
	p, o := normal(peer.object), normal(ours.object)
	if reflect.DeepEqual(p, o) {
		return difference{}
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	r := &places{}
	cmp.Equal(p, o, cmp.Reporter(r), all)
	slices.Sort(r.found)
	class := strings.Join(slices.Compact(r.found), " ")
	if class == "" {
		class = fmt.Sprintf("%T against %T", p, o)
	}
	return difference{class, "(-peer +ingraft)\n" + cmp.Diff(p, o, all)}
}

var numbers = regexp.MustCompile(`[0-9]+|"[^"]*"|'[^']*'|\x60[^\x60]*\x60`)

// abridge makes messages of one kind alike.
func abridge(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = numbers.ReplaceAllString(s, "#")
	if len(s) > 160 {
		s = s[:160]
	}
	return s
}

// places collects where two values differ, without indexes.
type places struct {
	path  cmp.Path
	found []string
}

func (r *places) PushStep(s cmp.PathStep) { r.path = append(r.path, s) }
func (r *places) PopStep()                { r.path = r.path[:len(r.path)-1] }

func (r *places) Report(rs cmp.Result) {
	if rs.Equal() {
		return
	}
	var b strings.Builder
	for _, s := range r.path {
		switch s := s.(type) {
		case cmp.StructField:
			b.WriteString("." + s.Name())
		case cmp.MapIndex:
			fmt.Fprintf(&b, "[%v]", s.Key())
		case cmp.SliceIndex:
			b.WriteString("[]")
		}
	}
	r.found = append(r.found, b.String())
}
