package source

import (
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// The limits that Kubernetes' decoder sets, so that what it refuses is refused.
const (
	maxDepth  = 10000 // of block and of flow collections, each
	maxKeyLen = 1024  // characters up to the ':' of a key without '?'
)

// maxExpansion bounds the bytes that aliases stand for in one document. It is
// ours: the decoder counts nodes only.
const maxExpansion = 64 << 20

// Parse reads one document. The error, if any, is a *SyntaxError.
//
// The grammar and the meaning of scalars are those of sigs.k8s.io/yaml, which
// reads YAML 1.1 by the rules of libyaml. A document that begins with { or [
// and is JSON throughout is read as JSON, as kubectl does. Content after the
// end of the document, which that decoder drops in silence, is an error.
func Parse(text *Text) (*Document, error) {
	p := parsers.Get().(*parser)
	doc, err := p.parse(text)
	p.reset()
	parsers.Put(p)
	return doc, err
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// reset readies the parser for another document: of this one it keeps nothing
// but the room of its stacks.
func (p *parser) reset() {
	const keep = 1024 // entries; the stacks of an odd document are let go
	fields, items := p.fields[:cap(p.fields)], p.items[:cap(p.items)]
	if len(fields) > keep {
		fields = nil
	}
	if len(items) > keep {
		items = nil
	}
	clear(fields)
	clear(items)
	*p = parser{fields: fields[:0], items: items[:0]}
}

// parser reads one document by recursive descent. It bails out by panicking
// with a *SyntaxError, which parse recovers.
type parser struct {
	doc  *Document
	text *Text
	s    string // the bytes of text

	pos       int // the next byte
	lineStart int // the first byte of its line
	indent    int // column of the innermost block collection; -1 outside
	depth     int // block collections around pos
	flow      int // flow collections around pos

	// simple tells that a key without '?' may start here, and with it a block
	// collection: at the beginning of a line and after "- ", "? " and "[".
	simple bool
	// plainBreaks tells that all line breaks of the text are \n.
	plainBreaks bool

	tags    []tagHandle
	anchors map[string]*anchor

	// What decoding costs, counted as the decoder does to refuse documents
	// that consist of aliases mostly.
	decodes, aliasDecodes, aliasBytes int

	// mergeTagged is the last scalar << with a tag that makes it a merge key.
	mergeTagged *Node

	// Entries of the collections that are not complete yet.
	fields []Field
	items  []*Node
	seen   map[string]struct{}

	slab
}

type tagHandle struct{ handle, prefix string }

// anchor is a node that aliases can name.
type anchor struct {
	node    *Node
	open    bool // the node is not complete: an alias to it would contain itself
	decodes int  // what decoding the node costs
	bytes   int  // the bytes that it stands for
}

// slab hands out nodes, fields and items cut from larger pieces.
type slab struct {
	nodeSlab  []Node
	fieldSlab []Field
	itemSlab  []*Node
	byteSlab  []byte
	// size is the length of the document: what the pieces are sized by.
	size     int
	nodeSize int
}

func (s *slab) newNode() *Node {
	if len(s.nodeSlab) == 0 {
		s.nodeSlab = make([]Node, min(max(s.nodeSize, 4), 512))
		s.nodeSize = s.size / 56
	}
	n := &s.nodeSlab[0]
	s.nodeSlab = s.nodeSlab[1:]
	return n
}

func (s *slab) keepFields(f []Field) []Field {
	if len(f) == 0 {
		return nil
	}
	if len(s.fieldSlab) < len(f) {
		s.fieldSlab = make([]Field, max(len(f), min(max(s.size/32, 4), 512)))
	}
	kept := s.fieldSlab[:len(f):len(f)]
	s.fieldSlab = s.fieldSlab[len(f):]
	copy(kept, f)
	return kept
}

func (s *slab) keepItems(n []*Node) []*Node {
	if len(n) == 0 {
		return nil
	}
	if len(s.itemSlab) < len(n) {
		s.itemSlab = make([]*Node, max(len(n), min(max(s.size/128, 4), 256)))
	}
	kept := s.itemSlab[:len(n):len(n)]
	s.itemSlab = s.itemSlab[len(n):]
	copy(kept, n)
	return kept
}

// room returns an empty buffer for a string of about n bytes; keepString keeps
// what was appended to it.
func (s *slab) room(n int) []byte {
	if cap(s.byteSlab)-len(s.byteSlab) < n {
		s.byteSlab = make([]byte, 0, max(n, min(s.size, 4096)))
	}
	return s.byteSlab[len(s.byteSlab):]
}

func (s *slab) keepString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if free := s.byteSlab[len(s.byteSlab):cap(s.byteSlab)]; len(free) >= len(b) && &free[0] == &b[0] {
		s.byteSlab = s.byteSlab[:len(s.byteSlab)+len(b)]
	}
	return unsafe.String(&b[0], len(b))
}

func (p *parser) parse(text *Text) (doc *Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			doc, err = nil, e
		}
	}()
	p.text, p.doc, p.indent = text, &Document{Text: text}, -1
	if len(text.Data) > maxLen {
		p.fail(0, 0, "the document is larger than 2 GiB")
	}
	if len(text.Data) > 0 {
		// The bytes of a text never change, so that strings may share them.
		p.s = unsafe.String(&text.Data[0], len(text.Data))
	}
	// About one node in fourteen bytes, as manifests are.
	p.size, p.nodeSize = len(p.s), len(p.s)/14
	if p.json() {
		return p.doc, nil
	}
	p.checkCharacters()
	p.document()
	return p.doc, nil
}

