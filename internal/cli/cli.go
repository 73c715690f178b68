package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The exit codes, as users of istioctl know them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 64
)

// Env is what a command may touch of the process that it runs in.
type Env struct {
	// Args are the arguments, the name that the program was called by first.
	Args []string
	// Stdin, Stdout and Stderr are the three streams: data goes to Stdout,
	// talk goes to Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// LookupEnv returns a variable of the environment.
	LookupEnv func(name string) (value string, ok bool)
	// Dir is the folder that relative paths start from; "" is the folder that
	// the process is in.
	Dir string
	// Now is the clock.
	Now func() time.Time
	// IsTerminal reports whether a stream is a terminal.
	IsTerminal func(stream any) bool
}

// getenv returns a variable of the environment, "" where it is not set.
func (e *Env) getenv(name string) string {
	v, _ := e.LookupEnv(name)
	return v
}

// path returns the path to use for one that the user gave.
func (e *Env) path(p string) string {
	if e.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// Main runs the command that the arguments ask for and returns the exit code:
// 0 done; 1 refused, invalid or failed; 64 wrong usage. When ctx ends, Main
// cleans up and returns.
func Main(ctx context.Context, env Env) int {
	a := &app{Env: env, name: "ingraft"}
	if len(env.Args) > 0 {
		if base := strings.TrimSuffix(filepath.Base(env.Args[0]), ".exe"); base != "." && base != string(filepath.Separator) {
			a.name = base
		}
		a.Args = env.Args[1:]
	}
	return a.report(a.run(ctx))
}

// app is one run of the program.
type app struct {
	Env
	// name is the name that the program was called by.
	name    string
	globals globals
	// defaulted tells, by flag, what gave a flag its value where the command
	// line did not: ISTIOCTL_XDS_ADDRESS.
	defaulted map[string]string
}

// usageError is a command line that asks for something that cannot be done.
// A hint, if there is one, says what to write instead.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// hinted returns the error with a hint.
func (e *usageError) hinted(format string, args ...any) *usageError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// hintedError is a failure together with what the user can do about it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// errReported is a failure that has been told to the user already.
var errReported = errors.New("already reported")

// report tells an error to the user, and returns the exit code for it.
func (a *app) report(err error) int {
	var usage *usageError
	var hinted *hintedError
	var own *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		if code := a.report(own.error); code != exitUsage {
			return own.code
		}
		return exitUsage
	case errors.Is(err, errReported):
		return exitFailed
	case isClosedPipe(err):
		return exitFailed // the reader went away; it does not want to hear more
	case errors.As(err, &usage):
		a.complain(err, usage.hint)
		return exitUsage
	case errors.As(err, &hinted):
		a.complain(err, hinted.hint)
	case errors.Is(err, context.Canceled):
		a.complain(errors.New("interrupted; nothing was written"), "")
	default:
		a.complain(err, "")
	}
	return exitFailed
}

func (a *app) complain(err error, hint string) {
	fmt.Fprintf(a.Stderr, "Error: %v\n", err)
	if hint != "" {
		fmt.Fprintf(a.Stderr, "%s\n", hint)
	}
}

// writeError is a failure to write to standard output.
type writeError struct{ err error }

func (e *writeError) Error() string { return "writing standard output: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

func isClosedPipe(err error) bool {
	var w *writeError
	return errors.As(err, &w) && (errors.Is(w.err, syscall.EPIPE) || errors.Is(w.err, io.ErrClosedPipe))
}

// because returns what lies below the operation and path of a file error, as
// the message around it names the file in the user's words.
func because(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
