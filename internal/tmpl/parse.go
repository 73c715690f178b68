package tmpl

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Limits on templates. They are far above what a sensible template reaches and
// keep a wrong one from taking the machine with it.
const (
	maxTemplate = 1 << 20 // bytes of a template's text; a ConfigMap holds no more
	maxDepth    = 1000    // templates within templates
	maxOutput   = 16 << 20
)

// maxSteps bounds the writes and iterations of one rendering. Tests lower it.
var maxSteps = 1 << 17

// engineName is what the mesh's injector names its templates; error messages
// and self references ({{template "inject"}}) show it.
const engineName = "inject"

// Template is a parsed injection template. It does not change and may be
// rendered by several goroutines at a time.
type Template struct {
	name    string
	text    *source.Text
	dialect *Dialect
	program *program // nil: text/template alone understands it
	needs   Needs
	// reference gives the template as text/template has it. It is made when
	// it is first needed: most templates never need it.
	reference func() (*reference, *diag.Diagnostic)
}

// Name returns the name of the template in the injection configuration.
func (t *Template) Name() string { return t.name }

// Text returns the text that the template was parsed from.
func (t *Template) Text() *source.Text { return t.text }

// Needs returns the parts of a pod that the template can read.
func (t *Template) Needs() Needs { return t.needs }

// Parse reads an injection template of the newest release: Go's text/template
// with Sprig's functions and those of the mesh's injector. name is the template's name in the injection configuration. The
// template is nil if and only if the diagnostic is not.
func Parse(name string, text *source.Text) (*Template, *diag.Diagnostic) {
	return newest.Parse(name, text)
}

// Parse is the function Parse for a template in this dialect.
func (d *Dialect) Parse(name string, text *source.Text) (*Template, *diag.Diagnostic) {
	t := &Template{name: name, text: text, dialect: d}
	if len(text.Data) > maxTemplate {
		return nil, t.diagnose(CodeLimit, source.Span{Text: text}, fmt.Sprintf("the text is larger than %d bytes", maxTemplate), "")
	}
	t.reference = sync.OnceValues(t.parseReference)
	// A Text does not change: no copy.
	if t.program = parseProgram(unsafe.String(unsafe.SliceData(text.Data), len(text.Data)), d); t.program != nil {
		t.needs = needsOf(t.program)
		return t, nil
	}
	if _, d := t.reference(); d != nil {
		return nil, d
	}
	t.needs = AllNeeds()
	return t, nil
}

// Reference returns the same template rendered by text/template only: the slow,
// obvious path that all faster ones are compared with.
func (t *Template) Reference() *Template {
	r := *t
	r.program = nil
	return &r
}

// diagnose makes a diagnostic that names the template.
func (t *Template) diagnose(code string, span source.Span, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:     code,
		Severity: diag.Error,
		Span:     span,
		Message:  fmt.Sprintf("template %q: %s", t.name, message),
		Fix:      fix,
	}
}
