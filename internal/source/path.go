package source

import "fmt"

// Paths lead from a node to one below it: a string is a key, an int the index
// of a list item.

// At returns the node at a path, or nil where there is none.
func (n *Node) At(path ...any) *Node {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			n = n.Get(step)
		case int:
			items := n.Items()
			if step < 0 || step >= len(items) {
				return nil
			}
			n = items[step]
		default:
			return nil
		}
	}
	return n
}

// Put returns a copy of the node in which the value at a path is the given
// one. The last step may be a key that is not there yet, or the length of a
// list; Maps on the way that are missing or null are made.
func (n *Node) Put(value *Node, path ...any) (*Node, error) {
	return n.change(path, 0, func(*Node) (*Node, error) { return value, nil })
}

// Insert returns a copy of the node in which a list has one item more: the
// path ends with the index that it gets, the length of the list at most.
func (n *Node) Insert(value *Node, path ...any) (*Node, error) {
	return n.changeLast(path, func(list *Node, i int) (*Node, error) {
		items := list.Items()
		if i < 0 || i > len(items) {
			return nil, fmt.Errorf("inserting at %v: the list has %d items", path, len(items))
		}
		with := append(append(make([]*Node, 0, len(items)+1), items[:i]...), value)
		return list.WithItems(append(with, items[i:]...)...), nil
	}, nil)
}

// Remove returns a copy of the node without what is at a path.
func (n *Node) Remove(path ...any) (*Node, error) {
	return n.changeLast(path, func(list *Node, i int) (*Node, error) {
		items := list.Items()
		if i < 0 || i >= len(items) {
			return nil, fmt.Errorf("removing %v: the list has %d items", path, len(items))
		}
		return list.WithItems(append(append(make([]*Node, 0, len(items)-1), items[:i]...), items[i+1:]...)...), nil
	}, func(m *Node, key string) (*Node, error) {
		if _, ok := m.Field(key); !ok {
			return nil, fmt.Errorf("removing %v: there is no such key", path)
		}
		return m.Without(key), nil
	})
}

// changeLast changes the collection that the last step of a path is a step in.
func (n *Node) changeLast(path []any, list func(*Node, int) (*Node, error), mapping func(*Node, string) (*Node, error)) (*Node, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("changing a list: the path is empty")
	}
	last := path[len(path)-1]
	return n.change(path[:len(path)-1], 0, func(holder *Node) (*Node, error) {
		switch step := last.(type) {
		case int:
			if holder.Kind() == List || holder.IsNull() {
				return list(holder, step)
			}
		case string:
			if mapping != nil && holder.Kind() == Map {
				return mapping(holder, step)
			}
		}
		return nil, fmt.Errorf("following %v: there is an %v at %v", path, holder.Kind(), path[:len(path)-1])
	})
}

// change replaces the node at path[i:] by what f makes of it.
func (n *Node) change(path []any, i int, f func(*Node) (*Node, error)) (*Node, error) {
	if i == len(path) {
		return f(n)
	}
	switch step := path[i].(type) {
	case string:
		if n.Kind() != Map && !n.IsNull() {
			break
		}
		value, err := n.Get(step).change(path, i+1, f)
		if err != nil {
			return nil, err
		}
		return n.With(step, value), nil
	case int:
		items := n.Items()
		if n.Kind() != List && !n.IsNull() || step < 0 || step > len(items) {
			break
		}
		var item *Node
		if step < len(items) {
			item = items[step]
		}
		value, err := item.change(path, i+1, f)
		if err != nil {
			return nil, err
		}
		with := append(make([]*Node, 0, len(items)+1), items...)
		if step == len(items) {
			with = append(with, value)
		} else {
			with[step] = value
		}
		return n.WithItems(with...), nil
	}
	return nil, fmt.Errorf("following %v: there is an %v with %d entries at %v", path, n.Kind(), n.Len(), path[:i])
}
