package kube

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// The directives of strategic merge patches.
const (
	dirPatch      = "$patch"
	dirRetainKeys = "$retainKeys"
	dirDelete     = "$deleteFromPrimitiveList"
	dirOrder      = "$setElementOrder"
)

// MergeError says why an overlay cannot be merged.
type MergeError struct {
	// Path leads to the value of the overlay that is at fault.
	Path Path
	// Span is where the overlay's value stands; may be zero.
	Span source.Span
	// Message says what is wrong with it.
	Message string
}

// Error returns the message with the path of the field.
func (e *MergeError) Error() string {
	if len(e.Path) == 0 {
		return "merging an overlay: " + e.Message
	}
	return "merging " + e.Path.String() + ": " + e.Message
}

func mergeErr(n *source.Node, format string, args ...any) *MergeError {
	return &MergeError{Span: n.Span(), Message: fmt.Sprintf(format, args...)}
}

// under puts a key before the path of an error on its way up.
func (e *MergeError) under(key string) *MergeError {
	if e != nil {
		e.Path = slices.Insert(e.Path, 0, key)
	}
	return e
}

// Merge applies an overlay to an object of the given type as Kubernetes
// applies a strategic merge patch: objects are merged field by field, null
// removes, lists are replaced or merged as the type's patch strategy says, and
// the directives $patch, $retainKeys, $setElementOrder and
// $deleteFromPrimitiveList are obeyed. A merged list holds the overlay's new
// items first, and those of both keep the order of the base.
//
// The result is what strategicpatch makes of the base as its Go type writes
// it, with these additions: fields that the type does not have survive, are
// merged if objects and replaced if not. base must have been through Normalize.
// A result that the type cannot hold is not an error here; Check finds it.
//
// Neither input is changed. The result shares every node of base that the
// overlay does not change, and is base itself where it changes nothing. The
// error, if any, is a *MergeError.
func Merge(base, overlay *source.Node, typ Type) (*source.Node, error) {
	switch {
	case overlay.IsNull():
		overlay = nil
	case overlay.Kind() != source.Map:
		return nil, mergeErr(overlay, "want an object, got %s", overlay.Kind().Noun())
	}
	if !base.IsNull() && base.Kind() != source.Map {
		return nil, mergeErr(base, "cannot merge into %s", base.Kind().Noun())
	}
	n, err := mergeMap(base, overlay, typ, false)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// edit is a Map being changed: it copies the fields at the first change.
type edit struct {
	base   *source.Node
	fields []source.Field
	owned  bool
	// index holds where the fields of a big Map are, once it is needed; nil
	// where it has to be made anew.
	index map[string]int
	// retained is the list of $retainKeys, if any: what it does not name is gone,
	// even what the typed object would write unasked.
	retained *source.Node
}

func (e *edit) find(key string) int {
	if len(e.fields) > manyFields {
		if e.index == nil {
			e.index = make(map[string]int, len(e.fields)+4)
			for i := range e.fields {
				e.index[e.fields[i].Key] = i
			}
		}
		if i, ok := e.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range e.fields {
		if e.fields[i].Key == key {
			return i
		}
	}
	return -1
}

// manyFields is from how many fields on finding one takes an index.
const manyFields = 64

func (e *edit) retains(key string) bool {
	return e.retained == nil || slices.ContainsFunc(e.retained.Items(), func(n *source.Node) bool {
		return n.Kind() == source.String && n.Str() == key
	})
}

func (e *edit) own() {
	if !e.owned {
		e.fields = append(make([]source.Field, 0, len(e.fields)+4), e.fields...)
		e.owned = true
	}
}

// set gives field i a new value, or adds f where i is negative.
func (e *edit) set(i int, f source.Field) {
	if i >= 0 && e.fields[i].Value == f.Value {
		return
	}
	e.own()
	if i >= 0 {
		e.fields[i].Value = f.Value
		return
	}
	if e.index != nil {
		e.index[f.Key] = len(e.fields)
	}
	e.fields = append(e.fields, f)
}

func (e *edit) remove(i int) {
	if i >= 0 {
		e.own()
		e.index = nil
		e.fields = append(e.fields[:i], e.fields[i+1:]...)
	}
}

func (e *edit) node() *source.Node {
	switch {
	case e.owned:
		return e.base.WithFields(e.fields...)
	case e.base.IsNull():
		return source.NewMap()
	}
	return e.base
}

// seen returns the value that a field has in the JSON of the typed object:
// zero values are left out of it, or written although they are absent, as the
// tags of the Go field say. v is the value in the base, nil if absent.
func (f *FieldInfo) seen(v *source.Node) (value *source.Node, present bool) {
	switch {
	case v.IsNull():
		if f.flags&always == 0 {
			return nil, false
		}
		return f.zero(), true
	case f.flags&(always|pointer) == 0 && isZero(v):
		return nil, false
	}
	return v, true
}

func (f *FieldInfo) zero() *source.Node {
	if f.flags&pointer != 0 {
		return nil
	}
	return zeroOf(f.Type)
}

// zeroOf returns the JSON of a type's zero value; nil stands for null.
func zeroOf(t Type) *source.Node {
	switch t {
	case TypeAny, TypeTime:
		return nil
	case TypeString:
		return source.NewString("")
	case TypeBool:
		return source.NewBool(false)
	case TypeInt32, TypeInt64, TypeIntOrString:
		return source.NewInt(0)
	case TypeQuantity:
		return source.NewString("0")
	}
	if t.Kind() == KindStruct {
		return source.NewMap()
	}
	return nil
}

// isZero reports whether encoding/json takes a value for empty.
func isZero(n *source.Node) bool {
	switch n.Kind() {
	case source.Map, source.List:
		return n.Len() == 0
	case source.Null:
		return true
	}
	s := n.Scalar()
	return s == "" || s == "false" && n.Kind() == source.Bool || s == "0" && n.Kind() == source.Number
}

// isDirective reports whether a key of an overlay is for the merge, no data.
func isDirective(key string) bool {
	return len(key) > 0 && key[0] == '$' && (key == dirPatch || key == dirRetainKeys ||
		strings.HasPrefix(key, dirDelete) || strings.HasPrefix(key, dirOrder))
}

// written returns a value of the base as its Go type writes it, with the zero
// values that it writes and without those that it does not. Where an overlay
// names an item twice, the second merge must tell what the first has set.
func written(n *source.Node, typ Type) *source.Node {
	switch {
	case typ.Kind() == KindList && n.Kind() == source.List:
		items := make([]*source.Node, n.Len())
		for i, item := range n.Items() {
			items[i] = written(item, typ.Elem())
		}
		return n.WithItems(items...)
	case typ.Kind() != KindStruct || n.Kind() != source.Map:
		return n
	}
	var fields []source.Field
	for _, f := range n.Fields() {
		if typ.Field(f.Key) == nil {
			fields = append(fields, f)
		}
	}
	infos := typ.Fields()
	for i := range infos {
		f, _ := n.Field(infos[i].Name)
		f.Key = infos[i].Name
		var present bool
		if f.Value, present = infos[i].seen(f.Value); !present {
			continue
		}
		if f.Value == nil {
			f.Value = source.NewNull()
		}
		f.Value = written(f.Value, infos[i].Type)
		fields = append(fields, f)
	}
	return n.WithFields(fields...)
}

// mergeMap merges two objects. raw tells that base is itself taken from an
// overlay as it stands, which happens where an overlay names an item twice:
// then its fields are what they are, and not what the type would write.
func mergeMap(base, patch *source.Node, typ Type, raw bool) (*source.Node, *MergeError) {
	e := edit{base: base, fields: base.Fields()}
	var done []string // fields that a directive has dealt with
	for _, f := range patch.Fields() {
		if isDirective(f.Key) {
			if d, ok := patch.Field(dirPatch); ok {
				return replaceMap(base, patch, d.Value, typ)
			}
			var err *MergeError
			if done, err = obeyDirectives(&e, patch, typ, raw); err != nil {
				return nil, err
			}
			break
		}
	}
	for _, f := range patch.Fields() {
		if isDirective(f.Key) || slices.Contains(done, f.Key) {
			continue
		}
		if err := mergeField(&e, f, typ, raw, false); err != nil {
			return nil, err.under(f.Key)
		}
	}
	return e.node(), nil
}

// replaceMap obeys the directive $patch of an object.
func replaceMap(base, patch, directive *source.Node, typ Type) (*source.Node, *MergeError) {
	switch directive.Str() {
	case "replace":
		n, _ := adopt(patch.Without(dirPatch), typ, asIs)
		return n, nil
	case "delete":
		if base.Kind() == source.Map && base.Len() == 0 {
			return base, nil
		}
		return base.WithFields(), nil
	}
	return nil, mergeErr(directive, "want replace or delete, got %s", source.AppendJSON(nil, directive)).under(dirPatch)
}

// obeyDirectives applies $retainKeys, $setElementOrder and
// $deleteFromPrimitiveList, and returns the keys that the merge need not look
// at any more.
func obeyDirectives(e *edit, patch *source.Node, typ Type, raw bool) (done []string, err *MergeError) {
	if f, ok := patch.Field(dirRetainKeys); ok {
		if err := retain(e, patch, f.Value); err != nil {
			return nil, err.under(dirRetainKeys)
		}
	}
	for _, f := range patch.Fields() {
		if strings.HasPrefix(f.Key, dirOrder) {
			key, ok := strings.CutPrefix(f.Key, dirOrder+"/")
			if !ok {
				return nil, mergeErr(f.Value, "want %s/ and the name of a list", dirOrder).under(f.Key)
			}
			if err := setOrder(e, patch, f.Value, key, typ, raw); err != nil {
				return nil, err.under(f.Key)
			}
			done = append(done, key)
		}
	}
	for _, f := range patch.Fields() {
		if strings.HasPrefix(f.Key, dirDelete) {
			key, ok := strings.CutPrefix(f.Key, dirDelete+"/")
			if !ok {
				return nil, mergeErr(f.Value, "want %s/ and the name of a list", dirDelete).under(f.Key)
			}
			if err := mergeField(e, source.Field{Key: key, Value: f.Value}, typ, raw, true); err != nil {
				return nil, err.under(f.Key)
			}
		}
	}
	return done, nil
}

// retain removes the fields that $retainKeys does not name.
func retain(e *edit, patch, list *source.Node) *MergeError {
	if list.Kind() != source.List {
		return mergeErr(list, "want a list of keys, got %s", list.Kind().Noun())
	}
	e.retained = list
	for _, n := range list.Items() {
		if n.Kind() == source.Map || n.Kind() == source.List {
			return mergeErr(n, "want a list of keys, got %s in it", n.Kind().Noun())
		}
	}
	for _, f := range patch.Fields() {
		if !isDirective(f.Key) && !f.Value.IsNull() && !e.retains(f.Key) {
			return mergeErr(list, "the field %s is set here but not named", f.Key)
		}
	}
	for i := len(e.fields) - 1; i >= 0; i-- {
		if !e.retains(e.fields[i].Key) {
			e.remove(i)
		}
	}
	return nil
}

// mergeField merges one field of an overlay. deleting tells that its value
// lists what to take out of a list of scalars.
func mergeField(e *edit, patch source.Field, typ Type, raw, deleting bool) *MergeError {
	info := typ.Field(patch.Key)
	i := e.find(patch.Key)
	if patch.Value.IsNull() {
		e.remove(i)
		return nil
	}
	var cur *source.Node
	present := i >= 0
	if present {
		cur = e.fields[i].Value
	}
	fieldType := TypeAny
	if info != nil {
		fieldType = info.Type
		if !raw && (present || e.retains(patch.Key)) {
			cur, present = info.seen(cur)
		}
	} else if typ.Kind() == KindMap {
		fieldType = typ.Elem()
	}
	if !present || cur.Kind() != patch.Value.Kind() {
		if deleting {
			return nil
		}
		var keep bool
		if patch.Value, keep = adopt(patch.Value, fieldType, clean); keep {
			e.set(i, patch)
		} else {
			e.remove(i)
		}
		return nil
	}
	var err *MergeError
	switch cur.Kind() {
	case source.Map:
		if typ.Kind() == KindMap {
			return mergeErr(patch.Value, "want a value, got an object")
		}
		if info != nil && info.flags&replaced != 0 {
			patch.Value, _ = adopt(patch.Value, fieldType, asIs)
			break
		}
		patch.Value, err = mergeMap(cur, patch.Value, fieldType, raw)
		if err == nil && i < 0 && patch.Value.Len() == 0 {
			return nil // the typed object has an empty one anyway
		}
	case source.List:
		patch.Value, err = mergeList(cur, patch.Value, info, raw, deleting)
	default:
		if cur.Scalar() == patch.Value.Scalar() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	e.set(i, patch)
	return nil
}

// entry is an item of a list that is being merged.
type entry struct {
	node *source.Node
	key  *source.Node // what it is merged by; nil where an object lacks it
	raw  bool         // see mergeMap
	rank int          // position in the list that gives the order; -1: not in it
}

// list is what the merge knows about a list.
type list struct {
	info *FieldInfo
	elem Type
	maps bool // the items are objects
}

// entries returns the items of a list with their keys. typed tells that they
// are the base's own.
func (l *list) entries(items []*source.Node, typed bool) []entry {
	es := make([]entry, len(items), len(items)+4)
	for i, n := range items {
		es[i] = entry{node: n, key: n, raw: !typed}
		if l.maps {
			es[i].key = l.keyOf(n, typed)
		}
	}
	return es
}

func (l *list) keyOf(n *source.Node, typed bool) *source.Node {
	f, ok := n.Field(l.info.MergeKey)
	if typed {
		if info := l.elem.Field(l.info.MergeKey); info != nil {
			f.Value, ok = info.seen(f.Value)
		}
	}
	if !ok {
		return nil
	}
	if f.Value == nil {
		return source.NewNull()
	}
	return f.Value
}

// sameKey compares two values as strategicpatch compares what encoding/json
// decoded: numbers are floating point.
func sameKey(a, b *source.Node) bool {
	if a == nil || b == nil || a.Kind() != b.Kind() {
		return false
	}
	if a.Scalar() == b.Scalar() {
		return true
	}
	if a.Kind() != source.Number {
		return false
	}
	x, errX := strconv.ParseFloat(a.Scalar(), 64)
	y, errY := strconv.ParseFloat(b.Scalar(), 64)
	return errX == nil && errY == nil && x == y
}

func indexOf(es []entry, key *source.Node) int {
	for i := range es {
		if sameKey(es[i].key, key) {
			return i
		}
	}
	return -1
}

// entryKey stands for all keys that sameKey says are the same.
type entryKey struct {
	kind   source.Kind
	number float64
	text   string
}

func entryKeyOf(key *source.Node) entryKey {
	k := entryKey{kind: key.Kind(), text: key.Scalar()}
	if k.kind == source.Number {
		if f, err := strconv.ParseFloat(k.text, 64); err == nil && f == f {
			k.number, k.text = f, ""
		}
	}
	return k
}

// finder finds entries by their keys: indexOf for lists that may be long. What
// is added to a list, or changes its key, must be told to it.
type finder struct {
	es    []entry
	index map[entryKey]int // nil for short lists
}

func finderOf(es []entry) finder {
	f := finder{es: es}
	if len(es) > fewItems {
		f.index = make(map[entryKey]int, len(es)+4)
		for i := len(es) - 1; i >= 0; i-- { // the first one counts
			if es[i].key != nil {
				f.index[entryKeyOf(es[i].key)] = i
			}
		}
	}
	return f
}

func (f *finder) find(key *source.Node) int {
	if f.index == nil {
		return indexOf(f.es, key)
	}
	if key != nil {
		if i, ok := f.index[entryKeyOf(key)]; ok {
			return i
		}
	}
	return -1
}

// added tells that an entry was added at the end, where the list is now es.
func (f *finder) added(es []entry) {
	f.es = es
	if f.index == nil {
		return
	}
	if last := len(es) - 1; es[last].key != nil && f.find(es[last].key) < 0 {
		f.index[entryKeyOf(es[last].key)] = last
	}
}

// sort of items: all of one kind, and none null or a list.
func (l *list) look(lists ...[]*source.Node) *MergeError {
	kind, found := source.Null, false
	for _, items := range lists {
		for _, n := range items {
			switch {
			case n.Kind() == source.List || n.Kind() == source.Null:
				return mergeErr(n, "the list cannot be merged: an item is %s", n.Kind().Noun())
			case found && n.Kind() != kind:
				return mergeErr(n, "the list cannot be merged: one item is %s, another %s", kind.Noun(), n.Kind().Noun())
			}
			kind, found = n.Kind(), true
		}
	}
	l.maps = kind == source.Map
	if !found {
		return mergeErr(nil, "the lists are empty")
	}
	if l.maps != (l.info.MergeKey != "") {
		return mergeErr(nil, "the items are %ss, which this list does not merge", kind)
	}
	return nil
}

// mergeList merges a list of the overlay into one of the base.
func mergeList(cur, patch *source.Node, info *FieldInfo, raw, deleting bool) (*source.Node, *MergeError) {
	switch {
	case info == nil:
		info = &FieldInfo{} // unknown: replaced
	case info.Type.Kind() != KindList:
		return nil, mergeErr(patch, "want %s, got an array", info.Type)
	}
	if !info.Merged() && !deleting {
		if cur.Equal(patch) {
			return cur, nil
		}
		n, _ := adopt(patch, info.Type, asIs)
		return n, nil
	}
	if cur.Len() == 0 && patch.Len() == 0 {
		return cur, nil
	}
	l := list{info: info, elem: info.Type.Elem()}
	if deleting && info.MergeKey == "" {
		return removeScalars(cur, patch)
	}
	if err := l.look(cur.Items(), patch.Items()); err != nil {
		return nil, err
	}
	es, err := l.merge(l.entries(cur.Items(), !raw), patch.Items())
	if err != nil {
		return nil, err
	}
	return l.node(cur, es, raw), nil
}

func removeScalars(cur, patch *source.Node) (*source.Node, *MergeError) {
	l := list{info: &FieldInfo{}}
	if err := l.look(cur.Items(), patch.Items()); err != nil {
		return nil, err
	}
	gone := finderOf(l.entries(patch.Items(), false))
	items := slices.DeleteFunc(slices.Clone(cur.Items()), func(n *source.Node) bool { return gone.find(n) >= 0 })
	if len(items) == cur.Len() {
		return cur, nil
	}
	return cur.WithItems(items...), nil
}

// node makes the merged list, or returns cur where nothing has changed.
func (l *list) node(cur *source.Node, es []entry, raw bool) *source.Node {
	items := make([]*source.Node, len(es))
	same := len(es) == cur.Len() && cur != nil
	for i := range es {
		items[i] = es[i].node
		if es[i].raw && !raw {
			items[i], _ = adopt(items[i], l.elem, asIs)
		}
		same = same && items[i] == cur.Items()[i]
	}
	if same {
		return cur
	}
	return cur.WithItems(items...)
}

// merge merges the items of an overlay into those of cur, whose slice it may
// reuse: what is left in it then counts for $setElementOrder, as it does in
// strategicpatch.
func (l *list) merge(cur []entry, patch []*source.Node) ([]entry, *MergeError) {
	var add, merged []entry
	var err *MergeError
	if l.maps {
		if cur, add, err = l.obeyItems(cur, patch); err == nil {
			merged, err = l.mergeObjects(cur, add)
		}
	} else {
		add = l.entries(patch, false)
		merged = distinct(append(slices.Clip(cur), add...))
	}
	if err != nil {
		return nil, err
	}
	return l.order(merged, add, cur)
}

// distinct drops scalars that are in the list before. As in strategicpatch the
// last one takes the place of the one dropped.
func distinct(es []entry) []entry {
	if !repeated(es) {
		return es
	}
	for i := 0; i < len(es)-1; i++ {
		for j := i + 1; j < len(es); j++ {
			if sameKey(es[i].key, es[j].key) {
				es[j] = es[len(es)-1]
				es = es[:len(es)-1]
				j--
			}
		}
	}
	return es
}

// repeated reports whether two entries of a list have one key.
func repeated(es []entry) bool {
	if len(es) <= fewItems {
		return true // not worth an index
	}
	seen := make(map[entryKey]bool, len(es))
	for i := range es {
		k := entryKeyOf(es[i].key)
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

// obeyItems obeys items with the directive $patch, and returns what is left of
// the base, and the items of the overlay that are data.
func (l *list) obeyItems(cur []entry, patch []*source.Node) (left, add []entry, err *MergeError) {
	add = make([]entry, 0, len(patch))
	replace := false
	for i, n := range patch {
		key := l.keyOf(n, false)
		if k := key.Kind(); k == source.Map || k == source.List {
			return nil, nil, mergeErr(key, "items are merged by it, and this is %s", k.Noun()).under(l.info.MergeKey).under(strconv.Itoa(i))
		}
		directive, ok := n.Field(dirPatch)
		if key == nil && (!ok || directive.Value.Str() == "delete") {
			return nil, nil, mergeErr(n, "lacks the field %s, which items of this list are merged by", l.info.MergeKey).under(strconv.Itoa(i))
		}
		if !ok {
			add = append(add, entry{node: n, key: key, raw: true})
			continue
		}
		switch directive.Value.Str() {
		case "delete":
			for at := indexOf(cur, key); at >= 0; at = indexOf(cur, key) {
				cur = append(cur[:at], cur[at+1:]...)
			}
		case "replace":
			replace = true
		default:
			return nil, nil, mergeErr(directive.Value, "want replace or delete, got %s",
				source.AppendJSON(nil, directive.Value)).under(dirPatch).under(strconv.Itoa(i))
		}
	}
	if replace {
		return add, nil, nil
	}
	return cur, add, nil
}

func (l *list) mergeObjects(cur, add []entry) ([]entry, *MergeError) {
	there := finderOf(cur)
	again := laterOnes(add)
	for i := range add {
		at := there.find(add[i].key)
		if at < 0 {
			cur = append(cur, add[i])
			there.added(cur)
			continue
		}
		if !cur[at].raw && again[i] {
			cur[at].node, cur[at].raw = written(cur[at].node, l.elem), true
		}
		n, err := mergeMap(cur[at].node, add[i].node, l.elem, cur[at].raw)
		if err != nil {
			return nil, err.under(strconv.Itoa(i))
		}
		cur[at].node = n
		if cur[at].raw {
			// An overlay that names it again may have removed it.
			if key := l.keyOf(n, false); !sameKey(key, cur[at].key) {
				cur[at].key = key
				there = finderOf(cur)
			}
		}
	}
	return cur, nil
}

// laterOnes tells of each entry whether a later one has its key.
func laterOnes(es []entry) []bool {
	again := make([]bool, len(es))
	if len(es) <= fewItems {
		for i := range es {
			again[i] = indexOf(es[i+1:], es[i].key) >= 0
		}
		return again
	}
	seen := make(map[entryKey]bool, len(es))
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].key == nil {
			continue
		}
		k := entryKeyOf(es[i].key)
		again[i], seen[k] = seen[k], true
	}
	return again
}

// order gives a merged list its order: items of first in the order of first,
// all others in the order of then, the latter put between the former where
// then says that they come before.
func (l *list) order(merged, first, then []entry) ([]entry, *MergeError) {
	for _, es := range [...][]entry{merged, first, then} {
		for _, e := range es {
			if e.key == nil {
				return nil, mergeErr(e.node, "an item lacks the field %s, which items of this list are merged by", l.info.MergeKey)
			}
		}
	}
	inFirst, inThen := finderOf(first), finderOf(then)
	buf := make([]entry, 0, 2*len(merged))
	for _, e := range merged {
		if e.rank = inFirst.find(e.key); e.rank >= 0 {
			buf = append(buf, e)
		}
	}
	front := buf[:len(buf):len(buf)]
	for _, e := range merged {
		if inFirst.find(e.key) < 0 {
			e.rank = inThen.find(e.key)
			buf = append(buf, e)
		}
	}
	back := buf[len(front):len(buf):len(buf)]
	front, back = l.sort(front), l.sort(back)
	for i := range front {
		front[i].rank = inThen.find(front[i].key)
	}
	for i := range back { // deleted items were moved to the end
		back[i].rank = inThen.find(back[i].key)
	}
	out := buf[len(buf):]
	i, j := 0, 0
	for i < len(back) || j < len(front) {
		if j >= len(front) || i < len(back) && back[i].rank >= 0 && back[i].rank < front[j].rank {
			out = append(out, back[i])
			i++
		} else {
			out = append(out, front[j])
			j++
		}
	}
	return out, nil
}

// sort sorts by rank. Items without rank come as strategicpatch has them: it
// says of two, one of them not in the list, that each is before the other.
func (l *list) sort(es []entry) []entry {
	var deleted []entry
	if l.maps {
		es = slices.DeleteFunc(es, func(e entry) bool {
			if d, ok := e.node.Field(dirPatch); ok && d.Value.Str() == "delete" {
				deleted = append(deleted, e)
				return true
			}
			return false
		})
	}
	sort.SliceStable(es, func(i, j int) bool {
		return es[i].rank < 0 || es[j].rank < 0 || es[i].rank < es[j].rank
	})
	return append(es, deleted...)
}

// setOrder merges the list named key and obeys $setElementOrder for it.
func setOrder(e *edit, patch, order *source.Node, key string, typ Type, raw bool) *MergeError {
	if order.Kind() != source.List {
		return mergeErr(order, "want a list, got %s", order.Kind().Noun())
	}
	info := typ.Field(key)
	if info == nil || info.Type.Kind() != KindList {
		return mergeErr(order, "%s is no list", key)
	}
	i := e.find(key)
	var cur *source.Node
	inBase := i >= 0
	if inBase {
		cur = e.fields[i].Value
	}
	if !raw && (inBase || e.retains(key)) {
		cur, inBase = info.seen(cur)
	}
	field, inPatch := patch.Field(key)
	if inBase && cur.Kind() != source.List || inPatch && field.Value.Kind() != source.List {
		return mergeErr(field.Value, "%s must be a list, both here and in the base", key)
	}
	l := list{info: info, elem: info.Type.Elem(), maps: info.MergeKey != ""}
	want := l.entries(order.Items(), false)
	if !inBase && !inPatch {
		return nil
	}
	if err := l.checkOrder(field.Value.Items(), order, want); err != nil {
		return err
	}
	base := l.entries(cur.Items(), !raw)
	merged := base
	switch {
	case !inBase:
		n, _ := adopt(field.Value, info.Type, undirected)
		merged = l.entries(n.Items(), false)
	case inPatch && !info.Merged():
		merged = l.entries(field.Value.Items(), false)
	case inPatch && cur.Len()+field.Value.Len() > 0:
		if err := l.look(cur.Items(), field.Value.Items()); err != nil {
			return err
		}
		var err *MergeError
		if merged, err = l.merge(base, field.Value.Items()); err != nil {
			return err
		}
	}
	if err := l.look(cur.Items(), field.Value.Items()); err != nil {
		return err
	}
	out, err := l.order(merged, want, base)
	if err != nil {
		return err
	}
	e.set(i, source.Field{Key: key, Value: l.node(cur, out, raw)})
	return nil
}

// checkOrder holds a list of the overlay against its $setElementOrder: the
// items, deleted ones aside, must be in it, in the same order.
func (l *list) checkOrder(items []*source.Node, order *source.Node, want []entry) *MergeError {
	for i := range want {
		k := want[i].key.Kind()
		if l.maps && want[i].node.Kind() != source.Map || want[i].key == nil || k == source.Map || k == source.List {
			return mergeErr(want[i].node, "item %d does not say its %s", i, l.info.MergeKey)
		}
	}
	if len(want) == 0 {
		return nil
	}
	at := 0
	for _, n := range items {
		directive, directed := n.Field(dirPatch)
		if l.maps && directed && (directive.Value.Str() == "delete" || at < len(want)) {
			continue // at the end of the order strategicpatch minds other directives
		}
		key := n
		if l.maps {
			key = l.keyOf(n, false)
		}
		for at < len(want) && !sameKey(want[at].key, key) {
			at++
		}
		if at == len(want) {
			return mergeErr(order, "the items that the overlay sets are not all in it, in the same order")
		}
		at++
	}
	return nil
}

// care says what becomes of nulls and directives in a value that is taken from
// an overlay whole.
type care uint8

const (
	asIs       care = iota // taken as it stands: nulls are zero values
	undirected             // objects with $patch are left out, and no more
	clean                  // objects with $patch are left out, and nulls too
)

// adopt returns a value of the overlay as the typed object would hold it, and
// whether there is any.
func adopt(n *source.Node, typ Type, how care) (value *source.Node, keep bool) {
	if isPlain(n) {
		return n, true
	}
	switch n.Kind() {
	case source.Null:
		if zero := zeroOf(typ); zero != nil && how != undirected {
			return zero, true
		}
	case source.List:
		elem := TypeAny
		if typ.Kind() == KindList {
			elem = typ.Elem()
		}
		items := make([]*source.Node, 0, n.Len())
		for _, item := range n.Items() {
			if v, keep := adopt(item, elem, how); keep {
				items = append(items, v)
			}
		}
		return n.WithItems(items...), true
	case source.Map:
		if _, directed := n.Field(dirPatch); directed && how != asIs {
			return nil, false
		}
		return adoptMap(n, typ, how), true
	}
	return n, true
}

func adoptMap(n *source.Node, typ Type, how care) *source.Node {
	fields := make([]source.Field, 0, n.Len())
	for _, f := range n.Fields() {
		if f.Value.IsNull() && (how == clean || how == asIs && typ.Kind() == KindStruct) ||
			isDirective(f.Key) && how != undirected && typ.Kind() != KindMap {
			continue
		}
		of := TypeAny
		if typ.Kind() == KindMap {
			of = typ.Elem()
		} else if info := typ.Field(f.Key); info != nil {
			of = info.Type
		}
		var keep bool
		if f.Value, keep = adopt(f.Value, of, how); keep {
			fields = append(fields, f)
		}
	}
	return n.WithFields(fields...)
}

// isPlain reports whether a value holds neither nulls nor directives.
func isPlain(n *source.Node) bool {
	switch n.Kind() {
	case source.Null:
		return false
	case source.Map:
		for _, f := range n.Fields() {
			if len(f.Key) > 0 && f.Key[0] == '$' || !isPlain(f.Value) {
				return false
			}
		}
	case source.List:
		for _, item := range n.Items() {
			if !isPlain(item) {
				return false
			}
		}
	}
	return true
}
