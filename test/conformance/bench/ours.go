package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// ingraft is our engine, ready for one configuration.
type ingraft struct{ engine *inject.Engine }

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
	return &ingraft{engine}, nil
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

// admit answers a review: reading it, injecting, and writing the answer with
// the patch.
func (i *ingraft) admit(review []byte) ([]byte, error) {
	doc, err := source.Parse(source.NewText("review", review))
	if err != nil {
		return nil, fmt.Errorf("reading a review: %w", err)
	}
	request := doc.Root.Get("request")
	pod := request.Get("object")
	res := i.engine.Run(&inject.Request{
		Door: inject.Admission, Pod: pod, Owner: i.engine.OwnerOf(inject.Admission, pod), NamespaceName: request.Get("namespace").Str(),
		Revision: revision,
	})
	if err := worst(res.Diagnostics); err != nil {
		return nil, err
	}
	patch := res.JSONPatch()
	if patch == nil {
		return nil, errors.New("a pod was not injected: " + res.Decision.Message)
	}
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(patch))+256)
	out = append(out, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":`...)
	out = strconv.AppendQuote(out, request.Get("uid").Str())
	out = append(out, `,"allowed":true,"patch":"`...)
	out = base64.StdEncoding.AppendEncode(out, patch)
	return append(out, `","patchType":"JSONPatch"}}`...), nil
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
