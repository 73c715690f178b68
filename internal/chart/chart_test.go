package chart_test

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/chart"
)

func options(t *testing.T) chart.Options {
	t.Helper()
	kube, err := chart.ParseKubeVersion("v1.33.4-gke.1")
	if err != nil {
		t.Fatal(err)
	}
	return chart.Options{
		Release:      chart.Release{Name: "rel", Namespace: "ns", Revision: 2, IsInstall: true},
		Capabilities: chart.Capabilities{KubeVersion: kube, APIVersions: chart.VersionSet{"v1", "apps/v1"}},
	}
}

// TestRender renders the charts of testdata/render: each archive holds a chart
// at its root, the user's values in user.yaml, and under want/ what must come
// out, file by file.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/render/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fsys, want := fstest.MapFS{}, map[string]string{}
			var user map[string]any
			for _, f := range archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[name] = string(f.Data)
					continue
				}
				if f.Name == "user.yaml" {
					if err := yaml.Unmarshal(f.Data, &user); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if f.Name == "values.yaml" {
					f.Data = append([]byte("\xef\xbb\xbf"), f.Data...)
				}
				fsys["c/"+f.Name] = &fstest.MapFile{Data: f.Data}
			}
			c, err := chart.Load(fsys, "c")
			if err != nil {
				t.Fatal(err)
			}
			before, err := yaml.Marshal(user)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // rendering changes nothing, so the second time is as the first
				out, err := c.Render(user, options(t))
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]string{}
				for _, f := range append(out.Files, out.Notes...) {
					got[f.Name] = f.Text
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if after, err := yaml.Marshal(user); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the user's values were changed: %s (%v)", after, err)
			}
		})
	}
}

