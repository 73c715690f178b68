package source

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rewrite returns the bytes of a document edited to hold another value. root is
// made from the document's own nodes with With, WithItems, Put and the like:
// what it shares with the document keeps its bytes, with comments, key order,
// quotes, spelling of numbers, indentation, anchors, line breaks and all. Of
// what differs, the bytes are edited in as few places as possible; what is
// added follows the habits of the file.
//
// Aliases keep their meaning: where the value under an anchor changes that
// other places refer to, the anchor moves to the first of these, and an alias
// whose value changes is replaced by that value.
//
// The result is parsed again before it is returned. If no edit gives the value
// wanted, the smallest nodes around the edits are written anew, and at last
// the whole value. An error means that root cannot be written at all, since it
// holds an infinite number for instance.
func Rewrite(doc *Document, root *Node) ([]byte, error) {
	now, err := Edit(doc, root)
	if err != nil {
		return nil, err
	}
	if now == doc {
		return slices.Clone(doc.Text.Data), nil
	}
	return now.Text.Data, nil
}

// Edit is Rewrite for those who go on with the result: it returns the edited
// document, which is doc itself where nothing changes. Its lines are counted as
// if it stood in the place of doc.
func Edit(doc *Document, root *Node) (*Document, error) {
	if root == doc.Root || root.IsNull() && doc.Root == nil {
		return doc, nil
	}
	r := &rewriter{doc: doc, text: doc.Text, src: doc.Text.Data, layout: layoutOf(doc)}
	_, err := r.attempt(root)
	if err == nil {
		return r.parsed, nil
	}
	if len(r.touched) > 0 && r.moveAnchors(root) {
		if _, err = r.attempt(root); err == nil {
			return r.parsed, nil
		}
	}
	r.rewriteOnly = true
	for range 4 {
		if !r.force() {
			break
		}
		if _, err = r.attempt(root); err == nil {
			return r.parsed, nil
		}
	}
	if _, err = r.whole(root); err == nil {
		return r.parsed, nil
	}
	return nil, fmt.Errorf("rewriting %s: %w", doc.Text.Pos(0), err)
}

var errRewrite = errors.New("the edited document means something else")

// rewriter finds the edits that make one document hold another value.
type rewriter struct {
	doc    *Document
	text   *Text
	src    []byte
	layout layout

	edits []edit
	// changed holds the collections that were edited, and parents what holds
	// each collection that was visited.
	changed []*Node
	parents map[*Node]*Node
	// forced holds the nodes to write anew rather than to edit; with
	// rewriteOnly, nodes are not spelled by the bytes that they had elsewhere.
	forced      map[*Node]bool
	rewriteOnly bool

	// touched holds the nodes with anchors whose value changes. Once moving is
	// set, home tells which alias becomes the new place of an anchor, and away
	// which nodes lose it.
	touched []*Node
	moving  bool
	home    map[*Node]*Node
	away    map[*Node]bool

	// parsed is the document that the last check read.
	parsed *Document

	// odd tells that an edit is not of the simplest kind, and respelled lists
	// the scalars that were replaced: see Draft.
	odd       bool
	respelled []Respelling

	// room is where texts are written, one behind the other.
	room []byte
}

// edit replaces the bytes start:end. An edit of whole lines ends in a line
// break; where its place does not begin a line, the break goes in front.
type edit struct {
	start, end int
	text       []byte
	lines      bool
}

// slot is the place of a value.
type slot struct {
	node   *Node
	lead   int  // offset behind the ':' or '-' in front of it; -1 for none
	col    int  // column of the entries of the collection around it; -1 for none
	inMap  bool // it is the value of a mapping
	inFlow bool
}

// attempt applies the edits and checks the outcome.
func (r *rewriter) attempt(root *Node) ([]byte, error) {
	r.edits, r.changed, r.touched, r.respelled = nil, nil, nil, nil
	r.parents = map[*Node]*Node{}
	old := r.doc.Root
	if old == nil {
		old = r.doc.null
	}
	r.value(slot{node: old, lead: -1, col: -1, inFlow: r.doc.Format == JSON}, root)
	out, err := r.apply(r.edits, 0, len(r.src))
	if err != nil {
		return nil, err
	}
	return out, r.check(out, root)
}

// check parses what was written.
func (r *rewriter) check(out []byte, root *Node) error {
	doc, err := Parse(&Text{Name: r.text.Name, Data: out, line: r.text.line})
	if err != nil {
		return err
	}
	doc.Index, r.parsed = r.doc.Index, doc
	if r.doc.Format == JSON && doc.Format != JSON && (root.Kind() == Map || root.Kind() == List) || !sameValue(doc.Root, root) {
		return errRewrite
	}
	return nil
}

// sameValue reports whether two nodes mean the same to Kubernetes: numbers may
// be spelled in several ways.
func sameValue(a, b *Node) bool {
	if a == b {
		return true
	}
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false
	}
	switch a.Kind() {
	case Bool:
		return a.str == b.str
	case String:
		return a.str == b.str || string(validUTF8([]byte(b.str))) == a.str
	case Number:
		return a.str == b.str || canonicalNumber(a.str) == canonicalNumber(b.str)
	case List:
		for i := range a.Items() {
			if !sameValue(a.Items()[i], b.Items()[i]) {
				return false
			}
		}
	case Map:
		find := b.Finder()
		for i := range a.Fields() {
			j := find.Index(a.Fields()[i].Key)
			if j < 0 || !sameValue(a.Fields()[i].Value, b.Fields()[j].Value) {
				return false
			}
		}
	}
	return true
}

