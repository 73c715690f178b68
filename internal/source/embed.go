package source

import (
	"bytes"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

// Embed returns the value of a String node as a text of its own, named name,
// whose places are those of the file that the node stands in: the template in
// a ConfigMap, the JSON in an annotation. Places are exact to the character,
// save in folded scalars, where text that was re-flowed may be off inside its
// line. Embedded texts may be embedded again.
//
// For a node that has no place, the text is one by itself.
func (n *Node) Embed(name string) *Text {
	t := &Text{Name: name, Data: bytesOf(n.Str())}
	if n == nil || n.text == nil {
		return t
	}
	origin := sync.OnceValue(func() []origin { return n.origins() })
	t.outer = func(off int) (*Text, int) {
		table := origin()
		i := sort.Search(len(table), func(i int) bool { return table[i].value > off }) - 1
		if i < 0 {
			return n.text, int(n.body)
		}
		return n.text, min(table[i].source+off-table[i].value, max(int(n.end), int(n.body)))
	}
	return t
}

// bytesOf returns the bytes of a string without copying them, as the bytes of
// a text are never changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Outermost returns the text of the file itself in which an offset of an
// embedded text lies, and the offset there: for a text that is not embedded,
// itself.
func (t *Text) Outermost(off int) (*Text, int) {
	for t != nil && t.outer != nil {
		t, off = t.outer(off)
	}
	return t, off
}

// origin tells where the bytes of a value come from, from one offset of the
// value up to that of the next origin.
type origin struct{ value, source int }

func (n *Node) origins() []origin {
	if n.flags&aliased != 0 {
		return nil // all of it stands for the alias
	}
	switch n.style {
	case literal, folded:
		return n.blockOrigins()
	case single, double, plain:
		return n.flowOrigins()
	}
	return nil
}

// blockOrigins finds, for each line of the source, its text in the value.
func (n *Node) blockOrigins() (table []origin) {
	value, at := n.str, 0
	raw := n.text.Data[:n.end]
	pos := int(n.body) + lineLen(raw[n.body:])
	for pos < len(raw) {
		size := lineLen(raw[pos:])
		line := strings.TrimRight(string(raw[pos:pos+size]), "\r\n")
		text := strings.TrimLeft(line, " ")
		if n.style == literal {
			// A line of the source is a line of the value, less the indentation.
			rest := value[at:]
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				rest = rest[:i]
			}
			table = append(table, origin{at, pos + max(len(line)-len(rest), 0)})
			at = min(at+len(rest)+1, len(value))
		} else if text != "" {
			if i := strings.Index(value[at:], text); i >= 0 {
				table = append(table, origin{at + i, pos + len(line) - len(text)})
				at += i + len(text)
			}
		}
		pos += size
	}
	return table
}

// lineLen returns the length of the first line with its break.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

// flowOrigins walks through source and value side by side.
func (n *Node) flowOrigins() []origin {
	p := parser{text: n.text, s: string(n.text.Data)}
	pos, end, at := int(n.body), int(n.end), 0
	if n.style != plain {
		pos, end = pos+1, end-1
	}
	table := []origin{{0, pos}}
	skip := func(to, size int) {
		pos = to
		at += size
		table = append(table, origin{at, pos})
	}
	for pos < end {
		c := p.s[pos]
		switch {
		case c == '\\' && n.style == double && p.breakLen(pos+1) > 0:
			to := pos + 1
			first := true
			lines := 0
			for to < end && (first || p.breakLen(to) > 0 || p.s[to] == ' ' || p.s[to] == '\t') {
				k := p.breakLen(to)
				if k > 0 && !first {
					lines++
				}
				first = false
				to += max(k, 1)
			}
			skip(to, lines)
		case c == '\\' && n.style == double:
			size, to := n.escapeSize(pos)
			skip(to, size)
		case c == '\'' && n.style == single:
			skip(pos+2, 1)
		case c == ' ' || c == '\t' || p.breakLen(pos) > 0:
			to, lines := pos, 0
			for to < end && (p.s[to] == ' ' || p.s[to] == '\t' || p.breakLen(to) > 0) {
				k := p.breakLen(to)
				if k > 0 {
					lines++
				}
				to += max(k, 1)
			}
			switch {
			case lines == 0:
				at += to - pos
				pos = to
			case lines == 1:
				skip(to, 1)
			default:
				skip(to, lines-1)
			}
		default:
			pos++
			at++
		}
	}
	return table
}

// escapeSize returns how many bytes of value the escape at an offset stands
// for, and the offset behind it.
func (n *Node) escapeSize(pos int) (size, end int) {
	raw := n.text.Data
	if raw[pos+1] == '/' || raw[pos+1] == 'u' {
		// JSON knows an escape more, and pairs of them.
		if r, size := jsonEscape(string(raw[pos:min(pos+12, len(raw))])); size > 0 {
			return len(string(r)), pos + size
		}
	}
	p := parser{text: n.text, s: string(raw[pos:min(pos+10, len(raw))])}
	b, end := p.escape(nil, 0)
	return len(b), pos + end
}
