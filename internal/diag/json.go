package diag

import (
	"encoding/json"
	"io"
)

type jsonFinding struct {
	Code      string `json:"code"`
	Severity  string `json:"severity"`
	Message   string `json:"message"`
	Fix       string `json:"fix,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
	Manifest  string `json:"manifest,omitempty"`
	Document  int    `json:"document,omitempty"`
	Object    string `json:"object,omitempty"`
}

// WriteJSON prints the findings as one JSON array, [] where there are none.
// Lines and columns begin at 1, columns count code points, and the end is the
// first place after the finding. Where the object concerned is in another file
// than the finding's place, manifest names that file, and document counts there.
func WriteJSON(w io.Writer, l List) error {
	all := make([]jsonFinding, 0, len(l))
	for _, d := range Sorted(l) {
		pos := d.Pos()
		f := jsonFinding{
			Code: d.Code, Severity: d.Severity.String(), Message: d.Message, Fix: d.Fix,
			File: pos.File, Line: pos.Line, Column: pos.Col,
			Manifest: d.Manifest, Document: d.Document, Object: d.Object,
		}
		if d.Span.IsValid() {
			end := d.Span.Text.Pos(d.Span.End)
			f.EndLine, f.EndColumn = end.Line, end.Col
		}
		all = append(all, f)
	}
	return encode(w, all)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