func canonicalNumber(s string) string {
	var n Node
	resolve(&n, s)
	return n.str
}

// apply returns the bytes from:to with edits.
func (r *rewriter) apply(edits []edit, from, to int) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		// Insertions come before what is replaced at the same place.
		return min(a.end-a.start, 1) - min(b.end-b.start, 1)
	})
	size := to - from
	for _, e := range edits {
		size += len(e.text) + 2
	}
	out := make([]byte, 0, size+spare)
	at := from
	for _, e := range edits {
		if e.start < at || e.end > to {
			return nil, fmt.Errorf("two edits of the bytes %d:%d", e.start, e.end)
		}
		out = append(out, r.src[at:e.start]...)
		text := e.text
		if e.lines && e.start > 0 && r.src[e.start-1] != '\n' {
			out = append(out, r.layout.newline...)
			text = bytes.TrimSuffix(text, []byte(r.layout.newline))
		}
		out = append(out, text...)
		at = e.end
		if e.end > e.start && len(text) > 0 && text[len(text)-1] != '\n' && e.end < to && r.src[e.end] == '#' {
			// A comment may touch a closing bracket, but no plain scalar.
			out = append(out, ' ')
		}
	}
	out = append(out, r.src[at:to]...)
	if at == to && to == len(r.src) && r.breakBefore(to) == 0 && len(edits) > 0 && len(edits[len(edits)-1].text) == 0 {
		// The last line is gone. The one before it has become the last, and as
		// the last one it has no break.
		out = bytes.TrimSuffix(out, []byte(r.layout.newline))
	}
	return out, nil
}

// spare is room for what may take the place of a scalar later.
const spare = 256

func (r *rewriter) edit(start, end int, text []byte) {
	r.edits = append(r.edits, edit{start: start, end: end, text: text})
}

func (r *rewriter) insertLines(at int, text []byte) {
	r.edits = append(r.edits, edit{start: at, end: at, text: text, lines: true})
}

func (r *rewriter) writer() *writer {
	return &writer{layout: r.layout, src: r.src, text: r.text, reuse: !r.rewriteOnly && len(r.doc.aliases) == 0}
}

// value edits the value in a slot.
func (r *rewriter) value(s slot, n *Node) {
	o := s.node
	if o == n {
		if !r.moving {
			return
		}
		if anchor := r.home[o]; anchor != nil {
			r.replace(s, anchor, r.anchorName(anchor))
			return
		}
	} else if r.odd = r.odd || o.flags&(anchored|tagged) != 0; o.flags&anchored != 0 && !sameScalar(o, n) {
		r.touched = append(r.touched, o)
	}
	switch {
	case o.Kind() != Map && o.Kind() != List:
		if !sameScalar(o, n) {
			r.replace(s, n, "")
		} else {
			r.loseAnchor(o)
		}
	case o.flags&aliased != 0:
		if o != n && !sameValue(o, n) {
			r.replace(s, n, "")
		}
	case o.Len() == 0 && n.Len() == 0 && o.Kind() == n.Kind():
		r.loseAnchor(o)
	case o.Kind() != n.Kind() || o.Len() == 0 || n.Len() == 0 || o.style == pair && o != n || r.forced[o]:
		r.replace(s, n, "")
	default:
		r.collection(s, n)
	}
}

func (r *rewriter) collection(s slot, n *Node) {
	o := s.node
	mark := len(r.edits)
	ok := false
	switch {
	case o.kind == Map && o.style == block:
		ok = r.blockMap(o, n)
	case o.kind == Map:
		ok = r.flowMap(o, n)
	case o.style == block:
		ok = r.blockList(o, n)
	default:
		ok = r.flowList(o, n)
	}
	if !ok {
		r.edits = r.edits[:mark]
		r.replace(s, n, "")
		return
	}
	r.loseAnchor(o)
}

// child visits the value of an entry or an item.
func (r *rewriter) child(holder *Node, s slot, n *Node) {
	if s.node == n && !r.moving {
		return
	}
	mark := len(r.edits)
	r.parents[s.node] = holder
	r.value(s, n)
	if len(r.edits) > mark && (len(r.changed) == 0 || r.changed[len(r.changed)-1] != holder) {
		r.changed = append(r.changed, holder)
	}
}

func sameScalar(o, n *Node) bool {
	return o.Kind() == n.Kind() && o.Len() == 0 && n.Len() == 0 &&
		(o.Scalar() == n.Scalar() || o.Kind() == Number && canonicalNumber(o.str) == canonicalNumber(n.str))
}

// written is an entry of a mapping of the document, with the places of its
// parts.
type written struct {
	entry
	start int
	colon int // offset behind the ':', -1 for none
	end   int
	lost  bool // another entry of that key counts, here or in a merge
}

// entriesOf returns the entries of a mapping as they are written.
func (r *rewriter) entriesOf(o *Node) []written {
	var list []written
	if o.flags&irregular != 0 {
		raw := r.doc.entries[o]
		list = make([]written, len(raw))
		find := o.Finder()
		for i, e := range raw {
			list[i].entry = e
			list[i].lost = !e.merge && o.Fields()[find.Index(e.Key)].KeySpan != e.KeySpan
		}
	} else {
		list = make([]written, len(o.Fields()))
		for i, f := range o.Fields() {
			list[i].Field = f
		}
	}
	at := int(o.body)
	if o.style == flow {
		at = r.token(at + 1)
	}
	for i := range list {
		e := &list[i]
		if i > 0 {
			at = r.token(at)
			if o.style != block && at < len(r.src) && r.src[at] == ',' {
				at = r.token(at + 1)
			}
		}
		e.start, e.colon = at, -1
		if at = r.token(e.KeySpan.End); at < len(r.src) && r.src[at] == ':' && at < max(int(e.Value.start), e.KeySpan.End+1) {
			e.colon = at + 1
		}
		e.end = int(e.Value.end)
		at = e.end
	}
	return list
}

