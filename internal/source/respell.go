package source

// Respelled returns the bytes that spell a scalar of a document once its value
// is s: on one line, in quotes where it needs them. Unlike Edit, it neither
// looks at the rest of the document nor reads the result. The scalar may be nil:
// one that has no quotes.
func Respelled(doc *Document, scalar *Node, s string) []byte {
	r := &rewriter{doc: doc, text: doc.Text, src: doc.Text.Data, layout: layout{json: doc.Format == JSON, quote: double}}
	w := r.writer()
	// What is safe in brackets is safe everywhere.
	prefer := plain
	if scalar != nil {
		prefer = scalar.style
	}
	w.str(s, true, prefer)
	return w.dst
}

// Replaced returns a text that has the place of t and other bytes: the lines
// of the input before it count as before.
func (t *Text) Replaced(data []byte) *Text {
	return &Text{Name: t.Name, Data: data, line: t.line, outer: t.outer}
}

// Line returns the number of lines of the input before the text.
func (t *Text) Line() int { return t.line }
