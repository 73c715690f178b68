package undo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Part is a part of a document, and the record of an edit of it.
type Part struct {
	// Node is the part: a node of the document.
	Node *source.Node
	// Mark is the scalar that holds the record. It is the edit's own, so that
	// it goes, and its text does not matter.
	Mark   *source.Node
	Record *Record
	// Handles are those of the edit, in the same order.
	Handles []Handle
}

// Change is a node that an edit has changed, and somebody else after it.
type Change struct {
	// Path leads to the node, within its part: spec.containers[app].image.
	Path string
	// Node is the node of the document.
	Node *source.Node
	// Was is the text that was there before the first edit.
	Was string
}

// Restored is a document with edits taken back.
type Restored struct {
	Document *source.Document
	// Changed lists nodes that have their first text again although they were
	// changed since the edit: that change is lost.
	Changed []Change
	// Missing counts nodes that are gone, so that nothing could be put back.
	Missing int
}

// Restore takes the edits of parts of a document back. An error means that the
// records do not fit the document at all.
func Restore(doc *source.Document, parts []Part) (*Restored, error) {
	r := &restorer{parts: map[*source.Node]*Part{}, isMark: map[*source.Node]bool{}}
	parts = slices.Clone(parts)
	for i := range parts {
		p := &parts[i]
		var missing int
		p.Record, missing = p.Record.expanded(p.Node, p.Handles)
		r.missing += missing
		texts := make([]string, len(p.Handles))
		for i, h := range p.Handles {
			texts[i] = h.Text
		}
		r.loose = r.loose || p.Record.loose
		r.parts[p.Node] = p
		r.marks = append(r.marks, p.Mark)
		r.isMark[p.Mark] = true
		for j := range p.Record.units {
			t := &target{unit: &p.Record.units[j], part: p, version: p.Record.version}
			if t.inFamily {
				t.handles = texts
			}
			if t.absolute {
				t.part = nil
			}
			r.targets = append(r.targets, t)
		}
	}
	r.indexTargets(parts)
	root := r.prune(doc.Root, atDocument)
	if r.ambiguous {
		return nil, errAmbiguous
	}
	pruned, err := source.Edit(doc, root)
	if err != nil {
		return nil, err
	}
	return r.respell(pruned, doc, parts)
}

var errAmbiguous = errors.New("two places have one hash")

// target is a unit that is looked for.
type target struct {
	*unit
	part    *Part // nil for an absolute one
	version byte
	handles []string
	value   *source.Node // what its text spells, see meant
	was     *source.Node // the node of the document that is restored
	// In the document that the first step makes:
	node   *source.Node
	keyEnd int
	path   string
}

type restorer struct {
	parts   map[*source.Node]*Part
	marks   []*source.Node
	isMark  map[*source.Node]bool
	targets []*target
	// The part that is walked through, nil outside of all, what is wanted in
	// it, and how many letters of places count.
	part      *Part
	here      map[place]*target
	width     int
	index     map[*Part]map[place]*target
	ambiguous bool
	missing   int  // handles
	loose     bool // see Record
}

// indexTargets sorts the targets by their parts, nil standing for those outside
// of all.
func (r *restorer) indexTargets(parts []Part) {
	r.index = make(map[*Part]map[place]*target, len(parts)+1)
	r.index[nil] = map[place]*target{}
	for i := range parts {
		r.index[&parts[i]] = map[place]*target{}
	}
	for _, t := range r.targets {
		width := minWidth
		if t.part != nil {
			width = t.part.Record.width
		}
		here, at := r.index[t.part], t.at&mask(width)
		if here[at] != nil {
			r.ambiguous = true
		}
		here[at] = t
	}
}

// enter notes that a part begins; leave ends it.
func (r *restorer) enter(part *Part) (leave func()) {
	outer, here, width := r.part, r.here, r.width
	r.part, r.here, r.width = part, r.index[part], minWidth
	if part != nil {
		r.width = part.Record.width
	}
	return func() { r.part, r.here, r.width = outer, here, width }
}

func (r *restorer) target(at place) *target {
	if len(r.here) == 0 {
		return nil
	}
	return r.here[at.short(r.width)]
}

// prune returns a node without what was added below it, and with the items of
// its lists in their first order.
func (r *restorer) prune(n *source.Node, at place) *source.Node {
	if r.here == nil {
		r.enter(nil)
	}
	if p := r.parts[n]; p != nil && r.part == nil {
		defer r.enter(p)()
		at = atPart
	}
	t := r.target(at)
	if t != nil {
		t.was = n
	}
	if t != nil && t.op != opAfter && t.op != opOrder {
		return n // its text is put back as a whole
	}
	switch {
	case n.Kind() == source.Map:
		return r.pruneMap(n, at)
	case n.Kind() == source.List && owns(n):
		if t != nil && t.op == opOrder {
			return r.pruneList(n, at, r.part.Record.order(t.text))
		}
		return r.pruneList(n, at, nil)
	}
	return n
}

func (r *restorer) isAdded(at place) bool {
	return r.part != nil && slices.Contains(r.part.Record.added, at.short(r.width))
}

