package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
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

func TestOldReleasesAreNamed(t *testing.T) {
	for _, dir := range []string{"0.8.0", "1.0.9", "1.1.17", "1.2.10", "1.4.10", "1.6.14", "1.8.5"} {
		for _, file := range releases(t, dir+"/inject-config.yaml") {
			inj, diags := ParseInjection(readText(t, file))
			if inj != nil || len(diags) != 1 || diags[0].Code != CodeOldShape {
				t.Errorf("%s: got %v, %v; want one finding %s", file, inj != nil, diags, CodeOldShape)
			}
		}
	}
}
