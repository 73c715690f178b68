package tmpl

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// mold is a node of an overlay that is the same for all pods of a plan, but for
// strings below it.
type mold struct {
	node   *source.Node // with the strings of the pod that the plan was made from
	pieces []piece      // of a string
	below  []submold    // of a map or list
}

type submold struct {
	index int
	mold  *mold
}

// piece is a part of a string: constant, or the value of an expression.
type piece struct {
	text string
	expr int // index in plan.exprs; -1 for constant text
}

// rule says which values may stand in for a piece without changing what the
// YAML around it means.
type rule uint8

const (
	inDouble    rule = iota // "..."
	inSingle                // '...'
	inBlock                 // within a line of |
	inPlain                 // behind other characters of a scalar without quotes
	startsPlain             // at the start of one
	quantity                // all of a scalar in quotes that Kubernetes reads as a quantity
)

// allows reports whether a value keeps to a rule. Values that do not are no
// mistake: they take the slow path. Everything here is on the safe side.
func (r rule) allows(s string) bool {
	if r == quantity {
		return isQuantity(s)
	}
	if r >= inBlock && s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '/', c == '.', c == '-':
		case r >= inPlain || c < ' ' || c > '~':
			return false
		case c == '"' || c == '\\':
			if r == inDouble {
				return false
			}
		case c == '\'':
			if r == inSingle {
				return false
			}
		}
	}
	switch r {
	case inBlock:
		return s[0] != ' ' && s[len(s)-1] != ' '
	case startsPlain:
		return isWord(s)
	}
	return true
}

// isQuantity reports whether a text is a quantity of the usual spellings: up to
// nine digits, up to three behind a point, and a suffix.
func isQuantity(s string) bool {
	digits := func(most int) bool {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return 0 < n && n <= most
	}
	if !digits(9) {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		if s = rest; !digits(3) {
			return false
		}
	}
	switch s {
	case "", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
		return true
	}
	return false
}

// isWord reports whether a scalar without quotes that consists of the
// characters of rule inPlain is a string for certain, whatever follows it.
func isWord(s string) bool {
	c := s[0] | 0x20
	if c < 'a' || c > 'z' {
		return s[0] == '/' || s[0] == '_'
	}
	return len(s) > 5 || !strings.ContainsRune("yntfo", rune(c))
}

// plan makes the overlays of pods that differ in some strings only.
type plan struct {
	root  *mold
	exprs []*term
	rules [][]rule    // by expression
	fixed []condition // expressions that must have the value that they had
}

type condition struct {
	term *term
	text string
}

// newPlan makes the plan of a trace, of the output of its run, and of the
// overlay in that.
func newPlan(c *cursor, tr *trace, out []byte, root *source.Node) *plan {
	p := &plan{}
	m := molder{plan: p, cursor: c, out: out, byNode: map[*source.Node][]placed{}, byKey: map[string]int{}}
	for _, h := range tr.holes {
		if !m.locate(h, root) {
			m.fix(h)
		}
	}
	p.root = m.mold(root)
	return p
}

type molder struct {
	plan   *plan
	cursor *cursor
	out    []byte
	byNode map[*source.Node][]placed
	// byKey numbers the expressions of the plan by the keys of their terms.
	byKey map[string]int
	// node is the string that was looked at last, and text its value with the
	// places that it comes from.
	node *source.Node
	text *source.Text
}

// placed is a hole within the value of a string node.
type placed struct {
	hole
	from, to int // offsets in the value
	rule     rule
}

// fix makes a plan depend on the value of a hole.
func (m *molder) fix(h hole) {
	text, _ := m.cursor.text(h.term)
	for _, c := range m.plan.fixed {
		if c.term.key() == h.term.key() {
			return
		}
	}
	m.plan.fixed = append(m.plan.fixed, condition{h.term, text})
}

