package kube

import "github.com/ingraft/ingraft/internal/source"

// StrategicPatch returns the strategic merge patch that turns a value of a type
// into another one; it is nil where both are the same. Applied as Kubernetes
// does, it gives now, in now's order of list items.
func StrategicPatch(was, now *source.Node, typ Type) *source.Node {
	if was == now || was.Equal(now) {
		return nil
	}
	return strategicMap(was, now, typ, false)
}

// strategicMap compares two objects. retain tells that the keys which stay must
// be listed, since else a patch may only add to them.
func strategicMap(was, now *source.Node, typ Type, retain bool) *source.Node {
	var fields []source.Field
	gone := false
	inNow, inWas := now.Finder(), was.Finder()
	for _, f := range was.Fields() {
		if inNow.Index(f.Key) < 0 {
			gone = true
			fields = append(fields, source.F(f.Key, source.NewNull()))
		}
	}
	added := false
	for _, f := range now.Fields() {
		g, ok := inWas.Field(f.Key)
		added = added || !ok
		switch {
		case ok && (f.Value == g.Value || f.Value.Equal(g.Value)):
		case f.Value.IsNull():
			// Null removes: a patch cannot write it, and to Kubernetes both are one.
			if ok && !g.Value.IsNull() {
				fields = append(fields, source.F(f.Key, source.NewNull()))
			}
		default:
			fields = append(fields, strategicField(f.Key, g.Value, f.Value, typ)...)
		}
	}
	if retain && (gone || added) {
		keys := make([]*source.Node, 0, now.Len())
		for _, f := range now.Fields() {
			keys = append(keys, source.NewString(f.Key))
		}
		fields = append(fields, source.F(dirRetainKeys, source.NewList(keys...)))
	}
	return source.NewMap(fields...)
}

func strategicField(key string, was, now *source.Node, typ Type) []source.Field {
	t, _, _ := typ.fieldType(key)
	info := typ.fieldOf(key)
	retain := info != nil && info.flags&retainKeys != 0
	switch {
	case was.Kind() == source.Map && now.Kind() == source.Map:
		return []source.Field{source.F(key, strategicMap(was, now, t, retain))}
	case was.Kind() == source.Map || was.Kind() != now.Kind() || now.Kind() != source.List || info == nil || !info.Merged():
		return []source.Field{source.F(key, now)}
	case info.MergeKey == "":
		return strategicScalars(key, was, now)
	}
	return strategicItems(key, was, now, t.Elem(), info.MergeKey, retain)
}

// fieldOf returns the field of a struct, nil where there is none.
func (t Type) fieldOf(key string) *FieldInfo {
	if t.Kind() != KindStruct {
		return nil
	}
	return t.Field(key)
}

// strategicScalars compares lists of scalars that are merged as sets.
func strategicScalars(key string, was, now *source.Node) []source.Field {
	if repeats(was, "") || repeats(now, "") {
		return []source.Field{source.F(key, now)}
	}
	before, after := itemsBy(was, ""), itemsBy(now, "")
	var added, removed []*source.Node
	for _, item := range now.Items() {
		if before.of(item) == nil {
			added = append(added, item)
		}
	}
	for _, item := range was.Items() {
		if after.of(item) == nil {
			removed = append(removed, item)
		}
	}
	fields := []source.Field{source.F(dirOrder+"/"+key, now)}
	if len(removed) > 0 {
		fields = append(fields, source.F(dirDelete+"/"+key, source.NewList(removed...)))
	}
	if len(added) > 0 {
		fields = append(fields, source.F(key, source.NewList(added...)))
	}
	return fields
}

// strategicItems compares lists of objects that are merged by a key.
func strategicItems(key string, was, now *source.Node, elem Type, mergeKey string, retain bool) []source.Field {
	if repeats(was, mergeKey) || repeats(now, mergeKey) {
		// Nothing tells the items apart: the list is replaced.
		items := append([]*source.Node{source.NewMap(source.F(dirPatch, source.NewString("replace")))}, now.Items()...)
		return []source.Field{source.F(key, source.NewList(items...))}
	}
	var items, order []*source.Node
	inWas, inNow := itemsBy(was, mergeKey), itemsBy(now, mergeKey)
	for _, item := range now.Items() {
		k := item.Get(mergeKey)
		order = append(order, source.NewMap(source.F(mergeKey, k)))
		before := inWas.of(k)
		switch {
		case before == nil:
			items = append(items, item)
		case before != item && !before.Equal(item):
			patch := strategicMap(before, item, elem, retain)
			items = append(items, source.NewMap(append([]source.Field{source.F(mergeKey, k)}, patch.Fields()...)...))
		}
	}
	for _, item := range was.Items() {
		k := item.Get(mergeKey)
		if inNow.of(k) == nil {
			items = append(items, source.NewMap(source.F(dirPatch, source.NewString("delete")), source.F(mergeKey, k)))
		}
	}
	fields := []source.Field{source.F(dirOrder+"/"+key, source.NewList(order...))}
	if len(items) > 0 {
		fields = append(fields, source.F(key, source.NewList(items...)))
	}
	return fields
}

// keyed holds the items of a list by the scalar that tells them apart, with
// that scalar.
type keyed map[string][2]*source.Node

// itemsBy returns the items of a list that does not repeat a key.
func itemsBy(list *source.Node, mergeKey string) keyed {
	items := make(keyed, list.Len())
	for _, item := range list.Items() {
		k := keyOfItem(item, mergeKey)
		items[k.Scalar()] = [2]*source.Node{k, item}
	}
	return items
}

// of returns the item with a key, nil where there is none.
func (items keyed) of(k *source.Node) *source.Node {
	if found := items[k.Scalar()]; found[0] != nil && found[0].Equal(k) {
		return found[1]
	}
	return nil
}

// keyOfItem returns what an item is told by: the value of a key, "" for the
// item itself.
func keyOfItem(item *source.Node, mergeKey string) *source.Node {
	if mergeKey == "" {
		return item
	}
	return item.Get(mergeKey)
}

// repeats reports whether a list has an item without its key, or two with one
// key; "" stands for items that are their own keys.
func repeats(list *source.Node, mergeKey string) bool {
	seen := make(map[string]bool, list.Len())
	for _, item := range list.Items() {
		k := keyOfItem(item, mergeKey)
		if k.IsNull() || k.Len() > 0 || seen[k.Scalar()] {
			return true
		}
		seen[k.Scalar()] = true
	}
	return false
}
