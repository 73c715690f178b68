package tmpl

// grower makes longer slices of slices, as templates do in loops: each is a
// value of its own, so that Sprig copies all items every time, which takes a
// pod of thousands of containers minutes. A grower copies only where a slice is
// not the last one that it made: nothing can have seen what is behind that one.
type grower[T any] struct {
	first *T // of the last slice made
	n     int
}

// grow returns items and one more. items stays as it is.
func (g *grower[T]) grow(items []T, item T) []T {
	if len(items) == 0 || &items[0] != g.first || len(items) != g.n {
		items = append(make([]T, 0, 2*len(items)+4), items...)
	}
	items = append(items, item)
	g.first, g.n = &items[0], len(items)
	return items
}

// push is Sprig's function append, which it calls push too.
func (r *run) push(list, item any) []any {
	if items, ok := list.([]any); ok {
		return r.pushed.grow(items, item)
	}
	return sprigFunctions()["append"].(func(any, any) []any)(list, item)
}
