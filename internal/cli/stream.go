package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// maxFindings is how many findings are kept: each holds the text of its
// document, and memory is bounded.
const maxFindings = 500

// stream is the documents of all inputs on their way from reading to writing:
// read one after the other, worked on by all cores, written in order.
type stream struct {
	inputs *inputSet
	work   func(*source.Document, error) outcome
	// skip hears of the workloads that were left alone, in order.
	skip func(*source.Document, []skipped)
	// weigh returns a finding as it is to be told, nil for one that is not;
	// without it all are told as they are.
	weigh func(*diag.Diagnostic) *diag.Diagnostic
	// keepGoing writes the documents without errors even where others have some.
	keepGoing bool
	// out takes what became of the documents, in order.
	out interface {
		add(in *input, doc *source.Document, o *outcome) error
		// lost hears of a document with an error, which is left out, and its
		// text.
		lost(in *input, text []byte) error
	}

	findings diag.List
	// dropped counts the errors and warnings that were found but not kept.
	dropped [2]int
	failed  bool
}

// item is a document on its way.
type item struct {
	in   *input
	doc  *source.Document
	err  error
	got  outcome
	done chan struct{}
	// read is an error of reading the input itself, after which nothing comes.
	read error
}

// run sends all documents through. The error is one of reading or writing;
// mistakes in documents are in findings.
func (s *stream) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	queue := make(chan *item, 4*workers)   // to be worked on
	ordered := make(chan *item, 8*workers) // in order; its room bounds what is in flight

	var running sync.WaitGroup
	running.Go(func() { s.read(ctx, queue, ordered) })
	for range workers {
		running.Go(func() {
			for it := range queue {
				it.got = s.work(it.doc, it.err)
				close(it.done)
			}
		})
	}
	err := s.collect(ctx, ordered)
	cancel()
	running.Wait()
	return err
}

// read reads the inputs and hands out their documents.
func (s *stream) read(ctx context.Context, queue, ordered chan<- *item) {
	defer close(ordered)
	defer close(queue)
	for _, in := range s.inputs.list {
		err := s.inputs.documents(in, func(doc *source.Document, err error) bool {
			it := &item{in: in, doc: doc, err: err, done: make(chan struct{})}
			select {
			case ordered <- it:
			case <-ctx.Done():
				return false
			}
			select {
			case queue <- it:
				return true
			case <-ctx.Done():
				return false
			}
		})
		if err != nil {
			select {
			case ordered <- &item{read: err}:
			case <-ctx.Done():
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// documents calls yield for each document of an input until it returns false.
// The error is one of reading, not of what was read.
func (s *inputSet) documents(in *input, yield func(*source.Document, error) bool) error {
	r, closeInput, err := s.open(in)
	if err != nil {
		return err
	}
	defer closeInput()
	reader := source.NewReader(in.name, r)
	for {
		doc, err := reader.Next()
		var syntax *source.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &syntax):
			return fmt.Errorf("reading %s: %w", in.name, because(err))
		}
		if !yield(doc, err) {
			return nil
		}
	}
}

// collect takes the documents in order and writes what became of them.
func (s *stream) collect(ctx context.Context, ordered <-chan *item) error {
	number := 0
	var last *input
	for {
		var it *item
		select {
		case <-ctx.Done():
			return ctx.Err()
		case it = <-ordered:
		}
		if it == nil {
			return nil
		}
		if it.read != nil {
			return it.read
		}
		<-it.done
		if it.in != last {
			last, number = it.in, 0
		}
		number++
		sound := s.note(it.got.findings, number)
		if len(it.got.skipped) > 0 {
			s.skip(it.doc, it.got.skipped)
		}
		switch {
		case s.failed && !s.keepGoing:
			continue // what follows is still checked
		case it.doc == nil || !sound:
			if err := s.out.lost(it.in, textOf(it)); err != nil {
				return err
			}
			continue
		}
		if err := s.out.add(it.in, it.doc, &it.got); err != nil {
			return err
		}
	}
}

// textOf returns the bytes of a document, also of one that cannot be read.
func textOf(it *item) []byte {
	var syntax *source.SyntaxError
	switch {
	case it.doc != nil:
		return it.doc.Text.Data
	case errors.As(it.err, &syntax) && syntax.Span.Text != nil:
		return syntax.Span.Text.Data
	}
	return nil
}

// note keeps the findings of one document, and tells whether none of them is
// an error.
func (s *stream) note(found diag.List, document int) (sound bool) {
	sound = true
	for _, d := range found {
		if s.weigh != nil {
			d = s.weigh(d)
		}
		if d == nil {
			continue
		}
		if d.Severity == diag.Error {
			sound, s.failed = false, true
		}
		if len(s.findings) >= maxFindings {
			if d.Severity == diag.Error {
				s.dropped[1]++
			} else {
				s.dropped[0]++
			}
			continue
		}
		if d.Document == 0 {
			placed := *d
			placed.Document = document
			d = &placed
		}
		s.findings = append(s.findings, d)
	}
	return sound
}

// joiner puts the documents of several inputs into one stream.
type joiner struct {
	to   io.Writer
	last *input
	// format is that of the document written last.
	format source.Format
	// open tells that the last line has no line break.
	open bool
}

// add writes one document. Those of one input bring their separators along;
// between two inputs one is put where it is needed.
func (j *joiner) add(in *input, doc *source.Document, o *outcome) error {
	data := o.data
	if data == nil {
		data = doc.Text.Data
	}
	return j.put(in, data, doc.Format)
}

// put writes the text of a document.
func (j *joiner) put(in *input, data []byte, format source.Format) error {
	if len(data) == 0 {
		return nil
	}
	if j.last != nil && j.last != in {
		data = bytes.TrimPrefix(data, bom)
		separator := ""
		if j.open {
			separator = "\n"
		}
		if line, before := separatorOf(data); line == nil && before == nil && !(j.format == source.JSON && format == source.JSON) {
			separator += "---\n"
		}
		if _, err := io.WriteString(j.to, separator); err != nil {
			return err
		}
	} else if j.open && startsLine(data) {
		if _, err := io.WriteString(j.to, "\n"); err != nil {
			return err
		}
	}
	if _, err := j.to.Write(data); err != nil {
		return err
	}
	j.last, j.format = in, format
	j.open = data[len(data)-1] != '\n'
	return nil
}

// lost does nothing: the other documents are as good without it.
func (j *joiner) lost(*input, []byte) error { return nil }

// end does nothing: what was added is complete.
func (j *joiner) end() error { return nil }

// startsLine reports whether a document begins with a separator, which must
// stand at the start of a line.
func startsLine(data []byte) bool { return bytes.HasPrefix(data, []byte("---")) }
