package undo

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/source"
)

// place is the hash of a path: of keys, and of what tells the items of lists
// apart. It is that of a part of the document (a pod template), or, absolute,
// that of the document.
type place uint64

const (
	atPart     place = 0xcbf29ce484222325
	atDocument place = 0x9ae16a3b2f90404f
)

func (p place) with(mark byte, s string) place {
	p = p.step(mark)
	for i := 0; i < len(s); i++ {
		p = p.step(s[i])
	}
	return p
}

// step adds a byte to the hash, by FNV-1a.
func (p place) step(b byte) place { return (p ^ place(b)) * 0x100000001b3 }

func (p place) key(key string) place { return p.with('.', key) }

// items returns the places of the items of a list. Outside of parts, where no
// edit adds items, their order tells apart those that have no names.
func (p place) items(list *source.Node, inPart bool) []place {
	items := list.Items()
	places := make([]place, len(items))
	for i, item := range items {
		switch name, ok := identity(item); {
		case ok:
			places[i] = name.hash(p.with('[', ""))
		case inPart:
			places[i] = p.with('[', string(source.AppendJSON(nil, item)))
		default:
			places[i] = p.with('[', "")
		}
	}
	// Of items that nothing tells apart, the second is another place.
	if len(places) > 24 {
		seen := make(map[place]int, len(places))
		for i, at := range places {
			if n := seen[at]; n > 0 {
				places[i] = at.with('#', strconv.Itoa(n))
			}
			seen[at]++
		}
		return places
	}
	for i := len(places) - 1; i > 0; i-- {
		n := 0
		for j := range i {
			if places[j] == places[i] {
				n++
			}
		}
		if n > 0 {
			places[i] = places[i].with('#', strconv.Itoa(n))
		}
	}
	return places
}

// itemName is what tells an item of a list from the others.
type itemName [5]string

// hash continues the hash of a place with a name.
func (n itemName) hash(p place) place {
	for _, part := range n {
		for i := 0; i < len(part); i++ {
			p = p.step(part[i])
		}
	}
	return p
}

// identity returns what tells an item of a list from the others: the key that
// Kubernetes merges such items by, or the name of an object, or a scalar; ok is
// false for other items.
func identity(item *source.Node) (name itemName, ok bool) {
	if item.Kind() == source.Map {
		for _, key := range [...]string{"mountPath", "devicePath", "containerPort", "name", "topologyKey", "ip", "key"} {
			if v := item.Get(key); v.Scalar() != "" {
				return itemName{key, "=", v.Scalar()}, true
			}
		}
		if name := item.Get("metadata", "name").Scalar(); name != "" {
			return itemName{item.Get("kind").Scalar(), "/", item.Get("metadata", "namespace").Scalar(), "/", name}, true
		}
	}
	if item.Len() == 0 {
		return itemName{"=", item.Scalar()}, true
	}
	return itemName{}, false
}

// field is an entry that a mapping spells itself, rather than by a merge key.
type field struct {
	source.Field
	at place
}

// fields returns the entries that a mapping of a document spells itself; none
// for an alias.
func (p place) fields(m *source.Node) []field {
	span := m.Span()
	list := make([]field, 0, m.Len())
	for _, f := range m.Fields() {
		if within(span, f.KeySpan) {
			list = append(list, field{f, p.key(f.Key)})
		}
	}
	return list
}

// owns reports whether the items of a list are spelled in it; those of an
// alias are not.
func owns(list *source.Node) bool {
	for _, item := range list.Items() {
		if !within(list.Span(), item.Span()) {
			return false
		}
	}
	return true
}

func within(outer, inner source.Span) bool {
	return inner.Text == outer.Text && inner.Start >= outer.Start && inner.End <= outer.End
}

// eachPlace calls f for the places of all that stands below a node, and its own.
func eachPlace(n *source.Node, at place, f func(place)) {
	f(at)
	switch {
	case n.Kind() == source.Map:
		span := n.Span()
		for _, field := range n.Fields() {
			if within(span, field.KeySpan) {
				eachPlace(field.Value, at.key(field.Key), f)
			}
		}
	case n.Kind() == source.List && owns(n):
		for i, p := range at.items(n, true) {
			eachPlace(n.Items()[i], p, f)
		}
	}
}