// token returns the offset of the next token: behind blanks, line breaks and
// comments.
func (r *rewriter) token(at int) int {
	for at < len(r.src) {
		switch r.src[at] {
		case ' ', '\t', '\n', '\r':
			at++
		case '#':
			if r.layout.json {
				return at
			}
			at += lineLen(r.src[at:])
		default:
			return at
		}
	}
	return at
}

// lineEnd returns the offset behind the line on which a value ends.
func (r *rewriter) lineEnd(end int) int {
	if end > 0 && r.src[end-1] == '\n' {
		return end // of a block scalar
	}
	return end + lineLen(r.src[end:])
}

// after returns where a line goes that follows an entry at a column: behind
// the comments that belong to the entry by their indentation.
func (r *rewriter) after(end, col int) int {
	at := r.lineEnd(end)
	if at >= len(r.src) {
		return at
	}
	next := -1
	if t := r.token(at); t < len(r.src) {
		next = r.text.column(t)
		if p := (parser{s: string(r.src[t:min(t+4, len(r.src))])}); next == 0 && p.anyMarker(0) {
			next = -1
		}
	}
	for at < len(r.src) {
		k := at
		for k < len(r.src) && r.src[k] == ' ' {
			k++
		}
		if k >= len(r.src) || r.src[k] != '#' || k-at < col || k-at <= next {
			break
		}
		at += lineLen(r.src[at:])
	}
	return at
}

// before returns where a line goes that precedes an entry: in front of the
// comments directly above it.
func (r *rewriter) before(start, floor int) int {
	line := r.text.lineStart(start)
	col := start - line
	for line > floor {
		above := r.text.lineStart(line - 1)
		text := r.src[above:line]
		if above < floor || len(text) <= col || len(bytes.TrimLeft(text[:col], " ")) > 0 || text[col] != '#' {
			break
		}
		line = above
	}
	return line
}

// ownLine reports whether the line of an offset holds only blanks before it.
func (r *rewriter) ownLine(start int) bool {
	return len(bytes.TrimLeft(r.src[r.text.lineStart(start):start], " ")) == 0
}

// blockMap edits a block mapping; it reports false where it must be written
// anew.
func (r *rewriter) blockMap(o, n *Node) bool {
	es := r.entriesOf(o)
	col := r.text.column(es[0].start)
	find := n.Finder()
	own := newMatches(n)
	keep := make([]bool, len(es))
	lastMerge := -1
	for i, e := range es {
		if e.merge {
			keep[i], lastMerge = true, i
			if r.moving {
				r.child(o, slot{e.Value, e.colon, col, true, false}, e.Value)
			}
			continue
		}
		j := find.Index(e.Key)
		keep[i] = j >= 0
		if j < 0 || e.lost {
			if !keep[i] {
				r.touchAll(e.Value)
			}
			continue
		}
		own[j] = int32(i)
		value := n.Fields()[j].Value
		if e.colon < 0 && value != e.Value && !sameScalar(e.Value, value) {
			return false
		}
		r.child(o, slot{e.Value, e.colon, col, true, false}, value)
	}
	merged, ok := r.mergedFields(o, &find, es)
	if !ok {
		return false
	}
	parts := make([]part, len(es))
	for i, e := range es {
		parts[i] = part{int32(e.start), int32(e.end)}
	}
	add := newAdditions(len(es))
	at := -1
	for j, f := range n.Fields() {
		if own[j] >= 0 {
			at = int(own[j])
			continue
		}
		if v, ok := merged[f.Key]; ok && (v == f.Value || sameValue(v, f.Value)) {
			continue
		}
		r.odd = r.odd || len(f.Key) > maxKeyLen/8
		w := r.lines(col)
		w.entry(f, col)
		add.value(max(at, lastMerge), r.take(w), f.Value)
	}
	return r.blockParts(o, parts, keep, add, col)
}

// matches holds for each field of a new value the index of the entry of the
// document that has its key, -1 for none.
type matches []int32

func newMatches(n *Node) matches {
	m := make(matches, n.Len())
	for j := range m {
		m[j] = -1
	}
	return m
}

// mergedFields returns the fields that merge keys bring into a mapping; it
// reports false where the new value lacks one of them.
func (r *rewriter) mergedFields(o *Node, find *Finder, es []written) (map[string]*Node, bool) {
	if o.flags&irregular == 0 {
		return nil, true
	}
	own := make(map[string]bool, len(es))
	for _, e := range es {
		own[e.Key] = own[e.Key] || !e.lost && !e.merge
	}
	merged := map[string]*Node{}
	for _, f := range o.Fields() {
		if own[f.Key] {
			continue
		}
		if find.Index(f.Key) < 0 {
			return nil, false
		}
		merged[f.Key] = f.Value
	}
	// A key that was deleted would come back by a merge.
	for _, e := range es {
		if e.merge || find.Index(e.Key) >= 0 {
			continue
		}
		for _, m := range es {
			if m.merge && bringsIn(m.Value, e.Key) {
				return nil, false
			}
		}
	}
	return merged, true
}

