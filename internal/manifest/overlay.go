package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// overlayWalk is the way of one patch of an overlay down an object.
type overlayWalk struct {
	ref kube.Ref
	fix string
}

// put returns n, of the given type, with value at the path steps[at:]; without
// what is there where value is nil or null. The text returned says why that
// cannot be done.
func (w *overlayWalk) put(n *source.Node, typ kube.Type, steps []step, at int, value *source.Node) (*source.Node, string) {
	if at == len(steps) {
		if at == 0 {
			w.fix = "name the field: path: " + firstKey(value) + ", value: its value"
			return nil, "the path is empty, and an object cannot be replaced as a whole"
		}
		if value.IsNull() {
			return nil, ""
		}
		return w.written(n, typ, steps, value), ""
	}
	switch n.Kind() {
	case source.Null:
		if steps[at].kind == isKey {
			n = source.NewMap()
		} else {
			n = source.NewList()
		}
	case source.Map:
		if steps[at].kind != isKey {
			w.fix = "write the key after a dot"
			return nil, fmt.Sprintf("%s is an object, so that %s selects nothing", placeIn(steps[:at]), steps[at])
		}
	case source.List:
		return w.putItem(n, typ, steps, at, value)
	default:
		return nil, fmt.Sprintf("%s is %s, so that nothing can be below it", placeIn(steps[:at]), n.Kind().Noun())
	}
	if n.Kind() == source.List {
		return w.putItem(n, typ, steps, at, value)
	}
	key := steps[at].key
	child := n.Get(key)
	if value.IsNull() && child == nil {
		var known []string
		for _, f := range n.Fields() {
			known = append(known, f.Key)
		}
		if near := diag.Nearest(key, known); near != "" {
			w.fix = "did you mean " + near + "?"
		}
		return nil, fmt.Sprintf("%s has no field %s to remove", placeIn(steps[:at]), key)
	}
	child, why := w.put(child, fieldType(typ, key), steps, at+1, value)
	switch {
	case why != "":
		return nil, why
	case child == nil:
		return n.Without(key), ""
	}
	return n.With(key, child), ""
}

func placeIn(steps []step) string {
	if len(steps) == 0 {
		return "the object"
	}
	return spell(steps)
}

func firstKey(value *source.Node) string {
	if value.Kind() == source.Map && value.Len() > 0 {
		return value.Fields()[0].Key
	}
	return "FIELD"
}

func fieldType(typ kube.Type, key string) kube.Type {
	switch typ.Kind() {
	case kube.KindStruct:
		if info := typ.Field(key); info != nil {
			return info.Type
		}
	case kube.KindMap:
		return typ.Elem()
	}
	return kube.TypeAny
}

func (w *overlayWalk) putItem(n *source.Node, typ kube.Type, steps []step, at int, value *source.Node) (*source.Node, string) {
	items := append(make([]*source.Node, 0, n.Len()+1), n.Items()...)
	i, why := w.find(items, steps, at)
	if why != "" {
		return nil, why
	}
	if i == len(items) {
		if value.IsNull() {
			return nil, fmt.Sprintf("%s has no item %s to remove", placeIn(steps[:at]), steps[at])
		}
		items = append(items, nil)
	}
	elem := kube.TypeAny
	if typ.Kind() == kube.KindList {
		elem = typ.Elem()
	}
	item, why := w.put(items[i], elem, steps, at+1, value)
	if why != "" {
		return nil, why
	}
	if item == nil {
		return n.WithItems(append(items[:i], items[i+1:]...)...), ""
	}
	items[i] = item
	return n.WithItems(items...), ""
}

