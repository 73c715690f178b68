// Command laps injects into one Deployment and prints how many nanoseconds each
// step took. It is a program of its own so that no more is linked into it, and
// nothing was done before, than in ingraft.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

func main() {
	debug.SetGCPercent(200) // as ingraft does until it has collected once, for which this is too little
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: laps FOLDER")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run takes the laps with the files of a folder: inject.yaml, mesh.yaml,
// values.json and one.yaml.
func run(to io.Writer, folder string) error {
	var took []time.Duration
	last := time.Now()
	lap := func() {
		took = append(took, time.Since(last))
		last = time.Now()
	}
	var texts [4]*source.Text
	for i, name := range []string{"inject.yaml", "mesh.yaml", "values.json", "one.yaml"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("reading an input: %w", err)
		}
		texts[i] = source.NewText(name, data)
	}
	lap()
	set, findings := config.Load(texts[0], texts[1], texts[2], release.Release{})
	if err := worst(findings); err != nil {
		return err
	}
	lap()
	engine, findings := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	if err := worst(findings); err != nil {
		return err
	}
	lap()
	doc, err := source.Parse(texts[3])
	if err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	lap()
	workload, ok := kube.WorkloadOf(doc.Root, nil)
	if !ok {
		return errors.New("the input is no workload")
	}
	request := &inject.Request{Pod: workload.Template, Owner: workload.Ref, NamespaceName: workload.Ref.Namespace}
	res := engine.Run(request)
	if err := worst(res.Diagnostics); err != nil {
		return err
	}
	lap()
	source.AppendYAML(nil, kube.Put(doc.Root, workload.Path, res.Pod))
	lap()
	for range 2 {
		engine.Run(request)
		lap()
	}
	for i, name := range []string{
		"reading the files",
		"parsing injection configuration, mesh configuration and values",
		"compiling, but for the templates",
		"parsing the manifest",
		"injecting, with parsing the template and rendering it",
		"writing the result",
		"for comparison: injecting again, with making a plan of the template",
		"for comparison: injecting again, by the plan",
	} {
		fmt.Fprintf(to, "%d %s\n", took[i].Nanoseconds(), name)
	}
	return nil
}

func worst(findings diag.List) error {
	for _, d := range findings {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}
