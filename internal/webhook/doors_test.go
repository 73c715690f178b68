package webhook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/webhook"
)

// engineCase is a case file of the engine's own tests (internal/inject).
type engineCase struct{ *txtar.Archive }

func engineCases(t testing.TB) map[string]engineCase {
	t.Helper()
	paths, err := filepath.Glob("../inject/testdata/*.txtar")
	if err != nil || len(paths) < 50 {
		t.Fatal("the engine's cases are not there", err)
	}
	cases := map[string]engineCase{}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases[strings.TrimSuffix(filepath.Base(path), ".txtar")] = engineCase{a}
	}
	return cases
}

func (c engineCase) file(t testing.TB, name, otherwise string) []byte {
	t.Helper()
	for _, f := range c.Files {
		if f.Name == name {
			return f.Data
		}
	}
	if otherwise == "" {
		return nil
	}
	data, err := os.ReadFile(otherwise)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// options returns the values of a key of the case's request.
func (c engineCase) options(t testing.TB, key string) []string {
	t.Helper()
	var values []string
	for line := range strings.Lines(string(c.file(t, "request", ""))) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+" "); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

func (c engineCase) option(t testing.TB, key string) string {
	t.Helper()
	return strings.Join(c.options(t, key), " ")
}

func (c engineCase) engine(t testing.TB) *inject.Engine {
	t.Helper()
	if c.option(t, "config") != "default" {
		return compile(t, c.file(t, "config.yaml", "../inject/testdata/config.yaml"), c.file(t, "mesh.yaml", ""),
			c.file(t, "values.yaml", "../inject/testdata/values.yaml"), release.Newest)
	}
	cfg, mesh, values, err := builtin.DefaultInjection(builtin.Injection{})
	if err != nil {
		t.Fatal(err)
	}
	if own := c.file(t, "mesh.yaml", ""); own != nil {
		mesh = own
	}
	if own := c.file(t, "values.yaml", ""); own != nil {
		values = source.AppendJSON(nil, laidOver(parse(t, string(values)), parse(t, string(own))))
	}
	return compile(t, cfg, mesh, values, release.Newest)
}

func laidOver(base, over *source.Node) *source.Node {
	if base.Kind() != source.Map || over.Kind() != source.Map {
		return over
	}
	for _, f := range over.Fields() {
		base = base.With(f.Key, laidOver(base.Get(f.Key), f.Value))
	}
	return base
}

// pod returns the pod that the workload of the case makes, as an API server
// has it: with typed values and an owner, and without what only nodes know.
func (c engineCase) pod(t testing.TB) (pod *source.Node, w kube.Workload) {
	t.Helper()
	w, ok := kube.WorkloadOf(parse(t, string(c.file(t, "input.yaml", ""))), nil)
	if !ok {
		t.Fatal("the input is no workload")
	}
	pod = kube.Normalize(w.Template, kube.TypePod)
	if w.Ref.Kind == "Pod" || w.Ref.Name == "" {
		return pod, w
	}
	owner, err := source.Value([]any{map[string]any{"apiVersion": w.Ref.APIVersion, "kind": w.Ref.Kind, "name": w.Ref.Name, "uid": "1", "controller": true}})
	if err != nil {
		t.Fatal(err)
	}
	return pod.WithAt(source.NewString(w.Ref.Name+"-"), "metadata", "generateName").WithAt(owner, "metadata", "ownerReferences"), w
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for _, s := range list {
		k, v, _ := strings.Cut(s, "=")
		m[k] = v
	}
	return m
}

// hook makes a handler for the case, and returns the path and the namespace to
// ask it with.
func (c engineCase) hook(t testing.TB, e *inject.Engine, w kube.Workload, change ...func(*webhook.Options, *webhook.Installation)) (h *hook, path, namespace string) {
	t.Helper()
	env := pairs(c.options(t, "env"))
	namespace = w.Ref.Namespace
	var object *source.Node
	if data := c.file(t, "namespace.yaml", ""); data != nil {
		object = parse(t, string(data))
		namespace = object.Get("metadata", "name").Str()
	}
	path = "/inject"
	if list := c.options(t, "path"); len(list) > 0 {
		path += "/:ENV:" + strings.Join(list, ":ENV:")
	}
	set := func(_ *webhook.Options, i *webhook.Installation) {
		i.Revision = c.option(t, "revision")
		i.Getenv = func(name string) string { return env[name] }
		i.Native = func(*source.Node) bool { return c.option(t, "native") == "true" }
		i.Namespace = func(name string) *source.Node {
			if name == namespace {
				return object
			}
			return nil
		}
	}
	return newHook(t, e, append([]func(*webhook.Options, *webhook.Installation){set}, change...)...), path, namespace
}

// Every case of the engine's tests makes the same pod through both doors; what
// only admission asks may keep it from being injected there.
func TestBothDoors(t *testing.T) {
	injected := 0
	for name, c := range engineCases(t) {
		t.Run(name, func(t *testing.T) {
			e := c.engine(t)
			pod, w := c.pod(t)
			text := string(source.AppendJSON(nil, pod))
			h, path, namespace := c.hook(t, e, w)
			for _, version := range []string{"v1", "v1beta1"} {
				_, a := post(t, h, path, reviewOf(version, "u", namespace, text))
				req := &inject.Request{
					Pod: parse(t, text), Owner: e.OwnerOf(inject.Admission, pod), OwnerMeta: pod.Get("metadata"), NamespaceName: namespace,
					Revision: c.option(t, "revision"), NativeSidecars: c.option(t, "native") == "true",
					ProxyEnv: pairs(c.options(t, "path")), Now: day,
				}
				env := pairs(c.options(t, "env"))
				req.Getenv = func(name string) string { return env[name] }
				if data := c.file(t, "namespace.yaml", ""); data != nil {
					req.Namespace = parse(t, string(data))
				}
				if req.Owner.Namespace == "" {
					req.Owner.Namespace = namespace
				}
				if w.Ref.Kind == "StatefulSet" && (req.Owner.Name != w.Ref.Name || req.Owner.Kind != w.Ref.Kind) {
					t.Errorf("the owner is %s, not %s", req.Owner, w.Ref)
				}
				want := e.Run(req)
				if want.Diagnostics.HasErrors() == *a.Response.Allowed {
					t.Fatalf("allowed: %v, but the command line finds %v", *a.Response.Allowed, want.Diagnostics)
				}
				if a.Response.Patch == nil {
					if want.Pod == req.Pod {
						continue
					}
					req.Door = inject.Admission // must be what only admission asks
					if d := e.Decide(req); d.Verdict == inject.Inject || *a.Response.Allowed && d.Verdict != inject.Skip {
						t.Errorf("not injected at admission only, although %s", d.Message)
					}
					continue
				}
				injected++
				got := parse(t, a.patched(t, text))
				if !got.Equal(want.Pod) {
					t.Errorf("the doors differ: %s", cmp.Diff(want.Pod.Any(), got.Any()))
				}
			}
		})
	}
	if injected < 100 {
		t.Errorf("only %d reviews were answered with a patch", injected)
	}
}

// What releases recorded at their webhooks comes out of ours, whichever
// version of review it is asked by.
func TestRecordedAtWebhooks(t *testing.T) {
	dir := ""
	for _, up := range []string{"../../../shared/legacy", "../../../../shared/legacy"} {
		if _, err := os.Stat(up); err == nil {
			dir = up
		}
	}
	if dir == "" {
		t.Skip("recorded results of the releases are not there")
	}
	tags, err := filepath.Glob(dir + "/*/cases.json")
	if err != nil || len(tags) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range tags {
		tag := filepath.Base(filepath.Dir(file))
		t.Run(tag, func(t *testing.T) { recordedAt(t, filepath.Dir(file), tag) })
	}
}

type recorded struct {
	Name, Mode, Input, Config, Mesh, Values, Expected string
	ExpectedPod                                       string `json:"expected_pod"`
	Namespace, Revision, Path, Error                  string
	Skipped                                           bool
	Env                                               map[string]string
}

func recordedAt(t *testing.T, dir, tag string) {
	read := func(file string) []byte {
		if file == "" {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var cases []recorded
	if err := json.Unmarshal(read("cases.json"), &cases); err != nil {
		t.Fatal(err)
	}
	asked, err := release.Parse(tag)
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]*inject.Engine{}
	ran := 0
	for _, c := range cases {
		if c.Mode != "webhook" {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			key := c.Config + c.Mesh + c.Values
			if engines[key] == nil {
				engines[key] = compile(t, read(c.Config), read(c.Mesh), read(c.Values), asked)
			}
			h := newHook(t, engines[key], func(_ *webhook.Options, i *webhook.Installation) {
				i.Revision = c.Revision
				i.Getenv = func(name string) string { return c.Env[name] }
			})
			input := parse(t, string(read(c.Input)))
			if input.Get("metadata") == nil { // as an API server has it
				input = input.With("metadata", source.NewMap())
			}
			text := string(source.AppendJSON(nil, input))
			path := c.Path
			if path == "" {
				path = "/inject"
			}
			for _, version := range []string{"v1beta1", "v1"} {
				_, a := post(t, h, path, reviewOf(version, "u", c.Namespace, text))
				if *a.Response.Allowed != (c.Error == "") {
					t.Fatalf("allowed: %v, want error %q; %s", *a.Response.Allowed, c.Error, a.Response.Status.Message)
				}
				if c.Error != "" {
					continue
				}
				if c.Skipped && a.Response.Patch != nil {
					t.Fatal("there is a patch")
				}
				want := []byte(text)
				switch {
				case c.Skipped:
				case c.ExpectedPod != "":
					want = read(c.ExpectedPod)
				default:
					patch, err := jsonpatch.DecodePatch(read(c.Expected))
					if err != nil {
						t.Fatal(err)
					}
					if want, err = patch.Apply(want); err != nil {
						return // the release's own patch does not apply
					}
				}
				// A probe on an excluded port is left alone (docs/differences.md).
				differs := c.Name == "webhook-probes" && !asked.Before(release.V(1, 9))
				if diff := cmp.Diff(typed(t, want), typed(t, []byte(a.patched(t, text)))); diff != "" != differs {
					t.Errorf("differs: %v, wanted %v: %s", diff != "", differs, diff)
				}
			}
		})
	}
	if ran == 0 {
		t.Error("no case is of a webhook")
	}
}

// typed reads a pod into Kubernetes' own type. The status annotation is taken
// for the JSON that it is.
func typed(t *testing.T, data []byte) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(data, pod); err != nil {
		t.Fatal(err)
	}
	pod.CreationTimestamp.Reset()
	const status = "sidecar.istio.io/status"
	if s, ok := pod.Annotations[status]; ok {
		pod.Annotations[status] = string(source.AppendJSON(nil, sorted(parse(t, s))))
	}
	return pod
}

// sorted returns a value with the keys of maps sorted.
func sorted(n *source.Node) *source.Node {
	v, err := source.Value(n.Any())
	if err != nil {
		return n
	}
	return v
}