// tree makes a chart of one template and its neighbours.
func tree(files ...string) fs.FS {
	fsys := fstest.MapFS{"c/Chart.yaml": {Data: []byte("name: c\nversion: 1.0.0\n")}}
	for i := 0; i < len(files); i += 2 {
		fsys["c/"+files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func TestRenderErrors(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files []string
		want  string // all of the error
		chart bool
	}{
		{
			"fail",
			[]string{"templates/a.yaml", "x\n{{ fail \"no such profile\" }}"},
			"rendering c/templates/a.yaml:2:4: no such profile", true,
		},
		{
			"required",
			[]string{"templates/a.yaml", `{{ required "set hub" .Values.hub }}`},
			"rendering c/templates/a.yaml:1:4: set hub", true,
		},
		{
			"in a partial",
			[]string{"templates/_p.tpl", "{{ define \"p\" }}\n{{ fail \"deep: down\" }}{{ end }}", "templates/a.yaml", `{{ include "p" . }}`},
			"rendering c/templates/_p.tpl:2:4: deep: down", true,
		},
		{
			"in a tpl",
			[]string{"templates/a.yaml", `{{ tpl "{{ fail \"inside\" }}" . }}`},
			"rendering c/templates/a.yaml:1:4: inside", true,
		},
		{
			"tpl that does not parse",
			[]string{"templates/a.yaml", `{{ tpl "{{ if }}" . }}`},
			"rendering c/templates/a.yaml:1:4: missing value for if", false,
		},
		{
			"nil in the way",
			[]string{"templates/a.yaml", "{{ .Values.a.b }}"},
			"rendering c/templates/a.yaml:1:11: nil pointer evaluating interface {}.b", false,
		},
		{
			"unknown function",
			[]string{"templates/a.yaml", "\n{{ nope }}"},
			`rendering c/templates/a.yaml:2:1: function "nope" not defined`, false,
		},
		{
			"environment",
			[]string{"templates/a.yaml", `{{ env "HOME" }}`},
			`rendering c/templates/a.yaml:1:1: function "env" not defined`, false,
		},
		{
			"unknown template",
			[]string{"templates/a.yaml", `{{ include "nope" . }}`},
			`rendering c/templates/a.yaml:1:4: error calling include: there is no template "nope"`, false,
		},
		{
			"panic in a function",
			[]string{"templates/a.yaml", `{{ index (list 1) 3 }}`},
			"rendering c/templates/a.yaml:1:4: error calling index: index out of range: 3", false,
		},
		{
			"unsupported",
			[]string{"templates/a.yaml", "{{ toToml . }}"},
			"rendering c/templates/a.yaml:1:4: error calling toToml: charts cannot use the function toToml here: it is not supported", false,
		},
		{
			"what cannot be encoded",
			[]string{"templates/a.yaml", `{{ $d := dict }}{{ $_ := set $d "f" .Files.Get }}{{ mustToJson $d }}`},
			"", false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := chart.Load(tree(tc.files...), "c")
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.Render(nil, options(t))
			if err == nil || out != nil {
				t.Fatalf("got %v, %v; want an error alone", out, err)
			}
			if tc.want != "" && err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			var e *chart.Error
			if !errors.As(err, &e) {
				t.Fatalf("%T is no *Error", err)
			}
			if e.Chart != tc.chart {
				t.Errorf("Chart = %v, want %v", e.Chart, tc.chart)
			}
		})
	}
}

// Endless recursion ends as an error, never as an overflow of the stack.
func TestRecursionIsBounded(t *testing.T) {
	for name, template := range map[string]string{
		"include": `{{ define "p" }}{{ include "p" . }}{{ end }}{{ include "p" . }}`,
		"tpl":     `{{ tpl .Values.t . }}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := chart.Load(tree("templates/a.yaml", template), "c")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Render(map[string]any{"t": `{{ tpl .Values.t . }}`}, options(t)); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		fsys fs.FS
		want string
	}{
		{"no folder", fstest.MapFS{}, "loading chart c: c/Chart.yaml is missing"},
		{"no name", fstest.MapFS{"c/Chart.yaml": {Data: []byte("version: 1.0.0")}}, "needs a name and a version"},
		{"odd name", fstest.MapFS{"c/Chart.yaml": {Data: []byte("name: a/b\nversion: 1.0.0")}}, `"a/b" cannot be the name of a chart`},
		{"broken metadata", fstest.MapFS{"c/Chart.yaml": {Data: []byte("name: [")}}, "c/Chart.yaml:"},
		{"broken values", tree("values.yaml", "a: ["), "c/values.yaml:"},
		{"values that are no object", tree("values.yaml", "- 1"), "values must be an object, not array"},
		{"packed subchart", tree("charts/x-1.0.0.tgz", "\x1f\x8b"), "c/charts/x-1.0.0.tgz: a packed subchart is not supported: unpack it"},
		{"broken subchart", tree("charts/x/values.yaml", ""), "loading subchart c/charts/x: c/charts/x/Chart.yaml is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := chart.Load(tc.fsys, "c")
			if err == nil || c != nil {
				t.Fatalf("got %v, %v; want an error alone", c, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
		})
	}
}

func TestValuesOfASubchartMustBeAnObject(t *testing.T) {
	c, err := chart.Load(tree("charts/x/Chart.yaml", "name: x\nversion: 1.0.0"), "c")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Render(map[string]any{"x": "text"}, options(t))
	if err == nil || !strings.Contains(err.Error(), "x is the name of a subchart") {
		t.Errorf("got %v", err)
	}
}

// Only renders what it selects; what others define is known all the same, and
// the rest is not even parsed.
func TestOnly(t *testing.T) {
	c, err := chart.Load(tree(
		"templates/a.yaml", `{{ include "d" . }}{{ include "p" . }}{{ include (print .Template.BasePath "/e.yaml") . }}`,
		"templates/e.yaml", `e`,
		"templates/d.yaml", "{{ 1 }}{{-\n\tdefine `d` }}d{{ end }}{{ fail `not asked for` }}",
		"templates/_p.tpl", `{{ define "p" }}p{{ end }}`,
		"templates/broken.yaml", `{{ if `,
	), "c")
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Only = func(name string) bool { return name == "c/templates/a.yaml" }
	out, err := c.Render(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]chart.File{{Name: "c/templates/a.yaml", Text: "dpe"}}, out.Files); diff != "" {
		t.Error(diff)
	}
	if out.Get("c/templates/a.yaml") != "dpe" || out.Get("c/templates/d.yaml") != "" {
		t.Error("Get does not tell what was rendered")
	}
}

func TestCRDs(t *testing.T) {
	c, err := chart.Load(tree(
		"crds/b.yaml", "b", "crds/a.YML", "a", "crds/notes.txt", "", "other.yaml", "",
		"charts/x/Chart.yaml", "name: x\nversion: 1.0.0", "charts/x/crds/0.json", "0",
	), "c")
	if err != nil {
		t.Fatal(err)
	}
	want := []chart.File{{Name: "crds/0.json", Text: "0"}, {Name: "crds/a.YML", Text: "a"}, {Name: "crds/b.yaml", Text: "b"}}
	if diff := cmp.Diff(want, c.CRDs()); diff != "" {
		t.Error(diff)
	}
}

func TestParseKubeVersion(t *testing.T) {
	for _, tc := range []struct{ in, version, normal, minor string }{
		{"v1.33.4-gke.1245000", "v1.33.4-gke.1245000", "v1.33.4", "33"},
		{"1.32", "v1.32", "v1.32", "32"},
		{"1.32+", "v1.32+", "v1.32", "32"},
		{"v1.32.0", "v1.32.0", "v1.32.0", "32"},
		{"1", "", "", ""},
		{"", "", "", ""},
		{"x.y", "", "", ""},
		{"1..2", "", "", ""},
	} {
		v, err := chart.ParseKubeVersion(tc.in)
		if (err != nil) != (tc.version == "") {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if err == nil && (v.GitVersion() != tc.version || v.String() != tc.normal || v.Major != "1" || v.Minor != tc.minor) {
			t.Errorf("%q: got %+v", tc.in, v)
		}
	}
	if s := (&chart.KubeVersion{Version: "v1.30.1-x"}).String(); s != "v1.30.1-x" {
		t.Errorf("a version that was not parsed prints as %q", s)
	}
}
