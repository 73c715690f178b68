// Package metrics counts and measures, and writes the numbers in the text
// format of Prometheus (version 0.0.4). It is small on purpose: the client
// library of Prometheus does the same and much more, at a price that every
// start of the program would pay (docs/decisions/001-dependencies.md).
package metrics

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the metrics of a program, by name.
type Registry struct {
	mu       sync.Mutex
	families []family
}

// Info describes one metric.
type Info struct {
	// Name is the name as queries use it, Help what it tells in one sentence,
	// and Kind counter, gauge or histogram.
	Name, Help, Kind string
	// Labels are the names of its labels.
	Labels []string
}

type family interface {
	info() Info
	write(*bufio.Writer)
}

func (r *Registry) add(f family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := slices.BinarySearchFunc(r.families, f.info().Name, func(g family, name string) int {
		return strings.Compare(g.info().Name, name)
	})
	if known {
		r.families[at] = f
		return
	}
	r.families = slices.Insert(r.families, at, f)
}

// Infos lists the metrics, sorted by name.
func (r *Registry) Infos() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Info, len(r.families))
	for i, f := range r.families {
		list[i] = f.info()
	}
	return list
}

// ContentType is the media type of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Write writes all metrics.
func (r *Registry) Write(w io.Writer) error {
	r.mu.Lock()
	families := slices.Clone(r.families)
	r.mu.Unlock()
	b := bufio.NewWriter(w)
	for _, f := range families {
		i := f.info()
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", i.Name, strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(i.Help), i.Name, i.Kind)
		f.write(b)
	}
	return b.Flush()
}

// maxLabels bounds the labels of a metric, and maxSeries the values that they
// take: what comes after is counted under Other, so that whoever names
// namespaces cannot fill the memory.
const (
	maxLabels = 3
	maxSeries = 2000
)

// Other is the value of all labels of what is beyond the bound.
const Other = "other"

type labelValues [maxLabels]string

// Counters is a counter for every combination of the values of its labels.
type Counters struct {
	of   Info
	mu   sync.RWMutex
	each map[labelValues]*Counter
}

// Counter is a number that only grows.
type Counter struct{ n atomic.Uint64 }

// Add adds to the counter.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value returns the number.
func (c *Counter) Value() uint64 { return c.n.Load() }

// Counters makes a counter with at most three labels. The one without labels
// is there at once, with the value 0.
func (r *Registry) Counters(name, help string, labels ...string) *Counters {
	c := &Counters{of: Info{name, help, "counter", labels}, each: map[labelValues]*Counter{}}
	if len(labels) == 0 {
		c.With()
	}
	r.add(c)
	return c
}

// With returns the counter for values of the labels, in their order.
func (c *Counters) With(values ...string) *Counter {
	var key labelValues
	copy(key[:], values)
	c.mu.RLock()
	one, ok := c.each[key]
	c.mu.RUnlock()
	if ok {
		return one
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.each) >= maxSeries {
		key = labelValues{}
		for i := range c.of.Labels {
			key[i] = Other
		}
	}
	if one, ok = c.each[key]; !ok {
		for i := range key {
			key[i] = strings.Clone(key[i]) // may be part of something large
		}
		one = &Counter{}
		c.each[key] = one
	}
	return one
}

func (c *Counters) info() Info { return c.of }

func (c *Counters) write(b *bufio.Writer) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	keys := make([]labelValues, 0, len(c.each))
	for key := range c.each {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b labelValues) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		b.WriteString(c.of.Name)
		for i, label := range c.of.Labels {
			b.WriteByte("{,"[min(i, 1)])
			b.WriteString(label + `="` + escape(key[i]) + `"`)
		}
		if len(c.of.Labels) > 0 {
			b.WriteByte('}')
		}
		b.WriteString(" " + strconv.FormatUint(c.each[key].Value(), 10) + "\n")
	}
}

func escape(value string) string {
	return strings.NewReplacer("\\", `\\`, "\"", `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\ufffd"))
}

// gauge is a number that is asked for when metrics are written.
type gauge struct {
	of   Info
	read func() (float64, bool)
}

// Gauge makes a gauge. read may say that there is no number now.
func (r *Registry) Gauge(name, help string, read func() (value float64, ok bool)) {
	r.add(&gauge{Info{name, help, "gauge", nil}, read})
}

func (g *gauge) info() Info { return g.of }

func (g *gauge) write(b *bufio.Writer) {
	if v, ok := g.read(); ok {
		b.WriteString(g.of.Name + " " + number(v) + "\n")
	}
}

// gauges are numbers by the value of a label, asked for when metrics are written.
type gauges struct {
	of   Info
	read func() map[string]float64
}

// Gauges makes a gauge for every value of a label. What is beyond the bound on
// series is summed up under Other.
func (r *Registry) Gauges(name, help, label string, read func() map[string]float64) {
	r.add(&gauges{Info{name, help, "gauge", []string{label}}, read})
}

func (g *gauges) info() Info { return g.of }

func (g *gauges) write(b *bufio.Writer) {
	each, other := g.read(), 0.0
	values := slices.Sorted(maps.Keys(each))
	line := func(value string, v float64) {
		b.WriteString(g.of.Name + "{" + g.of.Labels[0] + `="` + escape(value) + `"} ` + number(v) + "\n")
	}
	for i, value := range values {
		if i >= maxSeries-1 && len(values) > maxSeries {
			other += each[value]
			continue
		}
		line(value, each[value])
	}
	if len(values) > maxSeries {
		line(Other, other)
	}
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Histogram counts observations by size.
type Histogram struct {
	of     Info
	bounds []float64 // rising upper bounds; one bucket more has no bound
	counts []atomic.Uint64
	sum    atomic.Uint64 // bits of a float64
}

// Histogram makes a histogram with buckets up to rising bounds, which are
// within their bucket.
func (r *Registry) Histogram(name, help string, bounds ...float64) *Histogram {
	h := &Histogram{of: Info{name, help, "histogram", nil}, bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
	r.add(h)
	return h
}

// Observe counts one observation.
func (h *Histogram) Observe(v float64) {
	at, _ := slices.BinarySearch(h.bounds, v)
	h.counts[at].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Count returns the number of observations.
func (h *Histogram) Count() uint64 {
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

func (h *Histogram) info() Info { return h.of }

func (h *Histogram) write(b *bufio.Writer) {
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		fmt.Fprintf(b, "%s_bucket{le=\"%s\"} %d\n", h.of.Name, number(bound), n)
	}
	fmt.Fprintf(b, "%s_sum %s\n%s_count %d\n", h.of.Name, number(math.Float64frombits(h.sum.Load())), h.of.Name, n)
}
