package undo

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// meant returns the value of the document that the first texts of nodes make;
// known is false where they do not tell, since there are anchors.
func (r *restorer) meant(doc *source.Document) (root *source.Node, known bool) {
	if doc.Format != source.JSON && bytes.ContainsAny(doc.Text.Data, "&*") {
		return nil, false
	}
	m := meaner{at: make(map[*source.Node]*target, len(r.targets))}
	for _, t := range r.targets {
		if t.node == nil || t.op == opOrder {
			continue
		}
		if t.value, known = t.meaning(); !known {
			return nil, false
		}
		m.at[t.node] = t
	}
	return m.node(doc.Root), true
}

type meaner struct{ at map[*source.Node]*target }

// node returns a node with the values that are put back below it.
func (m *meaner) node(n *source.Node) *source.Node {
	if t := m.at[n]; t != nil && t.op != opAfter {
		return t.value
	}
	switch n.Kind() {
	case source.Map:
		fields := make([]source.Field, 0, n.Len()+1)
		changed := false
		for _, f := range n.Fields() {
			was := f.Value
			f.Value = m.node(was)
			changed = changed || f.Value != was
			fields = append(fields, f)
			if t := m.at[was]; t != nil && t.op == opAfter {
				changed = true
				fields = append(fields, t.value.Fields()...)
			}
		}
		if changed {
			return n.WithFields(fields...)
		}
	case source.List:
		items := make([]*source.Node, 0, n.Len()+1)
		changed := false
		for _, item := range n.Items() {
			value := m.node(item)
			changed = changed || value != item
			items = append(items, value)
			if t := m.at[item]; t != nil && t.op == opAfter {
				changed = true
				items = append(items, t.value.Items()...)
			}
		}
		if changed {
			return n.WithItems(items...)
		}
	}
	return n
}

// meaning returns the value that the text of a unit spells.
func (t *target) meaning() (*source.Node, bool) {
	text := t.text
	switch t.op {
	case opEntry, opLine:
		text = "k" + strings.TrimLeft(text, " \t") // a key
	case opAfter:
		text = text[1:]
	}
	doc, err := source.Parse(source.NewText("", []byte(text)))
	if err != nil {
		return nil, false
	}
	value := doc.Root
	if t.op == opEntry || t.op == opLine {
		if value.Kind() != source.Map || value.Len() != 1 {
			return nil, false
		}
		value = value.Fields()[0].Value
	}
	return made(value), true
}

// valueText returns the text of a unit as far as it spells a value.
func (t *target) valueText() string {
	switch t.op {
	case opEntry, opLine:
		return strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(t.text, " \t"), ":"))
	}
	return t.text
}

// made returns a value without the text that spells it.
func made(n *source.Node) *source.Node {
	switch n.Kind() {
	case source.Map:
		fields := make([]source.Field, 0, n.Len())
		for _, f := range n.Fields() {
			fields = append(fields, source.F(f.Key, made(f.Value)))
		}
		return source.NewMap(fields...)
	case source.List:
		items := make([]*source.Node, 0, n.Len())
		for _, item := range n.Items() {
			items = append(items, made(item))
		}
		return source.NewList(items...)
	case source.String:
		return source.NewString(n.Str())
	case source.Number:
		return source.NewNumber(n.Scalar())
	case source.Bool:
		return source.NewBool(n.IsTrue())
	}
	return source.NewNull()
}
