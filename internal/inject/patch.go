package inject

import (
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
	for _, f := range old.Fields() {
		if _, ok := now.Field(f.Key); !ok {
			n := w.enter(f.Key)
			w.op("remove", nil)
			w.leave(n)
		}
	}
	before := old.Fields()
	for i, f := range now.Fields() {
		var was *source.Node
		ok := i < len(before) && before[i].Key == f.Key
		if ok {
			was = before[i].Value
		} else if g, found := old.Field(f.Key); found {
			was, ok = g.Value, true
		}
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

func sameNode(a, b *source.Node) bool { return a == b }

// sameItem tells whether two items that are not the same node are versions of
// one thing: equal scalars, or objects that have the same name.
func sameItem(a, b *source.Node) bool {
	if a.Kind() != source.Map || b.Kind() != source.Map {
		return sameScalar(a, b)
	}
	for _, key := range [...]string{"mountPath", "containerPort", "name"} {
		if k := a.Get(key); k != nil {
			return sameScalar(k, b.Get(key))
		}
	}
	return false
}

// keepRising sets to -1 all but a longest rising run of the indexes.
func keepRising(from []int) {
	best := make([]int, len(from)) // length of the longest run that ends here
	prev := make([]int, len(from))
	end := -1
	for j := range from {
		prev[j] = -1
		if from[j] < 0 {
			continue
		}
		best[j] = 1
		for i := range j {
			if from[i] >= 0 && from[i] < from[j] && best[i] >= best[j] {
				best[j], prev[j] = best[i]+1, i
			}
		}
		if end < 0 || best[j] > best[end] {
			end = j
		}
	}
	keep := make([]bool, len(from))
	for ; end >= 0; end = prev[end] {
		keep[end] = true
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
