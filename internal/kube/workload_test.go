package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

func parse(t testing.TB, yaml string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test.yaml", []byte(yaml)))
	if err != nil {
		t.Fatalf("parsing %s: %v", yaml, err)
	}
	return doc.Root
}

func TestWorkloadOf(t *testing.T) {
	const pod = `{spec: {containers: [{name: a}]}}`
	extra := []kube.PodPath{
		{Kind: "Foo", Group: "example.com", Path: kube.Path{"spec", "pod"}},
		{Kind: "Revision", Group: "serving.knative.dev"},
		{Kind: "Job", Group: "batch.volcano.sh", Path: kube.Path{"spec", "tasks", "0", "template"}},
	}
	for _, c := range []struct {
		name, yaml string
		want       string // path of the template; "no": not a workload
	}{
		{"pod", `{apiVersion: v1, kind: Pod}`, ""},
		{"pod template", `{apiVersion: v1, kind: PodTemplate, template: {}}`, "template"},
		{"deployment", `{apiVersion: apps/v1, kind: Deployment, spec: {template: {}}}`, "spec.template"},
		{"old deployment", `{apiVersion: extensions/v1beta1, kind: Deployment, spec: {template: {}}}`, "spec.template"},
		{"old daemon set", `{apiVersion: apps/v1beta2, kind: DaemonSet, spec: {template: {}}}`, "spec.template"},
		{"replica set", `{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {}}}`, "spec.template"},
		{"stateful set", `{apiVersion: apps/v1, kind: StatefulSet, spec: {template: {}}}`, "spec.template"},
		{"replication controller", `{apiVersion: v1, kind: ReplicationController, spec: {template: {}}}`, "spec.template"},
		{"job", `{apiVersion: batch/v1, kind: Job, spec: {template: {}}}`, "spec.template"},
		{"cron job", `{apiVersion: batch/v1beta1, kind: CronJob, spec: {jobTemplate: {spec: {template: {}}}}}`, "spec.jobTemplate.spec.template"},
		{"deployment config", `{apiVersion: apps.openshift.io/v1, kind: DeploymentConfig, spec: {template: {}}}`, "spec.template"},
		{"legacy deployment config", `{apiVersion: v1, kind: DeploymentConfig, spec: {template: {}}}`, "spec.template"},
		{"no apiVersion", `{kind: Deployment, spec: {template: ` + pod + `}}`, "spec.template"},
		{"rollout", `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {template: ` + pod + `}}`, "spec.template"},
		{"clone set", `{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, spec: {template: ` + pod + `}}`, "spec.template"},
		{"kruise stateful set", `{apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, spec: {template: ` + pod + `}}`, "spec.template"},
		{"knative service", `{apiVersion: serving.knative.dev/v1, kind: Service, spec: {template: {spec: {containers: [{image: i}]}}}}`, "spec.template"},
		{"only init containers", `{apiVersion: a.b/v1, kind: X, spec: {template: {spec: {initContainers: [{name: a}]}}}}`, "spec.template"},
		{"foreign cron job", `{apiVersion: a.b/v1, kind: X, spec: {jobTemplate: {spec: {template: ` + pod + `}}}}`, "spec.jobTemplate.spec.template"},
		{"given path", `{apiVersion: example.com/v1, kind: Foo, spec: {pod: {spec: {}}}}`, "spec.pod"},
		{"given path, object itself", `{apiVersion: serving.knative.dev/v1, kind: Revision, spec: {containers: [{name: a}]}}`, ""},
		{"given path, item", `{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {tasks: [{template: ` + pod + `}]}}`, "spec.tasks[0].template"},
		{"given path, other group", `{apiVersion: example.org/v1, kind: Foo, spec: {pod: {spec: {}}}}`, "no"},

		{"service", `{apiVersion: v1, kind: Service, spec: {selector: {}}}`, "no"},
		{"pod of another group", `{apiVersion: example.com/v1, kind: Pod, spec: {}}`, "no"},
		{"workflow", `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, spec: {templates: [{name: a, container: {}}]}}`, "no"},
		{"application set", `{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {template: {metadata: {}, spec: {project: p}}}}`, "no"},
		{"kafka connect", `{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaConnect, spec: {template: {pod: {}, connectContainer: {}}}}`, "no"},
		{"sealed secret", `{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, spec: {template: {metadata: {}, type: Opaque}}}`, "no"},
		{"external secret", `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {target: {template: {spec: {containers: [{}]}}}}}`, "no"},
		{"virtual machine", `{apiVersion: kubevirt.io/v1, kind: VirtualMachine, spec: {template: {spec: {domain: {}, volumes: []}}}}`, "no"},
		{"containers by name", `{apiVersion: a.b/v1, kind: X, spec: {template: {spec: {containers: [a, b]}}}}`, "no"},
		{"containers as a map", `{apiVersion: a.b/v1, kind: X, spec: {template: {spec: {containers: {a: {}}}}}}`, "no"},
		{"no containers", `{apiVersion: a.b/v1, kind: X, spec: {template: {spec: {containers: []}}}}`, "no"},
		{"list", `{apiVersion: v1, kind: List, items: []}`, "no"},
		{"scalar document", `just text`, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := parse(t, c.yaml)
			w, ok := kube.WorkloadOf(root, extra)
			if !ok {
				if c.want != "no" {
					t.Fatal("not taken for a workload")
				}
				return
			}
			if got := w.Path.String(); got != c.want {
				t.Errorf("template at %q, want %q", got, c.want)
			}
			if w.Template == nil || w.Template != kube.At(root, w.Path) {
				t.Error("the template is not the node at the path")
			}
			if d := w.Missing(); d != nil {
				t.Error(d)
			}
		})
	}
	if _, ok := kube.WorkloadOf(nil, nil); ok {
		t.Error("an empty document is a workload")
	}
}

