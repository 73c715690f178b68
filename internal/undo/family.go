package undo

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Handle is a mapping within a part that the edit changed, and that the caller
// finds again whatever else is edited. Where an edit does the same to many
// mappings, they are named by their numbers in the list of handles, which takes
// less of a record than places do.
type Handle struct {
	// Node is the mapping, nil where it is gone.
	Node *source.Node
	// Text is a scalar that the edit wrote, and that is another for each.
	Text string
}

// family is what an edit did alike at handles.
type family struct {
	steps   []step
	members []int // numbers of handles, rising
	// texts and stales hold, by step, what units hold, by member.
	texts  [][]string
	stales [][]uint16
	// coarse tells, by step, that the stale hashes of members differ: then each
	// is of one letter only.
	coarse []bool
}

// step is what was done at one place, as seen from a handle.
type step struct {
	op op
	// up tells that the place is what holds the handle, or an entry of that;
	// else it is the handle, or an entry of it.
	up bool
	// key names the entry, "" for none.
	key string
}

// opAdd, in families alone, is an entry or item that was added.
const opAdd op = 'a'

// spot is a place as seen from a handle.
type spot struct {
	handle int
	up     bool
	key    string
}

// handlePlaces returns the places of handles in their part, and of what holds
// them; nil for a handle that is not there.
func handlePlaces(part *source.Node, handles []Handle) []*[2]place {
	if len(handles) == 0 {
		return nil
	}
	number := make(map[*source.Node]int, len(handles))
	for i, h := range handles {
		if h.Node != nil {
			number[h.Node] = i
		}
	}
	found := make([]*[2]place, len(handles))
	eachNode(part, atPart, atPart, func(n *source.Node, at, holder place) {
		if i, ok := number[n]; ok && found[i] == nil {
			found[i] = &[2]place{at, holder}
		}
	})
	return found
}

// place returns the place of a step.
func (s step) place(handle *[2]place) place {
	at := handle[0]
	if s.up {
		at = handle[1]
	}
	if s.key != "" {
		at = at.key(s.key)
	}
	return at
}

// spots returns what the places around the handles of a part are as seen from
// these. parent returns what holds a handle.
func spots(part *source.Node, handles []Handle) map[place]spot {
	places := handlePlaces(part, handles)
	index := map[place]spot{}
	holders := map[place]bool{}
	for _, at := range places {
		if at != nil {
			holders[at[1]] = true
		}
	}
	nodes := nodesAt(part, holders)
	for i, at := range places {
		if at == nil {
			continue
		}
		index[at[1]] = spot{handle: i, up: true}
		for _, f := range nodes[at[1]].Fields() {
			index[at[1].key(f.Key)] = spot{i, true, f.Key}
		}
		index[at[0]] = spot{handle: i}
		for _, f := range handles[i].Node.Fields() {
			index[at[0].key(f.Key)] = spot{i, false, f.Key}
		}
	}
	return index
}

// nodesAt returns the nodes at some places, all found on one walk.
func nodesAt(part *source.Node, wanted map[place]bool) map[place]*source.Node {
	found := make(map[place]*source.Node, len(wanted))
	eachNode(part, atPart, atPart, func(n *source.Node, at, _ place) {
		if wanted[at] && found[at] == nil {
			found[at] = n
		}
	})
	return found
}

// eachNode visits a node and all below it, each with its place and that of what
// holds it.
func eachNode(n *source.Node, at, holder place, visit func(n *source.Node, at, holder place)) {
	visit(n, at, holder)
	switch {
	case n.Kind() == source.Map:
		for _, f := range at.fields(n) {
			eachNode(f.Value, f.at, at, visit)
		}
	case n.Kind() == source.List && owns(n):
		for i, p := range at.items(n, true) {
			eachNode(n.Items()[i], p, at, visit)
		}
	}
}