const maxLen = 1<<31 - 1

// fail ends the parse with an error that concerns the bytes start:end.
func (p *parser) fail(start, end int, message string) {
	if p.isTemplate(start) {
		message = templateMessage
	}
	panic(&SyntaxError{Span: Span{p.text, start, min(max(end, start), len(p.s))}, Message: message})
}

// failHere ends the parse with an error about the token at the position.
func (p *parser) failHere(message string) {
	end := p.pos
	for end < len(p.s) && p.s[end] > ' ' {
		end++
	}
	p.fail(p.pos, end, message)
}

const templateMessage = "found template text {{ ... }}: the file looks like an unrendered template; render it first (helm template)"

// isTemplate reports whether the line of an error holds template text that is
// not inside quotes.
func (p *parser) isTemplate(at int) bool {
	at = min(at, len(p.s))
	line := p.s[strings.LastIndexByte(p.s[:at], '\n')+1:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	for _, mark := range []string{"{{", "{%"} {
		if i := strings.Index(line, mark); i >= 0 &&
			strings.Count(line[:i], `"`)%2 == 0 && strings.Count(line[:i], "'")%2 == 0 {
			return true
		}
	}
	return false
}

// checkCharacters refuses what cannot stand in YAML.
func (p *parser) checkCharacters() {
	s := p.s
	if strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
		p.fail(0, 2, "the file is UTF-16: save it as UTF-8")
	}
	p.plainBreaks = true
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c < 0x7f || c == '\n' {
			i++
			continue
		}
		switch {
		case c == '\t':
			i++
		case c == '\r':
			p.plainBreaks = false
			i++
		case c < 0x80:
			p.fail(i, i+1, "control character "+hexByte(c)+" is not allowed in YAML")
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				p.fail(i, i+1, "byte "+hexByte(c)+" is not valid UTF-8: save the file as UTF-8")
			case r == 0x85 || r == 0x2028 || r == 0x2029:
				p.plainBreaks = false
			case r < 0xa0 || r == 0xfffe || r == 0xffff:
				p.fail(i, i+size, "control characters are not allowed in YAML")
			}
			i += size
		}
	}
}

func hexByte(c byte) string {
	const digits = "0123456789abcdef"
	return "0x" + string([]byte{digits[c>>4], digits[c&15]})
}

const bom = "\ufeff"

// laterBOM returns the offset of a byte order mark right behind the separator
// that a later document of a stream begins with, as where files were joined;
// -1 for none. There it stands at the beginning of what the decoder of
// Kubernetes gets. Anywhere else it takes it for a part of the text.
func (p *parser) laterBOM() int {
	if p.text.line == 0 || !strings.HasPrefix(p.s, "---") {
		return -1
	}
	n := strings.IndexByte(p.s, '\n')
	if n < 0 || !strings.HasPrefix(p.s[n+1:], bom) {
		return -1
	}
	if rest := strings.TrimLeft(p.s[len("---"):n], " \t\r"); rest != "" && rest[0] != '#' {
		return -1
	}
	return n + 1
}

// document reads directives, the document and what may follow it.
func (p *parser) document() {
	if strings.HasPrefix(p.s, bom) {
		p.pos, p.lineStart = len(bom), len(bom)
	}
	p.simple = true
	p.tags = nil
	p.next()
	directives := p.directives()
	if p.marker("---") {
		p.pos += 3
		p.simple = false
		p.next()
	} else if directives {
		p.failHere("expected --- after the directives")
	} else if p.marker("...") {
		p.fail(p.pos, p.pos+3, "a document end marker without a document")
	}
	p.decodes = 1
	root := p.emptyNode(props{start: -1})
	if !p.ended() {
		root = p.blockNode(false)
		p.next()
	}
	p.checkValue(root)
	p.tail()
	if root.kind == Null {
		p.doc.null = root
	} else {
		p.doc.Root = root
	}
}

