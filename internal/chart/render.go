package chart

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/ingraft/ingraft/internal/source"
)

// Release is what templates see of the release: .Release.
type Release struct {
	Name, Namespace string
	// Revision counts the upgrades of a release, from 1.
	Revision int
	// IsInstall and IsUpgrade tell which of the two is going on; both are
	// false where charts are only rendered, as by manifest generate.
	IsInstall, IsUpgrade bool
}

// Options are what a rendering depends on besides the chart and the values.
type Options struct {
	Release      Release
	Capabilities Capabilities
	// Only selects the templates to render by their full names, such as
	// istiod/templates/service.yaml; nil selects all.
	//
	// Templates may change the values that those after them see, and the
	// mesh's charts do so: a selection that leaves out templates/zzz_profile.yaml
	// and templates/zzy_descope_legacy.yaml renders the rest without defaults.
	Only func(name string) bool
}

// Output is what a chart renders to.
type Output struct {
	// Files are the rendered templates by their full names, in the order of
	// the names. A template that renders to nothing is there too.
	Files []File
	// Notes are the rendered NOTES.txt, which are not manifests.
	Notes []File
	// Made holds the long texts that templates made by toYaml, with what they
	// spell. Where one of them is all that a document holds, as with the
	// definitions of the base chart, it need not be read again.
	Made map[string]*source.Node
}

// Get returns the text of a rendered file, notes included; "" where there is
// none.
func (o *Output) Get(name string) string {
	for _, files := range [][]File{o.Files, o.Notes} {
		for _, f := range files {
			if f.Name == name {
				return f.Text
			}
		}
	}
	return ""
}

// Render renders the chart and its subcharts. Values are the user's, as
// encoding/json decodes them; they are not changed. An error in a template is
// an *Error.
func (c *Chart) Render(values map[string]any, o Options) (*Output, error) {
	coalesced, err := c.Coalesce(values)
	if err != nil {
		return nil, err
	}
	r := &renderer{options: o, included: map[string]int{}}
	r.collect(c, coalesced)
	return r.render()
}

// noValue is what text/template prints for a key that a map lacks. Helm takes
// it out of the result, wherever it came from.
const noValue = "<no value>"

// How deep templates may call each other: one name by include, tpl, and all
// together. The first is Helm's; the others keep the stack bounded where Helm's
// overflows.
const (
	maxIncludes = 1000
	maxTpl      = 100
	maxDepth    = 2000
)

// renderer holds one rendering. It is used by one goroutine.
type renderer struct {
	options   Options
	templates []unit
	root      *template.Template
	included  map[string]int // calls under way of each name
	depth     int            // calls under way
	tplDepth  int            // of these, to tpl

	lastText string // see fromYAML
	lastRoot *source.Node
	made     map[string]*source.Node // see Output.Made
}

// unit is a template together with its dot, which it shares with the other
// templates of its chart.
type unit struct {
	name, text, base string
	dot              map[string]any
}

// collect lists the templates of a chart and its subcharts and returns the dot
// of the chart's own.
func (r *renderer) collect(c *Chart, values Values) map[string]any {
	rel := r.options.Release
	subcharts := map[string]any{}
	dot := map[string]any{
		"Chart":        c.metadataMap(),
		"Files":        c.Files,
		"Capabilities": &r.options.Capabilities,
		"Values":       values,
		"Subcharts":    subcharts,
		"Release": map[string]any{
			"Name":      rel.Name,
			"Namespace": rel.Namespace,
			"Revision":  rel.Revision,
			"IsInstall": rel.IsInstall,
			"IsUpgrade": rel.IsUpgrade,
			"Service":   "Helm",
		},
	}
	for _, sub := range c.Subcharts {
		own, ok := values[sub.Name].(map[string]any)
		if !ok {
			own = map[string]any{}
		}
		subcharts[sub.Name] = r.collect(sub, own)
	}
	for _, t := range c.Templates {
		if c.isLibrary() && !isPartial(t.Name) {
			continue
		}
		r.templates = append(r.templates, unit{
			name: path.Join(c.fullName(), t.Name),
			text: t.Text,
			base: path.Join(c.fullName(), "templates"),
			dot:  dot,
		})
	}
	return dot
}

func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

