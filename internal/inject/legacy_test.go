package inject_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// legacyDir holds what release 1.31 makes of pods: its own test cases and
// others, recorded. It is not part of the repository.
const legacyDir = "../../../shared/legacy/1.31.0-rc.0"

type legacyCase struct {
	Name, Mode, Input, Config, Mesh, Values, Expected string
	ExpectedPod                                       string `json:"expected_pod"`
	Namespace, Revision, Path, Error                  string
	Skipped                                           bool
	Env                                               map[string]string
}

// deliberate lists the cases that differ on purpose; docs/differences.md says
// why.
var deliberate = map[string]string{
	"golden-cronjob":       "metadata of a CronJob's pod is that of the pod template",
	"golden-merge-probers": "a classic sidecar injected before is no override of a native one",
	"webhook-probes":       "a probe on an excluded port is left alone (I-30)",
	"golden-sidecar-spire": "one istio-proxy container where a custom template adds to a native sidecar",
}

func TestLegacyCases(t *testing.T) {
	dir := findUp(t, legacyDir)
	var cases []legacyCase
	if err := json.Unmarshal(read(t, dir, "cases.json"), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			engine := compileFiles(t, dir, c.Config, c.Mesh, c.Values)
			got := runLegacy(t, engine, dir, &c)
			if c.Error != "" {
				return
			}
			want := wantLegacy(t, dir, &c)
			if len(got) != len(want) {
				t.Fatalf("%d pods, want %d", len(got), len(want))
			}
			for i := range got {
				diff := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty())
				why, known := deliberate[c.Name]
				switch {
				case diff != "" && !known:
					t.Errorf("pod %d differs from what the release makes (-want +got):\n%s", i, diff)
				case diff == "" && known:
					t.Errorf("listed as a deliberate difference (%s), but it is equal", why)
				}
			}
		})
	}
}

// findUp returns a directory of the workplace, seen from the repository or
// from a work tree of it.
func findUp(t *testing.T, dir string) string {
	t.Helper()
	for _, up := range []string{"", "../"} {
		if _, err := os.Stat(up + dir); err == nil {
			return up + dir
		}
	}
	t.Skip("recorded results of the release are not there: ", dir)
	return ""
}

func read(t testing.TB, dir, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func compileFiles(t testing.TB, dir, cfg, mesh, values string) *inject.Engine {
	t.Helper()
	text := func(file string) *source.Text { return source.NewText(file, read(t, dir, file)) }
	c, d1 := config.ParseInjection(text(cfg))
	m, d2 := config.ParseMesh(text(mesh))
	v, d3 := config.ParseValues(text(values))
	for _, list := range []diag.List{d1, d2, d3} {
		if list.HasErrors() {
			t.Fatal(list[0])
		}
	}
	e, d4 := inject.Compile(c, m, v, inject.Options{Eager: true})
	if d4.HasErrors() {
		t.Fatal(d4[0])
	}
	return e
}

func runLegacy(t *testing.T, e *inject.Engine, dir string, c *legacyCase) []*corev1.Pod {
	t.Helper()
	var pods []*corev1.Pod
	r := source.NewReader(c.Input, strings.NewReader(string(read(t, dir, c.Input))))
	for {
		doc, err := r.Next()
		if err != nil {
			break
		}
		for o := range kube.Objects(doc.Root) {
			w, ok := o.Workload(nil)
			if !ok {
				continue
			}
			req := &inject.Request{
				Pod: w.Template, Owner: w.Ref, Revision: c.Revision,
				Getenv: func(name string) string { return c.Env[name] },
			}
			if w.Ref.Kind == "Pod" {
				req.Owner = kube.OwnerOf(w.Template)
			}
			if c.Mode == "webhook" {
				req.Door, req.NamespaceName = inject.Admission, c.Namespace
				req.Owner.Namespace = c.Namespace
				req.ProxyEnv = pathEnv(c.Path)
			}
			res := e.Run(req)
			if res.Diagnostics.HasErrors() != (c.Error != "") {
				t.Fatalf("errors: want %q, got %v", c.Error, res.Diagnostics)
			}
			if c.Skipped != (res.Decision.Verdict == inject.Skip) && c.Mode == "webhook" {
				t.Fatalf("skipped: %v, decision %+v", c.Skipped, res.Decision)
			}
			pods = append(pods, decodePod(t, source.AppendJSON(nil, res.Pod)))
		}
	}
	return pods
}

func pathEnv(path string) map[string]string {
	env := map[string]string{}
	parts := strings.Split(strings.TrimPrefix(path, "/inject/"), "/")
	for i := 0; i+1 < len(parts); i += 2 {
		name := map[string]string{"cluster": "ISTIO_META_CLUSTER_ID", "net": "ISTIO_META_NETWORK"}[parts[i]]
		env[name] = parts[i+1]
	}
	return env
}

func wantLegacy(t *testing.T, dir string, c *legacyCase) []*corev1.Pod {
	t.Helper()
	file := c.Expected
	if c.Mode == "webhook" {
		file = c.ExpectedPod
		if c.Skipped {
			file = c.Input
		}
	}
	var pods []*corev1.Pod
	for _, part := range strings.Split(string(read(t, dir, file)), "\n---") {
		root := parse(t, part)
		for o := range kube.Objects(root) {
			if w, ok := o.Workload(nil); ok {
				pods = append(pods, decodePod(t, source.AppendJSON(nil, w.Template)))
			}
		}
	}
	return pods
}

func parse(t testing.TB, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

// decodePod reads a pod into Kubernetes' own type. The status annotation is
// taken for the JSON that it is.
func decodePod(t *testing.T, data []byte) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(data, pod); err != nil {
		t.Fatal(err)
	}
	pod.CreationTimestamp.Reset()
	if s, ok := pod.Annotations["sidecar.istio.io/status"]; ok {
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		pod.Annotations["sidecar.istio.io/status"] = string(canonical)
	}
	return pod
}
