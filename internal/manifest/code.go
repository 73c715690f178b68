package manifest

import (
	"fmt"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Codes of the findings of this package; diag holds the table of them.
const (
	CodeOperator = "IGF0801" // a file that is no IstioOperator, or holds several
	CodePath     = "IGF0802" // a path that leads nowhere: of --set, of an overlay
	CodeNoMatch  = "IGF0803" // a setting or an overlay that matches nothing
	CodeReplaced = "IGF0804" // a list that replaces another, of which items vanish
	CodeText     = "IGF0805" // a number that is meant as text
	CodeGateway  = "IGF0806" // a gateway without name, or one that is there twice
	CodeChart    = "IGF0807" // what a chart says of the values
)

func finding(severity diag.Severity, code string, at source.Span, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: severity, Span: at, Message: fmt.Sprintf(format, args...)}
}

// placed moves findings about what the command line says from the text that
// the value was read from to the flag itself.
func placed(l diag.List) diag.List {
	for _, d := range l {
		if t := d.Span.Text; t != nil && strings.HasPrefix(t.Name, "-") && t.Name != "-" {
			d.File, d.Span = t.Name, source.Span{}
		}
	}
	return l
}
