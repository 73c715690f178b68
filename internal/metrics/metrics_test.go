package metrics_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/metrics"
)

func TestWrite(t *testing.T) {
	var r metrics.Registry
	r.Counters("b_total", "Things that happened.", "kind", "place").With("x", `"a\b`+"\n").Add(2)
	plain := r.Counters("a_total", "Plain.")
	plain.With().Add(1)
	r.Gauge("c", "A number.\nReally.", func() (float64, bool) { return 0.5, true })
	r.Gauge("d", "None now.", func() (float64, bool) { return 1, false })
	h := r.Histogram("e_seconds", "How long.", 0.1, 1)
	for _, v := range []float64{0.1, 0.2, 3} {
		h.Observe(v)
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `# HELP a_total Plain.
# TYPE a_total counter
a_total 1
# HELP b_total Things that happened.
# TYPE b_total counter
b_total{kind="x",place="\"a\\b\n"} 2
# HELP c A number.\nReally.
# TYPE c gauge
c 0.5
# HELP d None now.
# TYPE d gauge
# HELP e_seconds How long.
# TYPE e_seconds histogram
e_seconds_bucket{le="0.1"} 1
e_seconds_bucket{le="1"} 2
e_seconds_bucket{le="+Inf"} 3
e_seconds_sum 3.3
e_seconds_count 3
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if infos := r.Infos(); len(infos) != 5 || infos[1].Name != "b_total" || len(infos[1].Labels) != 2 {
		t.Errorf("infos %+v", infos)
	}
}

// Labels that come from outside cannot fill the memory.
func TestSeriesAreBounded(t *testing.T) {
	var r metrics.Registry
	c := r.Counters("x_total", "x", "namespace", "reason")
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 1000 {
				c.With(fmt.Sprint(g, "-", i), "r").Add(1)
			}
		})
	}
	wait.Wait()
	if n := c.With(metrics.Other, metrics.Other).Value(); n < 1900 || n > 2000 {
		t.Errorf("%d were counted as others", n)
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 2010 {
		t.Errorf("%d lines", lines)
	}
}

// A gauge by a label has what it was given last, and is bounded.
func TestGaugesByLabel(t *testing.T) {
	var r metrics.Registry
	each := map[string]float64{"shop": 2, `a"b`: 1}
	r.Gauges("missed", "Missed.", "namespace", func() map[string]float64 { return each })
	text := func() string {
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := text(), "# HELP missed Missed.\n# TYPE missed gauge\nmissed{namespace=\"a\\\"b\"} 1\nmissed{namespace=\"shop\"} 2\n"; got != want {
		t.Errorf("got %s", got)
	}
	each = nil
	if got := text(); strings.Contains(got, "missed{") {
		t.Errorf("got %s", got)
	}
	each = map[string]float64{}
	for i := range 3000 {
		each[fmt.Sprintf("n%04d", i)] = 1
	}
	got := text()
	if strings.Count(got, "\n") != 2002 || !strings.HasSuffix(got, "missed{namespace=\"n1998\"} 1\nmissed{namespace=\"other\"} 1001\n") {
		t.Errorf("%d lines, the end is %s", strings.Count(got, "\n"), got[len(got)-100:])
	}
}
