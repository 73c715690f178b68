package injection

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// tally counts what came of the cases of one part of the suite.
type tally struct {
	name                           string
	inputs, equal, refused, failed int
	injected, skipped              int
	// reasons counts the cases that differ on purpose, by what explains them.
	reasons map[string]int
	// random tells that the cases depend on -cases and -seed.
	random bool
}

func newTally(name string) *tally { return &tally{name: name, reasons: map[string]int{}} }

func (t *tally) count(v verdict) {
	t.inputs++
	switch {
	case v.peer.refused:
		t.refused++
	case v.peer.injected:
		t.injected++
	default:
		t.skipped++
	}
	switch {
	case v.class == "":
		t.equal++
	case v.reason != "":
		t.reasons[v.reason]++
	default:
		t.failed++
	}
}

func (t *tally) deliberate() int {
	n := 0
	for _, k := range t.reasons {
		n += k
	}
	return n
}

func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d inputs (the peer injects %d, skips %d, refuses %d): %d equal, %d deliberately different, %d failed\n",
		t.name, t.inputs, t.injected, t.skipped, t.refused, t.equal, t.deliberate(), t.failed)
	for _, r := range slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
		if d := t.reasons[b] - t.reasons[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		fmt.Fprintf(&b, "  %6d  %s\n", t.reasons[r], r)
	}
	return b.String()
}

// reports gathers the tallies of a run.
type reports struct{ tallies []*tally }

func (r *reports) add(t *tally) { r.tallies = append(r.tallies, t) }

var report reports

// reportFile holds the counts of a whole run.
const reportFile = "../../../docs/conformance.md"

// releasesHeading begins the section of the page that TestReleases of
// internal/inject writes and holds: no run here changes it.
const releasesHeading = "## Older releases, tag by tag\n"

// releasesOf returns that section of a page.
func releasesOf(page string) string {
	_, section, found := strings.Cut(page, releasesHeading)
	if !found {
		return ""
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return releasesHeading + section
}

// page writes the counts as a page of the documentation, with the section about
// older releases as it is.
func (r *reports) page(c *coverage, releases string) string {
	var b strings.Builder
	b.WriteString(`# Conformance

` + "`make conformance`" + ` runs ingraft and the mesh's own Go module (release 1.31) side by side in one
process, on the same input under the same configuration, and compares what they make of it: both
results decoded into the Kubernetes types, empty and absent the same, the order of lists
significant, the status annotation compared as JSON; and refusals by both. A difference counts as
deliberate only if code of the test makes the mesh's result equal to ingraft's in the way that
[differences.md](differences.md) says (or takes it from the mesh's own webhook, or from its first
injection); any other fails the run. The same seed generates the same cases. This page is what a run printed
(` + "`make conformance UPDATE=1`" + ` writes it), and a run that counts something else fails.

| part | inputs | injected | skipped | refused | equal | deliberately different | else |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`)
	for _, t := range r.tallies {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", t.name, t.inputs, t.injected, t.skipped, t.refused, t.equal, t.deliberate(), t.failed)
	}
	b.WriteString("\ninjected, skipped, refused: what the mesh does with the inputs.\n\n")
	if releases != "" {
		b.WriteString(releases + "\n")
	}
	b.WriteString("## Deliberate differences, by reason\n")
	for _, t := range r.tallies {
		if len(t.reasons) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n| cases | where of [differences.md](differences.md) |\n| ---: | --- |\n", t.name)
		for _, name := range slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
			if d := t.reasons[b] - t.reasons[a]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		}) {
			fmt.Fprintf(&b, "| %d | %s |\n", t.reasons[name], name)
		}
	}
	if c != nil {
		fmt.Fprintf(&b, "\n## What was reached of the mesh's injector\n\n%s", c.markdown())
	}
	return b.String()
}

// lasting returns the lines of a page that a run has to print again: what was
// reached of the peer is judged by itself, and generated cases only count
// where the page is about as many of them, from the same seed.
func (r *reports) lasting(page string, generated bool) []string {
	var lines []string
	skip := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			skip = strings.HasPrefix(line, "## What was reached") || !generated && strings.HasPrefix(line, "### generated cases")
		}
		if !skip && (generated || !strings.HasPrefix(line, "| generated cases")) {
			lines = append(lines, line)
		}
	}
	return lines
}

// check compares the page with what the run counted, or writes it.
func (r *reports) check(c *coverage, update bool) error {
	old, err := os.ReadFile(reportFile)
	if err != nil {
		return err
	}
	page := r.page(c, releasesOf(string(old)))
	if update {
		return os.WriteFile(reportFile, []byte(page), 0o644)
	}
	generated := true
	for _, t := range r.tallies {
		generated = generated && (!t.random || strings.Contains(string(old), fmt.Sprintf("| %s | %d |", t.name, t.inputs)))
	}
	was, now := r.lasting(string(old), generated), r.lasting(page, generated)
	for i := range max(len(was), len(now)) {
		if i >= len(was) || i >= len(now) || was[i] != now[i] {
			line := "its end"
			if i < len(now) {
				line = strings.TrimSpace(now[i])
			}
			return fmt.Errorf("%s is stale, the run says %q: make conformance UPDATE=1 writes it", reportFile, line)
		}
	}
	return nil
}

// A new page keeps the section that is not this run's.
func TestPageKeepsOlderReleases(t *testing.T) {
	old, err := os.ReadFile(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	section := releasesOf(string(old))
	if !strings.Contains(section, "| 0.8.0 |") {
		t.Errorf("%s has no section about older releases: %q", reportFile, section)
	}
	page := (&reports{}).page(nil, section)
	if got := releasesOf(page); got != section {
		t.Errorf("the section becomes %q", got)
	}
}
