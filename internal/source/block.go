package source

import "unicode/utf8"

// blockNode reads the node at the token of the position, outside of flow
// collections. indentless tells that a sequence may stand at the column of the
// mapping around it. Where the token belongs to a collection around, the node
// is absent.
func (p *parser) blockNode(indentless bool) *Node {
	outer := props{start: -1} // of the node
	inner := props{start: -1} // of the node, or of its first key
	keyAt, keyLine := -1, 0   // where that key begins, and its line
	for {
		if p.ended() {
			p.add(&outer, inner)
			return p.emptyNode(outer)
		}
		c, col, fresh := p.s[p.pos], p.pos-p.lineStart, p.simple
		if fresh && col == p.indent && c != '|' && c != '>' && !(indentless && c == '-' && p.blankz(p.pos+1)) {
			p.add(&outer, inner)
			return p.emptyNode(outer)
		}
		switch {
		case c == '&' || c == '!':
			if fresh {
				p.add(&outer, inner)
				inner = props{start: -1}
				keyAt, keyLine = p.pos, p.lineStart
			}
			p.property(&inner)
			p.simple = false
			p.next()
			continue
		case c == '-' && p.blankz(p.pos+1):
			if !fresh {
				p.failHere("a list item is not allowed here: begin it on a line of its own")
			}
			p.add(&outer, inner)
			return p.blockList(col, outer)
		case c == '?' && p.blankz(p.pos+1):
			if !fresh {
				p.failHere("a mapping key is not allowed here")
			}
			p.add(&outer, inner)
			return p.blockMap(col, outer, key{}, false)
		case c == ':' && p.blankz(p.pos+1):
			if p.isKey(keyAt, keyLine) {
				return p.blockMap(keyAt-keyLine, outer, emptyKey(inner), true)
			}
			if !fresh {
				p.unexpected()
			}
			p.failHere("a key is missing before the ':'")
		case c == '|' || c == '>':
			p.add(&outer, inner)
			return p.scalarNode(p.blockScalar(), outer)
		case c == '[' || c == '{':
			p.add(&outer, inner)
			n := p.flowCollection(outer)
			p.blanks()
			if p.pos < len(p.s) && p.s[p.pos] == ':' && p.blankz(p.pos+1) {
				p.fail(int(n.start), int(n.end), "a list or mapping cannot be a key in JSON: quote it")
			}
			return n
		}
		if fresh {
			p.add(&outer, inner)
			inner = props{start: -1}
			keyAt, keyLine = p.pos, p.lineStart
		}
		k := p.keyOrScalar()
		if keyLine == p.lineStart && keyAt >= 0 {
			p.blanks()
			if p.isKey(keyAt, keyLine) {
				k.props = inner
				return p.blockMap(keyAt-keyLine, outer, k, true)
			}
		}
		p.add(&outer, inner)
		if k.alias {
			return p.aliasNode(k, outer)
		}
		return p.scalarNode(k.scalar, outer)
	}
}

// key is a scalar or an alias that may turn out to be a key.
type key struct {
	scalar
	props
	alias bool
}

// keyOrScalar scans an alias or a scalar of one of the flow styles.
func (p *parser) keyOrScalar() (k key) {
	switch c := p.s[p.pos]; {
	case c == '*':
		start := p.pos
		k.value, k.alias = p.name("alias"), true
		k.scalar.start, k.scalar.end = start, p.pos
		p.simple = false
	case c == '"' || c == '\'':
		k.scalar = p.quotedScalar()
	case p.startsPlain():
		k.scalar = p.plainScalar()
	default:
		p.unexpected()
	}
	k.props.start = -1
	return k
}

// isKey reports whether the position is at the ':' of a key that began at
// offset start, on the line that begins at offset line.
func (p *parser) isKey(start, line int) bool {
	if start < 0 || line != p.lineStart || p.pos >= len(p.s) || p.s[p.pos] != ':' ||
		p.flow == 0 && !p.blankz(p.pos+1) {
		return false
	}
	if p.pos-start > maxKeyLen && utf8.RuneCountInString(p.s[start:p.pos]) > maxKeyLen {
		p.fail(start, p.pos, "a key of more than 1024 characters needs the '? ' notation")
	}
	return true
}

func emptyKey(pr props) key {
	return key{scalar: scalar{start: pr.end, end: pr.end, style: absent}, props: pr}
}

// push enters a block collection at a column.
func (p *parser) push(col int, at int) (outer int) {
	if p.depth++; p.depth > maxDepth {
		p.fail(at, at+1, "collections are nested too deeply")
	}
	outer, p.indent = p.indent, col
	return outer
}

func (p *parser) pop(outer int) {
	p.depth--
	p.indent = outer
}

