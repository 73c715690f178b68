package source

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// layout is how a document is written, for the parts that are added to it.
type layout struct {
	newline string
	step    int  // columns that a mapping is indented by
	indent  bool // sequences in mappings are indented
	json    bool
	pretty  bool   // JSON on several lines
	unit    string // one level of indentation within brackets
	colon   string // ':' of JSON with the blanks behind it
	comma   string // ',' of JSON on one line
	quote   style  // the quotes that the document uses
}

// layoutOf finds out how a document is written.
func layoutOf(doc *Document) layout {
	l := layout{newline: "\n", step: 2, json: doc.Format == JSON, colon: ": ", comma: ", ", quote: double}
	src := doc.Text.Data
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		l.newline = "\r\n"
	}
	if l.json {
		l.ofJSON(src, doc.Root)
		return l
	}
	s := survey{text: doc.Text}
	s.node(doc.Root, -1)
	if s.step > 0 {
		l.step = min(s.step, 8)
	}
	l.unit = "        "[:l.step]
	l.indent = s.indented > s.level
	if s.singles > s.doubles {
		l.quote = single
	}
	return l
}

// ofJSON looks at the first entries of a JSON document.
func (l *layout) ofJSON(src []byte, n *Node) {
	l.unit = "  "
	for n.Len() == 1 && n.kind == List {
		n = n.Items()[0]
	}
	if n.Len() == 0 {
		return
	}
	first := n.children()
	gap := src[n.body+1 : first[0].start]
	if i := bytes.LastIndexByte(gap, '\n'); i >= 0 {
		l.pretty = true
		l.unit = string(gap[i+1:])
		if outer := indentAt(src, int(n.body)); len(outer) < len(l.unit) {
			l.unit = l.unit[len(outer):]
		}
		if l.unit == "" {
			l.unit = "  "
		}
	}
	if n.kind == Map {
		f := n.Fields()[0]
		l.colon = string(bytes.TrimSpace(src[f.KeySpan.End:f.Value.start]))
		if l.colon == ":" && f.Value.start > 0 && src[f.Value.start-1] == ' ' {
			l.colon = ": "
		}
	}
	if l.comma = ","; l.colon == ": " {
		l.comma = ", "
	}
}

// part is the range of an entry or item.
type part struct{ start, end int32 }

// children returns the ranges of the entries or items of a collection without
// oddities.
func (n *Node) children() []part {
	parts := make([]part, 0, n.Len())
	for _, f := range n.Fields() {
		parts = append(parts, part{int32(f.KeySpan.Start), f.Value.end})
	}
	for _, item := range n.Items() {
		parts = append(parts, part{item.start, item.end})
	}
	return parts
}

// indentAt returns the blanks that the line of an offset begins with.
func indentAt(src []byte, off int) string {
	from := bytes.LastIndexByte(src[:off], '\n') + 1
	to := from
	for to < len(src) && (src[to] == ' ' || src[to] == '\t') {
		to++
	}
	return string(src[from:to])
}

// survey counts the habits of a YAML document.
type survey struct {
	text             *Text
	step             int
	indented, level  int
	singles, doubles int
}

// node looks at a node whose mapping has its keys at a column.
func (s *survey) node(n *Node, col int) {
	if n == nil || n.text != s.text || n.flags&aliased != 0 {
		return
	}
	switch n.style {
	case single:
		s.singles++
	case double:
		s.doubles++
	}
	if n.style != block {
		return
	}
	own := s.text.column(int(n.body))
	if n.kind == Map {
		if s.step == 0 && col >= 0 && own > col {
			s.step = own - col
		}
		for _, f := range n.Fields() {
			s.node(f.Value, own)
		}
		return
	}
	if col >= 0 {
		if own > col {
			s.indented++
		} else {
			s.level++
		}
	}
	for _, item := range n.Items() {
		s.node(item, -1)
	}
}

// column returns the number of bytes before an offset on its line.
func (t *Text) column(off int) int { return off - t.lineStart(off) }

// writer renders new nodes in the layout of a document.
type writer struct {
	layout
	src  []byte
	text *Text
	// reuse tells that nodes of the document may be spelled by their bytes.
	reuse bool
	// oneLine keeps brackets of YAML on one line. It is given up, with a value
	// that is not complete, where that line becomes longer than enough.
	oneLine bool
	enough  int
	dst     []byte
}

func (w *writer) pad(col int) {
	for ; col > 0; col -= len(spaces) {
		w.dst = append(w.dst, spaces[:min(col, len(spaces))]...)
	}
}

// value appends a value in block style, from behind the ':' or '-' in front of
// it to the end of its last line. The collection that holds it has its entries
// at a column, -1 for the value of the document. name is the anchor that the
// value gets, "" for none.
func (w *writer) value(n *Node, col int, inMap bool, name string) {
	if name != "" {
		w.dst = append(append(w.dst, " &"...), name...)
	}
	switch {
	case n.Len() == 0:
		w.dst = append(w.dst, ' ')
		w.scalar(n, col, style(0), false)
		return
	case col < 0:
		w.collection(n, 0, false)
	case inMap || name != "":
		at := col + w.step
		if n.kind == List && inMap && !w.indent {
			at = col
		}
		w.collection(n, at, false)
	default:
		w.collection(n, col+2, true)
	}
}

