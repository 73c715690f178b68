package inject_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// The files in testdata/generations are case files that are run as several
// releases, through both doors. They hold
//
//	releases        the releases
//	input.yaml, request, mesh.yaml, values.yaml
//	                as in other case files; without door both are meant
//	config.yaml, config-overlay.yaml
//	                the injection configuration; the second is that of releases
//	                since 1.9, if there
//	DOOR RELEASE    the wanted change, or the reason to skip; only where it is
//	                another than that of the release before
func TestGenerationCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/generations/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no case files", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := &caseFile{path, a}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), c.testGenerations)
	}
}

func (c *caseFile) testGenerations(t *testing.T) {
	doors := []string{"command-line", "admission"}
	if door := c.option("door"); door != "" {
		doors = []string{door}
	}
	var results []txtar.File
	for _, door := range doors {
		var before []byte
		for name := range strings.FieldsSeq(string(c.file("releases"))) {
			r, err := release.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.as(t, r, door); !bytes.Equal(got, before) {
				results = append(results, txtar.File{Name: door + " " + name, Data: got})
				before = got
			}
		}
	}
	kept := txtar.Archive{Comment: c.archive.Comment}
	for _, f := range c.archive.Files {
		if !strings.Contains(f.Name, " ") {
			kept.Files = append(kept.Files, f)
		}
	}
	kept.Files = append(kept.Files, results...)
	got, want := txtar.Format(&kept), txtar.Format(c.archive)
	if *update {
		if err := os.WriteFile(c.path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs (run with -update to accept):\n%s", diff.Diff("want", want, "got", got))
	}
}

// as runs a case as a release, through a door.
func (c *caseFile) as(t *testing.T, r release.Release, door string) []byte {
	t.Helper()
	cfg := c.file("config.yaml")
	if overlay := c.file("config-overlay.yaml"); overlay != nil && !r.Before(release.V(1, 9)) {
		cfg = overlay
	}
	set, findings := config.Load(source.NewText("config.yaml", cfg), source.NewText("mesh.yaml", c.file("mesh.yaml")),
		source.NewText("values.yaml", c.file("values.yaml")), r)
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	e, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Eager: true})
	if findings.HasErrors() {
		t.Fatal(findings)
	}
	w, _ := kube.WorkloadOf(parse(t, string(c.file("input.yaml"))), nil)
	req := c.request(t)
	req.Door = inject.CommandLine
	if door == "admission" {
		req.Door = inject.Admission
	}
	if w.Ref.Kind == "Pod" {
		req.Owner = e.OwnerOf(req.Door, w.Template)
	} else {
		req.OwnerMeta = parse(t, string(c.file("input.yaml"))).Get("metadata")
	}
	before := source.AppendJSON(nil, req.Pod)
	res := e.Run(req)
	if !bytes.Equal(before, source.AppendJSON(nil, req.Pod)) {
		t.Error("Run changed its input")
	}
	if again := e.Run(req); !again.Pod.Equal(res.Pod) {
		t.Errorf("release %s: the second result of one request differs", r)
	}
	if slow, _ := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Reference: true}); !slow.Run(req).Pod.Equal(res.Pod) {
		t.Errorf("release %s: the reference differs", r)
	}
	if patched := applied(t, req.Pod, res.JSONPatch()); !patched.Equal(res.Pod) {
		t.Errorf("release %s: the patch makes another pod", r)
	}
	out := c.diff(req.Pod, res.Pod)
	if res.Diagnostics.HasErrors() || res.Decision.Verdict == inject.Skip {
		out = append(c.findings(res), out...)
	}
	return append(bytes.TrimSpace(out), '\n')
}

// BenchmarkReleases injects into pods under the default configuration of each
// release whose recorded files are there, one pod of many that differ in names.
func BenchmarkReleases(b *testing.B) {
	dir := findUp(b, legacyDir)
	for _, tag := range tags {
		b.Run(tag, func(b *testing.B) {
			values := "values.json"
			if _, err := os.Stat(filepath.Join(dir, tag, values)); err != nil {
				values = ""
			}
			e := compileFiles(b, filepath.Join(dir, tag), "inject-config.yaml", "mesh.yaml", values)
			requests := make([]*inject.Request, 100)
			for i := range requests {
				name := fmt.Sprintf("app-%d", i)
				requests[i] = &inject.Request{
					Door: inject.Admission, NamespaceName: "shop",
					Owner: kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: name, Namespace: "shop"},
					Pod: parse(b, "metadata: {name: "+name+", namespace: shop, labels: {app: "+name+"}}\n"+
						"spec: {containers: [{name: "+name+", image: '"+name+":1', ports: [{containerPort: 80}]}]}"),
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if res := e.Run(requests[i%len(requests)]); res.Pod == requests[i%len(requests)].Pod {
					b.Fatal(res.Diagnostics, res.Decision)
				}
			}
		})
	}
}
