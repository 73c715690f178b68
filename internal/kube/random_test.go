package kube_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// random makes values of the table's types: mostly sound, with few different
// names, so that what is merged meets.
type random struct {
	*rand.Rand
	overlay  bool    // with directives and items given twice
	nulls    float64 // how often a value is null
	unquoted float64 // how often a string is a number or boolean
	wrong    float64 // how often a value is not of its type
}

func newRandom(seed uint64) *random {
	return &random{Rand: rand.New(rand.NewPCG(seed, 0))}
}

func (r *random) p(probability float64) bool { return r.Float64() < probability }

func pick[T any](r *random, of ...T) T { return of[r.IntN(len(of))] }

// value makes a value of a type. depth bounds what is below it.
func (r *random) value(t kube.Type, depth int) *source.Node {
	if r.p(r.wrong) {
		return r.any(2)
	}
	if r.p(r.nulls) {
		return source.NewNull()
	}
	if t == kube.TypeString && r.p(r.unquoted) {
		return pick(r, source.NewInt(5), source.NewBool(true), source.NewNumber("1.5"))
	}
	switch t {
	case kube.TypeAny:
		return r.any(2)
	case kube.TypeString:
		return source.NewString(pick(r, "", "a", "b", "c", "x y"))
	case kube.TypeBool:
		return source.NewBool(r.p(0.5))
	case kube.TypeInt32, kube.TypeInt64:
		return source.NewInt(int64(pick(r, 0, 1, 2, 80, 443)))
	case kube.TypeQuantity:
		return source.NewString(pick(r, "0", "1", "100m", "1Gi", "1.5"))
	case kube.TypeIntOrString:
		return pick(r, source.NewInt(80), source.NewString("http"), source.NewInt(0))
	case kube.TypeTime:
		return source.NewString("2026-01-02T03:04:05Z")
	}
	switch t.Kind() {
	case kube.KindList:
		return source.NewList(r.items(t.Elem(), depth, "")...)
	case kube.KindMap:
		var fields []source.Field
		for _, key := range []string{"a", "b", "c"} {
			if r.p(0.5) {
				fields = append(fields, source.F(key, r.value(t.Elem(), depth-1)))
			}
		}
		return r.directed(source.NewMap(fields...), "")
	}
	return r.object(t, depth, "")
}

// items makes the items of a list, of objects that have mergeKey if not "".
func (r *random) items(elem kube.Type, depth int, mergeKey string) []*source.Node {
	var items []*source.Node
	for range r.IntN(4) {
		if elem.Kind() == kube.KindStruct {
			items = append(items, r.object(elem, depth-1, mergeKey))
		} else {
			items = append(items, r.value(elem, depth-1))
		}
	}
	return items
}

