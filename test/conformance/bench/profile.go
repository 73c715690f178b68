package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

// lap is one step of an injection.
type lap struct {
	name string
	took time.Duration
}

// stopwatch collects laps.
type stopwatch struct {
	laps []lap
	last time.Time
}

func (w *stopwatch) lap(name string) {
	w.laps = append(w.laps, lap{name, time.Since(w.last)})
	w.last = time.Now()
}

// medianLaps returns the laps of fresh processes of the program laps, their
// medians.
func medianLaps(folder string, runs int) ([]lap, error) {
	var order []string
	times := map[string][]time.Duration{}
	for range runs {
		text, err := exec.Command(filepath.Join(folder, "laps"), folder).Output()
		if err != nil {
			return nil, fmt.Errorf("taking laps: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading laps: %w", err)
			}
			if times[name] == nil {
				order = append(order, name)
			}
			times[name] = append(times[name], time.Duration(n))
		}
	}
	laps := make([]lap, len(order))
	for i, name := range order {
		slices.Sort(times[name])
		laps[i] = lap{name, times[name][len(times[name])/2]}
	}
	return laps, nil
}

// initCost is what the initialization of a package costs.
type initCost struct {
	name          string
	took          time.Duration
	allocs, bytes int64
}

// inits returns the initializations of a Go program, the dearest first: the
// least of several runs.
func inits(program string, runs int, args ...string) ([]initCost, error) {
	least := map[string]initCost{}
	for range runs {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("tracing %s: %w", program, err)
		}
		for line := range strings.Lines(trace.String()) {
			c, ok := parseInit(line)
			if !ok {
				continue
			}
			if known, ok := least[c.name]; ok {
				c.took = min(c.took, known.took)
			}
			least[c.name] = c
		}
	}
	list := make([]initCost, 0, len(least))
	for _, c := range least {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b initCost) int {
		if a.took != b.took {
			return int(b.took - a.took)
		}
		return strings.Compare(a.name, b.name)
	})
	return list, nil
}

// parseInit reads a line of the trace:
// init PACKAGE @1.2 ms, 0.34 ms clock, 567 bytes, 8 allocs
func parseInit(line string) (c initCost, ok bool) {
	f := strings.Fields(line)
	if len(f) != 11 || f[0] != "init" {
		return c, false
	}
	ms, err := strconv.ParseFloat(f[4], 64)
	if err != nil {
		return c, false
	}
	c.name, c.took = f[1], time.Duration(ms*float64(time.Millisecond))
	if c.bytes, err = strconv.ParseInt(f[7], 10, 64); err != nil {
		return c, false
	}
	c.allocs, err = strconv.ParseInt(f[9], 10, 64)
	return c, err == nil
}

// steps returns what a workload of the stream costs on one core, step by step,
// in a process that is warm. The stream is Deployments and Services in turns.
func (s *suite) steps() ([]lap, error) {
	engine, err := s.settings.Compile()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(s.many)
	if err != nil {
		return nil, fmt.Errorf("reading an input: %w", err)
	}
	reader := source.NewReader("many.yaml", bytes.NewReader(data))
	var docs []*source.Document
	w := stopwatch{last: time.Now()}
	for {
		doc, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading an input: %w", err)
		}
		docs = append(docs, doc)
	}
	w.lap("splitting and parsing, the Service included")
	var workloads []kube.Workload
	for _, doc := range docs {
		if workload, ok := kube.WorkloadOf(doc.Root, nil); ok {
			workloads = append(workloads, workload)
			inject.CheckWorkload(workload)
			kube.Check(workload.Outer(), kube.TypeOf(workload.Ref))
		}
	}
	w.lap("checking the workload around its pod")
	var results []*source.Node
	for i, workload := range workloads {
		res := engine.Run(&inject.Request{Pod: workload.Template, Owner: workload.Ref, NamespaceName: workload.Ref.Namespace})
		if err := side.Worst(res.Diagnostics); err != nil {
			return nil, err
		}
		results = append(results, kube.Put(docs[2*i].Root, workload.Path, res.Pod))
	}
	w.lap("injecting")
	for _, root := range results {
		source.AppendYAML(make([]byte, 0, 10<<10), root)
	}
	w.lap("writing the YAML")
	for i := range w.laps {
		w.laps[i].took /= time.Duration(s.workloads)
	}
	return w.laps, nil
}
