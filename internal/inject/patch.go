package inject

import (
	"sort"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// JSONPatch returns the RFC 6902 patch that turns Request.Pod into Result.Pod.
// It is nil where both are the same.
//
// The patch is read off the nodes: what the two pods share was not touched and
// is not looked at. Items are put into lists and taken out of them by their
// position, so that a patch does not mention items that stay.
func (r *Result) JSONPatch() []byte {
	if r.Pod == r.request {
		return nil
	}
	w := patchWriter{out: make([]byte, 0, 8<<10), path: make([]byte, 0, 128)}
	w.out = append(w.out, '[')
	w.diff(r.request, r.Pod)
	if len(w.out) == 1 {
		return nil
	}
	return append(w.out, ']')
}

type patchWriter struct {
	out []byte
	// path is the JSON pointer of the value at hand, as it stands within
	// quotes.
	path []byte
}

func (w *patchWriter) op(name string, value *source.Node) {
	if len(w.out) > 1 {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, `{"op":"`...), name...), `","path":"`...)
	w.out = append(append(w.out, w.path...), '"')
	if value != nil {
		w.out = source.AppendJSON(append(w.out, `,"value":`...), value)
	}
	w.out = append(w.out, '}')
}

// enter goes down to a key and returns the length to cut path to afterwards.
func (w *patchWriter) enter(key string) int {
	n := len(w.path)
	w.path = append(w.path, '/')
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c == '~':
			w.path = append(w.path, '~', '0')
		case c == '/':
			w.path = append(w.path, '~', '1')
		case c == '"' || c == '\\' || c < 0x20 || c >= 0x80:
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			quoted := appendQuoted(nil, escaped)
			w.path = append(w.path[:n+1], quoted[1:len(quoted)-1]...)
			return n
		default:
			w.path = append(w.path, c)
		}
	}
	return n
}

func (w *patchWriter) enterIndex(i int) int {
	n := len(w.path)
	w.path = strconv.AppendInt(append(w.path, '/'), int64(i), 10)
	return n
}

func (w *patchWriter) leave(n int) { w.path = w.path[:n] }

func (w *patchWriter) diff(old, now *source.Node) {
	switch {
	case old == now || sameScalar(old, now):
	case old.Kind() == source.Map && now.Kind() == source.Map:
		w.diffMap(old, now)
	case old.Kind() == source.List && now.Kind() == source.List:
		w.diffList(old.Items(), now)
	default:
		w.op("replace", now)
	}
}

func sameScalar(a, b *source.Node) bool {
	k := a.Kind()
	return k == b.Kind() && k != source.Map && k != source.List && a.Scalar() == b.Scalar()
}

func (w *patchWriter) diffMap(old, now *source.Node) {
	inNow, inOld := now.Finder(), old.Finder()
	for _, f := range old.Fields() {
		if inNow.Index(f.Key) < 0 {
			n := w.enter(f.Key)
			w.op("remove", nil)
			w.leave(n)
		}
	}
	for _, f := range now.Fields() {
		g, ok := inOld.Field(f.Key)
		was := g.Value
		if ok && was == f.Value {
			continue
		}
		n := w.enter(f.Key)
		if ok {
			w.diff(was, f.Value)
		} else {
			w.op("add", f.Value)
		}
		w.leave(n)
	}
}

