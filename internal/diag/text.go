package diag

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/ingraft/ingraft/internal/source"
)

// TextOptions say how WriteText draws.
type TextOptions struct {
	// Color turns escape sequences for terminals on.
	Color bool
	// Width is how many columns a source line may take; 0 means 100.
	Width int
}

const (
	defaultWidth = 100
	tabWidth     = 4
	// lead is how many columns of a long line are kept before the finding.
	lead = 24
	// cut marks where a long line goes on.
	cut = "..."
)

// WriteText prints the findings for people, each as
//
//	app.yaml:12:38: what is wrong [IGF0101]
//	  12 |     sidecar.istio.io/inject: "maybe"
//	     |                              ^^^^^^^
//	  in Deployment shop/cart, document 3
//	  fix: how to mend it
//
// A finding that is no error has its severity before the message.
func WriteText(w io.Writer, l List, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	b := bufio.NewWriter(w)
	for _, d := range Sorted(l) {
		writeOne(b, d, o)
	}
	return b.Flush()
}

func writeOne(b *bufio.Writer, d *Diagnostic, o TextOptions) {
	c := palette(o.Color, d.Severity)
	pos := d.Pos()
	if pos.File != "" {
		b.WriteString(c.bold + printable(pos.String()) + ": " + c.reset)
	}
	if d.Severity != Error {
		b.WriteString(c.level + strings.ToLower(d.Severity.String()) + ": " + c.reset)
	}
	b.WriteString(c.bold + printable(d.Message) + c.reset)
	if d.Code != "" {
		b.WriteString(" [" + d.Code + "]")
	}
	b.WriteByte('\n')
	if d.Span.IsValid() {
		line, caret := excerpt(d.Span, o.Width)
		number := strconv.Itoa(pos.Line)
		blank := strings.Repeat(" ", len(number))
		fmt.Fprintf(b, "%s  %s |%s %s\n", c.dim, number, c.reset, line)
		fmt.Fprintf(b, "%s  %s |%s %s\n", c.dim, blank, c.reset, strings.Replace(caret, "^", c.level+"^", 1)+c.reset)
	}
	if where := whereabouts(d); where != "" {
		b.WriteString("  in " + where + "\n")
	}
	if d.Fix != "" {
		b.WriteString("  fix: " + printable(d.Fix) + "\n")
	}
}

func whereabouts(d *Diagnostic) string {
	parts := make([]string, 0, 2)
	if d.Object != "" {
		parts = append(parts, printable(d.Object))
	}
	if d.Document > 0 {
		parts = append(parts, "document "+strconv.Itoa(d.Document))
	}
	where := strings.Join(parts, ", ")
	if d.Manifest != "" && where != "" {
		where = printable(d.Manifest) + ": " + where
	}
	return where
}

// excerpt returns the line that a span begins on, and a line that marks the
// span with carets. Both are cut to the given number of columns around the
// span, and hold nothing that a terminal would obey.
func excerpt(s source.Span, columns int) (line, caret string) {
	s = inFile(s)
	text, start := s.Text.LineAt(s.Start)
	from := min(max(s.Start-start, 0), len(text))
	to := min(max(s.End-start, from), len(text))

	// A line may have megabytes: walk back only as far as it will be shown.
	head, begin := 0, from
	for begin > 0 && head < columns-lead {
		_, size := utf8.DecodeLastRune(text[:begin])
		head += columnsOf(text[begin-size : begin])
		begin -= size
	}
	var shown, marks strings.Builder
	used := 0
	if begin > 0 {
		// Not all of it fits: begin a little before the finding instead.
		for begin, head = from, 0; begin > 0 && head < lead; {
			_, size := utf8.DecodeLastRune(text[:begin])
			head += columnsOf(text[begin-size : begin])
			begin -= size
		}
		shown.WriteString(cut)
		marks.WriteString(strings.Repeat(" ", len(cut)))
		used = len(cut)
	}
	for i := begin; i < len(text); {
		_, size := utf8.DecodeRune(text[i:])
		piece, wide := cell(text[i:i+size]), columnsOf(text[i:i+size])
		if used+wide > columns-len(cut) && i+size < len(text) {
			shown.WriteString(cut)
			break
		}
		shown.WriteString(piece)
		mark := " "
		if i >= from && (i < to || i == from) {
			mark = "^"
		}
		marks.WriteString(strings.Repeat(mark, wide))
		used += wide
		i += size
	}
	if from >= len(text) {
		marks.WriteByte('^')
	}
	return shown.String(), strings.TrimRight(marks.String(), " ")
}

// inFile returns a span of a text that is embedded in a file as one of the
// file, so that the line shown is what the user sees.
func inFile(s source.Span) source.Span {
	text, start := s.Text.Outermost(s.Start)
	if text == s.Text {
		return s
	}
	_, end := s.Text.Outermost(s.End)
	return source.Span{Text: text, Start: start, End: max(end, start)}
}

// cell returns how one character, given by its bytes, is drawn.
func cell(char []byte) string {
	r, size := utf8.DecodeRune(char)
	switch {
	case r == '\t':
		return strings.Repeat(" ", tabWidth)
	case r == utf8.RuneError && size == 1, unicode.IsControl(r), isFormat(r):
		return string(utf8.RuneError)
	}
	return string(char)
}

// columnsOf returns how many columns of a terminal cell(char) takes.
func columnsOf(char []byte) int {
	r, size := utf8.DecodeRune(char)
	switch {
	case r == '\t':
		return tabWidth
	case r < utf8.RuneSelf, r == utf8.RuneError && size == 1, unicode.IsControl(r), isFormat(r):
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// isFormat tells the invisible characters that change how the text around
// them is drawn (directions, joiners, the byte order mark).
func isFormat(r rune) bool { return unicode.Is(unicode.Cf, r) }

// printable returns s with everything that a terminal would obey replaced.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || isFormat(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

type colors struct{ bold, dim, level, reset string }

func palette(on bool, s Severity) colors {
	if !on {
		return colors{}
	}
	level := [...]string{Info: "\x1b[1;34m", Warning: "\x1b[1;33m", Error: "\x1b[1;31m"}[s]
	return colors{bold: "\x1b[1m", dim: "\x1b[2m", level: level, reset: "\x1b[0m"}
}