// collection appends the entries of a collection at a column; inline tells
// that the first one goes on the line that is there.
func (w *writer) collection(n *Node, col int, inline bool) {
	if w.copyBlock(n, col, inline) {
		return
	}
	if !inline {
		w.dst = append(w.dst, w.newline...)
	} else {
		w.dst = append(w.dst, ' ')
	}
	first := inline
	for _, f := range n.Fields() {
		if !first {
			w.pad(col)
		}
		first = false
		w.entry(f, col)
	}
	for _, item := range n.Items() {
		if !first {
			w.pad(col)
		}
		first = false
		w.item(item, col)
	}
}

// entry appends an entry of a block mapping, from its key to its line's end.
func (w *writer) entry(f Field, col int) {
	from := len(w.dst)
	w.str(f.Key, false, w.quoteOf(f))
	if len(w.dst)-from > maxKeyLen {
		key := string(w.dst[from:])
		w.dst = append(append(append(w.dst[:from], "? "...), key...), w.newline...)
		w.pad(col)
	}
	w.dst = append(w.dst, ':')
	w.value(f.Value, col, true, "")
}

// quoteOf returns the notation of a key that is there already.
func (w *writer) quoteOf(f Field) style {
	if f.KeySpan.Text == w.text && f.KeySpan.End > f.KeySpan.Start {
		switch w.src[f.KeySpan.Start] {
		case '"':
			return double
		case '\'':
			return single
		}
	}
	return plain
}

func (w *writer) item(n *Node, col int) {
	w.dst = append(w.dst, '-')
	w.value(n, col, false, "")
}

// copyBlock appends the bytes of a block collection of the document, moved to
// another column.
func (w *writer) copyBlock(n *Node, col int, inline bool) bool {
	if !w.reuse || n.text != w.text || n.style != block || n.flags != 0 {
		return false
	}
	from := w.text.column(int(n.body))
	lines := w.src[n.body:n.end]
	if !inline {
		w.dst = append(w.dst, w.newline...)
		w.pad(col)
	} else {
		w.dst = append(w.dst, ' ')
	}
	for len(lines) > 0 {
		size := lineLen(lines)
		w.dst = append(w.dst, lines[:size]...)
		lines = lines[size:]
		if len(lines) == 0 {
			break
		}
		blanks := 0
		for blanks < len(lines) && lines[blanks] == ' ' {
			blanks++
		}
		lines = lines[blanks:]
		if len(lines) > 0 && lines[0] != '\n' && lines[0] != '\r' {
			w.pad(max(blanks+col-from, 0))
		}
	}
	if w.dst[len(w.dst)-1] != '\n' {
		w.dst = append(w.dst, w.newline...)
	}
	return true
}

// scalar appends a scalar or an empty collection, and in block style the end
// of its line. prefer is the notation to keep where that is possible.
func (w *writer) scalar(n *Node, col int, prefer style, inFlow bool) {
	switch n.Kind() {
	case Map:
		w.dst = append(w.dst, "{}"...)
	case List:
		w.dst = append(w.dst, "[]"...)
	case Null:
		w.dst = append(w.dst, "null"...)
	case Bool, Number:
		if !w.copyScalar(n, inFlow) {
			w.dst = append(w.dst, n.str...)
		}
	case String:
		if w.copyScalar(n, inFlow) {
			break
		}
		if !inFlow && isLiteral(n.str, prefer) {
			w.literal(n.str, col)
			return
		}
		if prefer == 0 {
			prefer = plain
		}
		w.str(n.str, inFlow, prefer)
	}
	if !inFlow {
		w.dst = append(w.dst, w.newline...)
	}
}

// copyScalar appends the bytes of a scalar of the document.
func (w *writer) copyScalar(n *Node, inFlow bool) bool {
	if !w.reuse || n.text != w.text || n.flags&^float != 0 || n.style != plain && n.style != single && n.style != double {
		return false
	}
	raw := w.src[n.body:n.end]
	if bytes.IndexByte(raw, '\n') >= 0 || len(raw) == 0 || inFlow && n.style == plain && !flowPlain(string(raw)) {
		return false
	}
	w.dst = append(w.dst, raw...)
	return true
}

// isLiteral reports whether a string is best written as a literal scalar.
// Blank lines at its end would be taken for those of the file, or the other
// way round.
func isLiteral(s string, prefer style) bool {
	if strings.IndexByte(s, '\n') < 0 && prefer != literal {
		return false
	}
	if s == "" || s == "\n" || strings.HasSuffix(s, "\n\n") || !utf8.ValidString(s) || !analyze(s).block {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\n' && textBreak(s, i) > 0 {
			return false
		}
	}
	return true
}

