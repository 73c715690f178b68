package undo

import (
	"bytes"
	"slices"

	"github.com/ingraft/ingraft/internal/source"
)

// SealDraft is Seal for a draft: that of a document whose parts become other
// values. In each of these, a scalar stands for the record, of the text mark.
// Since a draft is made of the simplest edits only, nothing has to be read or
// tried. It returns nil where that is not certain.
func SealDraft(before *source.Document, draft *source.Draft, parts []Edited, mark string) []byte {
	if before.Format != source.JSON && bytes.HasPrefix(before.Root.Raw(), []byte{'{'}) {
		return nil // the edit may make it JSON
	}
	records := make([]*Record, len(parts))
	respelled := make(map[*source.Node]bool, len(draft.Respelled))
	for _, r := range draft.Respelled {
		respelled[r.Old] = true
	}
	for i, p := range parts {
		c := draftComparer{record: &Record{width: minWidth, version: version}, respelled: respelled, mark: p.Mark}
		if !c.value(p.Before, p.After, atPart) || c.record.Overhead() > MaxOverhead || !c.record.tells(p.Before) {
			return nil
		}
		slices.Sort(c.record.added)
		records[i] = c.record
	}
	if bytes.Count(draft.Data, []byte(mark)) != len(parts) {
		return nil // the text stands elsewhere too
	}
	if before.Format == source.JSON {
		mark = `"` + mark + `"`
	}
	if len(records) == 1 {
		i := bytes.Index(draft.Data, []byte(mark))
		if i < 0 {
			return nil
		}
		return slices.Replace(draft.Data, i, i+len(mark), source.Respelled(before, nil, records[0].String())...)
	}
	rest := draft.Data
	out := make([]byte, 0, len(rest)+160*len(parts))
	for _, r := range records {
		i := bytes.Index(rest, []byte(mark))
		if i < 0 {
			return nil
		}
		out = append(append(out, rest[:i]...), source.Respelled(before, nil, r.String())...)
		rest = rest[i+len(mark):]
	}
	return append(out, rest...)
}

// draftComparer finds out what an edit did from the values before and after.
type draftComparer struct {
	record    *Record
	respelled map[*source.Node]bool // scalars that are replaced
	mark      *source.Node
}

// value notes what turns the new value into the old one; it reports false
// where that is not certain.
func (c *draftComparer) value(o, n *source.Node, at place) bool {
	switch {
	case o == n:
		return true
	case o.Kind() == source.Map && n.Kind() == source.Map && o.Len() > 0:
		return c.mapping(o, n, at)
	case o.Kind() == source.List && n.Kind() == source.List && o.Len() > 0:
		return c.list(o, n, at)
	}
	if c.respelled[o] {
		c.record.units = append(c.record.units, unit{
			op: opValue, at: at.short(minWidth), text: string(o.Raw()), stale: staleValue(n),
		})
		return true
	}
	// What is spelled as before means the same.
	return o.Len() == 0 && n.Len() == 0 && o.Kind() == n.Kind()
}

func (c *draftComparer) add(at place) { c.record.added = append(c.record.added, at.short(minWidth)) }

func (c *draftComparer) mapping(o, n *source.Node, at place) bool {
	before, after := o.Fields(), n.Fields()
	common := 0
	find := o.Finder()
	for _, f := range after {
		was := find.Get(f.Key)
		switch {
		case was != nil:
			common++
			if !c.value(was, f.Value, at.key(f.Key)) {
				return false
			}
		case f.Value != c.mark:
			c.add(at.key(f.Key))
		}
	}
	return common == len(before) // nothing is gone
}

func (c *draftComparer) list(o, n *source.Node, at place) bool {
	before, after := at.items(o, true), at.items(n, true)
	if len(before) > 64 {
		return false // long lists are compared elsewhere, by more than trying
	}
	i := 0
	for j, item := range n.Items() {
		if i < len(before) && before[i] == after[j] {
			if !c.value(o.Items()[i], item, after[j]) {
				return false
			}
			i++
			continue
		}
		if _, named := identity(item); !named || item.Len() == 0 && item.Kind() != source.String {
			return false // told apart by how it is spelled
		}
		c.add(after[j])
	}
	return i == len(before)
}
