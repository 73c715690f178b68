package source

// Format is the notation of a document.
type Format uint8

// The notations.
const (
	YAML Format = iota
	JSON
)

// Document is one document of a stream.
type Document struct {
	// Index counts the documents of the stream from 0, empty ones included.
	Index int
	// Text holds the bytes of the document together with the separator line
	// that precedes it: the Texts of a stream, put together, are the stream.
	Text *Text
	// Root is the value; nil where the document is empty, only comments, or
	// null.
	Root *Node
	// Format is the notation that the document is written in.
	Format Format
	// Duplicates lists the keys that a mapping holds more than once, each with
	// the span of the key that lost (the last one wins). A key before a merge
	// key that brings the same key in is among them: it loses too, as in
	// Kubernetes' own decoder and unlike in the YAML specification.
	Duplicates []Span

	// null is the node of a root that is null or absent; for edits.
	null *Node
	// entries holds the entries as they are written of each mapping where they
	// differ from its fields: merge keys and duplicates.
	entries map[*Node][]entry
	// aliases holds the nodes of aliases in the order of the text, and
	// anchorOf the node that each stands for.
	aliases  []*Node
	anchorOf map[*Node]*Node
}

// SyntaxError says why bytes are not a document, and where.
type SyntaxError struct {
	Span    Span
	Message string
}

// Error returns the place and the message.
func (e *SyntaxError) Error() string { return e.Span.Pos().String() + ": " + e.Message }