func TestMissingTemplate(t *testing.T) {
	extra := []kube.PodPath{{Kind: "Foo", Group: "example.com", Path: kube.Path{"spec", "pod"}}}
	for _, c := range []struct{ name, yaml, want string }{
		{"no spec", `{apiVersion: apps/v1, kind: Deployment}`, "spec.template is required: a Deployment makes its pods from it"},
		{"null spec", `{apiVersion: apps/v1, kind: Deployment, spec: null}`, "spec.template is required"},
		{"no template", `{apiVersion: v1, kind: ReplicationController, spec: {replicas: 1}}`, "spec.template is required"},
		{"null template", `{apiVersion: v1, kind: PodTemplate, template: null}`, "template is required"},
		{"half the way", `{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {}}}`, "spec.jobTemplate.spec.template is required"},
		{"spec is text", `{apiVersion: apps/v1, kind: Deployment, spec: x}`, "spec must be an object, not a string: a Deployment makes its pods from spec.template"},
		{"template is a list", `{apiVersion: apps/v1, kind: Deployment, spec: {template: []}}`, "spec.template must be an object, not an array"},
		{"pod spec", `{apiVersion: example.com/v1, kind: Foo, spec: {pod: {containers: [{name: a}]}}}`, "spec.pod is the spec of a pod, not a pod template"},
		{"given path to text", `{apiVersion: example.com/v1, kind: Foo, spec: {pod: x}}`, "spec.pod must be an object, not a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ok := kube.WorkloadOf(parse(t, c.yaml), extra)
			if !ok || w.Template != nil {
				t.Fatalf("workload: %v, template: %v", ok, w.Template)
			}
			d := w.Missing()
			if !strings.HasPrefix(d.Message, c.want) || d.Fix == "" || d.Code != kube.CodeNoTemplate {
				t.Errorf("got %+v\nwant %s", d, c.want)
			}
		})
	}
}

