// Command bench measures ingraft beside the mesh's own injector, in one run and
// in turns, and writes what it found: docs/performance.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/test/conformance/bench/side"
)

type options struct {
	ingraft, istioctl string
	rounds, workloads int
	batch             int // pods admitted between two looks at the clock
	profile           bool
	turn              time.Duration // of a driver
	admission         string        // file with a part of the document
}

func main() {
	o := options{batch: 64}
	var out string
	flag.StringVar(&o.ingraft, "ingraft", "", "the binary of ingraft")
	flag.StringVar(&o.istioctl, "istioctl", "", "the binary of istioctl; empty leaves its processes out")
	flag.StringVar(&out, "out", "", "file to write; empty for standard output")
	flag.IntVar(&o.rounds, "rounds", 40, "how often to measure; long rows an eighth of it")
	flag.IntVar(&o.workloads, "workloads", 1000, "Deployments of the stream")
	flag.BoolVar(&o.profile, "profile", true, "also tell where the time goes")
	flag.DurationVar(&o.turn, "turn", 2*time.Second, "how long to drive a webhook at a time")
	flag.StringVar(&o.admission, "admission", "", "file with what test/e2e measured, which is told, too")
	flag.Parse()
	if err := run(o, out); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run measures everything and writes the document.
func run(o options, out string) error {
	if o.ingraft == "" || o.rounds < 1 || o.workloads < 1 {
		return fmt.Errorf("-ingraft names a binary, -rounds and -workloads are at least 1")
	}
	folder, err := os.MkdirTemp("", "ingraft-bench-*")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	s, err := newSuite(o, folder)
	if err != nil {
		return err
	}
	defer s.end()
	text, err := s.document(folder)
	if err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// newSuite makes the inputs in a folder and both sides ready.
func newSuite(o options, folder string) (*suite, error) {
	s := &suite{options: o, settings: side.Settings{Folder: folder}}
	for _, binary := range []*string{&s.ingraft, &s.istioctl} {
		if *binary == "" {
			continue
		}
		path, err := filepath.Abs(*binary)
		if err != nil {
			return nil, fmt.Errorf("finding a binary: %w", err)
		}
		*binary = path
	}
	injection, mesh, values, err := builtin.DefaultInjection(builtin.Injection{})
	if err != nil {
		return nil, fmt.Errorf("rendering the configuration: %w", err)
	}
	files := s.settings.Files()
	for i, data := range [][]byte{injection, mesh, values} {
		if _, err := save(folder, filepath.Base(files[i]), data); err != nil {
			return nil, err
		}
	}
	if s.one, err = save(folder, "one.yaml", deployment(0)); err != nil {
		return nil, err
	}
	if s.many, err = save(folder, "many.yaml", manifests(o.workloads)); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "building the programs that measure")
	if err := buildTools(folder); err != nil {
		return nil, err
	}
	if err := buildSides(folder); err != nil {
		return nil, err
	}
	s.launch = launcher{filepath.Join(folder, "launch"), folder}
	if s.ours, err = newChild(folder, "ours"); err != nil {
		return nil, err
	}
	if s.peer, err = newChild(folder, "peer"); err != nil {
		s.ours.end()
		return nil, err
	}
	return s, nil
}

func (s *suite) end() {
	s.ours.end()
	s.peer.end()
}

func save(folder, name string, data []byte) (string, error) {
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("writing an input: %w", err)
	}
	return file, nil
}
