// Command ingraft grafts a service-mesh sidecar onto Kubernetes workloads and
// shows what it did.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/ingraft/ingraft/internal/cli"
)

func main() {
	lazyCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the command in good order, the second one at once.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, cli.Env{
		Args:      os.Args,
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Now:       time.Now,
		IsTerminal: func(stream any) bool {
			file, ok := stream.(*os.File)
			return ok && term.IsTerminal(int(file.Fd()))
		},
	}))
}

// lazyCollector lets the heap grow to 8 MiB before it is collected first: an
// injection is over by then, and starting the collector for it costs more than
// all that it could free. From then on it may grow by one and a half of
// what is in use: a stream takes less time than by the runtime's own measure, and
// hardly more memory. Whoever sets GOGC knows better.
func lazyCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(200) // of the 4 MiB that the runtime starts from
	runtime.AddCleanup(new([16]byte), func(int) { debug.SetGCPercent(150) }, 0)
}
