package source

import "strconv"

// collection returns a new collection that begins at offset start, behind its
// properties.
func (p *parser) collection(kind Kind, st style, start int, pr props) *Node {
	n := p.newNode()
	n.kind, n.style, n.text = kind, st, p.text
	n.start, n.body = int32(start), int32(start)
	p.own(n, pr)
	p.decodes++
	return n
}

// own marks a node as having properties.
func (p *parser) own(n *Node, pr props) {
	if pr.start < 0 {
		return
	}
	n.start = int32(pr.start)
	if pr.hasAnchor {
		n.flags |= anchored
	}
	if pr.hasTag {
		n.flags |= tagged
	}
}

// anchor makes the anchor of a collection known, still open.
func (p *parser) anchor(pr props, n *Node) *anchor {
	if !pr.hasAnchor {
		return nil
	}
	if p.anchors == nil {
		p.anchors = map[string]*anchor{}
	}
	a := &anchor{node: n, open: true, decodes: p.decodes - 1, bytes: p.aliasBytes}
	p.anchors[pr.anchor] = a
	return a
}

// close ends a node with an anchor.
func (p *parser) close(a *anchor) {
	if a != nil {
		a.open = false
		a.decodes = p.decodes - a.decodes
		a.bytes = p.aliasBytes - a.bytes + int(a.node.end-a.node.start)
	}
}

// emptyAt returns the null that no bytes spell.
func (p *parser) emptyAt(at int) *Node {
	n := p.newNode()
	n.text, n.style = p.text, absent
	n.start, n.body, n.end = int32(at), int32(at), int32(at)
	p.decodes++
	return n
}

// emptyNode returns the node that consists of its properties only, if any.
func (p *parser) emptyNode(pr props) *Node {
	if pr.start < 0 {
		return p.emptyAt(p.pos)
	}
	return p.scalarNode(scalar{start: pr.end, end: pr.end, style: absent}, pr)
}

// scalarNode returns the node of a scalar.
func (p *parser) scalarNode(sc scalar, pr props) *Node {
	n := p.newNode()
	n.text, n.style = p.text, sc.style
	n.start, n.body, n.end = int32(sc.start), int32(sc.start), int32(sc.end)
	if pr.start < 0 {
		if sc.style == plain || sc.style == absent {
			resolve(n, sc.value)
		} else {
			n.kind, n.str = String, sc.value
		}
		p.count(1)
		return n
	}
	p.own(n, pr)
	switch {
	case pr.hasTag:
		p.resolveTagged(n, pr, sc)
		if sc.value == mergeKey && (pr.tag == "!" || pr.tag == tagPrefix+"merge") {
			p.mergeTagged = n
		}
	case sc.style == plain || sc.style == absent:
		resolve(n, sc.value)
	default:
		n.kind, n.str = String, sc.value
	}
	p.count(1)
	if a := p.anchor(pr, n); a != nil {
		p.close(a)
	}
	return n
}

// aliasNode returns the node of an alias: a copy of the node with the anchor
// that has a place of its own.
func (p *parser) aliasNode(k key, pr props) *Node {
	start, end := k.scalar.start, k.scalar.end
	if pr.start >= 0 {
		p.fail(pr.start, pr.end, "an alias takes neither anchor nor tag")
	}
	a := p.anchors[k.value]
	if a == nil {
		p.fail(start, end, "unknown anchor "+strconv.Quote(k.value)+"; a value that begins with * must be quoted")
	}
	if a.open {
		p.fail(start, end, "anchor "+strconv.Quote(k.value)+" contains itself")
	}
	n := p.newNode()
	*n = *a.node
	n.text, n.flags = p.text, n.flags&^(anchored|tagged|irregular)|aliased
	n.start, n.body, n.end = int32(start), int32(start), int32(end)
	p.count(1)
	p.aliasDecodes += a.decodes
	p.count(a.decodes)
	if p.aliasBytes += a.bytes; p.aliasBytes > maxExpansion {
		p.fail(start, end, "the aliases of this document stand for too much text")
	}
	if p.doc.anchorOf == nil {
		p.doc.anchorOf = map[*Node]*Node{}
	}
	p.doc.aliases = append(p.doc.aliases, n)
	p.doc.anchorOf[n] = a.node
	return n
}

// count counts decoded nodes and refuses a document of aliases mostly, by the
// rule of Kubernetes' decoder: the bigger a document, the smaller the part of
// it that may come from aliases.
func (p *parser) count(n int) {
	p.decodes += n
	if p.aliasDecodes <= 100 || p.decodes <= 1000 {
		return
	}
	const low, high = 400_000, 4_000_000
	allowed := 0.99
	switch {
	case p.decodes >= high:
		allowed = 0.10
	case p.decodes > low:
		allowed = 0.99 - 0.89*(float64(p.decodes-low)/(high-low))
	}
	if float64(p.aliasDecodes)/float64(p.decodes) > allowed {
		p.fail(p.pos, p.pos, "the document consists of aliases mostly: it is refused, as a protection against exponential growth")
	}
}

// checkValue refuses a number that JSON cannot spell.
func (p *parser) checkValue(n *Node) {
	if n.flags&endless != 0 {
		p.fail(int(n.start), int(n.end), "Kubernetes cannot represent this number: quote it if it is meant as text")
	}
}

// entry is an entry of a mapping as it is written.
type entry struct {
	Field
	// merge tells that the entry brings in the entries of other mappings.
	merge bool
}

// mapping is a mapping under construction.
type mapping struct {
	node *Node
	base int // its first field on the stack of the parser
	// raw holds the entries as written, once there is a merge key; foreign
	// tells of each field whether a merge brought it in.
	raw     []entry
	foreign []bool
}

