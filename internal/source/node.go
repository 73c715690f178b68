package source

import (
	"slices"
	"strconv"
	"unsafe"
)

// Kind is what a node is, in the data model of JSON.
type Kind uint8

// The kinds of node.
const (
	Null Kind = iota
	Bool
	Number
	String
	Map
	List
)

// String names the kind as error messages do.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "object", "array"}[k]
}

// Noun returns the kind with its article, as messages need it: a string, an
// object, null.
func (k Kind) Noun() string {
	switch k {
	case Null:
		return k.String()
	case List, Map:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Node is one value of a document, or a value made by the program. Nodes are
// immutable: With, Without and the like return new nodes that share what did
// not change, so identity (==) of two nodes means that nothing below changed.
//
// A nil *Node stands for "not there"; all methods that only read accept it.
type Node struct {
	place
	kind Kind
	// Nodes are many and mostly scalars, and memory is what parsing costs: so
	// the fields or items are a pointer to the first of n.
	n    int32
	kids unsafe.Pointer
	str  string // String: the value; Number: its JSON spelling; Bool: true or false
}

func (n *Node) setFields(fields []Field) {
	n.kids, n.n = unsafe.Pointer(unsafe.SliceData(fields)), int32(len(fields))
}

func (n *Node) setItems(items []*Node) {
	n.kids, n.n = unsafe.Pointer(unsafe.SliceData(items)), int32(len(items))
}

// place is how a node is spelled in a text; the zero place is that of a node
// made by the program.
type place struct {
	text *Text
	// Bytes start:body of the text are anchor and tag (none where they are
	// equal), body:end are the value itself.
	start, body, end int32
	style            style
	flags            flags
}

// style is the notation of one node.
type style uint8

const (
	made    style = iota
	absent        // null, spelled by no bytes
	plain         // a scalar without quotes
	single        // 'text'
	double        // "text"
	literal       // |
	folded        // >
	block         // a mapping or sequence by indentation
	flow          // {...} or [...]
	pair          // the single entry of a flow sequence that is a mapping: [a: b]
)

type flags uint8

const (
	anchored  flags = 1 << iota // has an anchor
	tagged                      // has a tag
	aliased                     // is an alias: shares what is below with its anchor
	irregular                   // has merge keys or duplicate keys: see Document.entries
	float                       // Number that the decoder takes for a float
	endless                     // Number that JSON cannot spell: infinite or not a number
	derived                     // made from a node of a document: its place is where it came from
)

// Field is one entry of a Map. Where a document repeats a key, only the last
// entry is a field, as for Kubernetes' own decoder; see Document.Duplicates.
type Field struct {
	Key     string
	KeySpan Span // zero for made nodes
	Value   *Node
}

// NewString, NewBool, NewInt and the like make nodes that have no place.

// NewString returns a String node.
func NewString(s string) *Node { return &Node{kind: String, str: s} }

// NewBool returns a Bool node.
func NewBool(b bool) *Node { return &Node{kind: Bool, str: strconv.FormatBool(b)} }

// NewInt returns a Number node.
func NewInt(i int64) *Node { return &Node{kind: Number, str: strconv.FormatInt(i, 10)} }

// NewNumber returns a Number node with the given JSON spelling.
func NewNumber(json string) *Node { return &Node{kind: Number, str: json} }

// NewNull returns a Null node.
func NewNull() *Node { return &Node{} }

// NewMap returns a Map node with the fields in the given order.
func NewMap(fields ...Field) *Node {
	n := &Node{kind: Map}
	n.setFields(fields)
	return n
}

// NewList returns a List node.
func NewList(items ...*Node) *Node {
	n := &Node{kind: List}
	n.setItems(items)
	return n
}

// F is short for Field{Key: key, Value: value}.
func F(key string, value *Node) Field { return Field{Key: key, Value: value} }

// Kind returns what the node is; Null for nil.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	return n.kind
}

// IsNull reports whether the node is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.kind == Null }

// Str returns the value of a String node, else "".
func (n *Node) Str() string {
	if n == nil || n.kind != String {
		return ""
	}
	return n.str
}

// Scalar returns the value of a scalar as plain text: a string as it is, a
// number or boolean in its JSON spelling, "" for all else.
func (n *Node) Scalar() string {
	if n == nil {
		return ""
	}
	return n.str
}

// IsTrue reports whether the node is the boolean true.
func (n *Node) IsTrue() bool { return n != nil && n.kind == Bool && n.str == "true" }

// Int returns the value of a Number node that is a whole number.
func (n *Node) Int() (int64, bool) {
	if n == nil || n.kind != Number {
		return 0, false
	}
	i, err := strconv.ParseInt(n.str, 10, 64)
	return i, err == nil
}

// Len returns the number of fields or items.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return int(n.n)
}

