package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// releases lists the folder of reference data of real releases, which stands
// beside the repository where it is to be had.
func releases(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "legacy", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the reference data of releases is not here: ../shared/legacy")
	}
	return files
}

func readText(t testing.TB, file string) *source.Text {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return source.NewText(file, data)
}

// quiet fails the test where there is a finding.
func quiet(t *testing.T, diags diag.List) {
	t.Helper()
	for _, d := range diags {
		t.Errorf("%v", d)
	}
}

func TestReleasesParseWithoutFindings(t *testing.T) {
	for _, dir := range []string{"1.9.9", "1.14.5", "1.20.8", "1.25.3", "1.28.10", "1.30.3", "1.31.0-rc.0"} {
		for _, file := range releases(t, dir+"/*config*.yaml") {
			inj, diags := ParseInjection(readText(t, file))
			quiet(t, diags)
			if inj == nil || inj.Bare || len(inj.Templates) == 0 {
				t.Errorf("%s: no templates", file)
			}
		}
		for _, file := range releases(t, dir+"/mesh*.yaml") {
			m, diags := ParseMesh(readText(t, file))
			quiet(t, diags)
			if m == nil || m.Config.DefaultConfig == nil {
				t.Errorf("%s: no mesh", file)
			}
		}
		for _, file := range releases(t, dir+"/values*.json") {
			v, diags := ParseValues(readText(t, file))
			quiet(t, diags)
			if v == nil || v.Map == nil {
				t.Errorf("%s: no values", file)
			}
		}
	}
}

func TestReleasesAreDetected(t *testing.T) {
	for _, file := range releases(t, "*/inject-config.yaml") {
		dir := filepath.Dir(file)
		inj, diags := ParseInjection(readText(t, file))
		quiet(t, diags)
		var values *Values
		if data, err := os.ReadFile(filepath.Join(dir, "values.json")); err == nil {
			values, _, diags = readValues(source.NewText(file, data))
			quiet(t, diags)
		}
		want, err := release.Parse(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := Detect(inj, values); got.Release != want {
			t.Errorf("%s: release %v, want %v: %+v", file, got.Release, want, got.Evidence)
		}
		fits, uses := Fit(inj)
		if !fits.Has(want) {
			t.Errorf("%s: does not fit its own release: %v %+v", file, fits, uses)
		}
	}
}
