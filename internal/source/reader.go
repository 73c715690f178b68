package source

import (
	"bytes"
	"errors"
	"io"
)

// Reader splits a stream into documents, one in memory at a time.
//
// A document ends before a line that begins with --- and a blank (or ends
// there), as for kubectl; unlike there, the separator may carry content
// (--- {a: b}), and directives belong to the document that follows. As long as
// no separator was seen, JSON objects may also follow each other directly.
type Reader struct {
	name string
	r    io.Reader
	err  error // what ended the input

	buf  []byte // input that is not in a document yet
	line int    // lines before buf
	n    int    // documents so far
	// separated tells that a --- line was seen: the stream is YAML.
	separated bool
}

// NewReader returns a Reader of the stream that the user calls name.
func NewReader(name string, r io.Reader) *Reader { return &Reader{name: name, r: r} }

// Next returns the next document, or io.EOF after the last one. A *SyntaxError
// concerns one document only: the caller may go on with the next. Any other
// error comes from the input and is final.
//
// The Texts of all documents, including those in errors (SyntaxError.Span),
// put together are the stream.
func (r *Reader) Next() (*Document, error) {
	size := r.split()
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		return nil, r.err
	}
	if size == 0 {
		return nil, io.EOF
	}
	text := &Text{Name: r.name, Data: r.buf[:size:size], line: r.line}
	r.buf = r.buf[size:]
	r.line += bytes.Count(text.Data, []byte{'\n'})
	index := r.n
	r.n++
	doc, err := Parse(text)
	if err != nil {
		return nil, err
	}
	doc.Index = index
	return doc, nil
}

const chunk = 64 << 10

// more reads more input and reports whether there was any.
func (r *Reader) more() bool {
	for r.err == nil {
		if cap(r.buf)-len(r.buf) < chunk/4 {
			// Documents keep the bytes that they were cut from: never move them.
			buf := make([]byte, len(r.buf), max(chunk, 2*len(r.buf)))
			copy(buf, r.buf)
			r.buf = buf
		}
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf, r.err = r.buf[:len(r.buf)+n], err
		if n > 0 {
			return true
		}
	}
	return false
}

// split reads until the end of a document is known and returns the length of
// that document.
func (r *Reader) split() int {
	s := splitter{Reader: r}
	for {
		if end, ok := s.scan(); ok {
			return end
		}
		if !r.more() {
			return s.rest()
		}
	}
}

// splitter looks for the end of one document, line by line.
type splitter struct {
	*Reader
	at    int // the line to look at; all before it belongs to the document
	found int // bytes of that line known to hold no line break

	content    bool // there is more than comments and directives
	directives bool // there are directives
	ended      bool // there was a ... line

	json jsonSplitter
}

// scan looks at all lines that are in memory; it reports whether it found the
// end of the document.
func (s *splitter) scan() (end int, ok bool) {
	if !s.separated && s.json.state != notJSON {
		if end, ok := s.json.scan(s.buf); ok {
			return end, true
		}
		if s.json.state != notJSON {
			return 0, false
		}
	}
	for {
		n := bytes.IndexByte(s.buf[s.at+s.found:], '\n')
		if n < 0 {
			s.found = len(s.buf) - s.at
			return 0, false
		}
		line := s.buf[s.at : s.at+s.found+n+1]
		s.found = 0
		if s.begins(line) {
			return s.at, true
		}
		s.at += len(line)
	}
}

// rest returns the length of the last document of the stream.
func (s *splitter) rest() int {
	if s.at < len(s.buf) && s.begins(s.buf[s.at:]) {
		return s.at
	}
	return len(s.buf)
}

// begins reports whether a new document begins with a line.
func (s *splitter) begins(line []byte) bool {
	if s.at == 0 {
		if line = bytes.TrimPrefix(line, []byte(bom)); len(line) == 0 {
			return false
		}
	}
	switch c := line[0]; {
	case c == '-' && isMarker(line, "---"):
		s.separated = true
		if s.at > 0 && (s.content || !s.directives) {
			return true
		}
		s.content = true
	case c == '.' && isMarker(line, "..."):
		s.ended = true
	case c == '%' && (s.ended || !s.content):
		if s.ended {
			return true
		}
		s.directives = true
	case c == '#' || c == '\n' || c == '\r':
	case !s.content:
		s.content = len(bytes.TrimSpace(line)) > 0
	}
	return false
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	if len(line) == len(marker) {
		return true
	}
	switch line[len(marker)] {
	case ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// jsonSplitter looks for the end of a JSON object that another one follows.
type jsonSplitter struct {
	state   jsonState
	at      int // the next byte to look at
	depth   int
	escaped bool
	newline int // end of the line that the object ends on, 0 not known yet
}

type jsonState uint8

const (
	beforeJSON jsonState = iota
	beforeKey            // after the first {
	inJSON
	inString
	afterJSON
	notJSON
)

func (j *jsonSplitter) scan(buf []byte) (end int, ok bool) {
	for ; j.at < len(buf); j.at++ {
		c := buf[j.at]
		switch j.state {
		case beforeJSON:
			switch {
			case c == '{':
				j.state, j.depth = beforeKey, 1
			case j.at < len(bom) && c == bom[j.at]:
			case c != ' ' && c != '\n' && c != '\r' && c != '\t':
				j.state = notJSON
				return 0, false
			}
		case beforeKey:
			switch c {
			case '"':
				j.state = inString
			case '}':
				j.state, j.depth = afterJSON, 0
			case ' ', '\n', '\r', '\t':
			default:
				j.state = notJSON
				return 0, false
			}
		case inJSON:
			switch c {
			case '"':
				j.state = inString
			case '{', '[':
				j.depth++
			case '}', ']':
				if j.depth--; j.depth == 0 {
					j.state = afterJSON
				}
			case '-':
				if buf[j.at-1] != '\n' {
					continue
				}
				if j.at+2 >= len(buf) {
					return 0, false // it takes more to tell
				}
				if bytes.HasPrefix(buf[j.at:], []byte("---")) {
					j.state = notJSON // a broken document ends here
					return 0, false
				}
			}
		case inString:
			switch {
			case j.escaped:
				j.escaped = false
			case c == '\\':
				j.escaped = true
			case c == '"':
				j.state = inJSON
			case c == '\n':
				j.state = notJSON
				return 0, false
			}
		case afterJSON:
			switch c {
			case '\n':
				if j.newline == 0 {
					j.newline = j.at + 1
				}
			case ' ', '\r', '\t':
			case '{':
				if j.newline == 0 {
					j.newline = j.at
				}
				return j.newline, true
			default:
				j.state = notJSON
				return 0, false
			}
		}
	}
	return 0, false
}
