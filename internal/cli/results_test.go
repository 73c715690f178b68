package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// endingContext ends after it was asked so many times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// An interruption between two files leaves each as it was or as a whole new
// one, and says that some were written.
func TestInterruptionBetweenFiles(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: i}]}\n"
	for _, c := range []struct {
		left    int
		written int
		message string
	}{
		{0, 0, "Error: interrupted; nothing was written\n"},
		{2, 2, "Error: interrupted: 2 files of those to write were written, each as a whole\n"},
	} {
		dir := t.TempDir()
		names := []string{"a.yaml", "b.yaml", "c.yaml"}
		var stderr bytes.Buffer
		a := &app{Env: Env{Dir: dir, Stderr: &stderr, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }}}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(pod), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		inputs, err := a.inputs([]string{"."})
		if err != nil {
			t.Fatal(err)
		}
		out, err := inPlaceResults(a, inputs)
		if err != nil {
			t.Fatal(err)
		}
		s := &stream{inputs: inputs, work: injectorOf(engineOf(t, nil, nil, nil), false).document, skip: nil, out: out}
		if err := s.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if code := a.report(out.finish(&endingContext{context.Background(), c.left})); code != exitFailed || stderr.String() != c.message {
			t.Errorf("exit code %d, %q", code, stderr.String())
		}
		out.close()
		inputs.close()
		written := 0
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if string(data) == pod {
				continue
			}
			written++
			if !strings.HasSuffix(string(data), "}\n") || !strings.Contains(string(data), "istio-proxy") {
				t.Errorf("%s holds a part: %q", name, data)
			}
		}
		if written != c.written {
			t.Errorf("%d files are new, want %d", written, c.written)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