// object makes an object of a struct type.
func (r *random) object(t kube.Type, depth int, mergeKey string) *source.Node {
	var fields []source.Field
	all := t.Fields()
	want := 1 + r.IntN(4)
	for i := range all {
		f := &all[i]
		take := r.p(float64(want) / float64(len(all)))
		switch {
		case f.Name == mergeKey:
			take = !r.p(0.01)
		case f.Name == "spec" || f.Name == "metadata":
			take = true
		case f.Merged():
			take = take || r.p(0.4)
		}
		if !take || depth <= 0 && f.Type.Kind() != kube.KindScalar {
			continue
		}
		var v *source.Node
		switch {
		case f.Merged():
			items := r.items(f.Type.Elem(), depth, f.MergeKey)
			if f.MergeKey == "" && !r.overlay {
				// What strategicpatch makes of a scalar that the base holds twice
				// hangs on the spare capacity of its slice.
				items = distinct(items)
			}
			v = source.NewList(items...)
			if r.overlay && f.MergeKey == "" && r.p(0.1) {
				// Never beside the list itself: which comes first is left to the
				// order of a Go map.
				fields = append(fields, source.F("$deleteFromPrimitiveList/"+f.Name, v))
				continue
			}
			fields = append(fields, r.parallel(f, v)...)
		case f.Name == mergeKey && f.Type == kube.TypeString && !r.p(r.wrong):
			v = source.NewString(pick(r, "a", "b", "c", "d", "e"))
		default:
			v = r.value(f.Type, depth-1)
		}
		fields = append(fields, source.F(f.Name, v))
	}
	if r.p(0.05) {
		// In an overlay only a scalar: strategicpatch cannot merge an unknown list
		// or object where an overlay names an item twice; Merge can.
		v := source.NewString("u")
		if !r.overlay {
			v = pick(r, v, source.NewList(source.NewInt(1)), source.NewMap(source.F("a", v)))
		}
		fields = append(fields, source.F("unknown", v))
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	return r.directed(source.NewMap(fields...), mergeKey)
}

// directed adds directives to an object of an overlay now and then.
func (r *random) directed(n *source.Node, mergeKey string) *source.Node {
	if !r.overlay {
		return n
	}
	rate := 0.015
	if mergeKey != "" {
		rate = 0.08
	}
	switch {
	case r.p(rate):
		return n.With("$patch", source.NewString(pick(r, "delete", "delete", "replace", "replace", "merge", "odd")))
	case r.p(0.02):
		var keys []*source.Node
		for _, f := range n.Fields() {
			if f.Key[0] != '$' && !r.p(0.05) {
				keys = append(keys, source.NewString(f.Key))
			}
		}
		for range r.IntN(3) {
			keys = append(keys, source.NewString(pick(r, "a", "name", "env", "spec", "containers", "emptyDir")))
		}
		return n.With("$retainKeys", source.NewList(keys...))
	}
	return n
}

// parallel makes the directives that stand beside a merged list.
func (r *random) parallel(f *kube.FieldInfo, v *source.Node) []source.Field {
	if !r.overlay || !r.p(0.1) {
		return nil
	}
	var order []*source.Node
	add := func(n *source.Node) {
		if f.MergeKey != "" {
			n = source.NewMap(source.F(f.MergeKey, n.Get(f.MergeKey)))
		}
		order = append(order, n)
	}
	for _, item := range v.Items() {
		if r.p(0.3) {
			add(source.NewMap(source.F(f.MergeKey, source.NewString(pick(r, "a", "b", "c")))))
		}
		if !r.p(0.05) && item.Get("$patch") == nil && (f.MergeKey == "" || item.Get(f.MergeKey) != nil) {
			add(item)
		}
	}
	if f.MergeKey != "" && f.Type.Elem().Field(f.MergeKey).Type == kube.TypeString {
		for range r.IntN(3) {
			add(source.NewMap(source.F(f.MergeKey, source.NewString(pick(r, "a", "b", "c")))))
		}
	}
	return []source.Field{source.F("$setElementOrder/"+f.Name, source.NewList(order...))}
}

// any makes a value of no type.
func (r *random) any(depth int) *source.Node {
	n := 7
	if depth == 0 {
		n = 5
	}
	switch r.IntN(n) {
	case 0:
		return source.NewNull()
	case 1:
		return source.NewBool(r.p(0.5))
	case 2:
		numbers := []string{"0", "1", "-5", "1.5", "3000000000", "1e+30", "12345678901234567890"}
		if r.overlay { // strategicpatch makes floating point of them
			numbers = numbers[:6]
		}
		return source.NewNumber(pick(r, numbers...))
	case 3, 4:
		return source.NewString(pick(r, "", "a", "5", "true", "1Gi", "2026-01-02T03:04:05Z", "=", "null"))
	case 5:
		return source.NewList(r.any(depth-1), r.any(depth-1))
	}
	var fields []source.Field
	for i := range r.IntN(3) {
		fields = append(fields, source.F(fmt.Sprint(pick(r, "a", "b", "name"), i), r.any(depth-1)))
	}
	return source.NewMap(fields...)
}

// distinct drops items that are there before, or would be as strings.
func distinct(items []*source.Node) []*source.Node {
	var out []*source.Node
	for _, n := range items {
		if !slices.ContainsFunc(out, func(m *source.Node) bool { return m.Scalar() == n.Scalar() }) {
			out = append(out, n)
		}
	}
	return out
}
