package source

import (
	"sort"

	"sigs.k8s.io/yaml"
)

// AppendYAML appends the value as block YAML with sorted keys, as
// sigs.k8s.io/yaml writes it.
func AppendYAML(dst []byte, n *Node) []byte {
	y, err := yaml.JSONToYAML(AppendJSON(nil, n.sorted()))
	if err != nil {
		return dst
	}
	return append(dst, y...)
}

func (n *Node) sorted() *Node {
	if n.Kind() != Map {
		return n
	}
	c := &Node{kind: Map, fields: append([]Field(nil), n.fields...)}
	sort.Slice(c.fields, func(i, j int) bool { return c.fields[i].Key < c.fields[j].Key })
	return c
}