func (r *renderer) render() (out *Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("rendering templates: %v", p)
		}
	}()
	// Deeper ones first, and those of a folder from z to a: the order of both
	// parsing (the last definition of a name is the one that counts) and
	// rendering (the values are shared).
	slices.SortFunc(r.templates, func(a, b unit) int {
		if d := strings.Count(b.name, "/") - strings.Count(a.name, "/"); d != 0 {
			return d
		}
		return strings.Compare(b.name, a.name)
	})
	r.root = template.New("gotpl").Option("missingkey=zero")
	r.root.Funcs(r.funcMap())
	for _, u := range r.templates {
		if !r.wanted(u) && !isPartial(u.name) && !definesOthers(u.text) {
			continue
		}
		if _, err := r.root.New(u.name).Parse(u.text); err != nil {
			return nil, newError(u.name, err)
		}
	}
	r.made = map[string]*source.Node{}
	out = &Output{Made: r.made}
	for _, u := range r.templates {
		if isPartial(u.name) || !r.wanted(u) {
			continue
		}
		u.dot["Template"] = Values{"Name": u.name, "BasePath": u.base}
		var b strings.Builder
		if err := r.root.ExecuteTemplate(&b, u.name, u.dot); err != nil {
			return nil, newError(u.name, err)
		}
		f := File{u.name, strings.ReplaceAll(b.String(), noValue, "")}
		if path.Base(u.name) == "NOTES.txt" {
			out.Notes = append(out.Notes, f)
		} else {
			out.Files = append(out.Files, f)
		}
	}
	for _, files := range [][]File{out.Files, out.Notes} {
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	}
	return out, nil
}

func (r *renderer) wanted(u unit) bool { return r.options.Only == nil || r.options.Only(u.name) }

// definesOthers reports whether a template may define further ones, which
// others may include.
func definesOthers(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, "{{")
		if !ok {
			return false
		}
		text = rest
		action := strings.TrimLeft(strings.TrimPrefix(rest, "-"), " \t\r\n")
		if strings.HasPrefix(action, "define") || strings.HasPrefix(action, "block") {
			return true
		}
	}
}

// enter counts a template that another one calls.
func (r *renderer) enter() error {
	if r.depth++; r.depth > maxDepth || r.tplDepth > maxTpl {
		return errors.New("templates are nested too deeply")
	}
	return nil
}

// parseLate parses a template that was not selected but is included by its
// file's name, as is the way to put a checksum of it into another.
func (r *renderer) parseLate(t *template.Template, name string) error {
	for _, u := range r.templates {
		if u.name == name {
			_, err := t.New(name).Parse(u.text)
			return err
		}
	}
	return fmt.Errorf("there is no template %q", name)
}

// include returns the function include for a set of templates.
func (r *renderer) include(t *template.Template) func(string, any) (string, error) {
	return func(name string, data any) (string, error) {
		defer func() { r.depth--; r.included[name]-- }()
		r.included[name]++
		if err := r.enter(); err != nil {
			return "", err
		}
		if r.included[name] > maxIncludes+1 {
			return "", fmt.Errorf("template %s includes itself without end", name)
		}
		if t.Lookup(name) == nil {
			if err := r.parseLate(t, name); err != nil {
				return "", err
			}
		}
		var b strings.Builder
		err := t.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}
}

// tpl returns the function tpl for a set of templates. What its text defines
// is seen only by the text itself and what it calls.
func (r *renderer) tpl(parent *template.Template) func(string, any) (string, error) {
	return func(text string, data any) (string, error) {
		if !strings.Contains(text, "{{") {
			return strings.ReplaceAll(text, noValue, ""), nil
		}
		defer func() { r.depth--; r.tplDepth-- }()
		r.tplDepth++
		if err := r.enter(); err != nil {
			return "", err
		}
		t, err := parent.Clone()
		if err != nil {
			return "", err
		}
		t.Option("missingkey=zero") // Clone loses it: go.dev/issue/43022
		t.Funcs(template.FuncMap{"include": r.include(t), "tpl": r.tpl(t)})
		if t, err = t.New(parent.Name()).Parse(text); err != nil {
			return "", err
		}
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			return "", err
		}
		return strings.ReplaceAll(b.String(), noValue, ""), nil
	}
}
