package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cost is what one run of one side took. What was not measured is zero.
type cost struct {
	wall, cpu time.Duration
	// peak is the peak of resident memory, out the size of the output, both in
	// bytes.
	peak, out int64
	// faults counts the page faults that were served without reading a disk.
	faults int64
	// allocs and allocated count heap allocations and their bytes.
	allocs, allocated int64
}

// best and median pick from samples the value of one of their fields.
func best[T int64 | time.Duration](samples []cost, of func(cost) T) T { return at(samples, of, 0) }

func median[T int64 | time.Duration](samples []cost, of func(cost) T) T {
	return at(samples, of, len(samples)/2)
}

func at[T int64 | time.Duration](samples []cost, of func(cost) T, i int) T {
	values := make([]T, len(samples))
	for k, s := range samples {
		values[k] = of(s)
	}
	slices.Sort(values)
	return values[i]
}

func wall(c cost) time.Duration { return c.wall }
func cpu(c cost) time.Duration  { return c.cpu }
func peak(c cost) int64         { return c.peak }
func faults(c cost) int64       { return c.faults }
func out(c cost) int64          { return c.out }
func allocs(c cost) int64       { return c.allocs }
func allocated(c cost) int64    { return c.allocated }

// launcher is the built program launch, and the folder that it lies in.
type launcher struct{ program, folder string }

// buildTools builds the small programs beside this one into a folder, as ingraft
// is built.
func buildTools(folder string) error {
	return buildPrograms(folder, append(os.Environ(), "CGO_ENABLED=0"), "-trimpath", "drive", "laps", "launch")
}

// buildPrograms builds programs that lie in folders below this one's, all at
// once: the go command takes its time to see what is built already.
func buildPrograms(folder string, environ []string, args ...string) error {
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", folder+string(filepath.Separator))
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			arg = "github.com/ingraft/ingraft/test/conformance/bench/" + arg
		}
		build.Args = append(build.Args, arg)
	}
	build.Env = environ
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs that measure: %w\n%s", err, text)
	}
	return nil
}

// run measures a whole process. Nothing of the user's is there: neither a
// cluster nor a configuration file of istioctl.
func (l launcher) run(program string, args ...string) (cost, error) {
	cmd := exec.Command(l.program, append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+l.folder, "KUBECONFIG="+filepath.Join(l.folder, "none"))
	text, err := cmd.Output()
	if err != nil {
		return cost{}, fmt.Errorf("launching %s: %w", program, err)
	}
	var r struct {
		Wall, CPU, Peak, Faults, Out int64
		Error                        string
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return cost{}, fmt.Errorf("reading what %s cost: %w", program, err)
	}
	if r.Error != "" {
		return cost{}, errors.New(program + ": " + r.Error)
	}
	return cost{wall: time.Duration(r.Wall), cpu: time.Duration(r.CPU), peak: r.Peak, faults: r.Faults, out: r.Out}, nil
}

// row is one comparison.
type row struct {
	name string
	// goal is the ratio of wall times wanted; 0 for none.
	goal float64
	// rounds is how often both sides are measured, in turns.
	rounds     int
	ours, peer func() (cost, error)
	// says explains the row.
	says string
}

// result is a row that was measured.
type result struct {
	row
	our, their []cost
}

// measure runs both sides in turns, so that whatever else the machine does
// meets both alike. The first round only warms up.
func (r row) measure() (result, error) {
	res := result{row: r}
	for i := range r.rounds + 1 {
		for _, side := range []struct {
			run  func() (cost, error)
			into *[]cost
		}{{r.ours, &res.our}, {r.peer, &res.their}} {
			if side.run == nil {
				continue
			}
			c, err := side.run()
			if err != nil {
				return res, fmt.Errorf("measuring %q: %w", r.name, err)
			}
			if i > 0 {
				*side.into = append(*side.into, c)
			}
		}
	}
	return res, nil
}

// ratio returns how many times faster we are, by medians and by best runs; 0
// where there is no peer.
func (r *result) ratio() (medians, bests float64) {
	if len(r.their) == 0 {
		return 0, 0
	}
	return float64(median(r.their, wall)) / float64(median(r.our, wall)), float64(best(r.their, wall)) / float64(best(r.our, wall))
}