// diffList keeps the longest run of items that are in both lists in the same
// order, removes the others from behind, inserts what is new from the front,
// and then goes into the items that stay.
func (w *patchWriter) diffList(old []*source.Node, now *source.Node) {
	items := now.Items()
	from := matchItems(old, items)
	kept := 0
	for _, i := range from {
		if i >= 0 {
			kept++
		}
	}
	if kept == 0 {
		if len(old)+len(items) > 0 {
			w.op("replace", now)
		}
		return
	}
	stays := make([]bool, len(old))
	for _, i := range from {
		if i >= 0 {
			stays[i] = true
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		if !stays[i] {
			n := w.enterIndex(i)
			w.op("remove", nil)
			w.leave(n)
		}
	}
	for j, item := range items {
		if from[j] < 0 {
			n := w.enterIndex(j)
			w.op("add", item)
			w.leave(n)
		}
	}
	for j, item := range items {
		if from[j] >= 0 && old[from[j]] != item {
			n := w.enterIndex(j)
			w.diff(old[from[j]], item)
			w.leave(n)
		}
	}
}

// matchItems tells for every item which old item it is, or -1. The indexes
// that are not -1 rise: items that changed places count as new.
func matchItems(old, items []*source.Node) []int {
	from := make([]int, len(items))
	taken := make([]bool, len(old))
	for j := range from {
		from[j] = -1
	}
	if len(old) > fewItems {
		match(old, items, from, taken)
	} else {
		matchFew(old, items, from, taken)
	}
	last := -1
	for _, i := range from {
		if i >= 0 && i < last {
			keepRising(from)
			break
		}
		last = max(last, i)
	}
	return from
}

// fewItems is up to how many items trying all is quick enough.
const fewItems = 16

// matchFew matches the items of short lists.
func matchFew(old, items []*source.Node, from []int, taken []bool) {
	for _, is := range [...]func(a, b *source.Node) bool{sameNode, sameItem} {
		next := 0 // items seldom move: look on from behind the one found last
		for j := range items {
			if from[j] >= 0 {
				next = from[j] + 1
				continue
			}
			for k := range old {
				i := (next + k) % len(old)
				if !taken[i] && is(old[i], items[j]) {
					from[j], taken[i], next = i, true, i+1
					break
				}
			}
		}
	}
}

// match matches the items of long lists, by what tells them apart.
func match(old, items []*source.Node, from []int, taken []bool) {
	nodes := make(map[*source.Node]int, len(old))
	names := make(map[itemName][]int, len(old))
	for i, item := range old {
		nodes[item] = i
		if name, ok := oldName(item); ok {
			names[name] = append(names[name], i)
		}
	}
	for j, item := range items {
		if i, ok := nodes[item]; ok && !taken[i] {
			from[j], taken[i] = i, true
		}
	}
	next := 0
	for j, item := range items {
		if from[j] < 0 {
			from[j] = untaken(names, old, item, taken, next)
		}
		if from[j] >= 0 {
			taken[from[j]], next = true, from[j]+1
		}
	}
}

// untaken returns an old item that another one is a version of, -1 for none:
// that at next, if it is one, else the first.
func untaken(names map[itemName][]int, old []*source.Node, item *source.Node, taken []bool, next int) int {
	if next < len(old) && !taken[next] && sameItem(old[next], item) {
		return next
	}
	first := -1
	try := func(name itemName) {
		left := names[name]
		for len(left) > 0 && taken[left[0]] {
			left = left[1:] // what is taken stays so
		}
		if names[name] = left; len(left) > 0 && (first < 0 || left[0] < first) {
			first = left[0]
		}
	}
	if item.Kind() != source.Map {
		try(itemName{"", item.Kind(), item.Scalar()})
		return first
	}
	for _, key := range itemKeys {
		if k := item.Get(key); k != nil {
			try(itemName{key, k.Kind(), k.Scalar()})
		}
	}
	return first
}

// itemName is what tells an item of a list apart: a scalar, at a key or by itself.
type itemName struct {
	key   string
	kind  source.Kind
	value string
}

// oldName returns the name by which sameItem knows the first of two items, if
// it has one.
func oldName(item *source.Node) (itemName, bool) {
	switch item.Kind() {
	case source.List:
		return itemName{}, false
	case source.Map:
		for _, key := range itemKeys {
			if k := item.Get(key); k != nil {
				return itemName{key, k.Kind(), k.Scalar()}, k.Kind() != source.Map && k.Kind() != source.List
			}
		}
		return itemName{}, false
	}
	return itemName{"", item.Kind(), item.Scalar()}, true
}

// itemKeys are the fields that tell the items of a pod's lists apart.
var itemKeys = [...]string{"mountPath", "containerPort", "name"}

func sameNode(a, b *source.Node) bool { return a == b }

// sameItem tells whether two items that are not the same node are versions of
// one thing: equal scalars, or objects that have the same name.
func sameItem(a, b *source.Node) bool {
	if a.Kind() != source.Map || b.Kind() != source.Map {
		return sameScalar(a, b)
	}
	for _, key := range itemKeys {
		if k := a.Get(key); k != nil {
			return sameScalar(k, b.Get(key))
		}
	}
	return false
}

// keepRising sets to -1 all but a longest rising run of the indexes.
func keepRising(from []int) {
	var ends []int // of the runs of each length that end lowest: where they end
	prev := make([]int, len(from))
	for j, i := range from {
		if i < 0 {
			continue
		}
		n := sort.Search(len(ends), func(k int) bool { return from[ends[k]] >= i })
		prev[j] = -1
		if n > 0 {
			prev[j] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, j)
		} else {
			ends[n] = j
		}
	}
	keep := make([]bool, len(from))
	if len(ends) > 0 {
		for j := ends[len(ends)-1]; j >= 0; j = prev[j] {
			keep[j] = true
		}
	}
	for j := range from {
		if !keep[j] {
			from[j] = -1
		}
	}
}

// Patch returns the RFC 6902 patch of an object that turns the value at a path
// from was into now; nil where both are the same.
func Patch(was, now *source.Node, path kube.Path) []byte {
	w := patchWriter{out: make([]byte, 0, 8<<10), path: make([]byte, 0, 128)}
	w.out = append(w.out, '[')
	for _, key := range path {
		w.enter(key)
	}
	w.diff(was, now)
	if len(w.out) == 1 {
		return nil
	}
	return append(w.out, ']')
}
