package config

import (
	"fmt"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Codes of the findings about configuration.
const (
	CodeSyntax    = "IGF0100" // not YAML or JSON
	CodeType      = "IGF0101" // a value of the wrong type or form
	CodeUnknown   = "IGF0102" // a field that the control plane does not know
	CodeDocument  = "IGF0103" // a document of another kind than asked for
	CodeOldShape  = "IGF0104" // an injection configuration of an older release
	CodeRefused   = "IGF0105" // a value that the control plane refuses
	CodeNoValue   = "IGF0106" // what is needed is missing or empty
	CodeNoEffect  = "IGF0107" // a field that is read but has no effect
	CodeDeprecate = "IGF0108" // a field that the control plane warns of
)

func finding(severity diag.Severity, code string, at source.Span, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: severity, Span: at, Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) add(f *diag.Diagnostic) *diag.Diagnostic {
	d.diags = append(d.diags, f)
	return f
}
