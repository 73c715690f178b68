package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/webhook"
)

// ingraft is our engine, ready for one configuration.
type ingraft struct {
	engine  *inject.Engine
	handler http.Handler
}

func newIngraft(s *settings) (*ingraft, error) {
	set, findings := config.Load(
		source.NewText("inject.yaml", s.injection), source.NewText("mesh.yaml", s.mesh), source.NewText("values.json", s.values),
		release.Release{},
	)
	if err := worst(findings); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	engine, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	if err := worst(findings); err != nil {
		return nil, fmt.Errorf("compiling the configuration: %w", err)
	}
	return &ingraft{engine, newWebhook(engine)}, nil
}

// worst returns the first error of a list.
func worst(findings diag.List) error {
	for _, d := range findings {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}

// command runs kube-inject without the process around it.
func command(args []string) (out int64, err error) {
	var stdout counter
	code := cli.Main(context.Background(), cli.Env{
		Args: append([]string{"ingraft"}, args...), Stdout: &stdout, Stderr: io.Discard,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	})
	if code != 0 {
		return 0, fmt.Errorf("kube-inject exits %d in process", code)
	}
	return int64(stdout), nil
}

// newWebhook returns the webhook's handler around an engine, as it is served:
// with its line of log, its metrics and its cache of replicas.
func newWebhook(engine *inject.Engine) http.Handler {
	h := webhook.New(webhook.Options{
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Metrics: webhook.NewMetrics(&metrics.Registry{}),
		CacheBytes: 32 << 20, Now: time.Now,
	})
	h.Install(&webhook.Installation{Engine: engine, Revision: revision})
	return h
}

// admit asks a webhook about a review.
func admit(handler http.Handler, review []byte) ([]byte, error) {
	req := httptest.NewRequest(http.MethodPost, "/inject", bytes.NewReader(review))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	answer := rec.Body.Bytes()
	if rec.Code != http.StatusOK || !bytes.Contains(answer, []byte(`"patch":`)) {
		return nil, errors.New("a pod was not injected: " + rec.Body.String())
	}
	return answer, nil
}

// counter is a writer that counts.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// settings are the three pieces of an injector's configuration, and the files
// that hold them.
type settings struct {
	injection, mesh, values []byte
	files                   [3]string
}

// arguments are those of kube-inject for an input.
func (s *settings) arguments(input string) []string {
	return []string{
		"kube-inject", "-f", input,
		"--injectConfigFile", s.files[0], "--meshConfigFile", s.files[1], "--valuesFile", s.files[2],
	}
}

func (s *settings) save(folder string) error {
	for i, f := range []struct {
		name string
		data []byte
	}{{"inject.yaml", s.injection}, {"mesh.yaml", s.mesh}, {"values.json", s.values}} {
		file, err := save(folder, f.name, f.data)
		if err != nil {
			return err
		}
		s.files[i] = file
	}
	return nil
}

func save(folder, name string, data []byte) (string, error) {
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("writing an input: %w", err)
	}
	return file, nil
}
