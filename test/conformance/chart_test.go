package conformance

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gobwas/glob"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/chart/common"
	helmutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/chart/builtin"
)

// pair is a chart as we and as Helm load it.
type pair struct {
	ours   *chart.Chart
	helms  *helmchart.Chart
	schema bool // let Helm check the values against the chart's schema, too
}

func loadPair(t *testing.T, fsys fs.FS, dir string) pair {
	t.Helper()
	ours, err := chart.Load(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []*archive.BufferedFile
	err = fs.WalkDir(fsys, dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, file)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(file, dir+"/"), Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	helms, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return pair{ours: ours, helms: helms}
}

func (p pair) renderHelm(values map[string]any, o chart.Options) (map[string]string, error) {
	kube, err := common.ParseKubeVersion(o.Capabilities.KubeVersion.Version)
	if err != nil {
		return nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	top, err := helmutil.ToRenderValuesWithSchemaValidation(p.helms, values, common.ReleaseOptions{
		Name: o.Release.Name, Namespace: o.Release.Namespace, Revision: o.Release.Revision,
		IsInstall: o.Release.IsInstall, IsUpgrade: o.Release.IsUpgrade,
	}, caps, !p.schema)
	if err != nil {
		return nil, err
	}
	return engine.Render(p.helms, top)
}

func (p pair) renderOurs(values map[string]any, o chart.Options) (map[string]string, error) {
	out, err := p.ours.Render(values, o)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range append(out.Files, out.Notes...) {
		files[f.Name] = f.Text
	}
	return files, nil
}

// compare renders with both engines and reports the first difference; ok tells
// that both rendered, and rendered the same.
func (p pair) compare(values map[string]any, o chart.Options) (ok bool, diff string) {
	want, wantErr := p.renderHelm(values, o)
	got, gotErr := p.renderOurs(values, o)
	switch {
	case wantErr != nil && gotErr != nil:
		return false, ""
	case wantErr != nil || gotErr != nil:
		return false, fmt.Sprintf("Helm: %v\nours: %v", wantErr, gotErr)
	case !maps.Equal(want, got):
		return false, cmp.Diff(want, got)
	}
	return true, ""
}

func chartOptions(t *testing.T) chart.Options {
	t.Helper()
	kube, err := chart.ParseKubeVersion(builtin.MinKubeVersion)
	if err != nil {
		t.Fatal(err)
	}
	return chart.Options{
		Release:      chart.Release{Name: "istio", Namespace: "istio-system"},
		Capabilities: chart.Capabilities{KubeVersion: kube, APIVersions: builtin.APIVersions()},
	}
}

// TestChartsOfTheRelease renders every embedded chart with Helm's engine and
// with ours: with no values, with each profile, platform and compatibility
// version that the chart has a file for, and with the values of each profile
// of the installer. All of these must render, and to the same bytes.
func TestChartsOfTheRelease(t *testing.T) {
	for _, dir := range builtin.Charts() {
		t.Run(path.Base(dir), func(t *testing.T) {
			t.Parallel()
			p := loadPair(t, builtin.FS(), dir)
			p.schema = true
			cases := map[string]map[string]any{"none": nil}
			for name := range p.ours.Files {
				profile, ok := strings.CutPrefix(name, "files/profile-")
				if !ok {
					continue
				}
				profile = strings.TrimSuffix(profile, ".yaml")
				key := "profile"
				for prefix, k := range map[string]string{"platform-": "platform", "compatibility-version-": "compatibilityVersion"} {
					if rest, ok := strings.CutPrefix(profile, prefix); ok {
						key, profile = k, rest
					}
				}
				cases[key+"="+profile] = map[string]any{key: profile}
			}
			profiles, err := fs.Glob(builtin.FS(), "profiles/*.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range profiles {
				cases[file] = profileValues(t, file)
			}
			for name, values := range cases {
				o := chartOptions(t)
				// A chart's schema knows nothing of the other charts' values.
				p.schema = !strings.HasPrefix(name, "profiles/")
				if ok, diff := p.compare(values, o); !ok {
					t.Errorf("%s: %s", name, orBothFail(diff))
				}
			}
			t.Logf("%d sets of values", len(cases))
		})
	}
}

func profileValues(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := fs.ReadFile(builtin.FS(), file)
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		Spec struct{ Values map[string]any }
	}
	if err := yaml.Unmarshal(data, &profile); err != nil {
		t.Fatal(err)
	}
	return profile.Spec.Values
}

// TestChartsWithGeneratedValues renders every embedded chart with values made
// up at random around what its defaults and templates name. Both engines must
// give the same bytes, or both refuse.
func TestChartsWithGeneratedValues(t *testing.T) {
	for _, dir := range builtin.Charts() {
		t.Run(path.Base(dir), func(t *testing.T) {
			t.Parallel()
			p := loadPair(t, builtin.FS(), dir)
			paths := valuePaths(p.helms)
			n := 400
			if dir == "charts/base" {
				n = 12 // Helm takes 0.3 s for it
			}
			rendered := 0
			for seed := range n {
				r := rand.New(rand.NewPCG(uint64(seed), 31))
				o := chartOptions(t)
				o.Release.IsUpgrade = r.IntN(2) == 0
				if r.IntN(4) == 0 {
					kube, err := chart.ParseKubeVersion("v1.33.4-gke.1245000")
					if err != nil {
						t.Fatal(err)
					}
					o.Capabilities.KubeVersion = kube
				}
				values := randomValues(r, paths)
				ok, diff := p.compare(values, o)
				if diff != "" {
					shown, _ := yaml.Marshal(values)
					t.Fatalf("seed %d:\n%s\n%s", seed, shown, diff)
				}
				if ok {
					rendered++
				}
			}
			if rendered < n/4 {
				t.Errorf("only %d of %d sets of values rendered: the generator is of no use", rendered, n)
			}
			t.Logf("%d equal, %d refused by both", rendered, n-rendered)
		})
	}
}

// valuePath is a value that a chart knows: where, and what it is by default.
type valuePath struct {
	keys []string
	def  any
}

var inTemplate = regexp.MustCompile(`\.Values((?:\.[A-Za-z_]\w*)+)`)

// valuePaths lists what the defaults hold and the templates name.
func valuePaths(c *helmchart.Chart) []valuePath {
	found := map[string]valuePath{}
	var walk func(keys []string, v any)
	walk = func(keys []string, v any) {
		if len(keys) > 0 {
			found[strings.Join(keys, ".")] = valuePath{slices.Clone(keys), v}
		}
		if m, ok := v.(map[string]any); ok {
			for k, v := range m {
				walk(append(slices.Clone(keys), k), v)
			}
		}
	}
	walk(nil, c.Values["_internal_defaults_do_not_set"])
	for k, v := range c.Values {
		if k != "_internal_defaults_do_not_set" {
			walk([]string{k}, v)
		}
	}
	for _, f := range c.Templates {
		for _, m := range inTemplate.FindAllSubmatch(f.Data, -1) {
			name := string(m[1][1:])
			if _, ok := found[name]; !ok {
				found[name] = valuePath{strings.Split(name, "."), nil}
			}
		}
	}
	var out []valuePath
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

func randomValues(r *rand.Rand, paths []valuePath) map[string]any {
	root := map[string]any{}
	if r.IntN(3) == 0 {
		root["profile"] = pick(r, "demo", "ambient", "stable", "preview", "remote", "nonesuch")
	}
	if r.IntN(3) == 0 {
		root["platform"] = pick(r, "gke", "k3s", "openshift", "k3d", "microk8s", "minikube")
	}
	if r.IntN(3) == 0 {
		root["compatibilityVersion"] = pick(r, "1.25", "1.26", "1.27", "1.28", "1.29", "1.30")
	}
	for range r.IntN(8) {
		p := paths[r.IntN(len(paths))]
		at := root
		for _, key := range p.keys[:len(p.keys)-1] {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[p.keys[len(p.keys)-1]] = randomValue(r, p.def)
	}
	return root
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomValue makes a value that mostly is of the kind of the default.
func randomValue(r *rand.Rand, def any) any {
	if r.IntN(12) == 0 {
		return pick[any](r, nil, "", "text", 0.0, true, map[string]any{}, []any{})
	}
	switch def := def.(type) {
	case bool:
		return !def
	case float64:
		return pick(r, 0, 1, 2, -1, 1.5, 15021, 1e6, 1e21, 0.0000001)
	case map[string]any:
		m := map[string]any{}
		for range 1 + r.IntN(2) {
			m[pick(r, "a", "example.com/b", "enabled", "cpu", "true")] = randomValue(r, pick[any](r, "", 1.0, true))
		}
		return m
	case []any:
		return pick[any](r,
			[]any{"a", "b"},
			[]any{map[string]any{"name": "x", "value": "1"}},
			[]any{map[string]any{"key": "k", "operator": "In", "values": "a,b", "topologyKey": "zone"}},
			[]any{map[string]any{"name": "http", "port": 80.0, "targetPort": 8080.0, "protocol": "TCP"}},
		)
	case nil:
		return randomValue(r, pick[any](r, "", 1.0, true, map[string]any{}, []any{}))
	}
	return pick[any](r, "text", "a b", "yes", "null", "1", "1.0", "x: y", "# c", "'q'", "line\nline\n", " lead", "{{ .Release.Name }}",
		"<no value>", "all", "namespace", "cluster", "none", "zipkin", "datadog", "stackdriver", "lightstep", "debug", "distroless", "ä\u2028")
}

// TestChartCases runs the case files of internal/chart, which say what must
// come out, by Helm's engine as well: what they say is what Helm does.
func TestChartCases(t *testing.T) {
	files, err := filepath.Glob("../../internal/chart/testdata/render/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cases, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{}
			var user map[string]any
			for _, f := range cases.Files {
				switch {
				case strings.HasPrefix(f.Name, "want/"):
				case f.Name == "user.yaml":
					if err := yaml.Unmarshal(f.Data, &user); err != nil {
						t.Fatal(err)
					}
				default:
					fsys["c/"+f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			if ok, diff := loadPair(t, fsys, "c").compare(user, chartOptions(t)); !ok {
				t.Error(orBothFail(diff))
			}
		})
	}
}

// TestFilesGlob holds .Files.Glob to the library that Helm uses, on the kinds
// of pattern that charts are written with. (On random ones that library errs:
// it panics, and has "?" match nothing at all.)
func TestFilesGlob(t *testing.T) {
	names := []string{
		"a", "b.yaml", "files/a.yaml", "files/b.yml", "files/b.json", "files/deep/a.yaml", "files/deep/er/c.yaml",
		"files/1.txt", "files/12.txt", "dashboards/x.json", "dashboards/sub/x.json", "files*", "files/a[1].yaml", "files/.hidden",
	}
	for _, pattern := range []string{
		"*", "**", "*.yaml", "**.yaml", "files/*", "files/**", "files/*.yaml", "files/**.yaml", "files/**/*.yaml", "**/a.yaml",
		"**/*.{yaml,yml}", "files/{a,b}.*", "{files,dashboards}/**.json", "files/?.txt", "files/??.txt", "files/[ab].*", "files/[!a]*",
		"files/[a-c].yaml", `files\*`, "files/*/*", "*/*/*", "files", "nothing/**", "dashboards/*.json", "**x*",
	} {
		g, err := glob.Compile(pattern, '/')
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			_, got := chart.Files{name: nil}.Glob(pattern)[name]
			if want := g.Match(name); got != want {
				t.Errorf("Glob(%q) of %q: %v, want %v", pattern, name, got, want)
			}
		}
	}
}

// TestAPIVersions: without a cluster, charts see the API versions that Helm
// knows by itself.
func TestAPIVersions(t *testing.T) {
	want := slices.Sorted(slices.Values(common.DefaultVersionSet))
	if diff := cmp.Diff(want, []string(builtin.APIVersions())); diff != "" {
		t.Error(diff)
	}
}

func orBothFail(diff string) string {
	if diff == "" {
		return "both fail"
	}
	return diff
}