// Fields returns the fields of a Map, in the order of the document. The slice
// must not be changed.
func (n *Node) Fields() []Field {
	if n == nil || n.kind != Map {
		return nil
	}
	return unsafe.Slice((*Field)(n.kids), int(n.n))
}

// Items returns the items of a List. The slice must not be changed.
func (n *Node) Items() []*Node {
	if n == nil || n.kind != List {
		return nil
	}
	return unsafe.Slice((**Node)(n.kids), int(n.n))
}

// Field returns the field of a Map with that key.
func (n *Node) Field(key string) (Field, bool) {
	fields := n.Fields()
	for i := range fields {
		if fields[i].Key == key {
			return fields[i], true
		}
	}
	return Field{}, false
}

// Get returns the value at a path of keys, or nil where there is none.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		f, ok := n.Field(key)
		if !ok {
			return nil
		}
		n = f.Value
	}
	return n
}

// Span returns the bytes that spell the node, from its anchor or tag where it
// has one; the zero Span for made nodes. The node of an alias has the span of
// the alias, while the nodes below it are those of the anchor.
func (n *Node) Span() Span {
	if n == nil || n.text == nil {
		return Span{}
	}
	return Span{n.text, int(n.start), int(n.end)}
}

// Pos returns where the node begins; the zero Pos for made nodes.
func (n *Node) Pos() Pos {
	if n == nil || n.text == nil {
		return Pos{}
	}
	return n.text.Pos(int(n.start))
}

// Raw returns the bytes that spell the node; nil for made nodes.
func (n *Node) Raw() []byte {
	if n == nil || n.text == nil {
		return nil
	}
	return n.text.Data[n.start:n.end]
}

// derive gives a node the place of the one that it was made from.
func (n *Node) derive(from *Node) {
	n.place = from.place
	n.flags |= derived
}

// With returns a copy of a Map in which key has the given value: in place
// where the key exists, else at the end. On nil or Null it makes a new Map.
// The copy keeps the span of n, so that it is known where it came from.
func (n *Node) With(key string, value *Node) *Node {
	c := &Node{kind: Map}
	old := n.Fields()
	if n != nil {
		c.derive(n)
	}
	fields := append(make([]Field, 0, len(old)+1), old...)
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		fields = append(fields, Field{Key: key})
		i = len(old)
	}
	fields[i].Value = value
	c.setFields(fields)
	return c
}

// WithAt is With at a path of keys; Maps that are missing are made.
func (n *Node) WithAt(value *Node, path ...string) *Node {
	if len(path) == 0 {
		return value
	}
	return n.With(path[0], n.Get(path[0]).WithAt(value, path[1:]...))
}

// Without returns a copy of a Map that lacks key, or n itself where it has no
// such key.
func (n *Node) Without(key string) *Node {
	if _, ok := n.Field(key); !ok {
		return n
	}
	c := &Node{kind: Map}
	c.derive(n)
	fields := make([]Field, 0, n.Len()-1)
	for _, f := range n.Fields() {
		if f.Key != key {
			fields = append(fields, f)
		}
	}
	c.setFields(fields)
	return c
}

// WithItems returns a List that holds items and keeps the span of n.
func (n *Node) WithItems(items ...*Node) *Node {
	c := NewList(items...)
	if n != nil {
		c.derive(n)
	}
	return c
}

// WithFields returns a Map that holds fields and keeps the span of n.
func (n *Node) WithFields(fields ...Field) *Node {
	c := NewMap(fields...)
	if n != nil {
		c.derive(n)
	}
	return c
}

// Equal reports whether two nodes hold the same value. The order of the
// fields of a Map does not matter; numbers compare by their spelling.
func (n *Node) Equal(m *Node) bool {
	if n == m {
		return true
	}
	if n.Kind() != m.Kind() || n.Len() != m.Len() || n.Scalar() != m.Scalar() {
		return false
	}
	for i, item := range n.Items() {
		if !item.Equal(m.Items()[i]) {
			return false
		}
	}
	find := m.Finder()
	for _, f := range n.Fields() {
		g, ok := find.Field(f.Key)
		if !ok || !f.Value.Equal(g.Value) {
			return false
		}
	}
	return true
}