func bringsIn(n *Node, key string) bool {
	if _, ok := n.Field(key); ok {
		return true
	}
	for _, item := range n.Items() {
		if _, ok := item.Field(key); ok {
			return true
		}
	}
	return false
}

// additions holds the texts to insert behind each part of a collection; those
// at index 0 go in front of the first one.
type additions [][]addition

// addition is a text to insert, and the value that it ends with.
type addition struct {
	text  []byte
	value *Node
}

func newAdditions(parts int) additions { return make(additions, parts+1) }

func (a additions) value(after int, text []byte, value *Node) {
	a[after+1] = append(a[after+1], addition{text, value})
}

// blockParts removes and inserts entries or items of a block collection, whose
// own edits are made already.
func (r *rewriter) blockParts(o *Node, parts []part, keep []bool, add additions, col int) bool {
	first := slices.Index(keep, true)
	if first < 0 {
		return false
	}
	mark := len(r.edits)
	behind := -1 // the last part that stays
	var front []addition
	for i := -1; i < len(parts); i++ {
		if i >= 0 && keep[i] {
			behind = i
		}
		texts := add[i+1]
		if behind < 0 {
			front = append(front, texts...)
			continue
		}
		for _, a := range texts {
			at := r.after(int(parts[behind].end), col)
			r.odd = r.odd || !r.simpleLines(at, a.value, int(parts[behind].end))
			r.insertLines(at, a.text)
		}
	}
	if len(front) > 0 {
		r.insertFront(o, int(parts[first].start), front, col)
	}
	for i := 0; i < len(parts); i++ {
		if keep[i] {
			continue
		}
		// Comments and blank lines between parts stay.
		r.odd = true
		j := i + 1
		for j < len(parts) && !keep[j] && (r.lineEnd(int(parts[j-1].end)) == r.text.lineStart(int(parts[j].start)) || !r.ownLine(int(parts[i].start))) {
			j++
		}
		if !r.removeLines(parts, i, j) {
			return false
		}
		i = j - 1
	}
	if len(r.edits) > mark {
		r.changed = append(r.changed, o)
	}
	return true
}

// insertFront inserts before the first part that stays.
func (r *rewriter) insertFront(o *Node, start int, texts []addition, col int) {
	if r.ownLine(start) {
		at := r.before(start, r.floor(o))
		for _, a := range texts {
			r.odd = r.odd || !r.simpleLines(at, a.value, 0)
			r.insertLines(at, a.text)
		}
		return
	}
	r.odd = true
	w := r.writer()
	for _, a := range texts {
		w.dst = append(w.dst, a.text[col:]...)
		w.pad(col)
	}
	r.edit(start, start, w.dst)
}

// floor returns the offset of the first line that belongs to a collection.
func (r *rewriter) floor(o *Node) int {
	if p := r.parents[o]; p != nil {
		return r.lineEnd(int(p.body))
	}
	return 0
}

// removeLines removes the parts i:j of a block collection, with their lines; it
// reports false where they share a line with others.
func (r *rewriter) removeLines(parts []part, i, j int) bool {
	start, end := int(parts[i].start), r.lineEnd(int(parts[j-1].end))
	if r.ownLine(start) {
		from := r.text.lineStart(start)
		r.edit(from, end, nil)
		return true
	}
	if i > 0 || j == len(parts) || end > int(parts[j].start) {
		return false // line breaks that editors do not know
	}
	// The first part stands behind a '-' or '?'.
	if next := int(parts[j].start); len(bytes.TrimSpace(r.src[end:next])) == 0 {
		r.edit(start, next, nil)
		return true
	}
	for start > 0 && r.src[start-1] == ' ' {
		start--
	}
	r.edit(start, end-r.breakBefore(end), nil)
	return true
}

// breakBefore returns the length of the line break that ends at an offset.
func (r *rewriter) breakBefore(at int) int {
	switch {
	case bytes.HasSuffix(r.src[:at], []byte("\r\n")):
		return 2
	case at > 0 && r.src[at-1] == '\n':
		return 1
	}
	return 0
}

// match pairs the items of a new list with those of the document: by identity,
// by origin, by name, and by value at the same place. It returns the index of
// each new item in the old list, -1 for none.
func (r *rewriter) match(o, n *Node) []int {
	byStart := make(map[int32]int, len(o.Items()))
	byName := map[string]int{}
	for i, item := range o.Items() {
		byStart[item.start] = i
		if name := item.Get("name").Str(); name != "" {
			byName[name] = i
		}
	}
	used := make([]bool, len(o.Items()))
	to := make([]int, len(n.Items()))
	for k, item := range n.Items() {
		to[k] = -1
		if item != nil && item.text == r.text {
			if i, ok := byStart[item.start]; ok && !used[i] {
				to[k], used[i] = i, true
			}
		}
	}
	at := 0
	for k, item := range n.Items() {
		if to[k] >= 0 {
			at = to[k] + 1
			continue
		}
		i, ok := byName[item.Get("name").Str()]
		if !ok || used[i] {
			if i = at; i >= len(o.Items()) || used[i] || !sameValue(o.Items()[i], item) {
				continue
			}
		}
		to[k], used[i] = i, true
		at = i + 1
	}
	return to
}