// locate finds the string that a hole is part of; false where it is part of
// something else, or of a string whose other values could mean other YAML.
func (m *molder) locate(h hole, root *source.Node) bool {
	if h.start >= h.end {
		return false
	}
	n, typ := root, overlayType(root)
	for n.Kind() == source.Map || n.Kind() == source.List {
		next, nextType := enclosing(n, typ, h)
		if next == nil {
			return false
		}
		n, typ = next, nextType
	}
	if n.Kind() != source.String || typ != kube.TypeString && typ != kube.TypeQuantity {
		return false // of another type, which not every string can be
	}
	raw := n.Raw()
	var r rule
	switch inner := raw[:len(raw)-1]; raw[0] {
	case '"':
		r = inDouble
		if bytes.ContainsAny(inner, "\n\\") {
			return false
		}
	case '\'':
		r = inSingle
		if bytes.ContainsAny(inner, "\n") || bytes.Contains(inner, []byte("''")) {
			return false
		}
	case '|':
		r = inBlock
	case '>', '&', '!', '*':
		return false
	default:
		r = inPlain
		if bytes.ContainsAny(inner, "\n") {
			return false
		}
	}
	if h.quoted && r != inDouble {
		return false // what quote escapes for YAML would be text here
	}
	text, ok := m.cursor.text(h.term)
	if !ok || text != string(m.out[h.start:h.end]) {
		return false
	}
	from := m.offset(n, h)
	if from < 0 {
		return false
	}
	if r == inPlain && from == 0 {
		r = startsPlain
	}
	if typ == kube.TypeQuantity {
		if r >= inBlock || len(text) != len(n.Str()) {
			return false
		}
		r = quantity
	}
	if r == inPlain && !isPlainStart(n.Str()[:from]) || !r.allows(text) {
		return false
	}
	m.byNode[n] = append(m.byNode[n], placed{h, from, from + len(text), r})
	return true
}

// overlayType returns the type of what a template makes: a pod since 1.9, before
// that parts of a pod's spec.
func overlayType(root *source.Node) kube.Type {
	if root.Get("metadata") == nil && root.Get("spec") == nil {
		return kube.TypePodSpec
	}
	return kube.TypePod
}

// isPlainStart reports whether a scalar without quotes is a string for
// certain, given its constant beginning.
func isPlainStart(s string) bool {
	c := s[0] | 0x20
	return 'a' <= c && c <= 'z' && (len(s) > 5 || !strings.ContainsRune("yntfo", rune(c))) || s[0] == '/' || s[0] == '_' ||
		s[0] == '$' || strings.HasPrefix(s, "--") && len(s) > 3 && s[2] != '-'
}

// enclosing returns the field or item whose value a hole is part of, and its
// type; TypeAny where it is not known.
func enclosing(n *source.Node, typ kube.Type, h hole) (*source.Node, kube.Type) {
	for _, f := range n.Fields() {
		if s := f.Value.Span(); s.Start <= h.start && h.end <= s.End {
			t := kube.TypeAny
			switch typ.Kind() {
			case kube.KindStruct:
				if info := typ.Field(f.Key); info != nil {
					t = info.Type
				}
			case kube.KindMap:
				t = typ.Elem()
			}
			return f.Value, t
		}
	}
	for _, item := range n.Items() {
		if s := item.Span(); s.Start <= h.start && h.end <= s.End {
			t := kube.TypeAny
			if typ.Kind() == kube.KindList {
				t = typ.Elem()
			}
			return item, t
		}
	}
	return nil, kube.TypeAny
}

// offset returns where in the value of a string a hole begins; -1 where its
// bytes are not in the value as they are.
func (m *molder) offset(n *source.Node, h hole) int {
	value := n.Str()
	if m.node != n {
		m.node, m.text = n, n.Embed("")
	}
	text, from := m.text, 0
	if before := m.byNode[n]; len(before) > 0 && before[len(before)-1].end <= h.start {
		from = before[len(before)-1].to // holes come in order
	}
	for i := from; i < len(value); i++ {
		outer, at := text.Outermost(i)
		if outer != n.Span().Text {
			return -1
		}
		if at != h.start {
			continue
		}
		for k := range h.end - h.start {
			if _, at := text.Outermost(i + k); i+k >= len(value) || at != h.start+k || value[i+k] != m.out[at] {
				return -1
			}
		}
		return i
	}
	return -1
}