// families sorts what was done at the handles of a part into families, and
// returns the other entries with them.
func families(entries []entry, index map[place]spot) ([]family, []entry) {
	type done struct {
		step
		entry
	}
	byHandle := map[int][]done{}
	var rest []entry
	for _, e := range entries {
		s, ok := index[e.at]
		if !ok || e.absolute || e.op == opOrder {
			rest = append(rest, e)
			continue
		}
		d := done{step{e.op, s.up, s.key}, e}
		if e.added {
			d.step.op = opAdd
		}
		byHandle[s.handle] = append(byHandle[s.handle], d)
	}
	numbers := make([]int, 0, len(byHandle))
	for i := range byHandle {
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	byShape := map[string]int{}
	var list []family
	for _, i := range numbers {
		at := byHandle[i]
		if len(at) > maxSteps || i >= maxMembers {
			for _, d := range at {
				rest = append(rest, d.entry)
			}
			continue
		}
		slices.SortFunc(at, func(a, b done) int { return strings.Compare(string(a.step.append(nil)), string(b.step.append(nil))) })
		var shape []byte
		for _, d := range at {
			shape = d.step.append(shape)
		}
		n, ok := byShape[string(shape)]
		if !ok {
			n = len(list)
			byShape[string(shape)] = n
			f := family{texts: make([][]string, len(at)), stales: make([][]uint16, len(at))}
			for _, d := range at {
				f.steps = append(f.steps, d.step)
			}
			list = append(list, f)
		}
		f := &list[n]
		f.members = append(f.members, i)
		for j, d := range at {
			f.texts[j] = append(f.texts[j], d.text)
			f.stales[j] = append(f.stales[j], d.loose)
		}
	}
	for i := range list {
		f := &list[i]
		f.coarse = make([]bool, len(f.steps))
		for j := range f.steps {
			f.coarse[j] = !same(f.stales[j])
		}
	}
	return list, rest
}

// expanded returns a record without families: what they say of the handles of
// a part is said of places. missing counts the handles that are not there.
func (r *Record) expanded(part *source.Node, handles []Handle) (out *Record, missing int) {
	if len(r.families) == 0 {
		return r, 0
	}
	out = &Record{version: r.version, width: r.width, loose: r.loose, added: slices.Clone(r.added), units: slices.Clone(r.units)}
	places := handlePlaces(part, handles)
	for _, f := range r.families {
		for i, member := range f.members {
			if member >= len(places) || places[member] == nil {
				missing++
				continue
			}
			for j, s := range f.steps {
				at := s.place(places[member]).short(r.width)
				if s.op == opAdd {
					out.added = append(out.added, at)
					continue
				}
				out.units = append(out.units, unit{op: s.op, at: at, stale: f.stales[j][i], text: f.texts[j][i], inFamily: true, coarse: f.coarse[j]})
			}
		}
	}
	return out, missing
}

// The text of a family: f, its steps, '.', how many handles there are up to
// the last member, which of these are members, and for every step but those of
// opAdd the stale hashes and the texts of all members.

func (s step) append(b []byte) []byte {
	up := byte('0')
	if s.up {
		up = '1'
	}
	b = appendCount(append(b, byte(s.op), up), len(s.key))
	return append(b, s.key...)
}

// appendCount writes a number in letters of five bits, the last one below 32.
func appendCount(b []byte, n int) []byte {
	for ; n >= 32; n >>= 5 {
		b = append(b, letters[32+n&31])
	}
	return append(b, letters[n])
}

func (f *family) append(b []byte) []byte {
	b = append(b, 'f')
	for _, s := range f.steps {
		b = s.append(b)
	}
	n := f.members[len(f.members)-1] + 1
	b = appendCount(append(b, '.'), n)
	if n == len(f.members) {
		b = append(b, '*')
	} else {
		bits := make([]byte, (n+5)/6)
		for _, m := range f.members {
			bits[m/6] |= 1 << (m % 6)
		}
		b = append(b, ':')
		for _, six := range bits {
			b = append(b, letters[six])
		}
	}
	for j, s := range f.steps {
		if s.op != opAdd {
			b = appendTexts(appendStales(b, f.stales[j], f.coarse[j]), f.texts[j])
		}
	}
	return b
}

func appendStales(b []byte, list []uint16, coarse bool) []byte {
	if !coarse {
		return appendBits(append(b, '='), uint64(list[0])<<48, 2)
	}
	b = append(b, ':')
	for _, s := range list {
		b = appendBits(b, uint64(s)<<48, 1)
	}
	return b
}

// appendTexts writes texts: one for all, or with runs of equal lengths, or each
// with its length, whatever is shortest.
func appendTexts(b []byte, list []string) []byte {
	if same(list) {
		return append(appendCount(append(b, '='), len(list[0])), list[0]...)
	}
	var each, runs []byte
	run := 0
	for i, s := range list {
		each = appendCount(each, len(s))
		if run++; i+1 == len(list) || len(list[i+1]) != len(s) {
			runs = appendCount(appendCount(runs, len(s)), run)
			run = 0
		}
	}
	if len(runs) < len(each) {
		b = append(append(b, 'r'), runs...)
	} else {
		b = append(append(b, ':'), each...)
	}
	for _, s := range list {
		b = append(b, s...)
	}
	return b
}

func same[T comparable](list []T) bool {
	for _, v := range list {
		if v != list[0] {
			return false
		}
	}
	return true
}

// These bound what a record that is damaged, or malicious, makes of memory.
const (
	maxMembers = 1 << 12
	maxSteps   = 16
)

func (p *recordParser) count() int {
	n, shift := 0, 0
	for shift <= 25 && p.s != "" {
		v := valueOf(p.s[0])
		if v > 63 {
			break
		}
		p.s = p.s[1:]
		n |= int(v&31) << shift
		if v < 32 {
			return n
		}
		shift += 5
	}
	p.failed = true
	return 0
}

func (p *recordParser) cut(size int) string {
	if size > len(p.s) {
		p.failed = true
		return ""
	}
	text := p.s[:size]
	p.s = p.s[size:]
	return text
}

// family reads a family, behind its first letter.
func (p *recordParser) family() (f family) {
	for !p.failed && !p.take('.') {
		head := p.cut(2)
		if p.failed || len(f.steps) == maxSteps {
			p.failed = true
			return f
		}
		s := step{op: op(head[0]), up: head[1] == '1'}
		s.key = p.cut(p.count())
		switch s.op {
		case opAdd, opValue, opEntry, opLine, opAfter:
		default:
			p.failed = true
		}
		f.steps = append(f.steps, s)
	}
	n := p.count()
	if n == 0 || n > maxMembers {
		p.failed = true
		return f
	}
	all := p.take('*')
	bits := ""
	if !all && p.take(':') {
		bits = p.cut((n + 5) / 6)
	}
	for i := range n {
		if all || i/6 < len(bits) && valueOf(bits[i/6])>>(i%6)&1 == 1 {
			f.members = append(f.members, i)
		}
	}
	f.texts, f.stales, f.coarse = make([][]string, len(f.steps)), make([][]uint16, len(f.steps)), make([]bool, len(f.steps))
	if len(f.members) == 0 {
		p.failed = true
		return f
	}
	for j, s := range f.steps {
		if s.op == opAdd {
			f.texts[j], f.stales[j] = make([]string, len(f.members)), make([]uint16, len(f.members))
			continue
		}
		f.stales[j], f.coarse[j] = p.stales(len(f.members))
		f.texts[j] = p.texts(len(f.members))
		for _, t := range f.texts[j] {
			p.failed = p.failed || s.op == opAfter && !isAfter(t)
		}
		if p.failed {
			return f
		}
	}
	return f
}

func (p *recordParser) stales(n int) (list []uint16, coarse bool) {
	list = make([]uint16, n)
	if p.take('=') {
		one := uint16(p.bits(2) >> 48)
		for i := range list {
			list[i] = one
		}
		return list, false
	}
	p.failed = p.failed || !p.take(':')
	for i := range list {
		list[i] = uint16(p.bits(1) >> 48)
	}
	return list, true
}

func (p *recordParser) texts(n int) []string {
	list := make([]string, n)
	if p.take('=') {
		one := p.cut(p.count())
		for i := range list {
			list[i] = one
		}
		return list
	}
	sizes := make([]int, 0, n)
	runs := p.take('r')
	if !runs && !p.take(':') {
		p.failed = true
	}
	for !p.failed && len(sizes) < n {
		size, run := p.count(), 1
		if runs {
			run = p.count()
		}
		if run == 0 || run > n-len(sizes) {
			p.failed = true
		}
		for ; !p.failed && run > 0; run-- {
			sizes = append(sizes, size)
		}
	}
	for i := range sizes {
		list[i] = p.cut(sizes[i])
	}
	return list
}
