package chart

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/ingraft/ingraft/internal/source"
)

// Values is a tree of values; the type that templates meet as .Values.
type Values map[string]any

// globalKey is the key of the values that every subchart sees.
const globalKey = "global"

// plain turns a node into data of its own, as encoding/json decodes it.
func plain(n *source.Node) any {
	switch n.Kind() {
	case source.Bool:
		return n.IsTrue()
	case source.Number:
		f, _ := strconv.ParseFloat(n.Scalar(), 64)
		return f
	case source.String:
		return n.Str()
	case source.List:
		l := make([]any, n.Len())
		for i, item := range n.Items() {
			l[i] = plain(item)
		}
		return l
	case source.Map:
		return plainMap(n)
	}
	return nil
}

func plainMap(n *source.Node) map[string]any {
	m := make(map[string]any, n.Len())
	for _, f := range n.Fields() {
		m[f.Key] = plain(f.Value)
	}
	return m
}

// clone copies values as far down as a template could change them.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case Values:
		return Values(cloneMap(v))
	case []any:
		if v == nil {
			return v
		}
		l := make([]any, len(v))
		for i := range v {
			l[i] = clone(v[i])
		}
		return l
	case []map[string]any:
		if v == nil {
			return v
		}
		l := make([]map[string]any, len(v))
		for i := range v {
			l[i] = cloneMap(v[i])
		}
		return l
	}
	return v
}

func cloneMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = clone(v)
	}
	return c
}

// Coalesce returns the values that the chart's templates see, given those of
// the user: the user's go over the chart's defaults, those that a chart has
// under the name of a subchart over the defaults of that, and "global" reaches
// every subchart. Objects merge, all else replaces; the user's null takes the
// default away. The user's values are not changed.
//
// The rules, down to where a null stays and where it goes, are those of
// CoalesceValues of Helm v4.2.0.
func (c *Chart) Coalesce(user map[string]any) (Values, error) {
	values := cloneMap(user)
	if values == nil {
		values = map[string]any{}
	}
	if err := c.coalesce(values); err != nil {
		return nil, err
	}
	return values, nil
}

func (c *Chart) coalesce(values map[string]any) error {
	c.addDefaults(values)
	for _, sub := range c.Subcharts {
		if _, ok := values[sub.Name]; !ok {
			values[sub.Name] = map[string]any{}
		}
		own, ok := values[sub.Name].(map[string]any)
		if !ok {
			return fmt.Errorf("joining the values of chart %s: %s is the name of a subchart, so its value must be an object", c.fullName(), sub.Name)
		}
		passGlobals(own, values)
		if err := sub.coalesce(own); err != nil {
			return err
		}
	}
	return nil
}

// addDefaults puts the chart's own defaults under values.
func (c *Chart) addDefaults(values map[string]any) {
	for key, def := range plainMap(c.values) {
		value, given := values[key]
		table, isTable := value.(map[string]any)
		switch {
		case !given && def != nil:
			if t, ok := def.(map[string]any); ok {
				dropNulls(t)
			}
			values[key] = def
		case given && value == nil:
			delete(values, key)
		case isTable:
			if t, ok := def.(map[string]any); ok {
				// What a subchart gets keeps its nulls: they are to take away
				// defaults of the subchart, which come later.
				keepNulls := c.hasSubchart(key)
				if !keepNulls {
					dropNulls(t)
				}
				under(table, t, keepNulls)
			}
		}
	}
}

func (c *Chart) hasSubchart(name string) bool {
	for _, sub := range c.Subcharts {
		if sub.Name == name {
			return true
		}
	}
	return false
}

// under merges the lower table under the upper one, which it changes. An
// upper null removes a lower value, unless nulls are to be kept.
func under(upper, lower map[string]any, keepNulls bool) {
	if upper == nil {
		return
	}
	for key, low := range lower {
		up, given := upper[key]
		switch {
		case !given:
			upper[key] = low
		case up == nil && low != nil && !keepNulls:
			delete(upper, key)
		case up != nil:
			upTable, ok1 := up.(map[string]any)
			lowTable, ok2 := low.(map[string]any)
			if ok1 && ok2 {
				under(upTable, lowTable, keepNulls)
			}
		}
	}
}

// passGlobals merges the global values of a chart over those that it has set
// for a subchart.
func passGlobals(sub, parent map[string]any) {
	to, ok := sub[globalKey].(map[string]any)
	if _, set := sub[globalKey]; set && !ok {
		return
	}
	from, ok := parent[globalKey].(map[string]any)
	if _, set := parent[globalKey]; set && !ok {
		return
	}
	if to == nil {
		to = map[string]any{}
	}
	for key, value := range from {
		old, set := to[key]
		oldTable, oldIsTable := old.(map[string]any)
		table, isTable := value.(map[string]any)
		switch {
		case isTable && !set:
			to[key] = maps.Clone(table)
		case isTable && oldIsTable:
			merged := maps.Clone(table)
			under(merged, oldTable, true)
			to[key] = merged
		case !isTable && !oldIsTable:
			to[key] = value
		}
	}
	sub[globalKey] = to
}

// dropNulls removes the nulls of a table, nested tables included.
func dropNulls(m map[string]any) {
	for k, v := range m {
		if v == nil {
			delete(m, k)
		} else if t, ok := v.(map[string]any); ok {
			dropNulls(t)
		}
	}
}