// mold copies a node and what is below it, without the places in the output
// that it was parsed from.
func (m *molder) mold(n *source.Node) *mold {
	md := &mold{}
	switch n.Kind() {
	case source.Map:
		fields := make([]source.Field, n.Len())
		for i, f := range n.Fields() {
			sub := m.mold(f.Value)
			fields[i] = source.F(f.Key, sub.node)
			md.add(i, sub)
		}
		md.node = source.NewMap(fields...)
	case source.List:
		items := make([]*source.Node, n.Len())
		for i, item := range n.Items() {
			sub := m.mold(item)
			items[i] = sub.node
			md.add(i, sub)
		}
		md.node = source.NewList(items...)
	case source.String:
		md.node = source.NewString(n.Str())
		md.pieces = m.pieces(n)
	case source.Number:
		md.node = source.NewNumber(n.Scalar())
	case source.Bool:
		md.node = source.NewBool(n.IsTrue())
	default:
		md.node = source.NewNull()
	}
	return md
}

func (md *mold) add(i int, sub *mold) {
	if sub.pieces != nil || sub.below != nil {
		md.below = append(md.below, submold{i, sub})
	}
}

// pieces cuts a string at its holes, which come in order.
func (m *molder) pieces(n *source.Node) []piece {
	var pieces []piece
	at, value := 0, n.Str()
	for _, h := range m.byNode[n] {
		if h.from > at {
			pieces = append(pieces, piece{text: value[at:h.from], expr: -1})
		}
		pieces = append(pieces, piece{expr: m.expr(h.term, h.rule)})
		at = h.to
	}
	if len(pieces) > 0 && at < len(value) {
		pieces = append(pieces, piece{text: value[at:], expr: -1})
	}
	return pieces
}

// expr returns the index of an expression.
func (m *molder) expr(t *term, r rule) int {
	p := m.plan
	i, known := m.byKey[t.key()]
	if !known {
		i = len(p.exprs)
		m.byKey[t.key()] = i
		p.exprs = append(p.exprs, t)
		p.rules = append(p.rules, nil)
	}
	for _, have := range p.rules[i] {
		if have == r {
			return i
		}
	}
	p.rules[i] = append(p.rules[i], r)
	return i
}

// overlay makes the overlay of the pod of a cursor; false where the plan does
// not serve it.
func (p *plan) overlay(c *cursor) (*source.Node, bool) {
	for i := range p.fixed {
		if text, ok := c.text(p.fixed[i].term); !ok || text != p.fixed[i].text {
			return nil, false
		}
	}
	c.texts = c.texts[:0]
	for i, e := range p.exprs {
		text, ok := c.text(e)
		if !ok {
			return nil, false
		}
		for _, r := range p.rules[i] {
			if !r.allows(text) {
				return nil, false
			}
		}
		c.texts = append(c.texts, text)
	}
	return p.root.fill(c), true
}

func (md *mold) fill(c *cursor) *source.Node {
	switch {
	case md.pieces != nil:
		return source.NewString(md.text(c))
	case md.below == nil:
		return md.node
	case md.node.Kind() == source.Map:
		fields := append([]source.Field(nil), md.node.Fields()...)
		for _, s := range md.below {
			fields[s.index].Value = s.mold.fill(c)
		}
		return source.NewMap(fields...)
	}
	items := append([]*source.Node(nil), md.node.Items()...)
	for _, s := range md.below {
		items[s.index] = s.mold.fill(c)
	}
	return source.NewList(items...)
}

func (md *mold) text(c *cursor) string {
	if len(md.pieces) == 1 {
		return c.texts[md.pieces[0].expr]
	}
	n := 0
	for _, p := range md.pieces {
		n += len(p.in(c))
	}
	var b strings.Builder
	b.Grow(n)
	for _, p := range md.pieces {
		b.WriteString(p.in(c))
	}
	return b.String()
}

func (p piece) in(c *cursor) string {
	if p.expr < 0 {
		return p.text
	}
	return c.texts[p.expr]
}
