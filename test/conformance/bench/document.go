package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// document measures everything and tells about it.
func (s *suite) document(folder string) ([]byte, error) {
	var b bytes.Buffer
	before := load()
	var results []result
	for _, r := range s.rows() {
		fmt.Fprintln(os.Stderr, "measuring", r.name)
		res, err := r.measure()
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	b.WriteString(`# Performance

Written by ` + "`make bench`" + `, which measures ingraft beside the mesh's own injector: both programs as whole processes, and both
engines in a process each that lives as long as the run, so that neither pays for the other's heap and collector. They are
measured in turns, so that whatever else the machine does meets both alike. Times depend on the machine and on what else
it does; ratios hardly do. No test depends on a time.

`)
	fmt.Fprintf(&b, "Machine: %s, %d cores for the programs, %s, %s/%s.", processor(), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if after := load(); after != "" {
		fmt.Fprintf(&b, " Load average (1 min) before and after: %s, %s.", before, after)
	}
	b.WriteString("\n\n## Times\n\nMedian and, in parentheses, the best run. Ratio: upstream's median over ours, and the same of the best runs.\n\n")
	writeTimes(&b, results)
	b.WriteString("\n## Memory, output and size\n\n")
	if err := s.writeSizes(&b, results); err != nil {
		return nil, err
	}
	if err := s.writeLoad(&b, folder); err != nil {
		return nil, err
	}
	if err := s.writeAdmission(&b); err != nil {
		return nil, err
	}
	b.WriteString("\n## What the rows are\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "**%s.** %s\n\n", strings.ToUpper(r.name[:1])+r.name[1:], r.says)
	}
	s.writeGoals(&b, results)
	if err := s.writeGenerations(&b); err != nil {
		return nil, err
	}
	if s.profile {
		if err := s.writeProfile(&b, folder); err != nil {
			return nil, err
		}
		writeStream(&b, results[0].our, results[streamRow].our)
	}
	return b.Bytes(), nil
}

func (s *suite) manyWords() string {
	return fmt.Sprintf("%[1]d Deployments and %[1]d Services", s.workloads)
}

func writeTimes(b *bytes.Buffer, results []result) {
	b.WriteString("| row | rounds | upstream | ingraft | ratio | goal |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		their, ratio, goal := "-", "-", "-"
		if medians, bests := r.ratio(); medians > 0 {
			their, ratio = times(r.their), fmt.Sprintf("%s (%s)", factor(medians), factor(bests))
		}
		if r.goal > 0 {
			goal = factor(r.goal)
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s |\n", r.name, r.rounds, their, times(r.our), ratio, goal)
	}
}

func times(samples []cost) string {
	return fmt.Sprintf("%s (%s)", duration(median(samples, wall)), duration(best(samples, wall)))
}

// factor writes a ratio with two digits at least.
func factor(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.1fx", f)
	}
	return fmt.Sprintf("%.0fx", f)
}

// duration writes a time with three digits.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d < u.unit && u.unit > time.Microsecond {
			continue
		}
		v := float64(d) / float64(u.unit)
		return fmt.Sprintf("%.*f %s", max(0, 3-len(fmt.Sprintf("%.0f", v))), v, u.name)
	}
	return d.String()
}

func size(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// writeSizes tells what was measured beside the time. Of processes that is
// memory and CPU, of functions allocations.
func (s *suite) writeSizes(b *bytes.Buffer, results []result) error {
	b.WriteString("| row | | upstream | ingraft | ratio |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		for _, m := range []struct {
			name string
			of   func(cost) int64
			text func(int64) string
		}{
			{"peak memory", peak, size},
			{"CPU time", func(c cost) int64 { return int64(cpu(c)) }, func(n int64) string { return duration(time.Duration(n)) }},
			{"page faults", faults, func(n int64) string { return fmt.Sprint(n) }},
			{"allocations", allocs, func(n int64) string { return fmt.Sprint(n) }},
			{"allocated", allocated, size},
			{"output", out, size},
		} {
			our := median(r.our, m.of)
			if our == 0 {
				continue
			}
			their, ratio := "-", "-"
			if len(r.their) > 0 {
				n := median(r.their, m.of)
				their, ratio = m.text(n), factor(float64(n)/float64(our))
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", r.name, m.name, their, m.text(our), ratio)
		}
	}
	our, err := fileSize(s.ingraft)
	if err != nil {
		return err
	}
	their, ratio := "-", "-"
	if s.istioctl != "" {
		n, err := fileSize(s.istioctl)
		if err != nil {
			return err
		}
		their, ratio = size(n), factor(float64(n)/float64(our))
	}
	fmt.Fprintf(b, "| binary | size | %s | %s | %s |\n", their, size(our), ratio)
	b.WriteString("\nOutputs differ in size because each side writes YAML in its own manner, and patches by its own rules; that they mean the\nsame is what the conformance tests hold. Binaries are built without symbols (-s -w), both.\n")
	return nil
}

func fileSize(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, fmt.Errorf("measuring a binary: %w", err)
	}
	return info.Size(), nil
}

