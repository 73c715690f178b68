package source

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// json reads the document as JSON where it is JSON throughout. Otherwise it
// reports false, and the document is to be read as YAML: what is wrong with it
// is said in the terms of YAML then, save where only JSON can be meant.
func (p *parser) json() (ok bool) {
	i, separated := p.jsonStart()
	if i >= len(p.s) || p.s[i] != '{' && p.s[i] != '[' {
		return false
	}
	j := jsonParser{parser: p, i: i, strict: separated}
	root, ok := j.value(0)
	if !ok || !j.tail() {
		// Leave no trace.
		*p.doc = Document{Text: p.text}
		p.fields, p.items = p.fields[:0], p.items[:0]
		return false
	}
	if j.strict || j.comment {
		// JSON knows no comments and markers: this is part of a YAML stream.
		p.checkCharacters()
	}
	p.doc.Format, p.doc.Root = JSON, root
	return true
}

// jsonStart returns where the value begins, behind a document marker and
// comments, and whether there was a marker.
func (p *parser) jsonStart() (i int, separated bool) {
	s := p.s
	if strings.HasPrefix(s, bom) {
		i = len(bom)
	}
	for i < len(s) {
		switch {
		case s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t':
			i++
		case s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\n'):
			i += commentLen(s[i:])
			separated = true
		case !separated && strings.HasPrefix(s[i:], "---") && (i == 0 || s[i-1] == '\n') &&
			i+3 < len(s) && (s[i+3] == ' ' || s[i+3] == '\n' || s[i+3] == '\r'):
			i += 3
			separated = true
		case s[i] == bom[0] && separated && i == p.laterBOM():
			i += len(bom)
		default:
			return i, separated
		}
	}
	return i, separated
}

// commentLen returns the length of the comment that s begins with: up to a line
// break of YAML, of which there are more than JSON has.
func commentLen(s string) int {
	if n := strings.IndexAny(s, "\n\r\u0085\u2028\u2029"); n >= 0 {
		return n
	}
	return len(s)
}

// jsonParser reads strict JSON.
type jsonParser struct {
	*parser
	i int
	// strict refuses the line breaks of YAML that are ordinary characters to
	// JSON, since the document is part of a YAML stream.
	strict bool
	// comment tells that a comment follows the value.
	comment bool
}

func (j *jsonParser) space() {
	for j.i < len(j.s) {
		switch j.s[j.i] {
		case ' ', '\n', '\r', '\t':
			j.i++
		default:
			return
		}
	}
}

// tail reports whether only blanks, comments and document markers follow.
func (j *jsonParser) tail() bool {
	for {
		j.space()
		s := j.s[j.i:]
		switch {
		case s == "":
			return true
		case s[0] == '#':
			j.comment = true
			j.i += commentLen(s)
		case strings.HasPrefix(s, "...") && j.s[j.i-1] == '\n' && (len(s) == 3 || s[3] == ' ' || s[3] == '\n' || s[3] == '\r'):
			j.i += 3
		default:
			return false
		}
	}
}

// value reads the value at the position; there must be no space before it.
func (j *jsonParser) value(depth int) (*Node, bool) {
	if j.i >= len(j.s) || depth > maxDepth {
		return nil, false
	}
	n := j.newNode()
	n.text, n.start, n.body = j.text, int32(j.i), int32(j.i)
	ok := false
	switch c := j.s[j.i]; c {
	case '{':
		n.kind, n.style = Map, flow
		ok = j.object(n, depth)
	case '[':
		n.kind, n.style = List, flow
		ok = j.array(n, depth)
	case '"':
		n.kind, n.style = String, double
		n.str, ok = j.str()
	case 't':
		n.kind, n.style, n.str = Bool, plain, "true"
		ok = j.word("true")
	case 'f':
		n.kind, n.style, n.str = Bool, plain, "false"
		ok = j.word("false")
	case 'n':
		n.kind, n.style = Null, plain
		ok = j.word("null")
	default:
		n.kind, n.style = Number, plain
		ok = j.number(n)
	}
	n.end = int32(j.i)
	return n, ok
}

