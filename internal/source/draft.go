package source

import (
	"bytes"
	"strings"
)

// Draft is a document edited in the simplest ways only: with entries and items
// added on lines of their own or at the end of brackets on one line, and with
// scalars replaced on their line. Such an edit need not be read again to know
// that it means what it should, and taking away what it added gives back the
// bytes that were there.
type Draft struct {
	Data []byte
	// Respelled lists the scalars that were replaced.
	Respelled []Respelling
}

// Respelling is a scalar of a document, and the text that is in its place.
type Respelling struct {
	Old  *Node
	Text []byte
}

// NewDraft makes the edits that Edit makes, without its checks; nil where they
// are not of the simplest kind, and Edit has to look closer.
func NewDraft(doc *Document, root *Node) *Draft {
	if doc.Format == JSON && bytes.IndexByte(doc.Text.Data, '\n') >= 0 && !singleLine(doc.Root) ||
		len(doc.aliases) > 0 || len(doc.entries) > 0 || hasOddBreaks(doc.Text.Data) || doc.Root.Kind() != Map || root.Kind() != Map || hasProperties(doc) {
		return nil
	}
	r := &rewriter{doc: doc, text: doc.Text, src: doc.Text.Data, layout: layoutOf(doc), parents: map[*Node]*Node{}}
	r.value(slot{node: doc.Root, lead: -1, col: -1, inFlow: doc.Format == JSON}, root)
	if r.odd {
		return nil
	}
	out, err := r.apply(r.edits, 0, len(r.src))
	if err != nil {
		return nil
	}
	return &Draft{Data: out, Respelled: r.respelled}
}

// hasOddBreaks reports whether a text has line breaks of YAML that do not end
// lines for editors: what lies on two lines for the one does on a single line
// for the other.
func hasOddBreaks(src []byte) bool {
	for rest := src; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			break
		}
		if rest = rest[i+1:]; len(rest) == 0 || rest[0] != '\n' {
			return true
		}
	}
	return bytes.Contains(src, []byte("\u0085")) || bytes.Contains(src, []byte("\u2028")) || bytes.Contains(src, []byte("\u2029"))
}

// hasProperties reports whether a node of a document has an anchor or a tag:
// what is written beside these may join them.
func hasProperties(doc *Document) bool {
	if bytes.IndexByte(doc.Text.Data, '!') < 0 && bytes.IndexByte(doc.Text.Data, '&') < 0 {
		return false
	}
	var within func(n *Node) bool
	within = func(n *Node) bool {
		if n.flags&(anchored|tagged) != 0 {
			return true
		}
		for _, f := range n.Fields() {
			if within(f.Value) {
				return true
			}
		}
		for _, item := range n.Items() {
			if within(item) {
				return true
			}
		}
		return false
	}
	return within(doc.Root)
}

// singleLine reports whether a node stands on one line.
func singleLine(n *Node) bool { return bytes.IndexByte(n.Raw(), '\n') < 0 }

// isSimple reports whether the text in the place of a scalar is all that
// replacing it changes.
func (r *rewriter) isSimple(s slot, n *Node) bool {
	o := s.node
	return o.Len() == 0 && n.Len() == 0 && o.kind != Map && o.kind != List && n.kind != Map && n.kind != List &&
		o.flags&^float == 0 && (o.style == plain || o.style == single || o.style == double) && singleLine(o) &&
		!(n.kind == String && isLiteral(n.str, o.style)) && !tabsBehind(r.src, int(o.end)) &&
		(s.inFlow || s.lead >= 0 && int(o.start) == s.lead+1 && r.src[s.lead] == ' ')
}

// endsOpen reports whether a value may end in a block scalar, which may take the
// blank lines and comments behind it for its own.
func endsOpen(n *Node) bool {
	for n.Len() > 0 {
		if n.kind == Map {
			n = n.Fields()[n.Len()-1].Value
		} else {
			n = n.Items()[n.Len()-1]
		}
	}
	return n.Kind() == String && (n.style == literal || n.style == folded || strings.IndexByte(n.str, '\n') >= 0)
}

// tabsBehind reports whether there is a tab in the blanks and blank lines behind
// an offset: a plain scalar takes it for its own, unless it is indented more,
// and nothing else does.
func tabsBehind(src []byte, at int) bool {
	for ; at < len(src); at++ {
		switch src[at] {
		case '\t':
			return true
		case ' ', '\r', '\n':
		default:
			return false
		}
	}
	return false
}

// simpleLines reports whether a value on lines of its own at an offset ends
// where its lines do, and the part before it too.
func (r *rewriter) simpleLines(at int, value *Node, before int) bool {
	if at == 0 || r.src[at-1] != '\n' || before > 0 && r.src[before-1] == '\n' {
		return false
	}
	if tabsBehind(r.src, at) {
		return false
	}
	if !endsOpen(value) {
		return true
	}
	if at >= len(r.src) {
		return false
	}
	switch r.src[at] {
	case '\n', '\r', '#':
		return false
	}
	line := bytes.TrimLeft(r.src[at:at+lineLen(r.src[at:])], " \t\r\n")
	return len(line) > 0 && line[0] != '#'
}
