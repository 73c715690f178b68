package tmpl

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Source returns the piece of the template that wrote the byte at an offset of
// what it makes of data: an action, with what it reads, or text, from that byte
// to the end of its line. The span is zero where that is not known. It renders
// the template once more.
func (t *Template) Source(at int, data *Data, env Env) (source.Span, []Read) {
	var rec Recorder
	out, bad := t.Render(data, env, &rec)
	if bad != nil || at < 0 || at >= len(out) {
		return source.Span{}, nil
	}
	for i := range rec.Origins {
		o := &rec.Origins[i]
		if at < o.Start || at >= o.End {
			continue
		}
		if o.Span.End-o.Span.Start == len(t.text.Data) && !bytes.Equal(out, t.text.Data) {
			break // text/template rendered alone
		}
		piece := t.text.Data[o.Span.Start:o.Span.End]
		shift := bytes.Index(piece, out[o.Start:o.End]) // of text, blanks at its ends may be trimmed
		if shift < 0 || bytes.HasPrefix(piece, []byte("{{")) {
			return o.Span, o.Reads
		}
		return t.restOfLine(o.Span.Start + shift + at - o.Start), nil
	}
	return t.likeLine(out, at), nil
}

// likeLine returns the place of the line that holds the byte at an offset of
// an output, if the template has exactly one such line.
func (t *Template) likeLine(out []byte, at int) source.Span {
	start := bytes.LastIndexByte(out[:at], '\n') + 1
	line, _, _ := bytes.Cut(out[start:], []byte("\n"))
	text := t.text.Data
	i := bytes.Index(text, line)
	if len(bytes.TrimSpace(line)) == 0 || i < 0 || bytes.Contains(text[i+1:], line) {
		return source.Span{}
	}
	return t.restOfLine(i + at - start)
}

// restOfLine returns the span from an offset to the end of the line, or to the
// action that stands before it.
func (t *Template) restOfLine(start int) source.Span {
	line, _, _ := strings.Cut(string(t.text.Data[start:]), "\n")
	if before, _, ok := strings.Cut(line, "{{"); ok && strings.TrimSpace(before) != "" {
		line = before
	}
	return source.Span{Text: t.text, Start: start, End: start + len(strings.TrimRight(line, " \t\r"))}
}
