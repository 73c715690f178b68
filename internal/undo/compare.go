package undo

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// comparer finds out what an edit did.
type comparer struct {
	before, after []byte
	// parts numbers the parts by their nodes in both documents.
	parts map[*source.Node]int
	// marks are those of all parts, in the order of the text.
	marks  []*source.Node
	isMark map[*source.Node]bool
	// handles are those of the parts, and spots what is around them.
	handles [][]string
	spots   []map[place]spot
	// forced holds places whose text is to be put back as a whole.
	forced map[forcedPlace]bool

	part    int // the part that is walked through, outside for none
	entries []entry
	// holder is the collection that is walked through, and holderNode what it
	// was before.
	holder     place
	holderNode *source.Node
}

const outside = -1

type forcedPlace struct {
	part int
	at   place
}

// entry is one thing that the edit did, in a part or outside of all.
type entry struct {
	part  int
	added bool
	unit
	order []place // of opOrder
	// loose is the stale hash in which the texts of handles count as one.
	loose uint16
	// The collection that holds it.
	holder     place
	holderNode *source.Node
}

// slot is where a value stands in the two documents.
type slot struct {
	// The keys in front of it end at these offsets; -1 for none.
	oldKey, newKey int
	inFlow         bool
}

var root = slot{oldKey: -1, newKey: -1}

// value notes what turns the new value into the old one; it reports false
// where that must be done to what holds them.
func (c *comparer) value(o, n *source.Node, at place, s slot) bool {
	if part, ok := c.parts[n]; ok && c.part == outside {
		c.part, at = part, atPart
		defer func() { c.part = outside }()
	}
	if !c.forced[forcedPlace{c.part, at}] {
		if bytes.Equal(o.Raw(), n.Raw()) && bytes.Equal(c.before[lead(s.oldKey, o):o.Span().Start], c.after[lead(s.newKey, n):n.Span().Start]) {
			return true
		}
		mark := len(c.entries)
		if c.collection(o, n, at, s) {
			return true
		}
		c.entries = c.entries[:mark]
	}
	return c.replace(o, n, at, s)
}

// lead returns the end of the key in front of a value.
func lead(key int, n *source.Node) int {
	if key < 0 {
		return n.Span().Start
	}
	return key
}

// replace notes the old text of a value.
func (c *comparer) replace(o, n *source.Node, at place, s slot) bool {
	if c.part == outside && c.holdsPart(n) || c.part != outside && at == atPart && s.newKey < 0 {
		return false // a record never holds the document
	}
	for _, op := range [...]op{opValue, opEntry, opLine} {
		if s.newKey < 0 && op != opValue || s.inFlow && op == opLine {
			return false
		}
		oldStart, oldEnd := op.region(c.before, o, s.oldKey)
		newStart, newEnd := op.region(c.after, n, s.newKey)
		if op == opValue && (oldStart == oldEnd || newStart == newEnd || s.oldKey >= 0 && !bytes.Equal(c.before[s.oldKey:oldStart], c.after[s.newKey:newStart])) {
			continue
		}
		if op != opLine && !s.inFlow && !bytes.Equal(restOfLine(c.before, oldEnd), restOfLine(c.after, newEnd)) {
			continue
		}
		w := wording{src: c.after, marks: c.marks}
		e := entry{unit: unit{op: op, at: at, text: string(c.before[oldStart:oldEnd]), stale: w.stale(n, newStart, newEnd)}}
		if c.part != outside && len(c.handles[c.part]) > 0 {
			w.handles = c.handles[c.part]
			e.loose = w.stale(n, newStart, newEnd)
		}
		c.add(e)
		return true
	}
	return false
}

func (c *comparer) add(e entry) {
	e.part, e.holder, e.holderNode = c.part, c.holder, c.holderNode
	if e.part == outside {
		e.absolute = true
	}
	c.entries = append(c.entries, e)
}

// restOfLine returns what follows on the line that a value ends on, with a
// line break in front where the value ends in one.
func restOfLine(src []byte, end int) []byte {
	if end > 0 && src[end-1] == '\n' {
		return []byte{'\n'}
	}
	return src[end:lineEnd(src, end)]
}

func (c *comparer) holdsPart(n *source.Node) bool {
	for part := range c.parts {
		if within(n.Span(), part.Span()) {
			return true
		}
	}
	return false
}

