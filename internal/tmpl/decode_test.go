package tmpl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fill sets every field below v to a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse(fmt.Sprintf("%dMi", *n))
		return
	case *intstr.IntOrString:
		*x = intstr.FromInt32(int32(*n))
		if *n%2 == 0 {
			*x = intstr.FromString(fmt.Sprint("port-", *n))
		}
		return
	case *metav1.Time:
		x.Time = time.Unix(int64(1e9+*n), 0).Local()
		return
	case *metav1.FieldsV1:
		x.SetRawBytes([]byte(`{"f:a":{}}`))
		return
	case *[]byte:
		*x = []byte("bytes")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, n)
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key-", *n)).Convert(v.Type().Key()), e)
	case reflect.String:
		v.SetString(fmt.Sprint("text-", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(*n))
	default:
		panic("fill: " + v.Type().String())
	}
}

// TestDecodeEveryField decodes a pod in which every field is set, as
// encoding/json does: no field of a pod has a kind that the decoder lacks.
func TestDecodeEveryField(t *testing.T) {
	var want corev1.Pod
	n := 0
	fill(reflect.ValueOf(&want.ObjectMeta).Elem(), &n)
	fill(reflect.ValueOf(&want.Spec).Elem(), &n)
	js, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	want = corev1.Pod{}
	if err := json.Unmarshal(js, &want); err != nil {
		t.Fatal(err)
	}
	var got Data
	if d := got.SetPod(node(t, string(js)), AllNeeds()); d != nil {
		t.Fatal(d)
	}
	if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta); diff != "" {
		t.Errorf("metadata (-encoding/json +decoded):\n%s", diff)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-encoding/json +decoded):\n%s", diff)
	}
}

func TestDecodeMismatch(t *testing.T) {
	tests := []struct{ pod, want string }{
		{`metadata: {labels: {a: true}}`, `reading metadata.labels["a"] of the pod: expected a string, found boolean true`},
		{`metadata: {labels: [a]}`, `reading metadata.labels of the pod: expected an object, found array`},
		{`spec: {containers: {}}`, `reading spec.containers of the pod: expected an array, found object`},
		{`spec: {containers: [{}, {name: 1}]}`, `reading spec.containers[1].name of the pod: expected a string, found number 1`},
		{`spec: {containers: [{ports: [{containerPort: "80"}]}]}`, `reading spec.containers[0].ports[0].containerPort of the pod: expected a whole number, found string "80"`},
		{`spec: {containers: [{ports: [{containerPort: 1.5}]}]}`, `reading spec.containers[0].ports[0].containerPort of the pod: expected a whole number, found number 1.5`},
		{`spec: {containers: [{ports: [{containerPort: 4294967296}]}]}`, `reading spec.containers[0].ports[0].containerPort of the pod: expected a whole number, found number 4294967296`},
		{`spec: {hostNetwork: "yes"}`, `reading spec.hostNetwork of the pod: expected true or false, found string "yes"`},
		{`spec: {containers: [{resources: {limits: {cpu: much}}}]}`, `reading spec.containers[0].resources.limits["cpu"] of the pod: expected a quantity, found string "much"`},
		{`spec: text`, `reading spec of the pod: expected an object, found string "text"`},
	}
	for _, tt := range tests {
		var got Data
		d := got.SetPod(node(t, tt.pod), AllNeeds())
		if d == nil {
			t.Errorf("%s: no diagnostic", tt.pod)
			continue
		}
		if d.Message != tt.want || d.Code != CodePodType {
			t.Errorf("%s:\n got %s\nwant %s", tt.pod, d.Message, tt.want)
		}
	}
}

func TestDecodeNulls(t *testing.T) {
	var got Data
	pod := `{metadata: {labels: {a: null}, annotations: null}, spec: {containers: [null, {name: null, ports: null}], securityContext: null}}`
	if d := got.SetPod(node(t, pod), AllNeeds()); d != nil {
		t.Fatal(d)
	}
	var want corev1.Pod
	want.Labels = map[string]string{"a": ""}
	want.Spec.Containers = make([]corev1.Container, 2)
	if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Error(diff)
	}
	if d := got.SetPod(nil, AllNeeds()); d != nil {
		t.Error("no pod:", d)
	}
}