func TestObjects(t *testing.T) {
	root := parse(t, `
apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
- null
- apiVersion: apps/v1
  kind: DeploymentList
  items:
  - {metadata: {name: b, namespace: ns}}
  - {apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: c}}
- {apiVersion: v1, kind: AllowList, metadata: {name: d}}
`)
	var got []string
	for o := range kube.Objects(root) {
		if kube.At(root, o.Path) != o.Node {
			t.Errorf("%s is not at %s", o.Ref, o.Path)
		}
		got = append(got, o.Path.String()+" "+o.Ref.APIVersion+" "+o.Ref.String())
	}
	want := []string{
		"items[0] apps/v1 Deployment a",
		"items[2].items[0] apps/v1 Deployment ns/b",
		"items[2].items[1] extensions/v1beta1 Deployment c",
		"items[3] v1 AllowList d",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for range kube.Objects(root) {
		break // an early end is honoured at every depth
	}
	for o := range kube.Objects(parse(t, `{apiVersion: v1, kind: Pod}`)) {
		if o.Path != nil || o.Ref.Kind != "Pod" {
			t.Errorf("a document that is no list: %+v", o)
		}
	}
}

func TestPutSharesWhatLiesBeside(t *testing.T) {
	root := parse(t, `{a: [{b: 1}, {c: 2}], d: {e: 3}}`)
	got := kube.Put(root, kube.Path{"a", "1", "c"}, source.NewString("new"))
	want := parse(t, `{a: [{b: 1}, {c: new}], d: {e: 3}}`)
	if !got.Equal(want) {
		t.Errorf("got %s", source.AppendJSON(nil, got))
	}
	if got.Get("d") != root.Get("d") || kube.At(got, kube.Path{"a", "0"}) != kube.At(root, kube.Path{"a", "0"}) {
		t.Error("what lies beside the path is not shared")
	}
	if kube.Put(root, kube.Path{"a", "7"}, source.NewNull()).Get("a") != root.Get("a") {
		t.Error("an index out of range changed the list")
	}
}

func TestParsePodPath(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Rollout.argoproj.io=spec.template", "Rollout argoproj.io [spec template]"},
		{"Thing=spec.a", "Thing  [spec a]"},
		{"Revision.serving.knative.dev=.", "Revision serving.knative.dev []"},
		{`Foo.x.y=spec.a\.b.c`, "Foo x.y [spec a.b c]"},
		{"", "error: want Kind.group=dotted.path"},
		{"Foo.x", "error: want Kind.group=dotted.path"},
		{"Foo.x=", "error: want Kind.group=dotted.path"},
		{"=spec", "error: want Kind.group=dotted.path"},
		{".x=spec", `error: ".x" is no Kind.group`},
		{"Foo.=spec", `error: "Foo." is no Kind.group`},
		{"x.y/Foo=spec", `error: "x.y/Foo" is no Kind.group`},
		{"foos.x.y=spec", "error: a kind begins with a capital letter"},
		{"Foo.x=spec..a", "error: the path has an empty part"},
		{"Foo.x=spec.", "error: the path has an empty part"},
		{"Foo.x=.spec", "error: the path has an empty part"},
		{"Foo.x=spec[0].a", "error: write an item of a list as its index"},
	} {
		p, err := kube.ParsePodPath(c.in)
		got := p.Kind + " " + p.Group + " [" + strings.Join(p.Path, " ") + "]"
		if err != nil {
			got = "error: " + err.Error()
		}
		msg, wantErr := strings.CutPrefix(c.want, "error: ")
		if (!wantErr && got != c.want) || (wantErr && (err == nil || !strings.Contains(err.Error(), msg))) {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
	}
	if _, err := kube.ParsePodPaths([]string{"A.x=a", "B.x=a", "A.x=b"}); err == nil {
		t.Error("a kind given twice is accepted")
	}
	if p, err := kube.ParsePodPaths([]string{"A.x=a", "A.y=b"}); err != nil || len(p) != 2 {
		t.Errorf("two kinds: %v, %v", p, err)
	}
}

func TestRefWithoutName(t *testing.T) {
	for _, c := range []struct {
		ref  kube.Ref
		want string
	}{
		{kube.Ref{Kind: "Pod"}, "Pod"},
		{kube.Ref{Kind: "Pod", Name: "a"}, "Pod a"},
		{kube.Ref{Kind: "Pod", Namespace: "b", Name: "a"}, "Pod b/a"},
		{kube.Ref{Name: "a"}, "a"},
	} {
		if got := c.ref.String(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.ref, got, c.want)
		}
	}
}

// TestGivenPathThatLeadsNowhere: a misspelt path is no reason to pass an object
// on without a word.
func TestGivenPathThatLeadsNowhere(t *testing.T) {
	paths, err := kube.ParsePodPaths([]string{"Foo.example.com=spec.wroker"})
	if err != nil {
		t.Fatal(err)
	}
	w, ok := kube.WorkloadOf(parse(t, `{apiVersion: example.com/v1, kind: Foo, spec: {worker: {spec: {containers: [{name: a}]}}}}`), paths)
	if d := w.Missing(); !ok || d == nil || d.Code != kube.CodeNoTemplate {
		t.Errorf("%v, %v", ok, d)
	}
}
