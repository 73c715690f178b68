package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// workbench runs both programs.
type workbench struct {
	inputs
	ingraft, istioctl string
}

// spent is what one process took.
type spent struct {
	wall time.Duration
	rss  float64 // MiB, at its peak
}

// inject runs kube-inject of one of the programs with every file given.
func (w workbench) inject(program, manifest string) (spent, error) {
	cmd := exec.Command(program, "kube-inject", "-f", manifest, "-o", w.out, "--revision", "default",
		"--injectConfigFile", w.config, "--meshConfigFile", w.mesh, "--valuesFile", w.values)
	cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null/none")
	return timed(cmd)
}

func timed(cmd *exec.Cmd) (spent, error) {
	var talk bytes.Buffer
	cmd.Stderr = &talk
	begin := time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	if err != nil {
		return spent{}, fmt.Errorf("running %s: %w\n%s", strings.Join(cmd.Args, " "), err, talk.String())
	}
	s := spent{wall: wall}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = float64(usage.Maxrss) / 1024
	}
	return s, nil
}

// process measures both programs on a manifest, by turns.
func (w workbench) process(work, manifest string, runs int, reach, reachMemory float64) ([]goal, error) {
	var peer, ours []spent
	for range runs {
		p, err := w.inject(w.istioctl, manifest)
		if err != nil {
			return nil, err
		}
		for range 3 { // the shorter runs are the noisier ones
			o, err := w.inject(w.ingraft, manifest)
			if err != nil {
				return nil, err
			}
			ours = append(ours, o)
		}
		peer = append(peer, p)
	}
	wall := func(s spent) float64 { return float64(s.wall.Microseconds()) / 1000 }
	rss := func(s spent) float64 { return s.rss }
	return []goal{
		{
			Work: work, Unit: "ms", Peer: median(peer, wall), Ours: median(ours, wall), Reach: reach, PeerN: len(peer), OursN: len(ours),
			Note: fmt.Sprintf("%d and %d runs; the best took %s and %s ms", len(peer), len(ours), num(least(peer, wall)), num(least(ours, wall))),
		},
		{Work: work + ", peak memory", Unit: "MiB", Peer: median(peer, rss), Ours: median(ours, rss), Reach: reachMemory},
	}, nil
}

// sizes compares the binaries.
func (w workbench) sizes() ([]goal, error) {
	var mb [2]float64
	for i, program := range []string{w.istioctl, w.ingraft} {
		info, err := os.Stat(program)
		if err != nil {
			return nil, err
		}
		mb[i] = float64(info.Size()) / 1e6
	}
	g := goal{Work: "binary, linked with -s -w", Unit: "MB", Peer: mb[0], Ours: mb[1], Note: "the aim is 40 MB"}
	return []goal{g}, nil
}

// inits lists the packages of ingraft that take longest to initialise.
func (w workbench) inits() ([]string, error) {
	cmd := exec.Command(w.ingraft, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "KUBECONFIG=/dev/null/none")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running ingraft version: %w", err)
	}
	type entry struct {
		pkg string
		ms  float64
	}
	var all []entry
	total := 0.0
	for line := range strings.Lines(trace.String()) {
		// init PACKAGE @1.2 ms, 0.34 ms clock, 5678 bytes, 9 allocs
		f := strings.Fields(line)
		if len(f) < 6 || f[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(f[4], 64)
		if err != nil {
			return nil, fmt.Errorf("reading inittrace line %q: %w", line, err)
		}
		total += ms
		all = append(all, entry{f[1], ms})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.ms, a.ms) })
	lines := []string{fmt.Sprintf("all %d packages together: %s ms", len(all), num(total))}
	for _, e := range all[:min(len(all), 6)] {
		lines = append(lines, fmt.Sprintf("%s: %s ms", e.pkg, num(e.ms)))
	}
	return lines, nil
}

// floor measures a start that does no work.
func (w workbench) floor(runs int) (string, error) {
	var all []spent
	for range runs * 3 {
		cmd := exec.Command(w.ingraft, "version")
		cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null/none")
		s, err := timed(cmd)
		if err != nil {
			return "", err
		}
		all = append(all, s)
	}
	ms := func(s spent) float64 { return float64(s.wall.Microseconds()) / 1000 }
	return fmt.Sprintf("`ingraft version`, which only starts and ends, takes %s ms (median of %d; best %s).", num(median(all, ms)), len(all), num(least(all, ms))), nil
}

func median[T any](all []T, of func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func least[T any](all []T, of func(T) float64) float64 {
	best := of(all[0])
	for _, v := range all {
		best = min(best, of(v))
	}
	return best
}
