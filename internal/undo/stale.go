package undo

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// wording tells whether a text is still what an edit left there. It goes by
// what the text means: tools that write a file anew change quotes and the order
// of keys. Comments count by their words, since one that somebody added would be
// lost with the text.
type wording struct {
	src []byte
	// marks do not count, whatever they hold.
	marks []*source.Node
	// handles are texts that count as one: see Handle.
	handles []string
}

// stale returns the hash of a value and the comments in the bytes start:end
// around it.
func (w *wording) stale(n *source.Node, start, end int) uint16 {
	h := w.meaning(n)
	if words := w.comments(n, start, end); words != noComments {
		h = h.with('#', "") ^ words
	}
	return uint16(h.mixed()>>48) &^ 15
}

// staleValue is stale for a scalar without comments.
func staleValue(n *source.Node) uint16 {
	w := wording{}
	return uint16(w.meaning(n).mixed()>>48) &^ 15
}

// meaning returns the hash of a value, in which the order of keys is nothing.
func (w *wording) meaning(n *source.Node) place {
	h := atPart.step(byte(n.Kind()))
	switch n.Kind() {
	case source.Map:
		var sum place
		for _, f := range n.Fields() {
			if !slices.Contains(w.marks, f.Value) {
				sum += w.meaning(f.Value).key(f.Key).mixed()
			}
		}
		return (h ^ sum).step('}')
	case source.List:
		for _, item := range n.Items() {
			h = (h ^ w.meaning(item).mixed()).step(',')
		}
		return h.step(']')
	case source.String:
		if slices.Contains(w.handles, n.Str()) {
			return h
		}
	}
	return h.with('=', n.Scalar())
}

const noComments = atPart

// comments returns the hash of the comments in a part of the text around a
// value, without blanks; noComments where there are none.
func (w *wording) comments(n *source.Node, start, end int) place {
	h := noComments
	for _, c := range w.eachComment(n, start, end) {
		h = hashWords(h, w.src[c[0]:c[1]])
	}
	return h
}

// eachComment returns where comments begin and end in a part of the text around
// a value.
func (w *wording) eachComment(n *source.Node, start, end int) [][2]int {
	if bytes.IndexByte(w.src[start:end], '#') < 0 {
		return nil
	}
	var list [][2]int
	at := start
	gap := func(to int) {
		for at < to {
			i := bytes.IndexByte(w.src[at:to], '#')
			if i < 0 {
				break
			}
			at += i
			if at > 0 && strings.IndexByte(" \t\n\r", w.src[at-1]) < 0 {
				at++ // within an anchor or a tag
				continue
			}
			stop := min(lineEnd(w.src, at+1), to)
			list = append(list, [2]int{at, stop})
			at = stop
		}
		at = to
	}
	var walk func(n *source.Node)
	leaf := func(s source.Span) {
		if s.Start >= at && s.End <= end {
			gap(s.Start)
			at = s.End
		}
	}
	walk = func(n *source.Node) {
		switch {
		case n.Kind() == source.Map && n.Len() > 0:
			span := n.Span()
			for _, f := range n.Fields() {
				if within(span, f.KeySpan) {
					leaf(f.KeySpan)
					walk(f.Value)
				}
			}
		case n.Kind() == source.List && n.Len() > 0 && owns(n):
			for _, item := range n.Items() {
				walk(item)
			}
		default:
			leaf(n.Span())
		}
	}
	walk(n)
	gap(end)
	return list
}

// isStale reports whether a text is another than the one that an edit left.
func (w *wording) isStale(u *unit, version byte, n *source.Node, start, end int) bool {
	if version == firstVersion {
		return staleHash(w.src, start, end, w.marks) != u.stale
	}
	h := w.stale(n, start, end) ^ u.stale
	if u.coarse {
		h &= 63 << 10
	}
	return h != 0
}

// withComments returns the text to put back, with the comments that somebody
// added to the one that an edit left; ok is false where that is more than
// comments, or where they have no place in the text.
func (w *wording) withComments(t *target, start, end int) (text string, ok bool) {
	if t.version == firstVersion || t.op != opEntry && t.op != opLine || t.stale != w.valueOnly(t.node) ||
		strings.ContainsAny(t.text, "\n#") {
		return t.text, false
	}
	b := []byte(t.text)
	for i, c := range w.eachComment(t.node, start, end) {
		at := c[0]
		blank := at
		for blank > start && (w.src[blank-1] == ' ' || w.src[blank-1] == '\t') {
			blank--
		}
		own := blank > 0 && w.src[blank-1] == '\n'
		if !own && (i > 0 || bytes.IndexByte(w.src[start:at], '\n') >= 0) {
			return t.text, false // behind something that goes
		}
		if own {
			if blank > 1 && w.src[blank-2] == '\r' {
				b = append(b, '\r')
			}
			b = append(b, '\n')
		}
		b = append(b, w.src[blank:c[1]]...)
	}
	return string(b), true
}

// valueOnly is stale without the comments.
func (w *wording) valueOnly(n *source.Node) uint16 { return uint16(w.meaning(n).mixed()>>48) &^ 15 }
