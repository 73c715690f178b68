package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// streamOf returns a stream of documents {n: 0}, {n: 1}, ... in two inputs.
func streamOf(documents int, work func(*source.Document, error) outcome, out *bytes.Buffer) (s *stream, text string) {
	var a, b strings.Builder
	for i := range documents {
		to, first := &a, i == 0
		if i >= documents/2 {
			to, first = &b, i == documents/2
		}
		if !first {
			to.WriteString("---\n")
		}
		fmt.Fprintf(to, "n: %d\n", i)
	}
	inputs := &inputSet{list: []*input{
		{name: "a", content: spoolOf([]byte(a.String()))},
		{name: "b", content: spoolOf([]byte(b.String()))},
	}}
	s = &stream{inputs: inputs, work: work, skip: func(*source.Document, []skipped) {}, out: &joiner{to: out}}
	return s, a.String() + "---\n" + b.String()
}

// Documents are worked on by all cores at once and come out in order, and never
// are there more of them in memory than the cores keep busy.
func TestStreamKeepsOrderAndBoundsWhatIsInFlight(t *testing.T) {
	const documents = 5000
	var out bytes.Buffer
	var started, most atomic.Int64
	var s *stream
	work := func(doc *source.Document, err error) outcome {
		started.Add(1)
		for range doc.Text.Data[len(doc.Text.Data)-2] % 7 {
			runtime.Gosched() // some take longer than others
		}
		return outcome{}
	}
	s, text := streamOf(documents, work, &out)
	written := 0
	s.out.(*joiner).to = writerFunc(func(p []byte) (int, error) {
		written++
		most.Store(max(most.Load(), started.Load()-int64(written)))
		return out.Write(p)
	})
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := withoutBlankLines(out.String()); got != text {
		t.Errorf("%d documents changed their order or their bytes", documents)
	}
	if started.Load() != documents {
		t.Errorf("%d documents were worked on, want %d", started.Load(), documents)
	}
	if limit := int64(16 * runtime.GOMAXPROCS(0)); most.Load() > limit {
		t.Errorf("%d documents were in flight, want at most %d", most.Load(), limit)
	}
}

func withoutBlankLines(s string) string { return strings.ReplaceAll(s, "\n\n", "\n") }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	s, _ := streamOf(5000, func(doc *source.Document, _ error) outcome {
		if doc.Index == 100 {
			cancel()
		}
		return outcome{}
	}, &out)
	if err := s.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

func TestStreamEndsWhenNothingCanBeWritten(t *testing.T) {
	full := errors.New("disk full")
	s, _ := streamOf(5000, func(*source.Document, error) outcome { return outcome{} }, nil)
	s.out.(*joiner).to = writerFunc(func([]byte) (int, error) { return 0, full })
	if err := s.run(context.Background()); !errors.Is(err, full) {
		t.Errorf("error: %v", err)
	}
}

// A finding holds its document, so not all of them are kept; but all count.
func TestStreamBoundsFindings(t *testing.T) {
	var out bytes.Buffer
	const documents = 2 * maxFindings
	s, _ := streamOf(documents, func(*source.Document, error) outcome {
		return outcome{findings: diag.List{{Severity: diag.Warning, Message: "w"}, {Severity: diag.Error, Message: "e"}}}
	}, &out)
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(s.findings) != maxFindings {
		t.Errorf("%d findings are kept, want %d", len(s.findings), maxFindings)
	}
	warnings, errors := s.findings.Count(diag.Warning)+s.dropped[0], s.findings.Count(diag.Error)+s.dropped[1]
	if warnings != documents || errors != documents {
		t.Errorf("%d warnings and %d errors, want %d of each", warnings, errors, documents)
	}
	if d := s.findings[2]; d.Document != 2 {
		t.Errorf("the second document's finding is in document %d", d.Document)
	}
	if out.Len() > 0 {
		t.Error("documents go on after a mistake")
	}
}