func (p *parser) beginMap(n *Node) mapping { return mapping{node: n, base: len(p.fields)} }

// mergeKey is the key of entries that bring in the entries of other mappings.
const mergeKey = "<<"

// keyField returns the key of an entry.
func (p *parser) keyField(k *key) entry {
	if k.props.start >= 0 || k.alias {
		var n *Node
		if k.alias {
			n = p.aliasNode(*k, k.props)
		} else {
			n = p.scalarNode(k.scalar, k.props)
		}
		return p.nodeField(n)
	}
	f := Field{KeySpan: Span{p.text, k.scalar.start, k.scalar.end}}
	switch {
	case k.style != plain:
		p.count(1)
		f.Key = k.value
	case k.value == mergeKey:
		f.Key = mergeKey
		return entry{f, true}
	case plainText(k.value):
		p.count(1)
		f.Key = k.value
	default:
		p.count(1)
		var n Node
		n.start, n.end = int32(k.scalar.start), int32(k.scalar.end)
		resolve(&n, k.value)
		f.Key = p.keyText(&n)
	}
	return entry{Field: f}
}

// nodeField returns the key that a node is.
func (p *parser) nodeField(n *Node) entry {
	f := Field{KeySpan: Span{p.text, int(n.start), int(n.end)}}
	if n.str == mergeKey && (n.style == plain && n.flags&(aliased|tagged) == 0 || n == p.mergeTagged) {
		p.decodes--
		f.Key = mergeKey
		return entry{f, true}
	}
	f.Key = p.keyText(n)
	return entry{Field: f}
}

// keyText returns the key that a scalar node becomes in JSON.
func (p *parser) keyText(n *Node) string {
	switch {
	case n.kind == Map || n.kind == List:
		p.fail(int(n.start), int(n.end), "a list or mapping cannot be a key in JSON: quote it")
	case n.kind == Null:
		p.fail(int(n.start), max(int(n.end), int(n.start)+1), "a key must not be null: quote it if it is meant as text")
	case n.kind == Number && n.flags&float != 0:
		return floatKey(n.str)
	case n.kind == Number && len(n.str) > 18:
		if _, err := strconv.ParseInt(n.str, 10, 64); err != nil {
			p.fail(int(n.start), int(n.end), "this number is too large for a key: quote it")
		}
	}
	return n.str
}

// entry adds an entry to a mapping. The decoder sets entries in order, so that
// a merge overrides what stands before it.
func (p *parser) entry(m *mapping, e entry, value *Node) {
	e.Value = value
	if m.raw == nil && !e.merge {
		p.checkValue(value)
		p.fields = append(p.fields, e.Field)
		return
	}
	if m.raw == nil {
		m.raw = p.written(m)
		m.foreign = make([]bool, len(m.raw))
	}
	m.raw = append(m.raw, e)
	switch {
	case !e.merge:
		p.checkValue(value)
		p.fields = append(p.fields, e.Field)
		m.foreign = append(m.foreign, false)
	case value.kind == Map:
		p.merge(m, value)
	case value.kind == List && value.flags&aliased == 0:
		p.decodes--
		for i := len(value.Items()) - 1; i >= 0; i-- {
			p.merge(m, value.Items()[i])
		}
	default:
		p.merge(m, value)
	}
}

func (p *parser) merge(m *mapping, n *Node) {
	if n.kind != Map {
		p.fail(int(n.start), max(int(n.end), int(n.start)+1), "the value of the merge key << must be a mapping or a list of mappings")
	}
	p.fields = append(p.fields, n.Fields()...)
	for range n.Fields() {
		m.foreign = append(m.foreign, true)
	}
}

// written returns the fields of a mapping so far as entries.
func (p *parser) written(m *mapping) []entry {
	raw := make([]entry, 0, len(p.fields)-m.base+4)
	for _, f := range p.fields[m.base:] {
		raw = append(raw, entry{Field: f})
	}
	return raw
}

// endMap completes a mapping: of several entries of one key the last one is
// its field.
func (p *parser) endMap(m *mapping) {
	fields := p.fields[m.base:]
	if p.repeated(fields) {
		if m.raw == nil {
			m.raw = p.written(m)
		}
		fields = p.lastOnes(m, fields)
	}
	m.node.setFields(p.keepFields(fields))
	p.fields = p.fields[:m.base]
	if m.raw != nil {
		if p.doc.entries == nil {
			p.doc.entries = map[*Node][]entry{}
		}
		m.node.flags |= irregular
		p.doc.entries[m.node] = m.raw
	}
}

// repeated reports whether a key is there twice.
func (p *parser) repeated(fields []Field) bool {
	if len(fields) <= 12 {
		for i := range fields {
			key := fields[i].Key
			for j := i + 1; j < len(fields); j++ {
				if fields[j].Key == key {
					return true
				}
			}
		}
		return false
	}
	if p.seen == nil {
		p.seen = make(map[string]struct{}, len(fields))
	}
	clear(p.seen)
	for i := range fields {
		p.seen[fields[i].Key] = struct{}{}
	}
	return len(p.seen) < len(fields)
}

// lastOnes keeps the last field of each key, in place, and records the others.
func (p *parser) lastOnes(m *mapping, fields []Field) []Field {
	last := make(map[string]int, len(fields))
	for i, f := range fields {
		last[f.Key] = i
	}
	kept := fields[:0]
	for i, f := range fields {
		if last[f.Key] == i {
			kept = append(kept, f)
		} else if m.foreign == nil || !m.foreign[i] {
			p.doc.Duplicates = append(p.doc.Duplicates, f.KeySpan)
		}
	}
	return kept
}