func TestNeeds(t *testing.T) {
	tests := []struct{ template, metadata, spec string }{
		{`no pod`, `{}`, `{}`},
		{`{{ .ObjectMeta.Name }}`, `{"name":"nm"}`, `{}`},
		{`{{ if .Spec.SecurityContext }}{{ .Spec.SecurityContext.RunAsUser }}{{ end }}`, `{}`, `{"securityContext":{"runAsUser":1}}`},
		{`{{ range .Spec.Containers }}{{ .Name }}{{ end }}`, `{}`, `{"containers":[{"name":"a"},{"name":"b"}]}`},
		{`{{ range $i, $c := .Spec.Containers }}{{ $c.Name }}{{ end }}`, `{}`, `{"containers":[{"name":"a"},{"name":"b"}]}`},
		{`{{ $cs := .Spec.Containers }}{{ range $cs }}{{ .Image }}{{ end }}`, `{}`, `{"containers":[{"image":"i"},{}]}`},
		{`{{ len .Spec.Containers }}`, `{}`, `{"containers":[{"name":"a","image":"i"},{"name":"b"}]}`},
		{`{{ annotation .ObjectMeta "a" "" }}`, `{"annotations":{"a":"x"}}`, `{}`},
		{`{{ .ObjectMeta.GetName }}`, `{"name":"nm","labels":{"l":"v"},"annotations":{"a":"x"}}`, `{}`},
		{`{{ define "x" }}{{ .Name }}{{ end }}{{ template "x" .ObjectMeta }}`, `{"name":"nm"}`, `{}`},
		{`{{ define "x" }}{{ .Spec.ServiceAccountName }}{{ end }}{{ template "x" . }}`, `{}`, `{"serviceAccountName":"sa"}`},
		{`{{ with .ObjectMeta }}{{ .Labels.l }}{{ end }}`, `{"labels":{"l":"v"}}`, `{}`},
		{`{{ with $m := .ObjectMeta }}{{ $m.Name }}{{ end }}`, `{"name":"nm"}`, `{}`},
		{`{{ range .Spec.Containers }}{{ $.ObjectMeta.Name }}{{ end }}`, `{"name":"nm"}`, `{"containers":[{},{}]}`},
		{`{{ includeInboundPorts .Spec.Containers }}`, `{}`, `{"containers":[{"name":"a"},{"name":"b"}]}`},
		{
			`{{ render "x" }}`, `{"name":"nm","labels":{"l":"v"},"annotations":{"a":"x"}}`,
			`{"containers":[{"name":"a","image":"i"},{"name":"b"}],"serviceAccountName":"sa","securityContext":{"runAsUser":1,"runAsGroup":2}}`,
		},
	}
	const pod = `{metadata: {name: nm, labels: {l: v}, annotations: {a: x}},
		spec: {containers: [{name: a, image: i}, {name: b}], serviceAccountName: sa, securityContext: {runAsUser: 1, runAsGroup: 2}}}`
	for _, tt := range tests {
		tm := parseTemplate(t, tt.template)
		var got, want Data
		if d := got.SetPod(node(t, pod), tm.Needs()); d != nil {
			t.Fatal(d)
		}
		if err := json.Unmarshal([]byte(tt.metadata), &want.ObjectMeta); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.spec), &want.Spec); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta); diff != "" {
			t.Errorf("%s: metadata\n%s", tt.template, diff)
		}
		if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
			t.Errorf("%s: spec\n%s", tt.template, diff)
		}
	}
}

func TestNeedsUnion(t *testing.T) {
	a := parseTemplate(t, `{{ range .Spec.Containers }}{{ .Name }}{{ end }}`).Needs()
	b := parseTemplate(t, `{{ range .Spec.Containers }}{{ .Image }}{{ end }}{{ .ObjectMeta.Name }}`).Needs()
	var got Data
	if d := got.SetPod(node(t, `{metadata: {name: nm, namespace: s}, spec: {containers: [{name: a, image: i, tty: true}]}}`), a.Union(b)); d != nil {
		t.Fatal(d)
	}
	if c := got.Spec.Containers[0]; c.Name != "a" || c.Image != "i" || c.TTY || got.ObjectMeta.Name != "nm" || got.ObjectMeta.Namespace != "" {
		t.Errorf("read %+v %+v", got.ObjectMeta, c)
	}
	if u := (Needs{}).Union(a); u.spec != a.spec {
		t.Errorf("union with nothing: %+v", u)
	}
}
