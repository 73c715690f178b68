package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Parse reads one document. The error, if any, is a *SyntaxError.
func Parse(text *Text) (*Document, error) {
	js, err := yaml.YAMLToJSON(text.Data)
	if err != nil {
		return nil, &SyntaxError{Span: Span{Text: text}, Message: err.Error()}
	}
	root, err := fromJSON(js)
	if err != nil {
		return nil, err
	}
	if root.kind == Null {
		root = nil
	}
	return &Document{Text: text, Root: root}, nil
}

// SyntaxError says why bytes are not a document, and where.
type SyntaxError struct {
	Span    Span
	Message string
}

func (e *SyntaxError) Error() string { return e.Span.Pos().String() + ": " + e.Message }

// Value makes a node of plain data, as encoding/json decodes it: nil, bool,
// float64, json.Number, int, int64, string, []any, map[string]any (its keys
// sorted), or anything that encoding/json can encode.
func Value(v any) (*Node, error) {
	js, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fromJSON(js)
}

func fromJSON(js []byte) (*Node, error) {
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	return decode(d)
}

func decode(d *json.Decoder) (*Node, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		n := &Node{kind: List}
		if tok == '{' {
			n.kind = Map
		}
		for d.More() {
			var key string
			if n.kind == Map {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key = k.(string)
			}
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			if n.kind == Map {
				n.fields = append(n.fields, Field{Key: key, Value: v})
			} else {
				n.items = append(n.items, v)
			}
		}
		_, err := d.Token()
		return n, err
	case string:
		return NewString(tok), nil
	case json.Number:
		return NewNumber(tok.String()), nil
	case bool:
		return NewBool(tok), nil
	case nil:
		return NewNull(), nil
	}
	return nil, fmt.Errorf("unexpected token %v", tok)
}

// Reader splits a stream into documents, one in memory at a time.
type Reader struct {
	name string
	r    io.Reader
	rest [][]byte
	read bool
	n    int
}

// NewReader returns a Reader of the stream that the user calls name.
func NewReader(name string, r io.Reader) *Reader { return &Reader{name: name, r: r} }

// Next returns the next document, or io.EOF after the last one. A *SyntaxError
// concerns one document only: the caller may go on with the next.
func (r *Reader) Next() (*Document, error) {
	if !r.read {
		r.read = true
		data, err := io.ReadAll(r.r)
		if err != nil {
			return nil, err
		}
		for i, part := range bytes.Split(data, []byte("\n---")) {
			if i > 0 {
				part = append([]byte("---"), part...)
			}
			r.rest = append(r.rest, append(part, '\n'))
		}
	}
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	text := NewText(r.name, r.rest[0])
	r.rest = r.rest[1:]
	r.n++
	doc, err := Parse(text)
	if doc != nil {
		doc.Index = r.n - 1
	}
	return doc, err
}
