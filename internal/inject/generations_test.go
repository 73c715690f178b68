package inject_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// legacyDir holds, by release, what releases make of pods: their own test cases
// and others, recorded. It is not part of the repository.
const legacyDir = "../../../shared/legacy"

// tags are the releases with recorded results.
var tags = []string{
	"0.8.0", "1.0.9", "1.1.17", "1.2.10", "1.4.10", "1.6.14", "1.8.5",
	"1.9.9", "1.14.5", "1.20.8", "1.25.3", "1.28.10", "1.30.3", "1.31.0-rc.0",
}

// deliberate lists the cases that differ on purpose, by name and the release
// since when they do; docs/differences.md says why.
var deliberate = map[string]struct {
	since release.Release
	why   string
}{
	"golden-cronjob":              {release.Oldest, "metadata of a CronJob's pod is that of the pod template"},
	"default-cronjob":             {release.Oldest, "metadata of a CronJob's pod is that of the pod template"},
	"webhook-http_probe_rewrite":  {release.Oldest, "the release's patch cannot be applied: it counts containers as they were before some were removed"},
	"webhook-https_probe_rewrite": {release.Oldest, "the release's patch cannot be applied: it counts containers as they were before some were removed"},
	"golden-merge-probers":        {release.V(1, 25), "a classic sidecar injected before is no override of a native one"},
	"webhook-probes":              {release.V(1, 9), "a probe on an excluded port is left alone (I-30)"},
	"golden-sidecar-spire":        {release.V(1, 30), "one istio-proxy container where a custom template adds to a native sidecar"},
}

// TestReleases runs the recorded cases of every release as that release.
func TestReleases(t *testing.T) {
	dir := findUp(t, legacyDir)
	var table strings.Builder
	all := true
	for _, tag := range tags {
		var cases []legacyCase
		if err := json.Unmarshal(read(t, dir+"/"+tag, "cases.json"), &cases); err != nil {
			t.Fatal(err)
		}
		same, other := 0, 0
		for _, c := range cases {
			if !portion.Takes(tag+c.Name, 12) {
				continue
			}
			t.Run(tag+"/"+c.Name, func(t *testing.T) {
				diff := c.diff(t, dir+"/"+tag)
				known, listed := deliberate[c.Name]
				r, err := release.Parse(tag)
				listed = listed && err == nil && !r.Before(known.since)
				switch {
				case diff == "" && listed:
					t.Errorf("listed as a deliberate difference (%s), but it is equal", known.why)
				case diff == "":
					same++
				case listed:
					other++
				default:
					t.Errorf("differs from what the release makes (-want +got):\n%s", diff)
				}
			})
		}
		all = all && same+other == len(cases)
		fmt.Fprintf(&table, "| %s | %d | %d | %d |\n", tag, len(cases), same, other)
	}
	if all { // none left out by -run, or under the race detector
		checkCounts(t, table.String())
	}
}

// checkCounts compares the counts with those in docs/generations.md.
func checkCounts(t *testing.T, counts string) {
	t.Helper()
	var cases, same, other int
	for line := range strings.Lines(counts) {
		var tag string
		var n [3]int
		if _, err := fmt.Sscanf(line, "| %s | %d | %d | %d |", &tag, &n[0], &n[1], &n[2]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		cases, same, other = cases+n[0], same+n[1], other+n[2]
	}
	if sum := fmt.Sprintf("%d of %d are equal and %d differ on purpose", same, cases, other); !strings.Contains(string(read(t, "../..", "README.md")), sum) {
		t.Errorf("README.md does not say: %s", sum)
	}
	for _, page := range countPages {
		doc := string(read(t, "../../docs", page))
		before, _, after := cutCounts(t, page, doc)
		fresh := before + counts + after
		switch {
		case fresh == doc || t.Failed():
		case *update:
			if err := os.WriteFile("../../docs/"+page, []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("docs/%s has other counts; write them with -update:\n%s", page, counts)
		}
	}
}

// countPages are the pages with the table of counts.
var countPages = []string{"generations.md", "conformance.md"}

// cutCounts splits a page around the rows of the table of counts.
func cutCounts(t *testing.T, name, page string) (before, counts, after string) {
	t.Helper()
	const head = "| release | cases | as the release | on purpose not |\n| --- | --- | --- | --- |\n"
	before, rest, found := strings.Cut(page, head)
	if !found {
		t.Fatalf("docs/%s has no table of counts", name)
	}
	end := strings.Index(rest, "\n\n") + 1
	return before + head, rest[:end], rest[end:]
}

// The pages agree with each other and with the README, also where nothing is
// recorded to count again.
func TestCountsOfReleases(t *testing.T) {
	var tables []string
	for _, page := range countPages {
		_, counts, _ := cutCounts(t, page, string(read(t, "../../docs", page)))
		tables = append(tables, counts)
	}
	if tables[0] != tables[1] {
		t.Errorf("%s has\n%s\nand %s\n%s", countPages[0], tables[0], countPages[1], tables[1])
	}
	if rows := strings.Count(tables[0], "\n"); rows != len(tags) {
		t.Errorf("%d rows for %d tags", rows, len(tags))
	}
	checkCounts(t, tables[0])
}

// diff runs a case and says what is other than recorded.
func (c *legacyCase) diff(t *testing.T, dir string) string {
	t.Helper()
	got := runLegacy(t, compileFiles(t, dir, c.Config, c.Mesh, c.Values), dir, c)
	if c.Error != "" {
		return ""
	}
	want := wantLegacy(t, dir, c)
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// Every known release has a generation, and each generation a release.
func TestGenerationsCoverReleases(t *testing.T) {
	for r := release.V(1, 9); ; r = r.Next() {
		if g, ok := inject.GenerationOf(r); !ok || g.Release() != r || len(g.Precedence()) == 0 {
			t.Errorf("release %s has no generation", r)
		}
		if r == release.Newest {
			break
		}
	}
	for _, r := range []release.Release{release.V(0, 7), release.V(0, 9), release.Newest.Next(), release.V(2, 0)} {
		if g, ok := inject.GenerationOf(r); ok {
			t.Errorf("release %s, which is none, has generation %s", r, g)
		}
	}
	if inject.Newest().Release() != release.Newest {
		t.Error("the newest generation is not that of the newest release")
	}
}

// A configuration of one shape cannot be read as a release of the other.
func TestCompileRefusesOtherShape(t *testing.T) {
	for _, c := range []struct {
		text string
		as   release.Release
		want string
	}{
		{"policy: enabled\ntemplates: {sidecar: '{}'}\n", release.V(1, 8), "IGF0203"},
		{"policy: enabled\ntemplate: '{}'\n", release.V(1, 9), "IGF0203"},
		{"policy: enabled\ntemplates: {sidecar: '{}'}\n", release.V(1, 9), ""},
		{"policy: enabled\ntemplates: {sidecar: '{}'}\n", release.V(1, 99), "IGF0203"},
	} {
		text := func(s string) *source.Text { return source.NewText("", []byte(s)) }
		cfg, _ := config.ParseInjection(text(c.text))
		mesh, _ := config.ParseMesh(text(""))
		values, _ := config.ParseValues(text(""))
		e, findings := inject.Compile(cfg, mesh, values, inject.Options{Release: c.as})
		got := ""
		if len(findings) > 0 {
			got = findings[0].Code
		}
		if got != c.want || (e == nil) != (c.want != "") {
			t.Errorf("%q as %s: %v, want %q", c.text, c.as, findings, c.want)
		}
	}
}