func (j *jsonParser) word(w string) bool {
	if !strings.HasPrefix(j.s[j.i:], w) {
		return false
	}
	j.i += len(w)
	return true
}

func (j *jsonParser) object(n *Node, depth int) bool {
	m := j.beginMap(n)
	j.i++
	j.space()
	if j.i < len(j.s) && j.s[j.i] == '}' {
		j.i++
		return true
	}
	for {
		if j.i >= len(j.s) || j.s[j.i] != '"' {
			return false
		}
		start := j.i
		key, ok := j.str()
		if !ok {
			return false
		}
		span := Span{j.text, start, j.i}
		j.space()
		if !j.word(":") {
			return false
		}
		j.space()
		v, ok := j.value(depth + 1)
		if !ok {
			return false
		}
		j.fields = append(j.fields, Field{key, span, v})
		j.space()
		if !j.word(",") {
			break
		}
		j.space()
	}
	j.endMap(&m)
	return j.word("}")
}

func (j *jsonParser) array(n *Node, depth int) bool {
	base := len(j.items)
	j.i++
	j.space()
	if j.i < len(j.s) && j.s[j.i] == ']' {
		j.i++
		return true
	}
	for {
		v, ok := j.value(depth + 1)
		if !ok {
			return false
		}
		j.items = append(j.items, v)
		j.space()
		if !j.word(",") {
			break
		}
		j.space()
	}
	n.setItems(j.keepItems(j.items[base:]))
	j.items = j.items[:base]
	return j.word("]")
}

// number reads a number and spells it as Kubernetes' decoder would.
func (j *jsonParser) number(n *Node) bool {
	s, start := j.s, j.i
	i := start
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := leadingDigits(s[i:])
	if digits == 0 || digits > 1 && s[i] == '0' {
		return false
	}
	i += digits
	whole := true
	if i < len(s) && s[i] == '.' {
		part := leadingDigits(s[i+1:])
		if part == 0 {
			return false
		}
		i += 1 + part
		whole = false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		part := leadingDigits(s[i:])
		if part == 0 {
			return false
		}
		i += part
		whole = false
	}
	j.i = i
	if whole && i-start <= 18 && s[start] != '-' {
		n.str = s[start:i]
		return true
	}
	if whole {
		n.str = s[start:i]
		resolveNumber(n, n.str)
		return n.kind == Number
	}
	f, err := strconv.ParseFloat(s[start:i], 64)
	if err != nil {
		return false
	}
	setFloat(n, f)
	return true
}

// str reads a string.
func (j *jsonParser) str() (string, bool) {
	s, i := j.s, j.i+1
	start := i
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= ' ' && s[i] < 0x80 {
		i++
	}
	if i < len(s) && s[i] == '"' {
		j.i = i + 1
		return s[start:i], true
	}
	b := append(j.room(2*(i-start)+32), s[start:i]...)
	escaped := false
	for i < len(s) {
		c := s[i]
		switch {
		case c == '"':
			j.i = i + 1
			if !escaped {
				return s[start:i], true
			}
			return j.keepString(b), true
		case c < ' ':
			return "", false
		case c == '\\':
			escaped = true
			r, size := jsonEscape(s[i:])
			if size == 0 {
				return "", false
			}
			b = utf8.AppendRune(b, r)
			i += size
		case c < 0x80:
			b = append(b, c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 || j.strict && j.breakLen(i) > 0 {
				return "", false
			}
			b = append(b, s[i:i+size]...)
			i += size
		}
	}
	return "", false
}

// jsonEscape returns the character that the escape at the beginning of s means
// and the length of the escape, 0 where it is none. Half a surrogate pair is
// U+FFFD, as for encoding/json.
func jsonEscape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := jsonHex(s)
		if r < 0 {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if low := jsonHex(s[6:]); low >= 0 {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return 0, 0
}

// jsonHex returns the value of \uxxxx at the beginning of s, or -1.
func jsonHex(s string) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	return rune(hex(s[2:6]))
}
