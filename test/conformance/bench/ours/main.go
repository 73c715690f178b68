// Command ours is the process in which the benchmark measures ingraft: see
// package side.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/webhook"
	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

func main() {
	debug.SetGCPercent(150) // as ingraft does once it has collected, which every order begins with
	side.Engine{Command: command, Handler: handler}.Main()
}

// command runs kube-inject without the process around it.
func command(s side.Settings, input string) (int64, error) {
	var stdout counter
	code := cli.Main(context.Background(), cli.Env{
		Args: append([]string{"ingraft"}, s.Arguments(input)...), Stdout: &stdout, Stderr: io.Discard,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	})
	if code != 0 {
		return 0, fmt.Errorf("kube-inject exits %d in process", code)
	}
	return int64(stdout), nil
}

// counter is a writer that counts.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// handler returns the webhook as it is served: with its line of log, its
// metrics and its cache of replicas.
func handler(s side.Settings, name string) (http.Handler, error) {
	engine, err := engineOf(s, name)
	if err != nil {
		return nil, err
	}
	h := webhook.New(webhook.Options{
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Metrics: webhook.NewMetrics(&metrics.Registry{}),
		CacheBytes: 32 << 20, Now: time.Now,
	})
	h.Install(&webhook.Installation{Engine: engine, Revision: side.Revision})
	return h, nil
}

func engineOf(s side.Settings, name string) (*inject.Engine, error) {
	if name == "" {
		return s.Compile()
	}
	r, err := release.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("reading a release: %w", err)
	}
	g, err := side.GenerationOf(r)
	if err != nil {
		return nil, err
	}
	return g.Compile()
}
