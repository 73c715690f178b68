package source

import (
	"encoding/json"
	"sort"

	"sigs.k8s.io/yaml"
)

// Any returns the value as plain data: nil, bool, float64, string, []any,
// map[string]any, as encoding/json decodes it.
func (n *Node) Any() any {
	var v any
	if json.Unmarshal(AppendJSON(nil, n), &v) != nil {
		return nil
	}
	return v
}

// AppendJSON appends the value as compact JSON, the keys of each Map in the
// order of its fields.
func AppendJSON(dst []byte, n *Node) []byte {
	switch n.Kind() {
	case Null:
		return append(dst, "null"...)
	case Bool, Number:
		return append(dst, n.str...)
	case String:
		b, _ := json.Marshal(n.str)
		return append(dst, b...)
	case List:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, item)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, f := range n.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		k, _ := json.Marshal(f.Key)
		dst = append(append(dst, k...), ':')
		dst = AppendJSON(dst, f.Value)
	}
	return append(dst, '}')
}

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