// blockList edits a block sequence; it reports false where it must be written
// anew.
func (r *rewriter) blockList(o, n *Node) bool {
	col := r.text.column(int(o.body))
	parts := make([]part, len(o.Items()))
	at := int(o.body)
	for i, item := range o.Items() {
		if i > 0 {
			at = r.token(at)
		}
		if at >= len(r.src) || r.src[at] != '-' {
			return false // behind a comment that ends in a line break of YAML's own
		}
		parts[i] = part{int32(at), item.end}
		at = int(item.end)
	}
	to := r.match(o, n)
	keep := make([]bool, len(parts))
	last, ordered := -1, true
	for _, i := range to {
		if i >= 0 {
			keep[i] = true
			ordered = ordered && i > last
			last = max(last, i)
		}
	}
	for i, item := range o.Items() {
		if !keep[i] {
			r.touchAll(item)
		}
	}
	itemSlot := func(i int) slot {
		return slot{o.Items()[i], int(parts[i].start) + 1, col, false, false}
	}
	if !ordered {
		return r.reorder(o, n, to, parts, col, itemSlot)
	}
	add := newAdditions(len(parts))
	after := -1
	for k, item := range n.Items() {
		if i := to[k]; i >= 0 {
			r.child(o, itemSlot(i), item)
			after = i
			continue
		}
		w := r.lines(col)
		w.item(item, col)
		add.value(after, r.take(w), item)
	}
	return r.blockParts(o, parts, keep, add, col)
}

// reorder writes the items of a block sequence in another order, each with its
// lines and the comments and blank lines above it.
func (r *rewriter) reorder(o, n *Node, to []int, parts []part, col int, itemSlot func(int) slot) bool {
	r.odd = true
	first := int(parts[0].start)
	if !r.ownLine(first) {
		return false
	}
	from := r.before(first, r.floor(o))
	w := r.writer()
	outer := r.edits
	ok := true
	for k, item := range n.Items() {
		i := to[k]
		if i < 0 {
			w.pad(col)
			w.item(item, col)
			continue
		}
		chunk := from
		if i > 0 {
			chunk = r.lineEnd(int(parts[i-1].end))
		}
		end := r.lineEnd(int(parts[i].end))
		r.edits = nil
		r.child(o, itemSlot(i), item)
		text, err := r.apply(r.edits, chunk, end)
		ok = ok && err == nil
		w.dst = append(w.dst, text...)
		if !bytes.HasSuffix(text, []byte{'\n'}) {
			w.dst = append(w.dst, w.newline...)
		}
	}
	r.edits = outer
	end := r.lineEnd(int(parts[len(parts)-1].end))
	if r.breakBefore(end) == 0 {
		w.dst = bytes.TrimSuffix(w.dst, []byte(w.newline))
	}
	r.edit(from, end, w.dst)
	r.changed = append(r.changed, o)
	return ok
}

// flowMap edits a mapping in braces; it reports false where it must be written
// anew.
func (r *rewriter) flowMap(o, n *Node) bool {
	es := r.entriesOf(o)
	find := n.Finder()
	keep := make([]bool, len(es))
	own := newMatches(n)
	parts := make([]part, len(es))
	for i, e := range es {
		parts[i] = part{int32(e.start), int32(e.end)}
		r.odd = r.odd || e.Value.style == absent || e.Value.body == e.Value.end // what comes behind it may join its key, or its tag
		if e.merge {
			keep[i] = true
			if r.moving {
				r.child(o, slot{e.Value, e.colon, -1, true, true}, e.Value)
			}
			continue
		}
		j := find.Index(e.Key)
		keep[i] = j >= 0
		if j < 0 || e.lost {
			if !keep[i] {
				r.touchAll(e.Value)
			}
			continue
		}
		own[j] = int32(i)
		r.child(o, slot{e.Value, e.colon, -1, true, true}, n.Fields()[j].Value)
	}
	merged, ok := r.mergedFields(o, &find, es)
	if !ok {
		return false
	}
	add := newAdditions(len(es))
	at := -1
	for i, e := range es {
		if e.merge {
			at = i
		}
	}
	indent, many := r.flowIndent(o, parts), r.manyLines(o, parts)
	for j, f := range n.Fields() {
		if own[j] >= 0 {
			at = max(at, int(own[j]))
			continue
		}
		if v, ok := merged[f.Key]; ok && (v == f.Value || sameValue(v, f.Value)) {
			continue
		}
		w := r.writer()
		w.pretty = w.pretty && many
		w.flowEntry(f, indent)
		add.value(at, w.dst, f.Value)
	}
	return r.flowParts(o, parts, keep, add)
}

// flowList edits a sequence in brackets.
func (r *rewriter) flowList(o, n *Node) bool {
	parts := o.children()
	to := r.match(o, n)
	keep := make([]bool, len(parts))
	last := -1
	for _, i := range to {
		if i >= 0 {
			if i < last {
				return false
			}
			keep[i], last = true, i
		}
	}
	for i, item := range o.Items() {
		r.odd = r.odd || item.body == item.end // a comma would join its tag
		if !keep[i] {
			r.touchAll(item)
		}
	}
	add := newAdditions(len(parts))
	after := -1
	indent, many := r.flowIndent(o, parts), r.manyLines(o, parts)
	for k, item := range n.Items() {
		if i := to[k]; i >= 0 {
			r.child(o, slot{o.Items()[i], -1, -1, false, true}, item)
			after = i
			continue
		}
		w := r.writer()
		w.pretty = w.pretty && many
		w.flow(item, indent)
		add.value(after, w.dst, item)
	}
	return r.flowParts(o, parts, keep, add)
}

