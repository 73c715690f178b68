package webhook

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

// Replicas of one workload come in storms, and differ in nothing that injection
// reads: the API server gives each its own name, uid, times, and name of the
// volume that holds the token. cache keeps the answers to such pods.
//
// The key of a pod is the text of its object with holes where these stand,
// together with all else that the engine is told. A hole is cut only where the
// engine says that it does not read the value there (inject.Unread), and where
// the value has the form that the API server gives it, so that what is refused
// because of its form stays refused. Keys are compared in full. An answer that
// quotes a value of a hole is not kept.
type cache struct {
	seed  maphash.Seed
	limit int // bytes, of keys and answers together

	mu     sync.Mutex
	byHash map[uint64]*entry
	ring   entry // of a list, the one used last first
	size   int
}

// entry is an answer that is kept. It does not change, but for its place.
type entry struct {
	prev, next *entry
	hash       uint64
	key        []byte
	namespace  *source.Node
	objects    *inject.ProxyConfigs
	answer     answer
	tail       []byte
}

// overhead is what an entry takes beside its texts, about.
const overhead = 300

func (e *entry) size() int { return len(e.key) + len(e.tail) + overhead }

func newCache(limit int) *cache {
	c := &cache{seed: maphash.MakeSeed(), limit: limit, byHash: map[uint64]*entry{}}
	c.ring.prev, c.ring.next = &c.ring, &c.ring
	return c
}

func (c *cache) get(k *key) *entry {
	hash := maphash.Bytes(c.seed, k.bytes)
	c.mu.Lock()
	e := c.byHash[hash]
	if e != nil && c.ring.next != e {
		e.unlink()
		c.link(e)
	}
	c.mu.Unlock()
	if e == nil || e.namespace != k.namespace || e.objects != k.objects || !bytes.Equal(e.key, k.bytes) {
		return nil
	}
	return e
}

// put keeps an answer, unless it takes more than a sixteenth of the room.
func (c *cache) put(k *key, a *answer, tail []byte) {
	e := &entry{hash: maphash.Bytes(c.seed, k.bytes), namespace: k.namespace, objects: k.objects, answer: *a, tail: tail}
	e.key = bytes.Clone(k.bytes)
	e.answer.patch, e.answer.warnings, e.answer.cached = nil, nil, true
	if e.size() > c.limit/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byHash[e.hash]; old != nil {
		c.drop(old)
	}
	for c.size+e.size() > c.limit {
		c.drop(c.ring.prev)
	}
	c.byHash[e.hash] = e
	c.link(e)
	c.size += e.size()
}

func (c *cache) drop(e *entry) {
	e.unlink()
	delete(c.byHash, e.hash)
	c.size -= e.size()
}

func (c *cache) link(e *entry) {
	e.prev, e.next = &c.ring, c.ring.next
	e.next.prev, c.ring.next = e, e
}

func (e *entry) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

// used returns how many bytes and answers are kept.
func (c *cache) used() (size, entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size, len(c.byHash)
}

// key is what an answer is known by.
type key struct {
	bytes []byte
	// namespace is the Namespace object, and objects are the ProxyConfigs: others
	// are another key.
	namespace *source.Node
	objects   *inject.ProxyConfigs
	// cut lists the values of the holes.
	cut []string
}

// holes collects the places to cut from the text of an object.
type holes struct {
	list []hole
	cut  []string
}

// hole is a range of bytes, and a mark to put in its place that no JSON has.
type hole struct {
	start, end int
	mark       byte
}

// The marks, by what was there.
const (
	markName = iota
	markUID
	markTime
	markToken
)

var keys = sync.Pool{New: func() any { return &key{} }}

// keyOf makes the key of a request; nil where its answer cannot be kept. path
// is the path of the HTTP request.
func keyOf(e *inject.Engine, r *inject.Request, path string) *key {
	unread, ok := e.Unread(r.Pod)
	whole := r.Pod.Span()
	if !ok || !whole.IsValid() {
		return nil
	}
	h := holes{list: make([]hole, 0, 16), cut: make([]string, 0, 4)}
	metadata := r.Pod.Get("metadata")
	name := metadata.Get("name")
	if unread.Name && r.Owner.Kind != "Pod" && r.Owner.Name != name.Str() {
		h.name(name, markName)
	}
	if unread.UID {
		h.name(metadata.Get("uid"), markUID)
	}
	if unread.Times {
		h.time(metadata.Get("creationTimestamp"))
		for _, m := range metadata.Get("managedFields").Items() {
			h.time(m.Get("time"))
		}
	}
	if unread.TokenVolume {
		h.token(r.Pod.Get("spec"))
	}
	slices.SortFunc(h.list, func(a, b hole) int { return cmp.Compare(a.start, b.start) })

	k := keys.Get().(*key)
	k.namespace, k.objects, k.cut = r.Namespace, r.ProxyConfigs, h.cut
	b := append(append(k.bytes[:0], path...), 0)
	b = append(append(b, r.NamespaceName...), 0)
	if r.NativeSidecars {
		b = append(b, 1)
	}
	b = append(b, 0)
	text, at := whole.Text.Data, whole.Start
	for _, hole := range h.list {
		b = append(append(b, text[at:hole.start]...), hole.mark)
		at = hole.end
	}
	k.bytes = append(b, text[at:whole.End]...)
	return k
}

func (k *key) release() {
	k.namespace, k.objects, k.cut = nil, nil, nil
	keys.Put(k)
}

// quoted reports whether an answer, or what is left of the pod, mentions a
// value that was cut: the answer is good for this one pod only then.
func (k *key) quoted(a *answer) bool {
	for _, value := range k.cut {
		if strings.HasPrefix(value, inject.TokenVolumePrefix) && bytes.Contains(k.bytes, []byte(value)) {
			return true
		}
		if bytes.Contains(a.patch, []byte(value)) {
			return true
		}
		for _, w := range a.warnings {
			if strings.Contains(w, value) {
				return true
			}
		}
	}
	return false
}

// add cuts a value.
func (h *holes) add(n *source.Node, mark byte) {
	span := n.Span()
	h.list = append(h.list, hole{span.Start, span.End, mark})
	if value := n.Str(); value != "" && !slices.Contains(h.cut, value) {
		h.cut = append(h.cut, value)
	}
}

// name cuts a name or uid that is spelled as the API server does.
func (h *holes) name(n *source.Node, mark byte) {
	if s := n.Str(); s != "" && isName(s) && len(n.Raw()) == len(s)+2 {
		h.add(n, mark)
	}
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// time cuts a time of whole seconds in UTC.
func (h *holes) time(n *source.Node) {
	s := n.Str()
	if len(s) != len("2006-01-02T15:04:05Z") || len(n.Raw()) != len(s)+2 {
		return
	}
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		span := n.Span()
		h.list = append(h.list, hole{span.Start, span.End, markTime})
	}
}

// token cuts the name of the first volume with a token from the volumes and
// from where it is mounted.
func (h *holes) token(spec *source.Node) {
	name := ""
	for _, v := range spec.Get("volumes").Items() {
		s := v.Get("name").Str()
		if isToken(s) && (name == "" || name == s) {
			name = s
			h.name(v.Get("name"), markToken)
		}
	}
	if name == "" {
		return
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range spec.Get(list).Items() {
			for _, m := range c.Get("volumeMounts").Items() {
				if n := m.Get("name"); n.Str() == name {
					h.name(n, markToken)
				}
			}
		}
	}
}

func isToken(name string) bool {
	suffix, ok := strings.CutPrefix(name, inject.TokenVolumePrefix)
	return ok && len(suffix) == 5 && isName(suffix)
}
