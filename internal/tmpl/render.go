package tmpl

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"github.com/ingraft/ingraft/internal/diag"
)

// Render executes the template on data. The bytes are nil if and only if the
// diagnostic is not. rec, if not nil, learns which part of the template wrote
// which part of the output; nil costs nothing. data is not changed.
func (t *Template) Render(data *Data, env Env, rec *Recorder) ([]byte, *diag.Diagnostic) {
	if out, ok := t.run(data, env, rec); ok {
		return out, nil
	}
	ref, d := t.reference()
	if d != nil {
		return nil, d
	}
	out, d := ref.render(data, env)
	if rec != nil {
		rec.whole(t, out)
	}
	return out, d
}

// run renders by the program; false where text/template must.
func (t *Template) run(data *Data, env Env, rec *Recorder) ([]byte, bool) {
	switch {
	case rec != nil:
		return rec.render(t, data, env)
	case t.program != nil:
		return t.program.render(t, data, env)
	}
	return nil, false
}

// render executes the program; false means that text/template must decide.
func (p *program) render(t *Template, data *Data, env Env) ([]byte, bool) {
	if p.mutates || p.renders {
		data = data.clone()
	}
	return p.execute(&run{template: t, data: data, env: env}, nil)
}

// render executes the template by text/template.
func (r *reference) render(data *Data, env Env) ([]byte, *diag.Diagnostic) {
	if r.mutates {
		data = data.clone()
	}
	in := r.instance()
	in.run.begin(data, env)
	err := in.execute()
	out := in.run.out.Bytes()
	in.run.end()
	r.idle.Put(in)
	if err != nil {
		return nil, r.renderError(err, data, env)
	}
	if out == nil {
		out = []byte{}
	}
	return out, nil
}

func (in *instance) execute() (err error) {
	defer func() {
		if r := recover(); r != nil {
			// text/template hands runtime errors of its own on: methods and
			// functions that panic do not end here.
			if e, ok := r.(runtime.Error); ok {
				err = fmt.Errorf("executing: %w", e)
				return
			}
			err = fmt.Errorf("executing: %v", r)
		}
	}()
	return in.exec.Execute(&in.run, in.run.template.dialect.dot(in.run.data))
}

// run is the state of one rendering: what its functions may see, and how much
// it has done.
type run struct {
	template *Template
	data     *Data
	env      Env
	out      bytes.Buffer
	steps    int
	depth    int
	pushed   grower[any]
}

func (r *run) begin(data *Data, env Env) {
	r.data, r.env, r.steps, r.depth = data, env, 0, 0
	r.out = bytes.Buffer{}
}

func (r *run) end() {
	r.data, r.env, r.out, r.pushed = nil, Env{}, bytes.Buffer{}, grower[any]{}
}

// limitError says which limit a rendering hit.
type limitError uint8

const (
	errSteps limitError = iota
	errDepth
	errOutput
	errResult
)

func (e limitError) Error() string {
	switch e {
	case errSteps:
		return fmt.Sprintf("it does not end: more than %d steps", maxSteps)
	case errDepth:
		return fmt.Sprintf("templates call each other more than %d deep", maxDepth)
	case errOutput:
		return fmt.Sprintf("it writes more than %d bytes", maxOutput)
	}
	return fmt.Sprintf("a function makes a value of more than %d bytes", maxOutput)
}

// Write takes the template's output.
func (r *run) Write(p []byte) (int, error) {
	if r.steps++; r.steps > maxSteps {
		return 0, errSteps
	}
	if r.out.Len()+len(p) > maxOutput {
		return 0, errOutput
	}
	return r.out.Write(p)
}

func (r *run) step() (string, error) {
	if r.steps++; r.steps > maxSteps {
		return "", errSteps
	}
	return "", nil
}

func (r *run) enter() (string, error) {
	if r.depth++; r.depth > maxDepth {
		return "", errDepth
	}
	return r.step()
}

func (r *run) leave() string {
	r.depth--
	return ""
}

// renderText is the function render of releases 1.9 to 1.13: it renders a text
// as a template with the same data; "" where that fails.
func (r *run) renderText(text string) (string, error) {
	if _, err := r.enter(); err != nil {
		return "", err
	}
	defer r.leave()
	t, d := r.template.dialect.Parse(r.template.name, textOf(r.template.text.Name, text))
	if d != nil {
		return "", nil
	}
	ref, d := t.reference()
	if d != nil {
		return "", nil
	}
	in := ref.instance()
	in.run.begin(r.data, r.env)
	in.run.steps, in.run.depth = r.steps, r.depth
	err := in.execute()
	r.steps = in.run.steps
	var limit limitError
	if errors.As(err, &limit) {
		return "", limit
	}
	if err != nil {
		return "", nil
	}
	return in.run.out.String(), nil
}