// writeGoals says plainly which goals this run reached.
func (s *suite) writeGoals(b *bytes.Buffer, results []result) {
	b.WriteString("## Goals\n\n")
	goal := func(reached bool, format string, args ...any) {
		verdict := "reached"
		if !reached {
			verdict = "**missed**"
		}
		fmt.Fprintf(b, "- "+format+": %s.\n", append(args, verdict)...)
	}
	for _, r := range results {
		medians, bests := r.ratio()
		if r.goal > 0 && medians > 0 {
			goal(medians >= r.goal, "%s: %s wanted, %s measured (%s by the best runs)", r.name, factor(r.goal), factor(medians), factor(bests))
		}
		if r.goal > 0 && len(r.their) > 0 && median(r.our, peak) > 0 {
			our, their := median(r.our, peak), median(r.their, peak)
			goal(3*our <= their, "%s: a third of upstream's peak memory wanted, %s of %s measured", r.name, size(our), size(their))
		}
	}
	if n, err := fileSize(s.ingraft); err == nil {
		goal(n < 40e6, "binary: less than 40 MB wanted, %s measured", size(n))
	}
	b.WriteString("\n")
}

// writeProfile tells where the time goes that the rows of processes take.
func (s *suite) writeProfile(b *bytes.Buffer, folder string) error {
	fmt.Fprintln(os.Stderr, "profiling")
	runs := min(s.rounds, 20)
	b.WriteString("## Where the time of one process goes\n\nMedians, best in parentheses. A program that does nothing is the floor, then what more each does:\n\n")
	b.WriteString("| process | wall | CPU | page faults |\n| --- | --- | --- | --- |\n")
	for _, p := range []struct {
		name, program string
		args          []string
	}{
		{"a Go program that does nothing", s.launch.program, nil},
		{"`ingraft version`", s.ingraft, []string{"version"}},
		{"`ingraft kube-inject`, one Deployment, files given", s.ingraft, s.settings.Arguments(s.one)},
	} {
		res, err := row{name: p.name, rounds: s.rounds, ours: s.process(p.program, p.args)}.measure()
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %s (%s) | %d |\n", p.name, times(res.our),
			duration(median(res.our, cpu)), duration(best(res.our, cpu)), median(res.our, faults))
	}
	if err := s.writeInits(b, runs); err != nil {
		return err
	}
	laps, err := medianLaps(folder, runs)
	if err != nil {
		return err
	}
	b.WriteString("\nThe injection itself, step by step, in fresh processes that did nothing before, medians:\n\n")
	writeLaps(b, laps)
	if laps, err = s.steps(); err != nil {
		return err
	}
	b.WriteString("\n## Where the time of the stream goes\n\nPer Deployment and its Service, on one core, in a warm process; the program does this on all cores:\n\n")
	writeLaps(b, laps)
	return nil
}

// writeStream tells what the process of the stream costs besides the steps: one
// is a process for one Deployment.
func writeStream(b *bytes.Buffer, one, stream []cost) {
	fmt.Fprintf(b, `
The process of the stream takes %s of CPU time in %s. Of the latter, about %s is what the process for one Deployment takes
as well, which is start, configuration and template, on one core; the rest runs on all cores, but for splitting and for
writing in order.

Of its peak memory of %s, %s is that of the process for one Deployment: the program, what it initializes, and the
configuration. The result waits in a temporary file for the last document to prove sound, but for up to 2 MiB in memory.
The rest is documents in flight, more of the program's own pages, and what the collector lets the heap grow by: one and a
half of what is in use.
`, duration(median(stream, cpu)), duration(median(stream, wall)), duration(median(one, wall)), size(median(stream, peak)), size(median(one, peak)))
}

func writeLaps(b *bytes.Buffer, laps []lap) {
	b.WriteString("| step | takes |\n| --- | --- |\n")
	for _, l := range laps {
		fmt.Fprintf(b, "| %s | %s |\n", l.name, duration(l.took))
	}
}

// shownInits is how many packages are listed by name.
const shownInits = 12

func (s *suite) writeInits(b *bytes.Buffer, runs int) error {
	list, err := inits(s.ingraft, runs, "version")
	if err != nil {
		return err
	}
	var all initCost
	for _, c := range list {
		all.took, all.allocs, all.bytes = all.took+c.took, all.allocs+c.allocs, all.bytes+c.bytes
	}
	fmt.Fprintf(b, `
Before main, packages initialize: %d of them do something, %s in all (the least of %d runs each), %d allocations,
%s. That, loading the binary and the runtime's own start are what every command pays. The dearest packages come with
the Kubernetes and mesh libraries:

| package | takes | allocations | bytes |
| --- | --- | --- | --- |
`, len(list), duration(all.took), runs, all.allocs, size(all.bytes))
	for _, c := range list[:min(shownInits, len(list))] {
		fmt.Fprintf(b, "| %s | %s | %d | %s |\n", c.name, duration(c.took), c.allocs, size(c.bytes))
	}
	return nil
}

// processor names the model, where the system tells.
func processor() string {
	text, err := os.ReadFile(filepath.Join("/proc", "cpuinfo"))
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(model)
			}
		}
	}
	return "processor not known"
}

// load returns how busy the machine was in the last minute, where the system
// tells.
func load() string {
	text, err := os.ReadFile(filepath.Join("/proc", "loadavg"))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
