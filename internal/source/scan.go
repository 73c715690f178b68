package source

import (
	"strings"
	"unicode/utf8"
)

// breakLen returns the length of the line break at offset i, 0 where there is
// none. YAML 1.1 breaks lines at NEL, LS and PS too.
func (p *parser) breakLen(i int) int {
	s := p.s
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case '\n':
		return 1
	case '\r':
		if i+1 < len(s) && s[i+1] == '\n' {
			return 2
		}
		return 1
	case 0xc2:
		if i+1 < len(s) && s[i+1] == 0x85 {
			return 2
		}
	case 0xe2:
		if i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8 {
			return 3
		}
	}
	return 0
}

// blankz reports whether a blank, a line break or the end is at offset i.
func (p *parser) blankz(i int) bool {
	if i >= len(p.s) {
		return true
	}
	c := p.s[i]
	return c == ' ' || c == '\n' || c == '\t' || (c == '\r' || c >= 0x80) && p.breakLen(i) > 0
}

// appendBreak appends what the line break at offset i means.
func (p *parser) appendBreak(b []byte, i int) []byte {
	if p.s[i] == 0xe2 {
		return append(b, p.s[i:i+3]...)
	}
	return append(b, '\n')
}

// marker reports whether a document marker begins at the position.
func (p *parser) marker(m string) bool {
	return p.pos == p.lineStart && strings.HasPrefix(p.s[p.pos:], m) && p.blankz(p.pos+3)
}

// anyMarker reports whether the line that begins at offset i is one that ends
// a document.
func (p *parser) anyMarker(i int) bool {
	return i+2 < len(p.s) && (p.s[i] == '-' || p.s[i] == '.') &&
		(p.s[i:i+3] == "---" || p.s[i:i+3] == "...") && p.blankz(i+3)
}

// next moves to the next token, over blanks, comments and line breaks.
func (p *parser) next() {
	s, i := p.s, p.pos
	for i < len(s) {
		switch c := s[i]; c {
		case ' ':
			i++
			continue
		case '\n':
			i++
			p.lineStart = i
			p.simple = p.simple || p.flow == 0
			continue
		case '\t':
			if p.flow == 0 && p.simple {
				p.pos = i
				p.tab()
			}
			i++
			continue
		case '#':
			if p.plainBreaks {
				if j := strings.IndexByte(s[i:], '\n'); j >= 0 {
					i += j
				} else {
					i = len(s)
				}
			} else {
				for i < len(s) && p.breakLen(i) == 0 {
					i++
				}
			}
			continue
		case '\r', 0xc2, 0xe2:
			if n := p.breakLen(i); n > 0 {
				i += n
				p.lineStart = i
				p.simple = p.simple || p.flow == 0
				continue
			}
		case 0xef:
			if i == p.lineStart && i > 0 && strings.HasPrefix(s[i:], bom) {
				if i == p.laterBOM() {
					i += len(bom)
					p.lineStart = i
					continue
				}
				p.fail(i, i+len(bom), "a byte order mark in the middle of the text: remove this invisible character")
			}
		}
		break
	}
	p.pos = i
}

// tab refuses a tab where indentation is expected.
func (p *parser) tab() {
	end := p.pos
	for end < len(p.s) && p.s[end] == '\t' {
		end++
	}
	p.fail(p.pos, end, "a tab is not allowed as indentation: use spaces")
}

// ended reports whether the innermost block collection ends before the token
// at the position.
func (p *parser) ended() bool {
	if p.pos >= len(p.s) {
		return true
	}
	col := p.pos - p.lineStart
	return col < p.indent || col == 0 && (p.s[p.pos] == '%' || p.anyMarker(p.pos))
}

// props are the anchor and the tag before a node.
type props struct {
	start     int // offset of the first one, -1 for none
	end       int
	anchor    string
	tag       string
	hasAnchor bool
	hasTag    bool
}

// property reads the anchor or tag at the position.
func (p *parser) property(pr *props) {
	start := p.pos
	if p.s[start] == '&' {
		if pr.hasAnchor {
			p.failHere("a second anchor for one value")
		}
		pr.anchor, pr.hasAnchor = p.name("anchor"), true
	} else {
		if pr.hasTag {
			p.failHere("a second tag for one value")
		}
		pr.tag, pr.hasTag = p.tag(), true
	}
	if pr.start < 0 {
		pr.start = start
	}
	pr.end = p.pos
}

