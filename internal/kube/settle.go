package kube

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Settle prepares a value that was made of another one, of the same type, for
// people to read and for a file to hold: what is new comes behind what was
// there, its fields in the order in which people write them, and what means the
// same as before is spelled as before. So fields that are null stay, which
// Normalize drops, and numbers where the type is a string.
//
// It returns was itself where nothing but the spelling differs.
func Settle(was, now *source.Node, typ Type) *source.Node {
	s := settler{was.Span().Text}
	return s.settle(was, now, typ, "")
}

// settler knows the text that holds what was.
type settler struct{ text *source.Text }

func (s settler) settle(was, now *source.Node, typ Type, mergeKey string) *source.Node {
	switch {
	case was == now:
		return now
	case was == nil || was.Kind() != now.Kind():
		if sameText(was, now, typ) {
			return was
		}
		return s.arrange(now, typ)
	case now.Kind() == source.Map:
		return s.settleMap(was, now, typ)
	case now.Kind() == source.List:
		return s.settleList(was, now, typ, mergeKey)
	case was.Scalar() == now.Scalar():
		return was
	}
	return now
}

// sameText reports whether Normalize makes one scalar of the other.
func sameText(was, now *source.Node, typ Type) bool {
	if typ != TypeString || was == nil || now.Kind() != source.String {
		return false
	}
	switch was.Kind() {
	case source.Null:
		return now.Str() == ""
	case source.Bool, source.Number:
		return now.Str() == asString(was)
	}
	return false
}

// fieldType returns the type of a field, and the key that its items are merged
// by where it is a list; known tells whether the type has such a field.
func (t Type) fieldType(key string) (typ Type, mergeKey string, known bool) {
	switch t.Kind() {
	case KindStruct:
		if info := t.Field(key); info != nil {
			return info.Type, info.MergeKey, true
		}
	case KindMap:
		return t.Elem(), "", false
	}
	return TypeAny, "", false
}

func (s settler) settleMap(was, now *source.Node, typ Type) *source.Node {
	fields := make([]source.Field, 0, max(was.Len(), now.Len()))
	changed := false
	kept := 0
	inNow := now.Finder()
	for _, f := range was.Fields() {
		t, mergeKey, known := typ.fieldType(f.Key)
		g, ok := inNow.Field(f.Key)
		switch {
		case !ok && !(known && f.Value.IsNull()):
			changed = true
			continue
		case ok:
			kept++
			g.Value = s.settle(f.Value, g.Value, t, mergeKey)
			changed = changed || g.Value != f.Value
			f.Value = g.Value
		}
		fields = append(fields, f)
	}
	if kept < now.Len() {
		changed = true
		from := len(fields)
		inWas := was.Finder()
		for _, f := range now.Fields() {
			if inWas.Index(f.Key) < 0 {
				t, _, _ := typ.fieldType(f.Key)
				f.Value = s.arrange(f.Value, t)
				fields = append(fields, f)
			}
		}
		arrangeFields(fields[from:], typ)
	}
	if !changed {
		return was
	}
	return was.WithFields(fields...)
}

func (s settler) settleList(was, now *source.Node, typ Type, mergeKey string) *source.Node {
	elem := TypeAny
	if typ.Kind() == KindList {
		elem = typ.Elem()
	}
	before := was.Items()
	from := origins{before: before, used: make([]bool, len(before)), mergeKey: mergeKey}
	if mergeKey == "" {
		from.mergeKey = "name"
	}
	items := make([]*source.Node, now.Len())
	changed := now.Len() != was.Len()
	for i, item := range now.Items() {
		j := from.of(item, i)
		if j < 0 {
			changed = true
			items[i] = s.arrange(item, elem)
			continue
		}
		items[i] = s.settle(before[j], item, elem, "")
		changed = changed || i != j || items[i] != before[j]
	}
	if !changed {
		return was
	}
	return was.WithItems(items...)
}

