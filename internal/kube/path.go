package kube

import (
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Path leads from a node to one below it: the keys of Maps, and the indexes of
// Lists in decimal.
type Path []string

// String writes the path as field paths are written in Kubernetes' messages:
// spec.containers[0].name. Keys that hold more than letters, digits, - and _
// are put in brackets: metadata.annotations[example.com/a].
func (p Path) String() string {
	var b strings.Builder
	for _, key := range p {
		_, err := strconv.ParseUint(key, 10, 31)
		switch {
		case err == nil || !plainKey(key):
			b.WriteString("[" + key + "]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func plainKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return key != ""
}

// At returns the node at path below n, or nil where there is none. Unlike
// Node.Get it steps into Lists too.
func At(n *source.Node, path Path) *source.Node {
	for _, key := range path {
		if n.Kind() == source.List {
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= n.Len() {
				return nil
			}
			n = n.Items()[i]
			continue
		}
		n = n.Get(key)
	}
	return n
}

// Put returns n with the node at path replaced by value; what lies beside the
// path is shared with n. Maps that are missing on the way are made; an index
// that a List does not have leaves n as it is.
func Put(n *source.Node, path Path, value *source.Node) *source.Node {
	if len(path) == 0 {
		return value
	}
	if n.Kind() != source.List {
		return n.With(path[0], Put(n.Get(path[0]), path[1:], value))
	}
	i, err := strconv.Atoi(path[0])
	if err != nil || i < 0 || i >= n.Len() {
		return n
	}
	items := append([]*source.Node(nil), n.Items()...)
	items[i] = Put(items[i], path[1:], value)
	return n.WithItems(items...)
}
