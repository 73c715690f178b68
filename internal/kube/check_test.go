package kube_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ yaml, want, fix string }{
		{`{spec: {replicas: "3"}}`, `Error spec.replicas must be a whole number, not the string "3"`, "write 3 without quotes"},
		{`{spec: {replicas: 1.5}}`, `Error spec.replicas must be a whole number, not the number 1.5`, "write a whole number"},
		{`{spec: {replicas: 3000000000}}`, `Error spec.replicas must be a number of 32 bits, not the number 3000000000`, "write a number between -2147483648 and 2147483647"},
		{`{spec: {template: {spec: {containers: [{ports: [{containerPort: "80"}]}]}}}}`, `Error spec.template.spec.containers[0].ports[0].containerPort must be a whole number, not the string "80"`, "write 80 without quotes"},
		{`{spec: {template: {spec: {containers: {name: a}}}}}`, `Error spec.template.spec.containers must be a list, not an object`, "write it as a list: a dash before each item"},
		{`{spec: {template: {spec: {containers: [{command: sh}]}}}}`, `Error spec.template.spec.containers[0].command must be a list, not the string "sh"`, `write it as a list: ["sh"]`},
		{`{spec: {template: {spec: {securityContext: [{runAsUser: 1}]}}}}`, `Error spec.template.spec.securityContext must be an object, not an array`, "write it without the dash"},
		{`{spec: {template: {spec: {hostNetwork: "true"}}}}`, `Error spec.template.spec.hostNetwork must be true or false, not the string "true"`, "write true without quotes"},
		{`{spec: {template: {spec: {containers: [{resources: {limits: {cpu: 1 core}}}]}}}}`, `Error spec.template.spec.containers[0].resources.limits.cpu must be a quantity, not the string "1 core"`, "write a number with a unit, such as 500m, 0.5, 128Mi or 1Gi"},
		{`{spec: {template: {spec: {containers: [{livenessProbe: {tcpSocket: {port: 1.5}}}]}}}}`, `Error spec.template.spec.containers[0].livenessProbe.tcpSocket.port must be a whole number or a string, not the number 1.5`, ""},
		{`{metadata: {creationTimestamp: today}}`, `Error metadata.creationTimestamp must be a time, not the string "today"`, "write it as in 2026-01-31T12:00:00Z"},
		{`{metadata: {labels: {example.com/version: 1.10}}}`, `Warning metadata.labels[example.com/version] must be a string, not the number 1.1: it is read as "1.1" here, but the API server refuses it`, `quote it: "1.10", or if it is meant as it is read, "1.1"`},
		{`{metadata: {name: {a: b}}}`, `Error metadata.name must be a string, not an object`, ""},
		{`{kind: 5}`, `Error kind must be a string, not the number 5`, `quote it: "5"`}, // of an embedded struct
		{`{Spec: {}}`, `Warning Spec is no field: the API server tells upper from lower case, and ignores or refuses it`, "write spec"},
		{`[]`, `Error the object must be an object, not an array`, "write its fields as key: value"},
		{`{spec: {future: 1, template: {metadata: {annotations: {a: null, b: "5"}}, spec: {nodeName: null, overhead: {cpu: 1}}}}, status: 5}`, `Error status must be an object, not the number 5`, "write its fields as key: value"},
	} {
		found := kube.Check(parse(t, c.yaml), kube.TypeDeployment)
		if len(found) != 1 {
			t.Errorf("%s: %d findings: %v", c.yaml, len(found), found)
			continue
		}
		d := found[0]
		if got := d.Severity.String() + " " + d.Message; got != c.want || d.Fix != c.fix {
			t.Errorf("%s:\ngot  %s (%s)\nwant %s (%s)", c.yaml, got, d.Fix, c.want, c.fix)
		}
		if code, ok := diag.LookupCode(d.Code); !ok || code.Severity != d.Severity {
			t.Errorf("%s: code %s is %+v, the finding %s", c.yaml, d.Code, code, d.Severity)
		}
	}
}

func TestCheckerSettings(t *testing.T) {
	c := kube.Checker{Strict: true, At: kube.Path{"spec", "template"}, Object: "Deployment a"}
	found := c.Check(parse(t, `{metadata: {labels: {a: 5}}}`), kube.TypePodTemplateSpec)
	if len(found) != 1 || found[0].Severity != diag.Error || found[0].Object != "Deployment a" ||
		!strings.HasPrefix(found[0].Message, "spec.template.metadata.labels.a must be a string") {
		t.Errorf("got %+v", found)
	}
	if found := kube.Check(nil, kube.TypePod); found != nil {
		t.Errorf("nothing: %v", found)
	}
}

var checkCases = flag.Int("check-cases", 2000, "number of random objects that are compared with sigs.k8s.io/yaml")

// checked are the types that are compared, and how to make one.
var checked = []struct {
	typ  kube.Type
	make func() any
}{
	{kube.TypePod, func() any { return &corev1.Pod{} }},
	{kube.TypePod, func() any { return &corev1.Pod{} }},
	{kube.TypeDeployment, func() any { return &appsv1.Deployment{} }},
	{kube.TypeStatefulSet, func() any { return &appsv1.StatefulSet{} }},
	{kube.TypeDaemonSet, func() any { return &appsv1.DaemonSet{} }},
	{kube.TypeReplicaSet, func() any { return &appsv1.ReplicaSet{} }},
	{kube.TypeReplicationController, func() any { return &corev1.ReplicationController{} }},
	{kube.TypePodTemplate, func() any { return &corev1.PodTemplate{} }},
	{kube.TypeJob, func() any { return &batchv1.Job{} }},
	{kube.TypeCronJob, func() any { return &batchv1.CronJob{} }},
}

