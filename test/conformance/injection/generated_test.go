package injection

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	cases      = flag.Int("cases", 2000, "how many generated cases to run")
	seed       = flag.Uint64("seed", 1, "seed of the generated cases")
	settings   = flag.Int("settings", 150, "how many settings the generated cases are spread over")
	mismatches = flag.String("mismatches", "", "write the smallest case of each kind of mismatch to this file")
	oneCase    = flag.String("case", "", "file with one case, as JSON, to run")
	classes    = flag.Int("classes", 12, "how many kinds of mismatch to shrink and show")
)

// worlds are the worlds that cases are generated for, with their share.
var worlds = []struct {
	world
	share float64
}{
	{world{}, 0.4},
	{world{Native: true}, 0.35},
	{world{Native: true, OpenShift: true}, 0.15},
	{world{Compliance: "fips-140-3"}, 0.1},
}

// mismatch collects the cases that fail in the same way.
type mismatch struct {
	count int
	first testCase // the smallest of them
}

// TestCase runs one case: -case names a file that holds it as JSON, as the file
// of mismatches gives it.
func TestCase(t *testing.T) {
	if *oneCase == "" {
		t.Skip("no -case")
	}
	data, err := os.ReadFile(*oneCase)
	if err != nil {
		t.Fatal(err)
	}
	var c testCase
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	runCases(t, newTally("one case"), c.World, slices.Values([]testCase{c}))
}

// TestGenerated runs seeded random cases through both sides.
func TestGenerated(t *testing.T) {
	tally := newTally(fmt.Sprintf("generated cases, seed %d", *seed))
	tally.random = true
	first := uint64(0)
	for _, w := range worlds {
		n := uint64(float64(*cases) * w.share)
		t.Run(w.String(), func(t *testing.T) {
			runCases(t, tally, w.world, func(yield func(testCase) bool) {
				for i := range n {
					if !yield(generate(*seed, first+i, w.world)) {
						return
					}
				}
			})
		})
		first += n
	}
	report.add(tally)
}

// runCases runs cases of one world on all cores, and reports what differs:
// for each kind of mismatch a case made as small as it gets.
func runCases(t *testing.T, tally *tally, w world, cases iter.Seq[testCase]) {
	w.enter(t)
	silencePeer()
	all := newBenches(t, w)
	var mu sync.Mutex
	found := map[string]*mismatch{}
	todo := make(chan testCase, 64)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range todo {
				v := all.run(c)
				mu.Lock()
				if v.broken != nil {
					t.Errorf("%v\n%s", v.broken, c)
				}
				tally.count(v)
				for name := range strings.SplitSeq(v.reason, " + ") {
					if name != "" && documented[name] == "" {
						t.Errorf("the difference %q is tied to nothing in docs/differences.md", name)
					}
				}
				if v.class != "" && v.reason == "" {
					m := found[v.left.class]
					if m == nil {
						m = &mismatch{first: c}
						found[v.left.class] = m
					}
					m.count++
					if size(c.Object) < size(m.first.Object) {
						m.first = c
					}
				}
				mu.Unlock()
			}
		})
	}
	for c := range cases {
		todo <- c
	}
	close(todo)
	workers.Wait()
	order := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(found[b].count, found[a].count), cmp.Compare(a, b))
	})
	for i, class := range order {
		if i == *classes {
			t.Errorf("%s: %d more kinds of mismatch", w, len(order)-i)
			break
		}
		m := found[class]
		small := shrink(m.first, 120, func(c testCase) bool {
			v := all.run(c)
			return v.class != "" && v.reason == "" && v.left.class == class
		})
		text := fmt.Sprintf("%d × %s\n%s%s\n", m.count, class, small, all.run(small).left.detail)
		t.Errorf("%s", text)
		note(t, text+"```json\n"+string(mustJSON(small))+"\n```\n")
	}
}

// note appends to the file of mismatches.
func note(t *testing.T, text string) {
	if *mismatches == "" {
		return
	}
	f, err := os.OpenFile(*mismatches, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "## %s\n", strings.TrimSpace(text)+"\n"); err != nil {
		t.Fatal(err)
	}
}