// flowIndent returns the indentation of the entries of a flow collection that
// stand on lines of their own.
func (r *rewriter) flowIndent(o *Node, parts []part) string {
	if r.manyLines(o, parts) {
		return indentAt(r.src, int(parts[0].start))
	}
	if r.layout.json {
		return ""
	}
	return r.indentWithin(o)
}

// indentWithin returns the indentation of a line that breaks off inside of a
// flow collection of YAML: deeper than what the collection's line holds, by one
// level for each bracket that the line opens.
func (r *rewriter) indentWithin(o *Node) string {
	from := r.text.lineStart(int(o.start))
	col := from
	for col < int(o.start) && (r.src[col] == ' ' || r.src[col] == '-' && r.src[col+1] == ' ') {
		col++
	}
	level := 1
	for p := r.parents[o]; p != nil && p.style != block && int(p.start) >= from; p = r.parents[p] {
		level++
	}
	return strings.Repeat(" ", col-from) + strings.Repeat(r.layout.unit, level)
}

// flowColumn returns the column that an offset has, near enough, after the
// edits before it.
func (r *rewriter) flowColumn(at int) int {
	from := r.text.lineStart(at)
	col := at - from
	for i := len(r.edits) - 1; i >= 0 && r.edits[i].start >= from; i-- {
		e := &r.edits[i]
		if e.start > at {
			continue
		}
		if j := bytes.LastIndexByte(e.text, '\n'); j >= 0 {
			return col + len(e.text) - j - 1 - (e.end - from)
		}
		col += len(e.text) - (e.end - e.start)
	}
	return col
}

// manyLines reports whether the entries of a flow collection begin on lines of
// their own.
func (r *rewriter) manyLines(o *Node, parts []part) bool {
	return bytes.IndexByte(r.src[o.body:parts[0].start], '\n') >= 0
}

// flowParts removes and inserts entries or items of a flow collection.
func (r *rewriter) flowParts(o *Node, parts []part, keep []bool, add additions) bool {
	first := slices.Index(keep, true)
	if first < 0 {
		return false
	}
	mark := len(r.edits)
	many := r.manyLines(o, parts)
	r.odd = r.odd || many || !singleLine(o) || slices.Contains(keep, false)
	gap := r.layout.comma[1:]
	if len(parts) > 1 && !many {
		if at := r.token(int(parts[0].end)); r.src[at] == ',' {
			if gap = ""; r.src[at+1] == ' ' {
				gap = " "
			}
		}
	}
	if many {
		gap = r.layout.newline + r.flowIndent(o, parts)
	}
	behind := -1
	for i := -1; i < len(parts); i++ {
		if i >= 0 && keep[i] {
			behind = i
		}
		for _, a := range add[i+1] {
			text, gap := a.text, gap
			if !many && !r.layout.json {
				at := int(parts[max(behind, 0)].end)
				if bytes.IndexByte(text, '\n') >= 0 || r.flowColumn(at)+len(text) > flowWidth {
					gap = r.layout.newline + r.indentWithin(o)
				}
			}
			if behind < 0 {
				at := int(parts[first].start)
				r.edit(at, at, append(append(text, ','), gap...))
				continue
			}
			r.flowInsert(int(parts[behind].end), text, gap, many && (keep[min(behind+1, len(parts)-1)] || r.eachOnLines(parts)))
		}
	}
	lines := many && !r.layout.json && r.eachOnLines(parts)
	if tail := len(parts) - 1; lines && behind < tail && r.src[r.token(int(parts[tail].end))] != ',' {
		comma := r.token(int(parts[behind].end))
		if add[behind+1] == nil {
			r.edit(comma, comma+1, nil)
		}
	}
	for i := 0; i < len(parts); i++ {
		if keep[i] {
			continue
		}
		if lines {
			// Comments on other lines stay, and so may a comma at the end.
			start := int(parts[i].start)
			r.edit(r.text.lineStart(start), r.lineEnd(int(parts[i].end)), nil)
			continue
		}
		j := i
		for j < len(parts) && !keep[j] {
			j++
		}
		if i > 0 {
			r.edit(int(parts[i-1].end), int(parts[j-1].end), nil)
		} else {
			r.edit(int(parts[0].start), int(parts[j].start), nil)
		}
		i = j
	}
	if len(r.edits) > mark {
		r.changed = append(r.changed, o)
	}
	return true
}

// eachOnLines reports whether entries share their lines with nothing but
// commas and comments.
func (r *rewriter) eachOnLines(parts []part) bool {
	for _, p := range parts {
		rest := r.src[p.end:]
		rest = bytes.TrimLeft(rest[:lineLen(rest)], " \t")
		rest = bytes.TrimSpace(bytes.TrimPrefix(rest, []byte{','}))
		if !r.ownLine(int(p.start)) || len(rest) > 0 && rest[0] != '#' {
			return false
		}
	}
	return true
}

// flowInsert inserts an entry behind the one that ends at an offset. A comment
// on that line stays with its entry.
func (r *rewriter) flowInsert(end int, text []byte, gap string, many bool) {
	r.odd = r.odd || !endsPlainly(r.src[:end]) // what a comma would join
	insert := append([]byte{','}, gap...)
	insert = append(insert, text...)
	if !many || r.layout.json {
		r.edit(end, end, insert)
		return
	}
	line := bytes.TrimLeft(r.src[end:end+lineLen(r.src[end:])], " \t")
	comma := bytes.HasPrefix(line, []byte{','})
	rest := bytes.TrimLeft(bytes.TrimPrefix(line, []byte{','}), " \t")
	if !bytes.HasPrefix(rest, []byte{'#'}) {
		r.edit(end, end, insert)
		return
	}
	at := end + lineLen(r.src[end:])
	text = append(append([]byte(nil), gap[len(r.layout.newline):]...), text...)
	if comma {
		text = append(text, ',')
	} else {
		r.edit(end, end, []byte{','})
	}
	r.insertLines(at, append(text, r.layout.newline...))
}