// literal appends a literal scalar whose holder has its entries at a column.
func (w *writer) literal(s string, col int) {
	w.dst = append(w.dst, '|')
	if s[0] == ' ' || s[0] == '\n' {
		w.dst = append(w.dst, byte('0'+w.step))
	}
	if !strings.HasSuffix(s, "\n") {
		w.dst = append(w.dst, '-')
	}
	w.dst = append(w.dst, w.newline...)
	for s != "" {
		line, rest, _ := strings.Cut(s, "\n")
		if line != "" {
			w.pad(max(col, 0) + w.step)
			w.dst = append(w.dst, line...)
		}
		w.dst = append(w.dst, w.newline...)
		s = rest
	}
}

// flowPlain reports whether text without quotes is safe inside brackets.
func flowPlain(s string) bool { return !strings.ContainsAny(s, ",[]{}?:#") }

// str appends a string on one line.
func (w *writer) str(s string, inFlow bool, prefer style) {
	if w.json {
		w.dst = appendJSONText(w.dst, s, false)
		return
	}
	if prefer != single && prefer != double && simpleText(s) && s != "=" && plainString(s) {
		w.dst = append(w.dst, s...)
		return
	}
	if !utf8.ValidString(s) {
		s = validUTF8([]byte(s))
	}
	t := analyze(s)
	if prefer != single && prefer != double && t.plain && s != "=" && s != mergeKey && plainString(s) && (!inFlow || flowPlain(s)) {
		w.dst = append(w.dst, s...)
		return
	}
	if prefer != single && prefer != double {
		prefer = w.quote
		if strings.ContainsAny(s, `"\`) && strings.IndexByte(s, '\'') < 0 {
			prefer = single
		}
	}
	if prefer == single && t.single && !hasBreak(s) {
		w.dst = append(w.dst, '\'')
		for i := 0; i < len(s); i++ {
			if s[i] == '\'' {
				w.dst = append(w.dst, '\'')
			}
			w.dst = append(w.dst, s[i])
		}
		w.dst = append(w.dst, '\'')
		return
	}
	w.dst = append(w.dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c != '"' && c != '\\' && printable(s, i) && textBreak(s, i) == 0 {
			n := runeLen(c)
			w.dst = append(w.dst, s[i:i+n]...)
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		w.dst = appendEscape(w.dst, r)
		i += size
	}
	w.dst = append(w.dst, '"')
}

// flowWidth is how long lines inside the brackets of YAML become before they
// are broken.
const flowWidth = 100

// flow appends a value in flow style. indent is what its last line begins with
// where it takes several.
func (w *writer) flow(n *Node, indent string) {
	if n.Len() == 0 {
		w.scalar(n, 0, style(0), true)
		return
	}
	if w.reuse && n.text == w.text && n.style == flow && n.flags == 0 && bytes.IndexByte(w.src[n.body:n.end], '\n') < 0 {
		w.dst = append(w.dst, w.src[n.body:n.end]...)
		return
	}
	if w.json || w.oneLine {
		w.brackets(n, indent, w.json && w.pretty)
		return
	}
	from, col := len(w.dst), len(indent)+len(w.dst)
	if i := bytes.LastIndexByte(w.dst, '\n'); i >= 0 {
		col = from - i - 1
	}
	w.oneLine, w.enough = true, from+flowWidth
	w.brackets(n, indent, false)
	w.oneLine = false
	if col+len(w.dst)-from > flowWidth {
		w.dst = w.dst[:from]
		w.brackets(n, indent, true)
	}
}

// brackets appends a collection with its entries on lines of their own, or not.
func (w *writer) brackets(n *Node, indent string, pretty bool) {
	brackets := "{}"
	if n.kind == List {
		brackets = "[]"
	}
	inner := indent + w.unit
	w.dst = append(w.dst, brackets[0])
	for i := range n.Len() {
		switch {
		case w.oneLine && len(w.dst) > w.enough:
			return
		case i > 0 && pretty:
			w.dst = append(w.dst, ',')
		case i > 0:
			w.dst = append(w.dst, w.comma...)
		}
		if pretty {
			w.dst = append(append(w.dst, w.newline...), inner...)
		}
		if n.kind == List {
			w.flow(n.Items()[i], inner)
		} else {
			w.flowEntry(n.Fields()[i], inner)
		}
	}
	if pretty {
		w.dst = append(append(w.dst, w.newline...), indent...)
	}
	w.dst = append(w.dst, brackets[1])
}

func (w *writer) flowEntry(f Field, indent string) {
	from := len(w.dst)
	w.str(f.Key, true, w.quoteOf(f))
	if !w.json && len(w.dst)-from > maxKeyLen {
		key := string(w.dst[from:])
		w.dst = append(append(w.dst[:from], "? "...), key...)
		w.dst = append(w.dst, ' ')
	}
	w.dst = append(w.dst, w.colon...)
	w.flow(f.Value, indent)
}
