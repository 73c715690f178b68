package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ingraft/ingraft/internal/source"
)

// diffWriter writes what changes in the inputs as a unified diff. Each document
// is compared by itself, so that one is in memory at a time, but the lines
// around a change are those of the file.
type diffWriter struct {
	to    io.Writer
	color bool

	in *input
	// headed tells that the names of the file are written.
	headed bool
	// The lines so far, in the input and in its result.
	old, new int
	hunk     hunk
	err      error
	// held is what comes before the next document on one line with it, in the
	// input and in its result: lines are compared as a whole.
	held [2][]byte
}

// around is how many lines are shown around a change.
const around = 3

// hunk is the part of a file that is at hand: the lines before a change, and
// from the first change on all lines up to the one at which it ends.
type hunk struct {
	lines []diffLine
	// open tells that there is a change among the lines; equal counts those
	// behind the last one.
	open  bool
	equal int
}

// diffLine is a line with its break, and ' ', '+' or '-'.
type diffLine struct {
	op   byte
	text []byte
}

func (w *diffWriter) add(in *input, doc *source.Document, o *outcome) error {
	if in != w.in {
		if err := w.end(); err != nil {
			return err
		}
		w.in, w.headed, w.old, w.new = in, false, 0, 0
	}
	was, now := doc.Text.Data, o.data
	if now == nil {
		now = was
	}
	if len(w.held[0])+len(w.held[1]) > 0 {
		was, now = slices.Concat(w.held[0], was), slices.Concat(w.held[1], now)
		w.held = [2][]byte{}
	}
	if len(was) > 0 && was[len(was)-1] != '\n' {
		w.held = [2][]byte{was, now}
		return nil
	}
	return w.compare(was, now)
}

// compare takes the next lines of the file, and what they become.
func (w *diffWriter) compare(was, now []byte) error {
	if bytes.Equal(now, was) {
		for line := range bytes.Lines(was) {
			w.line(diffLine{' ', line})
		}
		return w.err
	}
	c := comparison{w: w, old: was, new: now}
	at := 0 // lines of the document so far
	started := false
	for line := range bytes.Lines(diff.Diff("", was, "", now)) {
		var from int
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			started = true
			if _, err := fmt.Sscanf(string(line), "@@ -%d", &from); err != nil {
				return fmt.Errorf("comparing %s: %w", w.in.name, err)
			}
			for ; at < from-1; at++ {
				c.take(' ')
			}
		case !started || line[0] == '\\':
		default:
			c.take(line[0])
			if line[0] != '+' {
				at++
			}
		}
	}
	for len(c.old) > 0 {
		c.take(' ')
	}
	return w.err
}

// comparison walks through two versions of a document.
type comparison struct {
	w        *diffWriter
	old, new []byte
}

// take takes a line of the old version, the new one, or both.
func (c *comparison) take(op byte) {
	var line []byte
	if op != '+' {
		line, c.old = cutLine(c.old)
	}
	if op != '-' {
		line, c.new = cutLine(c.new)
	}
	c.w.line(diffLine{op, line})
}

func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], b[i+1:]
	}
	return b, nil
}

// line takes the next line of the file.
func (w *diffWriter) line(l diffLine) {
	h := &w.hunk
	if l.op != '+' {
		w.old++
	}
	if l.op != '-' {
		w.new++
	}
	h.lines = append(h.lines, l)
	switch {
	case l.op != ' ':
		h.open, h.equal = true, 0
	case !h.open && len(h.lines) > around:
		h.lines = append(h.lines[:0], h.lines[1:]...)
	case h.open:
		if h.equal++; h.equal > 2*around {
			w.print(h.equal - around)
		}
	}
}

// print writes the hunk at hand without its last lines, which may be the first
// ones of the next.
func (w *diffWriter) print(left int) {
	h := &w.hunk
	shown := h.lines[:len(h.lines)-left]
	var size [2]int // lines of the hunk in the input and in the result
	for _, l := range shown {
		if l.op != '+' {
			size[0]++
		}
		if l.op != '-' {
			size[1]++
		}
	}
	var b bytes.Buffer
	if !w.headed {
		w.headed = true
		name := filepath.ToSlash(filepath.Clean(w.in.name))
		if w.in.name == "-" {
			name = "stdin"
		}
		name = strings.TrimPrefix(name, "/")
		w.colored(&b, "--- a/"+name+"\n", bold)
		w.colored(&b, "+++ b/"+name+"\n", bold)
	}
	w.colored(&b, fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", w.old-left-size[0]+min(size[0], 1), size[0], w.new-left-size[1]+min(size[1], 1), size[1]), cyan)
	for _, l := range shown {
		color := 0
		switch l.op {
		case '+':
			color = green
		case '-':
			color = red
		}
		w.colored(&b, string(l.op)+string(l.text), color)
		if !bytes.HasSuffix(l.text, []byte{'\n'}) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	if _, err := w.to.Write(b.Bytes()); err != nil && w.err == nil {
		w.err = err
	}
	kept := h.lines[len(h.lines)-left:]
	h.lines = append(h.lines[:0], kept[max(0, len(kept)-around):]...)
	h.open, h.equal = false, 0
}

// end writes what is left of a file.
func (w *diffWriter) end() error {
	if held := w.held; len(held[0])+len(held[1]) > 0 {
		w.held = [2][]byte{}
		if err := w.compare(held[0], held[1]); err != nil {
			return err
		}
	}
	if w.hunk.open {
		w.print(max(0, w.hunk.equal-around))
	}
	w.hunk = hunk{}
	return w.err
}

// The colours of a diff, as git has them.
const (
	bold  = 1
	red   = 31
	green = 32
	cyan  = 36
)

func (w *diffWriter) colored(b *bytes.Buffer, text string, color int) {
	if !w.color || color == 0 {
		b.WriteString(text)
		return
	}
	text, ended := strings.CutSuffix(text, "\n")
	b.WriteString("\x1b[" + strconv.Itoa(color) + "m" + text + "\x1b[0m")
	if ended {
		b.WriteByte('\n')
	}
}
