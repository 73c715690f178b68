package source

import (
	"bytes"
	"fmt"
	"sort"
	"sync"
	"unicode/utf8"
)

// Pos is a place in a source file, for people: the first line and the first
// column are 1, and a column counts Unicode code points, as editors do. The
// zero Pos means that the place is not known.
type Pos struct {
	File      string
	Line, Col int
}

// IsValid reports whether the place is known.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String returns file:line:col, or just the file where the line is not known.
func (p Pos) String() string {
	if !p.IsValid() {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Text is a run of bytes that nodes point into: a whole input, one document of
// a stream, or the value of a block scalar that is itself a document (see
// Node.Embed). A Text and its Data never change once published.
type Text struct {
	// Name is the input as the user named it: a path, "-" for standard input.
	Name string
	// Data holds the bytes. Offsets of nodes count from its beginning.
	Data []byte

	// line is the number of lines before Data in the named input.
	line int
	// outer maps an offset of Data to the enclosing text, for embedded texts.
	outer func(off int) (*Text, int)

	once   sync.Once
	starts []int // offset of the first byte of each line
}

// NewText returns a text of its own: its first byte is line 1, column 1.
func NewText(name string, data []byte) *Text { return &Text{Name: name, Data: data} }

func (t *Text) index() {
	t.once.Do(func() {
		// A byte order mark is not part of its line.
		for i := 0; ; {
			if bytes.HasPrefix(t.Data[i:], []byte(bom)) {
				i += len(bom)
			}
			t.starts = append(t.starts, i)
			j := bytes.IndexByte(t.Data[i:], '\n')
			if j < 0 {
				return
			}
			i += j + 1
		}
	})
}

// Pos returns the place of the byte at offset off.
func (t *Text) Pos(off int) Pos {
	if t == nil {
		return Pos{}
	}
	if t.outer != nil {
		t, off = t.outer(off)
		return t.Pos(off)
	}
	t.index()
	off = min(max(off, t.starts[0]), len(t.Data))
	i := sort.SearchInts(t.starts, off+1) - 1
	return Pos{File: t.Name, Line: t.line + i + 1, Col: utf8.RuneCount(t.Data[t.starts[i]:off]) + 1}
}

// lineStart returns the offset of the first byte of the line of an offset.
func (t *Text) lineStart(off int) int {
	t.index()
	return t.starts[sort.SearchInts(t.starts, max(off, t.starts[0])+1)-1]
}

// LineAt returns the line that holds the byte at offset off, without its line
// break, and the offset of its first byte.
func (t *Text) LineAt(off int) (line []byte, start int) {
	t.index()
	off = min(max(off, t.starts[0]), len(t.Data))
	start = t.starts[sort.SearchInts(t.starts, off+1)-1]
	line = t.Data[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return bytes.TrimSuffix(line, []byte("\r")), start
}

// Span is a range of bytes of a text. The zero Span means "no place".
type Span struct {
	Text       *Text
	Start, End int
}

// IsValid reports whether the span points into a text.
func (s Span) IsValid() bool { return s.Text != nil }

// Pos returns the place of the first byte of the span.
func (s Span) Pos() Pos { return s.Text.Pos(s.Start) }