// add takes over the properties of q, which stand behind those of pr.
func (p *parser) add(pr *props, q props) {
	if q.start < 0 {
		return
	}
	if pr.start < 0 {
		*pr = q
		return
	}
	if q.hasAnchor && pr.hasAnchor {
		p.fail(q.start, q.end, "a second anchor for one value")
	}
	if q.hasTag && pr.hasTag {
		p.fail(q.start, q.end, "a second tag for one value")
	}
	if q.hasAnchor {
		pr.anchor, pr.hasAnchor = q.anchor, true
	}
	if q.hasTag {
		pr.tag, pr.hasTag = q.tag, true
	}
	pr.end = q.end
}

// name reads the name of an anchor or alias, with its indicator.
func (p *parser) name(what string) string {
	start := p.pos
	p.pos++
	name := p.word()
	if name == "" {
		p.fail(start, p.pos, "expected a name after "+p.s[start:start+1]+"; a value that begins with "+p.s[start:start+1]+" must be quoted")
	}
	if !p.blankz(p.pos) && strings.IndexByte("?:,]}%@`", p.s[p.pos]) < 0 {
		p.fail(start, p.pos+1, "the name of an "+what+" holds letters, digits, - and _ only; a value that begins with "+p.s[start:start+1]+" must be quoted")
	}
	return name
}

// tag reads a tag and returns it in full.
func (p *parser) tag() string {
	start := p.pos
	if strings.HasPrefix(p.s[p.pos:], "!<") {
		p.pos += 2
		tag := p.tagURI("")
		if tag == "" {
			p.fail(start, p.pos, "expected a tag after !<")
		}
		if p.pos >= len(p.s) || p.s[p.pos] != '>' {
			p.fail(start, p.pos, "expected > at the end of the tag")
		}
		p.pos++
		p.tagEnd(start)
		return tag
	}
	handle := p.tagHandle(false)
	suffix := ""
	if len(handle) > 1 && handle[len(handle)-1] == '!' {
		if suffix = p.tagURI(""); suffix == "" {
			p.fail(start, p.pos, "expected a tag after "+handle)
		}
	} else {
		suffix = p.tagURI(handle[1:])
		handle = "!"
	}
	p.tagEnd(start)
	if suffix == "" {
		return "!"
	}
	for _, t := range p.tags {
		if t.handle == handle {
			return t.prefix + suffix
		}
	}
	switch handle {
	case "!":
		return "!" + suffix
	case "!!":
		return tagPrefix + suffix
	}
	p.fail(start, p.pos, "tag handle "+handle+" is not declared by a %TAG directive")
	return ""
}

func (p *parser) tagEnd(start int) {
	if !p.blankz(p.pos) {
		p.fail(start, p.pos+1, "expected a blank after the tag; a value that begins with ! must be quoted")
	}
}

// tagHandle reads !, !name or !name!; a %TAG directive takes no !name.
func (p *parser) tagHandle(directive bool) string {
	start := p.pos
	if p.pos >= len(p.s) || p.s[p.pos] != '!' {
		p.failHere("expected ! at the beginning of a tag handle")
	}
	p.pos++
	p.word()
	if p.pos < len(p.s) && p.s[p.pos] == '!' {
		p.pos++
	} else if directive && p.pos > start+1 {
		p.failHere("expected ! at the end of the tag handle")
	}
	return p.s[start:p.pos]
}

// tagURI reads the characters of a tag, after head.
func (p *parser) tagURI(head string) string {
	start := p.pos
	b := []byte(head)
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		switch {
		case isWord(c) || strings.IndexByte(";/?:@&=+$,.!~*'()[]", c) >= 0:
			b = append(b, c)
			p.pos++
		case c == '%':
			b = p.tagEscape(b, start)
		default:
			return string(b)
		}
	}
	return string(b)
}

// tagEscape reads one character in %xx notation.
func (p *parser) tagEscape(b []byte, start int) []byte {
	var char []byte
	for size := 1; len(char) < size; {
		var octet int
		if p.pos+2 < len(p.s) && p.s[p.pos] == '%' {
			octet = hex(p.s[p.pos+1:p.pos+3]) + 1
		}
		if octet == 0 {
			p.fail(start, p.pos, "bad % escape in a tag")
		}
		c := byte(octet - 1)
		switch {
		case len(char) > 0 && c&0xc0 != 0x80:
			p.fail(start, p.pos, "bad % escape in a tag")
		case len(char) > 0 || c < 0x80:
		case c&0xe0 == 0xc0:
			size = 2
		case c&0xf0 == 0xe0:
			size = 3
		case c&0xf8 == 0xf0:
			size = 4
		default:
			p.fail(start, p.pos, "bad % escape in a tag")
		}
		char = append(char, c)
		p.pos += 3
	}
	return append(b, char...)
}