func (r *restorer) pruneMap(n *source.Node, at place) *source.Node {
	var kept []source.Field
	changed := false
	span := n.Span()
	for i, f := range n.Fields() {
		value := f.Value
		gone := false
		if within(span, f.KeySpan) {
			here := at.key(f.Key)
			if gone = r.isAdded(here) || r.isMark[f.Value] && r.target(here) == nil; !gone {
				value = r.prune(f.Value, here)
			}
		}
		if (gone || value != f.Value) && !changed {
			changed = true
			kept = append(make([]source.Field, 0, n.Len()), n.Fields()[:i]...)
		}
		if changed && !gone {
			f.Value = value
			kept = append(kept, f)
		}
	}
	if !changed {
		return n
	}
	return n.WithFields(kept...)
}

func (r *restorer) pruneList(n *source.Node, at place, order []place) *source.Node {
	places := at.items(n, r.part != nil)
	kept := make([]*source.Node, 0, n.Len())
	keptAt := make([]place, 0, n.Len())
	changed := false
	for i, item := range n.Items() {
		if r.isAdded(places[i]) {
			changed = true
			continue
		}
		value := r.prune(item, places[i])
		changed = changed || value != item
		kept, keptAt = append(kept, value), append(keptAt, places[i])
	}
	if order != nil {
		changed = true
		kept = ordered(kept, keptAt, order, r.width)
	}
	if !changed {
		return n
	}
	return n.WithItems(kept...)
}

// ordered puts items into an order. Those that it does not list stay behind
// the item that they follow.
func ordered(items []*source.Node, places, order []place, width int) []*source.Node {
	rank := make([]int, len(items))
	index := make(map[place]int, len(order))
	for i := len(order) - 1; i >= 0; i-- {
		index[order[i]] = i
	}
	last := -1
	for i := range items {
		if j, ok := index[places[i].short(width)]; ok {
			last = j
		}
		rank[i] = last
	}
	to := make([]int, len(items))
	for i := range to {
		to[i] = i
	}
	slices.SortStableFunc(to, func(a, b int) int { return rank[a] - rank[b] })
	out := make([]*source.Node, len(items))
	for i, j := range to {
		out[i] = items[j]
	}
	return out
}

