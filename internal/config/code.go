package config

import (
	"fmt"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Codes of the findings about configuration; diag holds the table of them.
const (
	CodeDocument = "IGF0201" // a document of another kind than asked for
	CodeNoValue  = "IGF0202" // what is needed is missing or empty
	CodeOldShape = "IGF0203" // an injection configuration of another generation
	CodeSelector = "IGF0204" // a label selector that the injector passes over
	CodeType     = "IGF0301" // a value of the wrong type
	CodeUnknown  = "IGF0302" // a field that the control plane does not know
	CodeRefused  = "IGF0303" // a value that the control plane refuses
	CodeNoEffect = "IGF0304" // a field that is read but has no effect
	CodeWarned   = "IGF0305" // a value that the control plane warns of
)

func finding(severity diag.Severity, code string, at source.Span, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: severity, Span: at, Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) add(f *diag.Diagnostic) *diag.Diagnostic {
	d.diags = append(d.diags, f)
	return f
}
