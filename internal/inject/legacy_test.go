package inject_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

type legacyCase struct {
	Name, Mode, Input, Config, Mesh, Values, Expected string
	ExpectedPod                                       string `json:"expected_pod"`
	Namespace, Revision, Path, Error                  string
	Skipped                                           bool
	Env                                               map[string]string
}

// findUp returns a directory of the workplace, seen from the repository or
// from a work tree of it.
func findUp(t testing.TB, dir string) string {
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

// compileFiles makes an engine of files of a folder that is named for their
// release.
func compileFiles(t testing.TB, dir, cfg, mesh, values string) *inject.Engine {
	t.Helper()
	text := func(file string) *source.Text {
		if file == "" { // releases until 1.1 had no values
			return source.NewText("", nil)
		}
		return source.NewText(file, read(t, dir, file))
	}
	asked, err := release.Parse(filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	set, findings := config.Load(text(cfg), text(mesh), text(values), asked)
	if findings.HasErrors() {
		t.Fatal(findings[0])
	}
	e, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Eager: true})
	if findings.HasErrors() {
		t.Fatal(findings[0])
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
			if c.Mode == "webhook" { // some pods do not say that they are
				w, ok = kube.Workload{Ref: kube.Ref{APIVersion: "v1", Kind: "Pod"}, Template: o.Node}, true
			}
			if !ok {
				continue
			}
			req := &inject.Request{
				Pod: w.Template, Owner: w.Ref, OwnerMeta: o.Node.Get("metadata"), Revision: c.Revision,
				Getenv: func(name string) string { return c.Env[name] },
			}
			if w.Ref.Kind == "Pod" {
				req.Owner = e.OwnerOf(door(c), w.Template)
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

func door(c *legacyCase) inject.Door {
	if c.Mode == "webhook" {
		return inject.Admission
	}
	return inject.CommandLine
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
		} else if file == "" {
			input := parse(t, string(read(t, dir, c.Input)))
			if input.Get("metadata") == nil { // the patch was made for a pod that has one
				input = input.With("metadata", source.NewMap())
			}
			patch, err := jsonpatch.DecodePatch(read(t, dir, c.Expected))
			if err != nil {
				t.Fatal(err)
			}
			pod, err := patch.Apply(source.AppendJSON(nil, input))
			if err != nil {
				return nil // the release's own patch does not apply
			}
			return []*corev1.Pod{decodePod(t, pod)}
		}
		return []*corev1.Pod{decodePod(t, read(t, dir, file))}
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