// endsPlainly reports whether a text ends in a bracket, a quote, a letter or a
// digit.
func endsPlainly(src []byte) bool {
	switch c := src[len(src)-1]; {
	case c == '"', c == '\'', c == '}', c == ']', '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	return false
}

// replace writes the value of a slot anew. name is the anchor that it gets.
func (r *rewriter) replace(s slot, n *Node, name string) {
	o := s.node
	if n != o {
		r.touchAll(o)
	}
	if name == "" && o.flags&anchored != 0 && !r.away[o] {
		name = r.anchorName(o)
	}
	if !r.isSimple(s, n) {
		r.odd = true
	}
	if s.inFlow {
		r.replaceFlow(s, n, name)
		return
	}
	w := r.writer()
	if n.Len() == 0 {
		if name != "" {
			w.dst = append(append(w.dst, " &"...), name...)
		}
		w.dst = append(w.dst, ' ')
		w.scalar(n, s.col, o.style, false)
	} else {
		w.value(n, s.col, s.inMap, name)
	}
	if s.lead < 0 {
		r.replaceRoot(o, w.dst, n.Len() == 0)
		return
	}
	start, end := s.lead, int(o.end)
	text := w.dst
	if end > start && r.src[end-1] == '\n' {
		// A block scalar ends here, and with it the line.
		if o.style == block && bytes.HasPrefix(text, []byte(r.layout.newline)) && r.ownLine(int(o.start)) {
			start, text = r.text.lineStart(int(o.start)), text[len(r.layout.newline):]
		}
		r.edit(start, end, text)
		return
	}
	head, body := text[:lineLen(text)], text[lineLen(text):]
	head = bytes.TrimSuffix(head, []byte(r.layout.newline))
	if len(body) == 0 {
		r.edit(start, end, head)
		r.respell(o, bytes.TrimPrefix(head, []byte{' '}))
		return
	}
	if o.style == block && len(head) == 0 && r.ownLine(int(o.start)) {
		// Comments between the key and the old value stay.
		from := r.text.lineStart(int(o.start))
		r.edit(from, end, bytes.TrimSuffix(body, []byte(r.layout.newline)))
		return
	}
	if bytes.IndexByte(r.src[start:end], '\n') < 0 {
		// What follows on the line, a comment, stays there.
		r.edit(start, end, head)
		r.insertLines(r.lineEnd(end), body)
		return
	}
	r.edit(start, end, bytes.TrimSuffix(text, []byte(r.layout.newline)))
}

// replaceRoot writes the value of the document anew. text is written as if
// behind an indicator; inline tells that it may stand behind a document marker.
func (r *rewriter) replaceRoot(o *Node, text []byte, inline bool) {
	start, end := int(o.start), int(o.end)
	text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte(" ")), []byte(r.layout.newline))
	switch {
	case o.style == absent:
		r.insertLines(start, text)
	case end > 0 && r.src[end-1] == '\n':
		r.edit(start, end, text)
	case r.text.lineStart(start) == start || inline:
		r.edit(start, end, bytes.TrimSuffix(text, []byte(r.layout.newline)))
	default:
		// Behind a document marker: a block collection begins on the next line.
		for start > 0 && r.src[start-1] == ' ' {
			start--
		}
		r.edits = append(r.edits, edit{start: start, end: end, text: append([]byte(r.layout.newline), bytes.TrimSuffix(text, []byte(r.layout.newline))...)})
	}
}

// replaceFlow writes a value inside brackets, or of a JSON document, anew.
func (r *rewriter) replaceFlow(s slot, n *Node, name string) {
	o := s.node
	w := r.writer()
	if o.style == absent && (s.inMap || s.lead >= 0) {
		if s.lead < 0 {
			w.dst = append(w.dst, ':')
		}
		w.dst = append(w.dst, ' ')
	}
	if name != "" {
		w.dst = append(append(append(w.dst, '&'), name...), ' ')
	}
	if n.Len() == 0 {
		w.scalar(n, 0, o.style, true)
	} else {
		indent := ""
		switch holder := r.parents[o]; {
		case r.layout.pretty:
			indent = indentAt(r.src, int(o.start))
		case !r.layout.json && holder != nil && holder.style != block:
			indent = r.indentWithin(holder)
		case !r.layout.json:
			indent = r.indentWithin(o)
		}
		w.flow(n, indent)
	}
	r.edit(int(o.start), int(o.end), w.dst)
	r.respell(o, w.dst)
}

func (r *rewriter) respell(o *Node, text []byte) {
	r.respelled = append(r.respelled, Respelling{o, text})
}

// lines returns a writer of lines that begin at a column. What it has written
// is taken by take, before the next one is asked for.
func (r *rewriter) lines(col int) *writer {
	if cap(r.room)-len(r.room) < smallRoom {
		r.room = make([]byte, 0, bigRoom)
	}
	w := r.writer()
	w.dst = r.room[len(r.room):]
	w.pad(col)
	return w
}

// The least room that is worth beginning a text in, and what is made at once: a
// sidecar takes about half of it.
const (
	smallRoom = 512
	bigRoom   = 8 << 10
)

