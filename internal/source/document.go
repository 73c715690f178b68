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
	// Root is the value; nil where the document is empty or only comments.
	Root *Node
	// Format is the notation that the document is written in.
	Format Format
	// Duplicates lists the keys that a mapping holds more than once, each with
	// the span of the entry that lost (the last one wins).
	Duplicates []Span
}