// compareCheck holds Check and Normalize against the Go type: an Error if and
// only if sigs.k8s.io/yaml cannot decode the text, and the same object from the
// normalized node, decoded strictly.
func compareCheck(text []byte, n *source.Node, typ kube.Type, fresh func() any) error {
	want := fresh()
	err := yaml.Unmarshal(text, want)
	found := kube.Check(n, typ)
	if (err != nil) != found.HasErrors() {
		return fmt.Errorf("findings %v, but sigs.k8s.io/yaml says %v", found, err)
	}
	if err != nil {
		return nil
	}
	norm := kube.Normalize(n, typ)
	if found := (kube.Checker{Strict: true}).Check(norm, typ); found.HasErrors() {
		return fmt.Errorf("after Normalize: %v", found)
	}
	if again := kube.Normalize(norm, typ); again != norm {
		return fmt.Errorf("Normalize twice is not Normalize once")
	}
	got := fresh()
	if err := json.Unmarshal(source.AppendJSON(nil, norm), got); err != nil {
		return fmt.Errorf("decoding the normalized node: %v", err)
	}
	wantJS, err := json.Marshal(want)
	if err != nil {
		return nil // a time beyond year 9999: the type cannot be written
	}
	gotJS, err := json.Marshal(got)
	if err != nil {
		return err
	}
	if d := cmp.Diff(decoded(wantJS), decoded(gotJS)); d != "" {
		return fmt.Errorf("normalized %s\n%s", source.AppendJSON(nil, norm), d)
	}
	if len(found) == 0 && !hasNull(n) && norm != n {
		return fmt.Errorf("Normalize made a new node, but nothing changes")
	}
	return nil
}

func hasNull(n *source.Node) bool {
	if n.IsNull() {
		return true
	}
	for _, f := range n.Fields() {
		if hasNull(f.Value) {
			return true
		}
	}
	for _, item := range n.Items() {
		if hasNull(item) {
			return true
		}
	}
	return false
}

func TestCheckIsDecoding(t *testing.T) {
	cases := portion.Of(*checkCases, 8)
	sound := 0
	for seed := range uint64(cases) {
		r := newRandom(seed)
		r.nulls, r.unquoted, r.wrong = pick(r, 0, 0.03), pick(r, 0, 0.1), pick(r, 0, 0.01, 0.05)
		c := pick(r, checked...)
		text := source.AppendJSON(nil, r.object(c.typ, 6, ""))
		doc, err := source.Parse(source.NewText("random", text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compareCheck(text, doc.Root, c.typ, c.make); err != nil {
			t.Fatalf("seed %d, %v: %s\n%v", seed, reflect.TypeOf(c.make()), text, err)
		}
		if !kube.Check(doc.Root, c.typ).HasErrors() {
			sound++
		}
	}
	if sound < cases/4 || sound > cases*9/10 {
		t.Errorf("%d of %d random objects are sound: too few or too many to compare", sound, cases)
	}
	t.Logf("%d objects, %d sound", cases, sound)
}

func FuzzCheck(f *testing.F) {
	f.Add(app)
	f.Add(sidecar)
	f.Add("metadata: {labels: {a: 1.0, b: 1e6, c: 16777217.0, k: &x 1e7, l: 01000800, d: yes, e: 0x1F, f: 0644, g: 123456789012345678901, h: null, i: -.5, j: 1_000}}\nspec: {nodeName: 1e21}\n")
	f.Add("spec: {containers: [{name: 5, image: true, resources: {limits: {cpu: 1e3, memory: ' 1Gi '}}}, null], volumes: [{name: 5, configMap: {name: x}}]}\n")
	f.Add("spec: {containers: [{env: [{name: a, valueFrom: {configMapKeyRef: {name: 5, key: 6}}}], livenessProbe: {httpGet: {port: 2147483648}}}]}\n")
	f.Add("metadata: {creationTimestamp: '2026-01-02T03:04:05+01:00', finalizers: [1, true, null], generation: 9223372036854775808}\n")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := source.Parse(source.NewText("fuzz", []byte(text)))
		if err != nil || doc.Root == nil || len(doc.Duplicates) > 0 || !judgedAlike(doc.Root, kube.TypePod) {
			return
		}
		if strings.ContainsAny(text, "*!") {
			return // an alias or a tag may turn a whole number into a float unseen
		}
		if err := compareCheck([]byte(text), doc.Root, kube.TypePod, func() any { return &corev1.Pod{} }); err != nil {
			t.Error(err)
		}
	})
}

// judgedAlike leaves out what Check judges as the API server does and not as
// sigs.k8s.io/yaml: keys that are a field but for upper and lower case.
func judgedAlike(n *source.Node, typ kube.Type) bool {
	for _, d := range kube.Check(n, typ) {
		if d.Code == kube.CodeFieldCase {
			return false
		}
	}
	return true
}

func BenchmarkCheck(b *testing.B) {
	injected, err := kube.Merge(parse(b, app), parse(b, sidecar), kube.TypePod)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		pod  *source.Node
	}{{"app", parse(b, app)}, {"injected", injected}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if kube.Check(c.pod, kube.TypePod) != nil || kube.Normalize(c.pod, kube.TypePod) != c.pod {
					b.Fatal("the pod is sound and normal")
				}
			}
		})
	}
}
