package undo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/ingraft/ingraft/internal/source"
)

// MaxOverhead is the length of a record at most, the text aside that it
// restores.
const MaxOverhead = 256

// ErrNotExact tells that no record of an edit can be made that restores every
// byte: that would take the text of the document itself.
var ErrNotExact = errors.New("the edit cannot be taken back exactly")

// Edited is a part of a document before and after an edit.
type Edited struct {
	Before, After *source.Node
	// Mark is a scalar within After, at a path of keys, to be replaced by the
	// record.
	Mark *source.Node
	// Handles are mappings within After, in an order that later edits do not
	// change. They may be needed for a record to be short.
	Handles []Handle
}

// Seal returns the bytes of an edited document with the records of its parts in
// the place of their marks. The records are tried: with them, Restore makes
// the bytes of before of what Seal returns.
func Seal(before, after *source.Document, parts []Edited) ([]byte, error) {
	records, err := recordsOf(before, after, parts)
	if err != nil {
		return nil, err
	}
	src := after.Text.Data
	size := len(src)
	for _, r := range records {
		size += len(r.String()) + 64
	}
	out := make([]byte, 0, size)
	at := 0
	for i, p := range parts {
		span := p.Mark.Span()
		if span.Start < at {
			return nil, fmt.Errorf("writing records: the parts are not in order")
		}
		out = append(out, src[at:span.Start]...)
		out = append(out, source.Respelled(after, p.Mark, records[i].String())...)
		at = span.End
	}
	return append(out, src[at:]...), nil
}

// maxAttempts bounds how often more is put into records, until they do.
const maxAttempts = 24

func recordsOf(before, after *source.Document, parts []Edited) ([]*Record, error) {
	c := &comparer{before: before.Text.Data, after: after.Text.Data, parts: map[*source.Node]int{}, isMark: map[*source.Node]bool{}, forced: map[forcedPlace]bool{}}
	restoring := make([]Part, len(parts))
	for i, p := range parts {
		c.parts[p.After] = i
		c.isMark[p.Mark] = true
		c.marks = append(c.marks, p.Mark)
		restoring[i] = Part{Node: p.After, Mark: p.Mark, Handles: p.Handles}
		var texts []string
		for _, h := range p.Handles {
			texts = append(texts, h.Text)
		}
		c.handles = append(c.handles, texts)
		c.spots = append(c.spots, nil)
	}
	c.marks = inOrder(c.marks)
	width, asTheyAre := minWidth, false
	for range maxAttempts {
		c.part, c.entries = outside, nil
		if !c.value(before.Root, after.Root, atDocument, root) {
			return nil, ErrNotExact
		}
		records := c.records(len(parts), width)
		coarser, told := false, true
		for i := range restoring {
			records[i].loose = before.Format != source.JSON && after.Format == source.JSON
			told = told && records[i].tells(parts[i].Before)
			if records[i].Overhead() > MaxOverhead {
				c.shorten(i, records[i], parts[i])
			}
			if !asTheyAre && records[i].Overhead() > MaxOverhead {
				coarser = true
				if !c.coarsen(i) {
					// It would not do: then rather a long record than one that
					// takes other edits with it.
					asTheyAre = true
					clear(c.forced)
				}
			}
			restoring[i].Record = records[i]
		}
		if coarser {
			continue
		}
		if !told && width < maxWidth {
			width++
			continue
		}
		restored, err := Restore(after, restoring)
		switch {
		case errors.Is(err, errAmbiguous) && width < 8:
			width++
			continue
		case err == nil && bytes.Equal(restored.Document.Text.Data, before.Text.Data):
			return records, nil
		case err != nil || !c.force(before, restored.Document, parts):
			return nil, ErrNotExact
		}
	}
	return nil, ErrNotExact
}

// records sorts what the edit did by the parts.
func (c *comparer) records(n, width int) []*Record {
	records := make([]*Record, n)
	for i := range records {
		records[i] = &Record{width: width, version: version}
	}
	for _, e := range c.entries {
		records[max(e.part, 0)].add(e)
	}
	for _, r := range records {
		slices.Sort(r.added) // found in no order that matters
	}
	return records
}