// hex returns the value of hexadecimal digits, -1 where s is something else.
func hex(s string) int {
	v := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		v = v<<4 | int(c)
	}
	return v
}

// scalar is a scalar as it was scanned.
type scalar struct {
	value      string
	start, end int
	style      style
}

// Characters that may end a plain scalar, or at least call for a closer look.
var plainStop, flowStop = func() (b, f [256]bool) {
	for _, c := range "\t\n\r :" {
		b[c], f[c] = true, true
	}
	b[0xc2], b[0xe2], f[0xc2], f[0xe2] = true, true, true, true
	for _, c := range ",?[]{}" {
		f[c] = true
	}
	return b, f
}()

// endsPlain reports whether the character at offset i ends a plain scalar.
func (p *parser) endsPlain(i int) bool {
	c := p.s[i]
	return c == ':' && p.blankz(i+1) || p.flow > 0 && c != ':' && c > ' ' && c < 0x80 && flowStop[c]
}

// startsPlain reports whether a plain scalar may begin at the position.
func (p *parser) startsPlain() bool {
	switch c := p.s[p.pos]; c {
	case '-':
		return !p.blankz(p.pos + 1)
	case '?', ':':
		return p.flow == 0 && !p.blankz(p.pos+1)
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '\t':
		return false
	}
	return true
}

// plainScalar scans a scalar without quotes; the position is then that of the
// next token.
func (p *parser) plainScalar() scalar {
	s, start, i := p.s, p.pos, p.pos
	stop := &plainStop
	if p.flow > 0 {
		stop = &flowStop
	}
	p.simple = false
	var b []byte
	from, end := i, i
scan:
	for {
		for i < len(s) && !stop[s[i]] {
			i++
		}
		end = i
		if i >= len(s) {
			break
		}
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			for i++; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
			}
			if i >= len(s) || s[i] == '#' {
				break scan
			}
			if p.breakLen(i) == 0 {
				if p.endsPlain(i) {
					break scan
				}
				continue
			}
		case c == ':' || c > ' ' && c < 0x80:
			if p.endsPlain(i) {
				break scan
			}
			i++
			continue
		case p.breakLen(i) == 0:
			i++
			continue
		}
		// A line ends here. See whether the scalar goes on below.
		first := i
		breaks := 0
		lines := 0
		for i < len(s) {
			if n := p.breakLen(i); n > 0 {
				if lines++; lines == 2 {
					breaks = i
				}
				i += n
				p.lineStart = i
			} else if s[i] == ' ' {
				i++
			} else if s[i] == '\t' {
				if i-p.lineStart <= p.indent {
					p.pos = i
					p.tab()
				}
				i++
			} else {
				break
			}
		}
		if i >= len(s) || p.flow == 0 && i-p.lineStart <= p.indent || s[i] == '#' ||
			i == p.lineStart && p.anyMarker(i) || p.endsPlain(i) {
			p.simple = true
			break
		}
		if b == nil {
			b = p.room(2 * (i - start))
		}
		b = append(b, s[from:end]...)
		b = p.fold(b, first, lines, breaks, i)
		from = i
	}
	p.pos = i
	sc := scalar{start: start, end: end, style: plain}
	if b == nil {
		sc.value = s[start:end]
	} else {
		sc.value = p.keepString(append(b, s[from:end]...))
	}
	return sc
}

// fold appends what the line breaks of a scalar mean that spans lines: first
// is the offset of the first break, rest of the second one, up to end.
func (p *parser) fold(b []byte, first, lines, rest, end int) []byte {
	if p.s[first] == 0xe2 {
		b = p.appendBreak(b, first)
	} else if lines == 1 {
		return append(b, ' ')
	}
	if lines == 1 {
		return b
	}
	return p.appendBreaks(b, rest, end)
}