// find returns the index of the item that a step selects. Indexes that the
// list does not have add an item.
func (w *overlayWalk) find(items []*source.Node, steps []step, at int) (int, string) {
	s := steps[at]
	var names []string
	switch s.kind {
	case isIndex:
		if s.index >= 0 && s.index < len(items) {
			return s.index, ""
		}
		if s.index < -1 {
			w.fix = "count from 0; [-1] adds an item"
			return 0, fmt.Sprintf("%s has no item %s", placeIn(steps[:at]), s)
		}
		return len(items), ""
	case isField:
		for i, item := range items {
			if v := item.Get(s.key); v != nil && v.Kind() != source.Map && v.Kind() != source.List {
				if v.Scalar() == s.value {
					return i, ""
				}
				names = append(names, v.Scalar())
			} else if item.Kind() != source.Map && matches(s.key+":"+s.value, item) {
				return i, ""
			}
		}
		if near := diag.Nearest(s.value, names); near != "" {
			w.fix = "did you mean [" + s.key + ":" + near + "]?"
		} else if len(names) > 0 {
			w.fix = "there is " + strings.Join(names, ", ")
		}
		return 0, fmt.Sprintf("%s has no item whose %s is %s", placeIn(steps[:at]), s.key, s.value)
	case isValue, isBad:
		pattern := s.value
		if s.kind == isBad {
			pattern = s.key
		}
		for i, item := range items {
			if item.Kind() != source.Map && pattern != "" && matches(pattern, item) {
				return i, ""
			}
		}
		return 0, fmt.Sprintf("%s has no item %s", placeIn(steps[:at]), pattern)
	}
	w.fix = "select an item: [name:NAME], or [0] for the first"
	return 0, fmt.Sprintf("%s is a list, so that %s selects nothing", placeIn(steps[:at]), s.key)
}

// matches reports whether a pattern is found in a scalar.
func matches(pattern string, n *source.Node) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(n.Scalar())
}

// written is what a value becomes in an object: text that spells an object
// becomes that object, unless text is what belongs there, and a number becomes
// text where that is what the type holds.
func (w *overlayWalk) written(old *source.Node, typ kube.Type, steps []step, value *source.Node) *source.Node {
	if value.Kind() == source.String {
		if old.Kind() == source.String || typ == kube.TypeString || w.holdsText(steps) {
			return value
		}
		return embedded(value)
	}
	if w.holdsText(steps) && typ == kube.TypeAny {
		typ = kube.TypeString
	}
	return asTyped(value, typ)
}

// holdsText tells the fields that are text in objects whose type is not known.
func (w *overlayWalk) holdsText(steps []step) bool {
	switch {
	case len(steps) == 2:
		return w.ref.Kind == "ConfigMap" && steps[0].key == "data"
	case len(steps) == 3:
		return steps[0].key == "metadata" && (steps[1].key == "labels" || steps[1].key == "annotations")
	}
	return false
}

// asTyped turns numbers and booleans into text where the type holds text.
func asTyped(n *source.Node, typ kube.Type) *source.Node {
	switch {
	case typ == kube.TypeString && (n.Kind() == source.Number || n.Kind() == source.Bool):
		return source.NewString(spelled(n))
	case n.Kind() == source.Map && (typ.Kind() == kube.KindStruct || typ.Kind() == kube.KindMap):
		fields := append([]source.Field(nil), n.Fields()...)
		for i := range fields {
			fields[i].Value = asTyped(fields[i].Value, fieldType(typ, fields[i].Key))
		}
		return n.WithFields(fields...)
	case n.Kind() == source.List && typ.Kind() == kube.KindList:
		items := append([]*source.Node(nil), n.Items()...)
		for i := range items {
			items[i] = asTyped(items[i], typ.Elem())
		}
		return n.WithItems(items...)
	}
	return n
}

// embedded returns the object that a text spells, else the text itself. Text in
// JSON stays text.
func embedded(value *source.Node) *source.Node {
	s := value.Str()
	sign := ": "
	if strings.Contains(s, "\n") {
		sign = ":"
	}
	if !strings.Contains(s, sign) || json.Valid([]byte(s)) {
		return value
	}
	doc, err := source.Parse(source.NewText("", []byte(s)))
	if err != nil || doc.Root.Kind() != source.Map {
		return value
	}
	return doc.Root
}