// respell puts the first texts of nodes back.
func (r *restorer) respell(doc, was *source.Document, parts []Part) (*Restored, error) {
	out := &Restored{Document: doc, Missing: r.missing}
	// The parts and marks are at the same places of the new document, but for
	// marks that are gone.
	nodes := map[*source.Node]*Part{}
	if err := r.find(was.Root, doc.Root, nodes); err != nil {
		return nil, err
	}
	r.parts = nodes
	r.part, r.here = nil, nil
	r.locate(doc.Root, atDocument, -1, nil)
	if r.ambiguous {
		return nil, errAmbiguous
	}
	src := doc.Text.Data
	r.marks = inOrder(r.marks)
	type splice struct {
		start, end int
		text       string
	}
	var splices []splice
	for _, t := range r.targets {
		if t.op == opOrder {
			continue
		}
		if t.node == nil {
			out.Missing++
			continue
		}
		if t.op == opAfter {
			at := linesBehind(src, t.node.Span().End, int(t.text[0]-'0'))
			splices = append(splices, splice{at, at, asLines(src, at, t.text[1:])})
			continue
		}
		start, end := t.op.region(src, t.node, t.keyEnd)
		w := wording{src: src, marks: r.marks, handles: t.handles}
		text := t.text
		if w.isStale(t.unit, t.version, t.node, start, end) {
			kept, ok := w.withComments(t, start, end)
			if text = kept; !ok {
				out.Changed = append(out.Changed, Change{Path: t.path, Node: t.was, Was: t.valueText()})
			}
		}
		splices = append(splices, splice{start, end, text})
	}
	if len(splices) == 0 {
		return out, nil
	}
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	b := make([]byte, 0, len(src)+256)
	at := 0
	for _, s := range splices {
		if s.start < at {
			return nil, fmt.Errorf("taking an edit back: two texts for the bytes %d:%d", s.start, s.end)
		}
		b = append(append(b, src[at:s.start]...), s.text...)
		at = s.end
	}
	b = append(b, src[at:]...)
	restored, err := source.Parse(doc.Text.Replaced(b))
	want, known := r.meant(doc)
	switch {
	case known && (err != nil || !want.Equal(restored.Root) || doc.Format == source.JSON && restored.Format != source.JSON && !r.loose):
		// The file was written anew since, in another style or as JSON.
		if restored, err = source.Edit(doc, want); err != nil {
			return nil, fmt.Errorf("taking an edit back: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("taking an edit back: %w", err)
	}
	restored.Index = doc.Index
	out.Document = restored
	return out, nil
}

// find walks through a document and what the first step made of it, and notes
// where the parts and marks are now.
func (r *restorer) find(was, now *source.Node, nodes map[*source.Node]*Part) error {
	left := len(r.parts)
	r.marks = nil
	var walk func(was, now *source.Node, inPart bool)
	walk = func(was, now *source.Node, inPart bool) {
		if p := r.parts[was]; p != nil && !inPart {
			nodes[now] = p
			left--
			inPart = true
		}
		if r.isMark[was] {
			r.marks = append(r.marks, now)
		}
		switch was.Kind() {
		case source.Map:
			span := was.Span()
			find := now.Finder()
			for _, f := range was.Fields() {
				if g, ok := find.Field(f.Key); ok && within(span, f.KeySpan) {
					walk(f.Value, g.Value, inPart)
				}
			}
		case source.List: // a mark stands in no list of its part
			if inPart || !owns(was) || was.Len() != now.Len() {
				return
			}
			for i, item := range was.Items() {
				walk(item, now.Items()[i], false)
			}
		}
	}
	walk(was, now, false)
	if left > 0 {
		return errors.New("taking an edit back: a part of the document was lost")
	}
	return nil
}

// locate looks for the targets below a node whose key, if it has one, ends at
// an offset.
func (r *restorer) locate(n *source.Node, at place, keyEnd int, path []string) {
	if r.here == nil {
		r.enter(nil)
	}
	if p := r.parts[n]; p != nil && r.part == nil {
		defer r.enter(p)()
		at, path = atPart, nil
	}
	if t := r.target(at); t != nil && t.op != opOrder {
		if t.node != nil {
			r.ambiguous = true
		}
		t.node, t.keyEnd, t.path = n, keyEnd, pathString(path)
		if t.op != opAfter {
			return
		}
	}
	switch {
	case n.Kind() == source.Map:
		for _, f := range at.fields(n) {
			r.locate(f.Value, f.at, f.KeySpan.End, append(path, f.Key))
		}
	case n.Kind() == source.List && owns(n):
		for i, p := range at.items(n, r.part != nil) {
			name := n.Items()[i].Get("name").Scalar()
			if name == "" {
				name = strconv.Itoa(i)
			}
			r.locate(n.Items()[i], p, -1, append(path, "["+name+"]"))
		}
	}
}

func pathString(path []string) string {
	var b []byte
	for _, step := range path {
		if len(b) > 0 && step[:min(1, len(step))] != "[" {
			b = append(b, '.')
		}
		b = append(b, step...)
	}
	return string(b)
}

// region returns the bytes that a unit replaces.
func (o op) region(src []byte, n *source.Node, keyEnd int) (start, end int) {
	span := n.Span()
	start, end = span.Start, span.End
	if o != opValue && keyEnd >= 0 {
		start = keyEnd
	}
	if o == opLine {
		end = lineEnd(src, end)
	}
	return start, end
}

// lineEnd returns the end of the line, without its break, that a value ends on.
func lineEnd(src []byte, end int) int {
	if end > 0 && src[end-1] == '\n' {
		end-- // a block scalar ends with its line
	} else if i := bytes.IndexByte(src[end:], '\n'); i >= 0 {
		end += i
	} else {
		return len(src)
	}
	if end > 0 && src[end-1] == '\r' {
		end--
	}
	return end
}

// nextLine returns the offset behind the line that a value ends on.
func nextLine(src []byte, end int) int {
	if end > 0 && src[end-1] == '\n' {
		return end
	}
	if i := bytes.IndexByte(src[end:], '\n'); i >= 0 {
		return end + i + 1
	}
	return len(src)
}

// linesBehind returns the offset some lines behind a value. Only comments and
// blank lines are passed.
func linesBehind(src []byte, end, lines int) int {
	at := nextLine(src, end)
	for ; lines > 0 && at < len(src); lines-- {
		next := nextLine(src, at+1)
		if line := bytes.TrimSpace(src[at:next]); len(line) > 0 && line[0] != '#' {
			break
		}
		at = next
	}
	return at
}

// asLines returns text as it has to be written at the beginning of a line, or
// at the end of a file: either may lack its last line break.
func asLines(src []byte, at int, text string) string {
	lineBreak := "\n"
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		lineBreak = "\r\n"
	}
	if at == len(src) && at > 0 && src[at-1] != '\n' {
		return lineBreak + strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	if at < len(src) && !strings.HasSuffix(text, "\n") {
		return text + lineBreak
	}
	return text
}

// inOrder returns marks in the order of the text, without those that are gone.
func inOrder(marks []*source.Node) []*source.Node {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m *source.Node) bool { return m == nil })
	slices.SortStableFunc(marks, func(a, b *source.Node) int { return a.Span().Start - b.Span().Start })
	return marks
}

// staleHash returns the hash of a text: of its words, since editors change the
// blanks between them, and without the marks in it, which must be in order.
func staleHash(src []byte, start, end int, marks []*source.Node) uint16 {
	h := atPart
	first, _ := slices.BinarySearchFunc(marks, start, func(m *source.Node, at int) int { return m.Span().Start - at })
	for _, m := range marks[first:] {
		s := m.Span()
		if s.End > end {
			break
		}
		h = hashWords(h, src[start:s.Start])
		start = s.End
	}
	return uint16(hashWords(h, src[start:end]).mixed()>>48) &^ 15
}

func hashWords(h place, text []byte) place {
	for _, c := range text {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			h = h.with(c, "")
		}
	}
	return h
}