// take returns what a writer of lines has written.
func (r *rewriter) take(w *writer) []byte {
	text := w.dst[:len(w.dst):len(w.dst)]
	if n := len(r.room); n+len(text) <= cap(r.room) && &text[0] == &r.room[:n+1][n] {
		r.room = r.room[:n+len(text)]
	}
	return text
}

// anchorName returns the name of a node's anchor.
func (r *rewriter) anchorName(o *Node) string {
	from, to := r.anchorAt(o)
	if from == to {
		return ""
	}
	return string(r.src[from+1 : to])
}

// anchorAt returns where the anchor among the properties of a node is.
func (r *rewriter) anchorAt(o *Node) (from, to int) {
	for i := int(o.start); i < int(o.body); i++ {
		if r.src[i] == '&' && (i == int(o.start) || r.src[i-1] == ' ' || r.src[i-1] == '\t' || r.src[i-1] == '\n') {
			to = i + 1
			for to < int(o.body) && isWord(r.src[to]) {
				to++
			}
			return i, to
		}
	}
	return 0, 0
}

// loseAnchor removes the anchor of a node that is moved elsewhere.
func (r *rewriter) loseAnchor(o *Node) {
	if !r.away[o] {
		return
	}
	from, to := r.anchorAt(o)
	if to < len(r.src) && r.src[to] == ' ' {
		to++
	} else if from > 0 && r.src[from-1] == ' ' {
		from--
	}
	r.edit(from, to, nil)
}

// touchAll notes the anchors of a subtree that is to go.
func (r *rewriter) touchAll(o *Node) {
	if len(r.doc.aliases) == 0 || o.flags&aliased != 0 {
		return
	}
	if o.flags&anchored != 0 {
		r.touched = append(r.touched, o)
	}
	for _, f := range o.Fields() {
		if !r.inside(o, f.Value) {
			continue
		}
		r.touchAll(f.Value)
	}
	for _, item := range o.Items() {
		r.touchAll(item)
	}
}

// inside reports whether a node below another one stands there, and is not
// brought in by a merge.
func (r *rewriter) inside(o, n *Node) bool { return n.start >= o.start && n.end <= o.end }

// moveAnchors decides which alias becomes the new home of each anchor whose
// value changes; it reports whether there is one.
func (r *rewriter) moveAnchors(root *Node) bool {
	kept := map[*Node]bool{}
	r.collect(root, kept)
	r.home, r.away, r.moving = map[*Node]*Node{}, map[*Node]bool{}, true
	for _, a := range r.touched {
		for _, alias := range r.doc.aliases {
			if r.doc.anchorOf[alias] == a && kept[alias] {
				r.home[alias] = a
				r.away[a] = true
				break
			}
		}
	}
	return len(r.home) > 0
}

// collect notes the aliases that are in use in the new value.
func (r *rewriter) collect(n *Node, kept map[*Node]bool) {
	if n == nil {
		return
	}
	if n.flags&aliased != 0 {
		if n.flags&derived == 0 {
			kept[n] = true
		}
		return
	}
	for _, f := range n.Fields() {
		r.collect(f.Value, kept)
	}
	for _, item := range n.Items() {
		r.collect(item, kept)
	}
	if n.flags&irregular == 0 {
		return
	}
	for o, entries := range r.doc.entries {
		if o.start != n.start || o.end != n.end {
			continue
		}
		for _, e := range entries {
			if e.merge {
				r.collect(e.Value, kept)
			}
		}
	}
}

// force marks the smallest collections around the edits of the last attempt,
// or what holds them, to be written anew; it reports whether any is new.
func (r *rewriter) force() bool {
	if r.forced == nil {
		r.forced = map[*Node]bool{}
	}
	more := false
	for _, o := range r.changed {
		for o != nil && r.forced[o] {
			o = r.parents[o]
		}
		if o != nil {
			r.forced[o] = true
			more = true
		}
	}
	return more
}

// whole writes the document anew, with what stands before and behind its
// value.
func (r *rewriter) whole(root *Node) ([]byte, error) {
	old := r.doc.Root
	if old == nil {
		old = r.doc.null
	}
	w := r.writer()
	w.reuse = false
	if r.doc.Format == JSON {
		w.flow(root, "")
		head := r.src[:old.start]
		var err error
		// A scalar may not stand behind tabs, as brackets may.
		for _, head := range [][]byte{head, bytes.TrimRight(head, " \t"), bytes.ReplaceAll(head, []byte("\t"), []byte(" "))} {
			out := slices.Concat(head, w.dst, r.src[old.end:])
			if err = r.check(out, root); err == nil {
				return out, nil
			}
		}
		return nil, err
	}
	w.value(root, -1, false, "")
	text := bytes.TrimPrefix(bytes.TrimPrefix(w.dst, []byte(" ")), []byte(w.newline))
	head := bytes.TrimRight(r.src[:old.start], " \t")
	tail := r.src[min(r.lineEnd(int(old.end)), len(r.src)):]
	for _, parts := range [][2][]byte{{head, tail}, {head, nil}, {[]byte("---"), nil}, {nil, nil}} {
		out := slices.Clone(parts[0])
		if len(out) > 0 && out[len(out)-1] != '\n' && string(out) != bom {
			out = append(out, w.newline...)
		}
		out = append(append(out, text...), parts[1]...)
		if err := r.check(out, root); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w, at %s", errRewrite, strconv.Quote(r.text.Name))
}