func (r *Record) add(e entry) {
	if e.added {
		r.added = append(r.added, e.at.short(r.width))
		return
	}
	u := e.unit
	u.at = u.at.short(r.width)
	if u.op == opOrder {
		var b []byte
		for _, p := range e.order {
			b = appendBits(b, uint64(p.short(r.width)), r.width)
		}
		u.text = string(b)
	}
	r.units = append(r.units, u)
}

// shorten writes what was done at handles of a part as families.
func (c *comparer) shorten(part int, r *Record, p Edited) {
	if len(p.Handles) == 0 {
		return
	}
	if c.spots[part] == nil {
		c.spots[part] = spots(p.After, p.Handles)
	}
	var own []entry
	for _, e := range c.entries {
		if max(e.part, 0) == part {
			own = append(own, e)
		}
	}
	list, rest := families(own, c.spots[part])
	*r = Record{width: r.width, version: r.version, loose: r.loose, families: list}
	for _, e := range rest {
		r.add(e)
	}
	slices.Sort(r.added)
}

// coarsen makes the record of a part shorter: where several things were done
// below one node, the text of that node is put back instead. It takes the
// nodes with the least text for what they save, but none that is, or holds, an
// item with a name (a container, say): that is where other edits are made.
func (c *comparer) coarsen(part int) bool {
	type saving struct{ units, text int }
	savings := map[place]saving{}
	for _, e := range c.entries {
		if e.part != part || e.holder == atPart {
			continue
		}
		s, ok := savings[e.holder]
		if !ok && holdsNamed(e.holderNode) {
			continue
		}
		s.units++
		s.text = len(e.holderNode.Raw())
		savings[e.holder] = s
	}
	price := func(s saving) int {
		if s.units < 2 {
			return 1<<20 + s.text // saves nothing yet, but the next step up may
		}
		return s.text / (s.units - 1)
	}
	best := -1
	for _, s := range savings {
		if p := price(s); best < 0 || p < best {
			best = p
		}
	}
	more := false
	for at, s := range savings {
		if price(s) <= best+best/2 && !c.forced[forcedPlace{part, at}] {
			c.forced[forcedPlace{part, at}] = true
			more = true
		}
	}
	return more
}

// holdsNamed reports whether a node is, or holds, an item of a list that has a
// name.
func holdsNamed(n *source.Node) bool {
	if n.Kind() == source.Map && n.Get("name").Scalar() != "" {
		return true
	}
	for _, f := range n.Fields() {
		if holdsNamed(f.Value) {
			return true
		}
	}
	for _, item := range n.Items() {
		if item.Kind() == source.Map && holdsNamed(item) {
			return true
		}
	}
	return false
}

// force looks for where a restored document differs from what it should be,
// and has the text there put back as a whole.
func (c *comparer) force(want, got *source.Document, parts []Edited) bool {
	index := map[*source.Node]int{}
	for i, p := range parts {
		index[p.Before] = i
	}
	more := false
	var walk func(o, n *source.Node, at place, part int) (differs, settled bool)
	// walk reports whether two nodes differ in their text, and whether a place
	// at or below them has been forced for that.
	walk = func(o, n *source.Node, at place, part int) (differs, settled bool) {
		if i, ok := index[o]; ok && part == outside {
			part, at = i, atPart
		}
		if bytes.Equal(o.Raw(), n.Raw()) {
			return false, false
		}
		below := false
		descend := func(o, n *source.Node, at place) {
			d, s := walk(o, n, at, part)
			below = below || d && s
		}
		switch {
		case o.Kind() != n.Kind():
		case o.Kind() == source.Map:
			find := n.Finder()
			for _, f := range at.fields(o) {
				if g, ok := find.Field(f.Key); ok && within(n.Span(), g.KeySpan) {
					descend(f.Value, g.Value, f.at)
				}
			}
		case o.Kind() == source.List && owns(o) && owns(n) && o.Len() == n.Len():
			for i, p := range at.items(o, part != outside) {
				descend(o.Items()[i], n.Items()[i], p)
			}
		}
		if below {
			return true, true
		}
		key := forcedPlace{part, at}
		if c.forced[key] {
			return true, false // it did not help: try what holds it
		}
		c.forced[key] = true
		more = true
		return true, true
	}
	walk(want.Root, got.Root, atDocument, outside)
	return more
}
