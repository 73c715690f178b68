// Command launch runs a program and prints what that cost, as JSON. Without
// arguments it does nothing: the floor of what any Go program costs.
//
// It is a program of its own because a process that is started by a large one
// counts, in its peak memory, what its parent had when it forked.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// report is read by the benchmark: times in nanoseconds, sizes in bytes.
type report struct {
	Wall, CPU    int64
	Peak, Faults int64
	Out          int64
	Error        string
}

func main() {
	if len(os.Args) < 2 {
		return
	}
	if err := json.NewEncoder(os.Stdout).Encode(run(os.Args[1], os.Args[2:])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(program string, args []string) report {
	var r report
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return report{Error: err.Error()}
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return report{Error: err.Error()}
	}
	r.Out, err = io.Copy(io.Discard, out)
	if e := cmd.Wait(); err == nil {
		err = e
	}
	r.Wall = int64(time.Since(begin))
	if err != nil {
		r.Error = err.Error()
	}
	r.CPU = int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.Peak, r.Faults = int64(usage.Maxrss), int64(usage.Minflt)
		if runtime.GOOS != "darwin" { // where it is in bytes
			r.Peak *= 1024
		}
	}
	return r
}