// blockList reads the sequence whose dashes stand at a column, from its first
// dash. Where that is the column of the mapping around, a line without dash
// ends it.
func (p *parser) blockList(col int, pr props) *Node {
	indentless := col == p.indent
	n := p.collection(List, block, p.pos, pr)
	at := p.anchor(pr, n)
	outer := p.push(col, p.pos)
	base := len(p.items)
	for {
		p.pos++
		end := p.pos
		p.simple = true
		p.next()
		var item *Node
		if p.ended() || p.dash(col) {
			item = p.emptyAt(end)
		} else {
			item = p.blockNode(false)
			p.closeUp(item, end)
			p.next()
		}
		p.checkValue(item)
		n.end = item.end
		p.items = append(p.items, item)
		if p.ended() {
			break
		}
		if !p.dash(col) {
			if !indentless {
				p.notDash(col)
			}
			break
		}
	}
	n.setItems(p.keepItems(p.items[base:]))
	p.items = p.items[:base]
	p.pop(outer)
	p.close(at)
	return n
}

// dash reports whether a list item begins at the position, which must be at
// that column.
func (p *parser) dash(col int) bool {
	return p.simple && p.pos-p.lineStart == col && p.s[p.pos] == '-' && p.blankz(p.pos+1)
}

func (p *parser) notDash(col int) {
	if p.pos-p.lineStart == col && p.startsPlain() {
		p.failHere("expected a list item: this line lacks its '-', or its indentation is wrong")
	}
	p.unexpected()
}

// blockMap reads the mapping whose keys stand at a column. first is its first
// key, with the position at its ':'; there is none where the position is at a
// '?'.
func (p *parser) blockMap(col int, pr props, first key, isFirst bool) *Node {
	start := p.pos
	if isFirst {
		start = first.scalar.start
		if first.props.start >= 0 {
			start = first.props.start
		}
	}
	n := p.collection(Map, block, start, pr)
	at := p.anchor(pr, n)
	outer := p.push(col, start)
	m := p.beginMap(n)
	for {
		var k entry
		var value *Node
		if !isFirst && p.s[p.pos] == '?' && p.blankz(p.pos+1) {
			k, value = p.explicitEntry(col)
		} else {
			if !isFirst {
				first = p.blockKey()
			}
			k = p.keyField(&first)
			isFirst = false
			p.pos++
			end := p.pos
			p.simple = false
			p.next()
			value = p.blockValue(end)
		}
		n.end = value.end
		p.entry(&m, k, value)
		if p.ended() {
			break
		}
		if p.pos-p.lineStart != col || !p.simple {
			p.unexpected()
		}
	}
	p.endMap(&m)
	p.pop(outer)
	p.close(at)
	return n
}

// blockValue reads the value of an entry whose ':' ends at offset end.
func (p *parser) blockValue(end int) *Node {
	if p.ended() {
		return p.emptyAt(end)
	}
	v := p.blockNode(true)
	p.closeUp(v, end)
	p.next()
	return v
}

// closeUp moves a node that no bytes spell behind the indicator before it.
func (p *parser) closeUp(n *Node, indicatorEnd int) {
	if n.style == absent && n.start == n.body && n.flags&aliased == 0 {
		n.start, n.body, n.end = int32(indicatorEnd), int32(indicatorEnd), int32(indicatorEnd)
	}
}

// explicitEntry reads an entry in the notation ? key : value.
func (p *parser) explicitEntry(col int) (k entry, value *Node) {
	start := p.pos
	p.pos++
	p.simple = true
	p.next()
	key := p.emptyAt(start + 1)
	if !p.ended() {
		key = p.blockNode(true)
		p.next()
	}
	k = p.nodeField(key)
	if !p.ended() && p.pos-p.lineStart == col && p.s[p.pos] == ':' && p.blankz(p.pos+1) && p.simple {
		p.pos++
		end := p.pos
		p.simple = true
		p.next()
		return k, p.blockValue(end)
	}
	return k, p.emptyAt(int(key.end))
}

// blockKey reads a key that stands where one must.
func (p *parser) blockKey() key {
	start, line := p.pos, p.lineStart
	pr := props{start: -1}
	for {
		c := p.s[p.pos]
		switch {
		case c == '&' || c == '!':
			p.property(&pr)
			p.simple = false
			p.blanks()
			if p.pos < len(p.s) && p.breakLen(p.pos) == 0 && p.s[p.pos] != '#' {
				continue
			}
		case c == ':' && p.blankz(p.pos+1):
			if pr.start < 0 {
				p.failHere("a key is missing before the ':'")
			}
			return emptyKey(pr)
		case c == '-' && p.blankz(p.pos+1):
			p.failHere("a list item is not allowed among the keys of a mapping: check the indentation")
		case c == '[' || c == '{':
			p.flowCollection(props{start: -1})
			p.fail(start, p.pos, "a list or mapping cannot be a key in JSON: quote it")
		case c == '|' || c == '>':
			p.failHere("expected a key; a key that begins with " + string(rune(c)) + " must be quoted")
		default:
			k := p.keyOrScalar()
			if line == p.lineStart {
				p.blanks()
				if p.isKey(start, line) {
					k.props = pr
					return k
				}
			}
			end := k.scalar.end
			p.fail(start, end, "expected \"key: value\": this text has no ':' followed by a blank")
		}
		p.fail(start, pr.end, "expected \"key: value\" on this line")
	}
}
