package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// stopTime is how long a program has to end once told to.
const stopTime = 15 * time.Second

// Process is a program that runs beside the test.
type Process struct {
	Name string
	log  string // file with both of its streams
	cmd  *exec.Cmd
	done chan struct{}
}

// starter runs functions on a thread that never ends: the kernel kills the
// children of a test that ends with the thread that started them.
var starter = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

// start starts a program whose streams go to a file, behind what is there.
func start(name, log string, cmd *exec.Cmd) (*Process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = f, f, child()
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &Process{Name: name, log: log, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is of no interest: ending early is an error whatever the code
		close(p.done)
	}()
	return p, nil
}

// Stop tells the program to end and waits for it; one that does not end is
// killed, which is an error.
func (p *Process) Stop() error {
	if p == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended already
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTime):
		p.Kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM", p.Name, stopTime)
	}
}

// Kill ends the program at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails if it has ended already
	<-p.done
}

// Log returns what the program wrote.
func (p *Process) Log() []byte {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// Tail returns the last lines of what the program wrote.
func (p *Process) Tail(lines int) string {
	data := bytes.TrimRight(p.Log(), "\n")
	from := len(data)
	for ; lines > 0 && from > 0; lines-- {
		from = max(bytes.LastIndexByte(data[:from], '\n'), 0)
	}
	return fmt.Sprintf("last lines of %s:\n%s\n", p.Name, bytes.TrimLeft(data[from:], "\n"))
}

// waitFor asks until the answer is no error. It ends earlier when the program
// does.
func (p *Process) waitFor(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	err := Poll(ctx, limit, func(ctx context.Context) error {
		select {
		case <-p.done:
			return &ended{p.Name}
		default:
			return ask(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w\n%s", p.Name, err, p.Tail(30))
	}
	return nil
}

// ended says that there is nothing to wait for any more.
type ended struct{ name string }

func (e *ended) Error() string { return e.name + " has ended" }

// pollInterval is how often Poll asks.
const pollInterval = 50 * time.Millisecond

// Poll asks until the answer is no error, for some time; then it returns the
// last answer.
func Poll(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last error
	for {
		err := ask(ctx)
		var e *ended
		if err == nil || errors.As(err, &e) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err // not the error that the end of the time makes
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", limit, last)
		case <-tick.C:
		}
	}
}

// freePort returns a port of the loopback that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
