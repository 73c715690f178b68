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
		restoring[i] = Part{Node: p.After, Mark: p.Mark}
	}
	c.marks = inOrder(c.marks)
	width := minWidth
	for range maxAttempts {
		c.part, c.entries = outside, nil
		if !c.value(before.Root, after.Root, atDocument, root) {
			return nil, ErrNotExact
		}
		records := c.records(len(parts), width)
		if tooLong := c.tooLong(records); tooLong >= 0 {
			if !c.coarsen(tooLong) {
				return nil, ErrNotExact
			}
			continue
		}
		told := true
		for i := range restoring {
			restoring[i].Record = records[i]
			told = told && records[i].tells(parts[i].Before)
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
		records[i] = &Record{width: width}
	}
	for _, e := range c.entries {
		r := records[max(e.part, 0)]
		if e.added {
			r.added = append(r.added, e.at.short(width))
			continue
		}
		u := e.unit
		u.at = u.at.short(width)
		if u.op == opOrder {
			var b []byte
			for _, p := range e.order {
				b = appendBits(b, uint64(p.short(width)), width)
			}
			u.text = string(b)
		}
		r.units = append(r.units, u)
	}
	for _, r := range records {
		slices.Sort(r.added) // found in no order that matters
	}
	return records
}

func (c *comparer) tooLong(records []*Record) int {
	for i, r := range records {
		if r.Overhead() > MaxOverhead {
			return i
		}
	}
	return -1
}

// coarsen makes the record of a part shorter: where several things were done
// below one node, the text of that node is put back instead. It takes the
// nodes with the least text for what they save.
func (c *comparer) coarsen(part int) bool {
	type saving struct{ units, text int }
	savings := map[place]saving{}
	for _, e := range c.entries {
		if e.part != part || e.holder == atPart {
			continue
		}
		s := savings[e.holder]
		s.units++
		s.text = e.holderText
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
