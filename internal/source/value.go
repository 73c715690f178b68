package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Any returns the value as plain data: nil, bool, float64, string, []any,
// map[string]any, as encoding/json decodes it.
func (n *Node) Any() any {
	if n == nil {
		return nil
	}
	switch n.kind {
	case Bool:
		return n.str == "true"
	case Number:
		f, _ := strconv.ParseFloat(n.str, 64)
		return f
	case String:
		return n.str
	case List:
		items := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			items[i] = item.Any()
		}
		return items
	case Map:
		fields := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			fields[f.Key] = f.Value.Any()
		}
		return fields
	}
	return nil
}

// Value makes a node of plain data, as encoding/json decodes it: nil, bool,
// float64, json.Number, int, int64, string, []any, map[string]any (its keys
// sorted), a *Node, or anything that encoding/json can encode.
func Value(v any) (*Node, error) {
	switch v := v.(type) {
	case nil:
		return NewNull(), nil
	case *Node:
		return v, nil
	case bool:
		return NewBool(v), nil
	case string:
		return NewString(v), nil
	case int:
		return NewInt(int64(v)), nil
	case int64:
		return NewInt(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("encoding %v: not a number of JSON", v)
		}
		return NewNumber(string(appendFloat(nil, v))), nil
	case []any:
		items := make([]*Node, len(v))
		for i := range v {
			var err error
			if items[i], err = Value(v[i]); err != nil {
				return nil, err
			}
		}
		return NewList(items...), nil
	case map[string]any:
		fields := make([]Field, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := Value(v[key])
			if err != nil {
				return nil, err
			}
			fields = append(fields, F(key, value))
		}
		return NewMap(fields...), nil
	}
	js, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// In brackets it is JSON to Parse, whatever the value.
	doc, err := Parse(NewText("", append(append([]byte{'['}, js...), ']')))
	if err != nil {
		return nil, err
	}
	return doc.Root.Items()[0].unplaced(), nil
}

// unplaced returns a copy of the node, and of all below it, without place.
func (n *Node) unplaced() *Node {
	if n == nil {
		return NewNull()
	}
	c := &Node{kind: n.kind, str: n.str}
	fields, items := slices.Clone(n.Fields()), slices.Clone(n.Items())
	for i := range fields {
		fields[i] = F(fields[i].Key, fields[i].Value.unplaced())
	}
	for i := range items {
		items[i] = items[i].unplaced()
	}
	if n.kind == Map {
		c.setFields(fields)
	} else {
		c.setItems(items)
	}
	return c
}