// origins finds the items of a list that the items of another one were made of.
type origins struct {
	before   []*source.Node
	used     []bool
	mergeKey string
	// next is where an item is looked for first, as most keep their order.
	next int
	// For long lists, when they are needed: the items by what they are, by
	// place and by name or value.
	nodes  map[*source.Node]int
	places map[source.Span]int
	names  map[itemName][]int
}

// of returns the index of the item that another one, at index i, was made from,
// and uses it up; it is -1 for none. It is the node itself or one that has its
// place, else one of the same name, else, among scalars, one of the same value.
func (o *origins) of(item *source.Node, i int) int {
	j := o.find(item, i)
	if j >= 0 {
		o.used[j] = true
		o.next = j + 1
	}
	return j
}

func (o *origins) is(j int, item *source.Node) bool {
	return j < len(o.before) && !o.used[j] && (o.before[j] == item || samePlace(o.before[j], item))
}

func (o *origins) find(item *source.Node, i int) int {
	switch {
	case o.is(i, item):
		return i
	case o.is(o.next, item):
		return o.next
	case len(o.before) > fewItems:
		return o.lookUp(item)
	}
	for j := range o.before {
		if o.is(j, item) {
			return j
		}
	}
	name, ok := o.nameOf(item)
	if !ok {
		return -1
	}
	for j, b := range o.before {
		if o.used[j] {
			continue
		}
		if other, ok := o.nameOf(b); ok && other == name {
			return j
		}
	}
	return -1
}

// itemName is what an item of a list is told by: the value of its key, or its
// own where it is a scalar or empty.
type itemName struct {
	kind  source.Kind
	empty bool
	text  string
}

// nameOf returns what an item is told by, if there is anything.
func (o *origins) nameOf(item *source.Node) (name itemName, ok bool) {
	if item.Len() == 0 {
		return itemName{item.Kind(), true, item.Scalar()}, true
	}
	text := item.Get(o.mergeKey).Scalar()
	return itemName{item.Kind(), false, text}, text != ""
}

// fewItems is up to how many items looking through all is as quick as an index.
const fewItems = 16

// lookUp is find for long lists.
func (o *origins) lookUp(item *source.Node) int {
	if o.nodes == nil {
		o.index()
	}
	if j, ok := o.nodes[item]; ok && !o.used[j] {
		return j
	}
	if span := item.Span(); span.Text != nil {
		if j, ok := o.places[span]; ok && !o.used[j] {
			return j
		}
	}
	name, ok := o.nameOf(item)
	if !ok {
		return -1
	}
	left := o.names[name]
	for len(left) > 0 && o.used[left[0]] {
		left = left[1:] // used ones stay used
	}
	o.names[name] = left
	if len(left) == 0 {
		return -1
	}
	return left[0]
}

func (o *origins) index() {
	o.nodes = make(map[*source.Node]int, len(o.before))
	o.places = make(map[source.Span]int, len(o.before))
	o.names = make(map[itemName][]int, len(o.before))
	for j := len(o.before) - 1; j >= 0; j-- { // the first one counts
		b := o.before[j]
		o.nodes[b] = j
		if span := b.Span(); span.Text != nil {
			o.places[span] = j
		}
	}
	for j, b := range o.before {
		if name, ok := o.nameOf(b); ok {
			o.names[name] = append(o.names[name], j)
		}
	}
}

func samePlace(a, b *source.Node) bool {
	x, y := a.Span(), b.Span()
	return x.Text != nil && x == y
}