// quotedScalar scans a scalar in single or double quotes.
func (p *parser) quotedScalar() scalar {
	s, start := p.s, p.pos
	quote := s[start]
	p.simple = false
	sc := scalar{start: start, style: single}
	if quote == '"' {
		sc.style = double
	}
	i := start + 1
	for i < len(s) && s[i] != quote && s[i] != '\\' && s[i] >= ' ' && s[i] != 0xc2 && s[i] != 0xe2 {
		i++
	}
	if i < len(s) && s[i] == quote && (quote == '"' || i+1 >= len(s) || s[i+1] != '\'') {
		p.pos = i + 1
		sc.value, sc.end = s[start+1:i], i+1
		return sc
	}
	// The slow way: escapes, or several lines. Blanks before a line break do not count.
	for i > start+1 && s[i-1] == ' ' {
		i--
	}
	b := append(p.room(2*(i-start)+32), s[start+1:i]...)
	for {
		if i == p.lineStart && p.anyMarker(i) {
			p.fail(start, start+1, "a quote is never closed: the document ends inside it")
		}
		if i >= len(s) {
			p.fail(start, start+1, "a quote is never closed")
		}
		escapedBreak := false
		for !p.blankz(i) {
			c := s[i]
			if c == quote {
				if quote == '"' || i+1 >= len(s) || s[i+1] != '\'' {
					p.pos = i + 1
					sc.value, sc.end = p.keepString(b), i+1
					return sc
				}
				b = append(b, '\'')
				i += 2
				continue
			}
			if c != '\\' || quote == '\'' {
				b = append(b, c)
				i++
				continue
			}
			if n := p.breakLen(i + 1); n > 0 {
				i += 1 + n
				p.lineStart = i
				escapedBreak = true
				break
			}
			b, i = p.escape(b, i)
		}
		// Blanks and breaks.
		first, lines, rest, from := -1, 0, -1, i
		for i < len(s) {
			if n := p.breakLen(i); n > 0 {
				if lines++; lines == 1 {
					first = i
				} else if lines == 2 {
					rest = i
				}
				i += n
				p.lineStart = i
			} else if s[i] == ' ' || s[i] == '\t' {
				i++
			} else {
				break
			}
		}
		switch {
		case escapedBreak && lines > 0:
			b = p.appendBreaks(b, first, i)
		case escapedBreak:
		case lines > 0:
			b = p.fold(b, first, lines, rest, i)
		default:
			b = append(b, s[from:i]...)
		}
	}
}

