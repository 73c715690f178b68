package source

import (
	"strconv"
	"strings"
)

// flowCollection reads the collection whose bracket is at the position.
func (p *parser) flowCollection(pr props) *Node {
	start := p.pos
	if strings.HasPrefix(p.s[start:], "{{") {
		p.fail(start, start+2, templateMessage)
	}
	if p.flow++; p.flow > maxDepth {
		p.fail(start, start+1, "collections are nested too deeply")
	}
	var n *Node
	if p.s[start] == '[' {
		n = p.flowList(pr)
	} else {
		n = p.flowMap(pr)
	}
	p.flow--
	p.simple = false
	return n
}

// flowNext moves to the next token inside the collection that began at offset
// start; there must be one.
func (p *parser) flowNext(start int) byte {
	p.next()
	if p.pos >= len(p.s) || p.pos == p.lineStart && p.anyMarker(p.pos) {
		p.fail(start, start+1, "this "+p.s[start:start+1]+" is never closed")
	}
	return p.s[p.pos]
}

func (p *parser) flowList(pr props) *Node {
	start := p.pos
	n := p.collection(List, flow, start, pr)
	at := p.anchor(pr, n)
	base := len(p.items)
	p.pos++
	for p.flowNext(start) != ']' {
		item := p.flowItem(start)
		p.checkValue(item)
		p.items = append(p.items, item)
		if !p.flowComma(start, ']') {
			break
		}
	}
	p.pos++
	n.end = int32(p.pos)
	n.setItems(p.keepItems(p.items[base:]))
	p.items = p.items[:base]
	p.close(at)
	return n
}

// flowComma moves over the comma after an entry; it reports whether there was
// one, else the collection must end.
func (p *parser) flowComma(start int, end byte) bool {
	switch p.flowNext(start) {
	case ',':
		p.pos++
		return true
	case end:
		return false
	case ':':
		if p.lineStart > start {
			p.failHere("a ':' is not allowed here: the " + p.s[start:start+1] + " of line " + strconv.Itoa(p.text.Pos(start).Line) + " is never closed, or a key and its ':' are not on one line")
		}
		p.failHere("a ':' is not allowed here: a key and its ':' must be on one line, and list items need a ','")
	}
	p.failHere("expected ',' or '" + string(rune(end)) + "'")
	return false
}

// flowItem reads an item of a flow sequence, which may be a single pair.
func (p *parser) flowItem(start int) *Node {
	first, line := p.pos, p.lineStart
	if p.s[p.pos] == '?' {
		n := p.collection(Map, pair, first, props{start: -1})
		m := p.beginMap(n)
		p.pos++
		c := p.flowNext(start)
		key := p.emptyAt(p.pos)
		if c != ':' && c != ',' && c != ']' {
			key = p.flowNode(start)
		}
		k := p.nodeField(key)
		p.flowPair(start, ']', k, &m, int(key.end))
		return n
	}
	item := p.flowNode(start)
	p.flowNext(start)
	if !p.isKey(first, line) || item.style == flow {
		return item
	}
	n := p.collection(Map, pair, first, props{start: -1})
	m := p.beginMap(n)
	k := p.nodeField(item)
	p.flowPair(start, ']', k, &m, 0)
	return n
}

// flowPair reads the value of a single pair.
func (p *parser) flowPair(start int, end byte, k entry, m *mapping, keyEnd int) {
	value := p.flowValue(start, end, keyEnd)
	m.node.end = value.end
	p.entry(m, k, value)
	p.endMap(m)
}

// flowValue reads ':' and the value of an entry; both may be absent.
func (p *parser) flowValue(start int, end byte, keyEnd int) *Node {
	if p.flowNext(start) != ':' {
		return p.emptyAt(keyEnd)
	}
	p.pos++
	at := p.pos
	if c := p.flowNext(start); c == ',' || c == end {
		return p.emptyAt(at)
	}
	return p.flowNode(start)
}

func (p *parser) flowMap(pr props) *Node {
	start := p.pos
	n := p.collection(Map, flow, start, pr)
	at := p.anchor(pr, n)
	m := p.beginMap(n)
	p.pos++
	for p.flowNext(start) != '}' {
		first, line := p.pos, p.lineStart
		if p.s[p.pos] == '?' {
			p.pos++
			c := p.flowNext(start)
			key := p.emptyAt(p.pos)
			if c != ':' && c != ',' && c != '}' {
				key = p.flowNode(start)
			}
			k := p.nodeField(key)
			p.entry(&m, k, p.flowValue(start, '}', int(key.end)))
		} else {
			key := p.flowNode(start)
			p.flowNext(start)
			k := p.nodeField(key)
			if p.isKey(first, line) {
				p.entry(&m, k, p.flowValue(start, '}', 0))
			} else {
				p.entry(&m, k, p.emptyAt(int(key.end)))
			}
		}
		if !p.flowComma(start, '}') {
			break
		}
	}
	p.pos++
	n.end = int32(p.pos)
	p.endMap(&m)
	p.close(at)
	return n
}

// flowNode reads a node inside the flow collection that began at offset start.
func (p *parser) flowNode(start int) *Node {
	pr := props{start: -1}
	for {
		c := p.s[p.pos]
		switch {
		case c == '&' || c == '!':
			p.property(&pr)
			p.simple = false
			p.flowNext(start)
			continue
		case c == '[' || c == '{':
			return p.flowCollection(pr)
		case c == ',' || c == ']' || c == '}' || c == ':' || c == '?':
			if pr.start >= 0 {
				return p.emptyNode(pr)
			}
			p.failHere("expected a value before '" + string(rune(c)) + "'")
		case c == '-' && p.blankz(p.pos+1):
			p.failHere("a list item with '-' is not allowed inside brackets: separate items by commas")
		case c == '|' || c == '>':
			p.failHere("a value inside brackets must not begin with " + string(rune(c)) + ": quote it")
		}
		k := p.keyOrScalar()
		if k.alias {
			return p.aliasNode(k, pr)
		}
		return p.scalarNode(k.scalar, pr)
	}
}