// tail checks that only document markers and comments follow the document.
func (p *parser) tail() {
	for p.pos < len(p.s) {
		switch {
		case p.marker("..."):
			p.pos += 3
			p.lineEnd("the document end marker")
			p.next()
		case p.marker("---"):
			at := p.pos
			p.pos += 3
			p.next()
			if p.pos < len(p.s) && !p.marker("---") && !p.marker("...") {
				p.fail(at, at+3, "a second document begins here, where only one is expected")
			}
		case p.s[p.pos] == ':' && p.blankz(p.pos+1) && !p.simple:
			p.unexpected()
		default:
			p.failHere("unexpected text after the end of the document's value")
		}
	}
}

// lineEnd checks that the rest of the line is blank or a comment.
func (p *parser) lineEnd(after string) {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t') {
		p.pos++
	}
	if p.pos < len(p.s) && p.s[p.pos] != '#' && p.breakLen(p.pos) == 0 {
		p.failHere("expected the end of the line after " + after)
	}
}

// directives reads %YAML and %TAG lines and reports whether there were any.
func (p *parser) directives() (any bool) {
	version := false
	for p.pos < len(p.s) && p.s[p.pos] == '%' && p.pos == p.lineStart {
		any = true
		start := p.pos
		p.pos++
		name := p.word()
		switch name {
		case "YAML":
			if version {
				p.fail(start, p.pos, "a second %YAML directive")
			}
			version = true
			p.blanks()
			from := p.pos
			for p.pos < len(p.s) && (p.s[p.pos] == '.' || '0' <= p.s[p.pos] && p.s[p.pos] <= '9') {
				p.pos++
			}
			switch p.s[from:p.pos] {
			case "1.1", "01.1", "1.01", "01.01":
			case "1.2":
				p.fail(from, p.pos, "Kubernetes reads YAML 1.1 only: remove the %YAML 1.2 directive")
			default:
				p.fail(from, p.pos, "expected %YAML 1.1")
			}
		case "TAG":
			p.blanks()
			handle := p.tagHandle(true)
			if !p.blanks() {
				p.failHere("expected a blank after the handle of %TAG")
			}
			prefix := p.tagURI("")
			if prefix == "" {
				p.failHere("expected a prefix after the handle of %TAG")
			}
			if !p.blankz(p.pos) {
				p.failHere("unexpected character in the prefix of %TAG")
			}
			for _, t := range p.tags {
				if t.handle == handle {
					p.fail(start, p.pos, "a second %TAG directive for "+handle)
				}
			}
			p.tags = append(p.tags, tagHandle{handle, prefix})
		default:
			p.fail(start, p.pos, "unknown directive; a value that begins with % must be quoted")
		}
		p.lineEnd("the directive")
		for p.pos < len(p.s) && p.breakLen(p.pos) == 0 {
			p.pos++
		}
		p.pos += p.breakLen(p.pos)
		p.lineStart = p.pos
		p.simple = false
		p.next()
	}
	return any
}

// word skips letters, digits, '-' and '_' and returns them.
func (p *parser) word() string {
	start := p.pos
	for p.pos < len(p.s) && isWord(p.s[p.pos]) {
		p.pos++
	}
	return p.s[start:p.pos]
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// blanks skips spaces and tabs and reports whether there were any.
func (p *parser) blanks() bool {
	start := p.pos
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t') {
		p.pos++
	}
	return p.pos > start
}

// unexpected ends the parse because of the token at the position.
func (p *parser) unexpected() {
	if p.pos >= len(p.s) {
		p.fail(p.pos, p.pos, "unexpected end of the document")
	}
	c := p.s[p.pos]
	switch {
	case c == ':' && p.blankz(p.pos+1):
		p.failHere("a mapping value is not allowed here: check the indentation, or quote the text before \": \"")
	case c == '\t':
		p.fail(p.pos, p.pos+1, "a tab is not allowed as indentation: use spaces")
	case c == ']' || c == '}':
		p.fail(p.pos, p.pos+1, "unexpected "+string(rune(c))+" without an opening bracket")
	case c == '@' || c == '`':
		p.failHere("a value must not begin with " + string(rune(c)) + ": quote it")
	case c == '%':
		p.failHere("a value must not begin with %: quote it")
	case p.pos-p.lineStart > p.indent:
		p.failHere("this line is indented more than its neighbours, or text follows a value that is complete")
	}
	p.failHere("unexpected text")
}