// escape appends what the escape at offset i of a double-quoted scalar means
// and returns the offset behind it.
func (p *parser) escape(b []byte, i int) ([]byte, int) {
	s := p.s
	if i+1 >= len(s) {
		p.fail(i, i+1, "a quote is never closed")
	}
	digits := 0
	switch s[i+1] {
	case '0':
		b = append(b, 0)
	case 'a':
		b = append(b, '\a')
	case 'b':
		b = append(b, '\b')
	case 't', '\t':
		b = append(b, '\t')
	case 'n':
		b = append(b, '\n')
	case 'v':
		b = append(b, '\v')
	case 'f':
		b = append(b, '\f')
	case 'r':
		b = append(b, '\r')
	case 'e':
		b = append(b, 0x1b)
	case ' ', '"', '\'', '\\':
		b = append(b, s[i+1])
	case 'N':
		b = append(b, "\u0085"...)
	case '_':
		b = append(b, "\u00a0"...)
	case 'L':
		b = append(b, "\u2028"...)
	case 'P':
		b = append(b, "\u2029"...)
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		_, size := utf8.DecodeRuneInString(s[i+1:])
		p.fail(i, i+1+size, `"\`+s[i+1:i+1+size]+`" is not an escape of YAML: write \\ for a backslash, or use single quotes`)
	}
	i += 2
	if digits == 0 {
		return b, i
	}
	v := -1
	if i+digits <= len(s) {
		v = hex(s[i : i+digits])
	}
	if v < 0 {
		p.fail(i-2, min(i+digits, len(s)), `expected `+string(rune('0'+digits))+` hexadecimal digits after \`+s[i-1:i])
	}
	if v >= 0xd800 && v <= 0xdfff || v > utf8.MaxRune {
		p.fail(i-2, i+digits, "this escape is not a Unicode character")
	}
	return utf8.AppendRune(b, rune(v)), i + digits
}

// blockScalar scans a literal or folded scalar.
func (p *parser) blockScalar() scalar {
	s, start := p.s, p.pos
	sc := scalar{start: start, style: literal}
	if s[start] == '>' {
		sc.style = folded
	}
	chomp, increment := byte(0), 0
	i := start + 1
	for n := 0; n < 2 && i < len(s); n++ {
		switch c := s[i]; {
		case chomp == 0 && (c == '+' || c == '-'):
			chomp = c
			i++
		case increment == 0 && '0' <= c && c <= '9':
			if c == '0' {
				p.fail(start, i+1, "the indentation of a block scalar must be 1 to 9")
			}
			increment = int(c - '0')
			i++
		}
	}
	p.pos = i
	p.blanks()
	if p.pos < len(s) && s[p.pos] == '#' {
		for p.pos < len(s) && p.breakLen(p.pos) == 0 {
			p.pos++
		}
	}
	if p.pos < len(s) && p.breakLen(p.pos) == 0 {
		p.failHere("expected the end of the line after " + s[start:i] + "; a value that begins with " + s[start:start+1] + " must be quoted")
	}
	i = p.pos + p.breakLen(p.pos)
	if i > p.pos {
		p.lineStart = i
	}
	indent := 0
	if increment > 0 {
		indent = max(p.indent, 0) + increment
	}
	sc.end = i
	// From here on, i is the offset of the next line and blank that of the
	// first line break that is not in b yet.
	blank := i
	i, indent = p.blockBreaks(start, i, indent)
	keep := i
	b := p.room(p.blockSize(i, indent))
	lead, leadLen := 0, 0
	leadingBlank := false
	for i < len(s) && i-p.lineStart == indent {
		c := s[i]
		trailingBlank := c == ' ' || c == '\t'
		if leadLen > 0 {
			if sc.style == folded && !leadingBlank && !trailingBlank && s[lead] != 0xe2 {
				if !p.hasBreak(blank, keep) {
					b = append(b, ' ')
				}
			} else {
				b = p.appendBreak(b, lead)
			}
		}
		b = p.appendBreaks(b, blank, keep)
		leadingBlank = trailingBlank
		from := i
		if p.plainBreaks {
			if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(s)
			}
		} else {
			for i < len(s) && p.breakLen(i) == 0 {
				i++
			}
		}
		b = append(b, s[from:i]...)
		lead, leadLen = i, p.breakLen(i)
		i += leadLen
		sc.end = i
		blank = i
		if leadLen > 0 {
			p.lineStart = i
		}
		i, indent = p.blockBreaks(start, i, indent)
		keep = i
	}
	if chomp != '-' && leadLen > 0 {
		b = p.appendBreak(b, lead)
	}
	if chomp == '+' {
		b = p.appendBreaks(b, blank, keep)
		sc.end = max(sc.end, min(p.lineStart, keep))
	}
	sc.value = p.keepString(b)
	p.pos = i
	p.simple = true
	return sc
}

// blockSize returns how many bytes the value of a block scalar takes whose
// first line has its text at offset i. Where not all line breaks are \n it is
// only a first guess.
func (p *parser) blockSize(i, indent int) int {
	const guess = 64
	if !p.plainBreaks {
		return guess
	}
	size, rest := 0, p.s[i:]
	for {
		n := strings.IndexByte(rest, '\n') + 1
		if n == 0 {
			return size + len(rest)
		}
		size += n
		rest = rest[n:]
		blank := 0
		for blank < indent && blank < len(rest) && rest[blank] == ' ' {
			blank++
		}
		if blank < indent && (blank == len(rest) || rest[blank] != '\n') {
			return size
		}
		rest = rest[blank:]
	}
}

// blockBreaks skips the indentation and the empty lines at offset i and
// returns the offset behind them. An indentation of 0 is to be found out.
func (p *parser) blockBreaks(start, i, indent int) (int, int) {
	s, deepest := p.s, 0
	for {
		for i < len(s) && s[i] == ' ' && (indent == 0 || i-p.lineStart < indent) {
			i++
		}
		col := i - p.lineStart
		deepest = max(deepest, col)
		if i < len(s) && s[i] == '\t' && (indent == 0 || col < indent) {
			p.pos = i
			p.tab()
		}
		n := p.breakLen(i)
		if n == 0 {
			break
		}
		i += n
		p.lineStart = i
	}
	if indent == 0 {
		indent = max(deepest, p.indent+1, 1)
	}
	return i, indent
}

func (p *parser) hasBreak(from, to int) bool {
	for i := from; i < to; i++ {
		if p.breakLen(i) > 0 {
			return true
		}
	}
	return false
}

func (p *parser) appendBreaks(b []byte, from, to int) []byte {
	for i := from; i < to; {
		if n := p.breakLen(i); n > 0 {
			b = p.appendBreak(b, i)
			i += n
		} else {
			i++
		}
	}
	return b
}