// arrange returns a value with its fields in the order in which people write
// them: of a container first name and image. Keys of maps are sorted. What
// comes from the text is in order already.
func (s settler) arrange(n *source.Node, typ Type) *source.Node {
	switch {
	case n.Span().Text == s.text && s.text != nil:
	case n.Kind() == source.Map:
		var fields []source.Field
		if !inOrder(n.Fields(), typ) {
			fields = slices.Clone(n.Fields())
			arrangeFields(fields, typ)
		}
		for i, f := range n.Fields() {
			if fields != nil {
				f = fields[i]
			}
			t, _, _ := typ.fieldType(f.Key)
			value := s.arrange(f.Value, t)
			if value == f.Value {
				continue
			}
			if fields == nil {
				fields = slices.Clone(n.Fields())
			}
			fields[i].Value = value
		}
		if fields == nil {
			return n
		}
		return source.NewMap(fields...)
	case n.Kind() == source.List:
		elem := TypeAny
		if typ.Kind() == KindList {
			elem = typ.Elem()
		}
		if elem == TypeString {
			return n
		}
		var items []*source.Node
		for i, item := range n.Items() {
			value := s.arrange(item, elem)
			if value == item {
				continue
			}
			if items == nil {
				items = slices.Clone(n.Items())
			}
			items[i] = value
		}
		if items == nil {
			return n
		}
		return source.NewList(items...)
	}
	return n
}

// inOrder reports whether fields need not be arranged.
func inOrder(fields []source.Field, typ Type) bool {
	if len(fields) < 2 {
		return true
	}
	switch typ.Kind() {
	case KindMap:
		return slices.IsSortedFunc(fields, func(a, b source.Field) int { return strings.Compare(a.Key, b.Key) })
	case KindStruct:
		o := order{readable(typ.Name()), typ.Fields()}
		last := -1
		for i := range fields {
			rank := o.rank(fields[i].Key)
			if rank < last {
				return false
			}
			last = rank
		}
	}
	return true
}

// order ranks the fields of a type.
type order struct {
	first []string
	all   []FieldInfo
}

func (o order) rank(key string) int {
	for i, k := range o.first {
		if k == key {
			return i
		}
	}
	for i := range o.all {
		if o.all[i].Name == key {
			return len(o.first) + i
		}
	}
	return len(o.first) + len(o.all)
}

func arrangeFields(fields []source.Field, typ Type) {
	if len(fields) < 2 {
		return
	}
	switch typ.Kind() {
	case KindMap:
		slices.SortStableFunc(fields, func(a, b source.Field) int { return strings.Compare(a.Key, b.Key) })
	case KindStruct:
		o := order{readable(typ.Name()), typ.Fields()}
		// A few fields: insertion with ranks beside them is quick enough.
		ranks := make([]int, 0, 32)
		for i, f := range fields {
			k := o.rank(f.Key)
			ranks = append(ranks, k)
			for j := i; j > 0 && ranks[j-1] > k; j-- {
				ranks[j], ranks[j-1] = ranks[j-1], k
				fields[j], fields[j-1] = fields[j-1], f
			}
		}
	}
}

// readable lists the fields of a type that come first, where that is not the
// order of their declaration, which the others follow.
func readable(name string) []string {
	switch name {
	case "ObjectMeta":
		return orderMeta[:]
	case "PodSpec":
		return orderPodSpec[:]
	case "Container", "EphemeralContainer":
		return orderContainer[:]
	case "ContainerPort":
		return orderPort[:]
	case "VolumeMount":
		return orderMount[:]
	case "ResourceRequirements":
		return orderResources[:]
	}
	return nil
}

var (
	orderMeta    = [...]string{"name", "generateName", "namespace", "labels", "annotations"}
	orderPodSpec = [...]string{
		"initContainers", "containers", "imagePullSecrets", "serviceAccountName", "securityContext",
		"dnsPolicy", "dnsConfig", "hostAliases", "volumes",
	}
	orderContainer = [...]string{
		"name", "image", "imagePullPolicy", "restartPolicy", "command", "args", "workingDir", "ports", "env", "envFrom",
		"resources", "securityContext", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "volumeMounts", "volumeDevices",
	}
	orderPort      = [...]string{"name", "containerPort", "protocol"}
	orderMount     = [...]string{"name", "mountPath", "subPath", "subPathExpr", "readOnly"}
	orderResources = [...]string{"requests", "limits"}
)
