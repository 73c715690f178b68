// Package diag holds the user's mistakes: what is wrong, where, and how to
// mend it. An error (the Go type) means that ingraft could not do its job; a
// Diagnostic means that the user has something to change.
package diag

import "github.com/ingraft/ingraft/internal/source"

// Severity says what a diagnostic does to the outcome of a command.
type Severity uint8

// The severities, from harmless to fatal.
const (
	Info Severity = iota
	Warning
	Error
)

// String returns Info, Warning or Error, as istioctl prints them.
func (s Severity) String() string { return [...]string{"Info", "Warning", "Error"}[s] }

// Diagnostic is one finding about the user's input.
type Diagnostic struct {
	// Code names the kind of finding: IGF0001 and so on, or the mesh's own
	// code (IST0101) where it has one.
	Code string
	// Severity is the finding's weight.
	Severity Severity
	// Span is the offending bytes; the zero Span where there is no place, with
	// File then naming the input if there is one.
	Span source.Span
	// File is the input's name where Span is not known.
	File string
	// Object is the object concerned: "Deployment shop/cart"; may be empty.
	Object string
	// Manifest names the file that the object is in, where the finding's place
	// is in another one, as that of a template is.
	Manifest string
	// Document is the number of the object's document in its file, from 1; 0
	// unknown.
	Document int
	// Message says what is wrong: one sentence, lower case, no full stop.
	Message string
	// Fix says how to mend it, in the same form; may be empty.
	Fix string
}

// Pos returns where the finding is.
func (d *Diagnostic) Pos() source.Pos {
	if d.Span.IsValid() {
		return d.Span.Pos()
	}
	return source.Pos{File: d.File}
}

// Error returns the finding as one line, so that a Diagnostic can travel where
// a Go error must.
func (d *Diagnostic) Error() string {
	s := d.Message
	if p := d.Pos(); p.File != "" {
		s = p.String() + ": " + s
	}
	if d.Code != "" {
		s += " [" + d.Code + "]"
	}
	return s
}

// DuplicateKeys returns a warning for each key that a document holds again in
// the same object: Kubernetes and the control plane keep the last one.
func DuplicateKeys(doc *source.Document) List {
	var list List
	for _, at := range doc.Duplicates {
		list = append(list, &Diagnostic{
			Code: CodeDuplicateKey, Severity: Warning, Span: at,
			Message: "key " + string(at.Text.Data[at.Start:at.End]) + " is given again in the same object; only the last one counts",
			Fix:     "remove this one, which has no effect",
		})
	}
	return list
}

// List is a collection of findings, in the order they were made.
type List []*Diagnostic

// HasErrors reports whether a finding of severity Error is in the list.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}