func (c *comparer) collection(o, n *source.Node, at place, s slot) bool {
	if o.Kind() != n.Kind() || o.Len() == 0 || n.Len() == 0 {
		return false
	}
	holder, node := c.holder, c.holderNode
	c.holder, c.holderNode = at, o
	defer func() { c.holder, c.holderNode = holder, node }()
	switch o.Kind() {
	case source.Map:
		return c.mapping(o, n, at, s)
	case source.List:
		return owns(o) && owns(n) && c.list(o, n, at, s)
	}
	return false
}

// properties returns anchor, tag and bracket of a collection, and whether
// there is a bracket.
func properties(src []byte, n *source.Node, first int) (string, bool) {
	text := strings.TrimRight(string(src[n.Span().Start:max(first, n.Span().Start)]), " \t\r\n-?")
	return text, strings.ContainsAny(text, "[{")
}

func (c *comparer) mapping(o, n *source.Node, at place, s slot) bool {
	before, after := at.fields(o), at.fields(n)
	if len(before) == 0 || len(after) == 0 {
		return false
	}
	old, flow := properties(c.before, o, before[0].KeySpan.Start)
	if now, _ := properties(c.after, n, after[0].KeySpan.Start); now != old {
		return false
	}
	index := make(map[place]int, len(after))
	for i, f := range after {
		index[f.at] = i
	}
	common := make([]bool, len(after))
	last := -1
	for i, f := range before {
		j, ok := index[f.at]
		if !ok {
			if c.part == outside || flow || s.inFlow || i == 0 || !c.removed(f.KeySpan.Start, f.Value, before[i-1].Value, before[i-1].at, index) {
				return false
			}
			continue
		}
		if j < last {
			return false
		}
		common[j], last = true, j
		if !c.value(f.Value, after[j].Value, f.at, slot{f.KeySpan.End, after[j].KeySpan.End, flow || s.inFlow}) {
			return false
		}
	}
	return c.additions(common, func(i int) place { return after[i].at }, func(i int) bool { return c.isMark[after[i].Value] })
}

// additions notes what is new; there must be something that is not.
func (c *comparer) additions(common []bool, at func(int) place, own func(int) bool) bool {
	any := false
	for i, both := range common {
		any = any || both
		if both || own(i) {
			continue
		}
		if c.part == outside {
			return false
		}
		c.add(entry{added: true, unit: unit{at: at(i)}})
	}
	return any
}

// removed notes the lines of an entry or item that the edit took away; prev is
// the one before it.
func (c *comparer) removed(start int, o, prev *source.Node, prevAt place, index map[place]int) bool {
	if _, ok := index[prevAt]; !ok {
		return false // two in a row
	}
	from := bytes.LastIndexByte(c.before[:start], '\n') + 1
	to := nextLine(c.before, o.Span().End)
	behind := nextLine(c.before, prev.Span().End)
	if len(bytes.Trim(c.before[from:start], " -")) > 0 || behind > from || to == from {
		return false
	}
	lines := bytes.Count(c.before[behind:from], []byte{'\n'})
	if lines > 9 {
		return false
	}
	c.add(entry{unit: unit{op: opAfter, at: prevAt, text: string(rune('0'+lines)) + string(c.before[from:to])}})
	return true
}

func (c *comparer) list(o, n *source.Node, at place, s slot) bool {
	before, after := at.items(o, c.part != outside), at.items(n, c.part != outside)
	old, flow := properties(c.before, o, o.Items()[0].Span().Start)
	if now, _ := properties(c.after, n, n.Items()[0].Span().Start); now != old {
		return false
	}
	index := make(map[place]int, len(after))
	for i, p := range after {
		index[p] = i
	}
	common := make([]bool, len(after))
	last, moved, gone := -1, false, false
	for i, item := range o.Items() {
		j, ok := index[before[i]]
		if !ok {
			gone = true
			if c.part == outside || flow || s.inFlow || i == 0 || !c.removed(item.Span().Start, item, o.Items()[i-1], before[i-1], index) {
				return false
			}
			continue
		}
		moved = moved || j < last
		common[j], last = true, j
		if !c.value(item, n.Items()[j], before[i], slot{-1, -1, flow || s.inFlow}) {
			return false
		}
	}
	if moved {
		if gone || c.part == outside {
			return false
		}
		c.add(entry{unit: unit{op: opOrder, at: at}, order: before})
	}
	return c.additions(common, func(i int) place { return after[i] }, func(int) bool { return false })
}
