package inject

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Codes of findings about a configuration as such.
const (
	CodeIdle    = "IGF0205" // a part of the configuration that does nothing
	CodeEnds    = "IGF0206" // what a later release does not have
	CodeNowhere = "IGF0207" // the name of a template that there is not
)

// Lint says what is dead, misspelt or shadowed in a configuration, and what
// will stop working in a later release, in the order of the document.
// Nothing is injected for it: a template that fails for some pods only may
// pass.
func Lint(set *config.Set) diag.List {
	l := &linter{set: set, release: set.Detected.Release}
	l.document()
	l.names()
	l.selectors()
	for i := range set.Injection.Templates {
		l.template(&set.Injection.Templates[i])
	}
	return l.findings
}

type linter struct {
	set      *config.Set
	release  release.Release
	findings diag.List
}

func (l *linter) add(severity diag.Severity, code string, at source.Span, message, fix string) {
	l.findings = append(l.findings, &diag.Diagnostic{Code: code, Severity: severity, Span: at, Message: message, Fix: fix})
}

// key returns the place of a key of the configuration.
func (l *linter) key(name string) source.Span {
	for _, k := range l.set.Injection.Keys {
		if k.Name == name {
			return k.At
		}
	}
	return source.Span{Text: l.set.Injection.Text}
}

// document looks at the keys.
func (l *linter) document() {
	inj := l.set.Injection
	if inj.Bare {
		return
	}
	if p := inj.Policy; p != config.PolicyEnabled && p != config.PolicyDisabled {
		l.add(diag.Error, CodeIdle, l.key("policy"),
			"policy is "+strconv.Quote(p)+", which is neither enabled nor disabled: the webhook injects into no pod, whatever the pods ask for",
			"write enabled or disabled")
	}
	for _, k := range inj.Keys {
		f, _ := release.Lookup(release.Key, k.Name)
		switch {
		case k.Name == "template" && inj.Shape == release.Overlays:
			l.poison(k.At)
		case (k.Name == "template" || k.Name == "templates") && !f.Has(l.release):
			if _, bad := generationFor(inj, l.set.Mesh, l.release); bad != nil { // the only templates there are
				l.findings = append(l.findings, bad)
			}
		case !f.Has(l.release):
			l.add(diag.Warning, CodeIdle, k.At, "key "+k.Name+" has no effect in release "+l.release.String()+": it is read "+f.String(), "remove it")
		case !f.Until.IsZero():
			l.add(l.ending(f.Until), CodeEnds, k.At, "key "+k.Name+" is not read by releases after "+f.Until.String(), ends(k.Name))
		case k.Name == "injectedAnnotations" && len(inj.InjectedAnnotations) > 0 && !l.release.Before(release.V(1, 9)):
			l.add(diag.Info, CodeEnds, k.At, "key injectedAnnotations is considered deprecated since release 1.9", "let a template write the annotations: metadata.annotations")
		}
	}
}

func ends(key string) string {
	if key == "template" {
		return "write it as templates.sidecar: a part of a pod, with what is appended below spec"
	}
	return ""
}

// poison looks at the key template beside templates, which is meant to make
// releases until 1.8 fail.
func (l *linter) poison(at source.Span) {
	doc, err := source.Parse(l.set.Injection.Text)
	if err != nil {
		return
	}
	for _, f := range doc.Root.Fields() {
		if strings.EqualFold(f.Key, "template") && !strings.Contains(f.Value.Scalar(), "Mismatched") {
			l.add(diag.Warning, CodeIdle, at, "key template is never read where there are templates", "remove it, or move it to templates")
		}
	}
}

// names looks at the names of templates.
func (l *linter) names() {
	inj := l.set.Injection
	if inj.Shape == release.Spec {
		return
	}
	has := map[string]bool{}
	var known []string
	for _, t := range inj.Templates {
		has[t.Name] = true
		known = append(known, t.Name)
	}
	missing := func(at source.Span, where, name string) {
		fix := "there are " + strings.Join(known, ", ")
		if near := diag.Nearest(name, known); near != "" {
			fix = "did you mean " + near + "?"
		}
		l.add(diag.Error, CodeNowhere, at, where+" names template "+strconv.Quote(name)+", which does not exist", fix)
	}
	for _, name := range inj.DefaultTemplates {
		if _, alias := inj.Aliases[name]; !alias && !has[name] {
			missing(l.key("defaultTemplates"), "defaultTemplates", name)
		}
	}
	for _, alias := range sortedNames(inj.Aliases) {
		if has[alias] {
			l.add(diag.Warning, CodeIdle, l.key("aliases"), "alias "+strconv.Quote(alias)+" hides the template of the same name", "rename one of them")
		}
		for _, name := range inj.Aliases[alias] {
			if _, again := inj.Aliases[name]; again && !has[name] {
				l.add(diag.Error, CodeNowhere, l.key("aliases"), "alias "+strconv.Quote(alias)+" names alias "+strconv.Quote(name)+": aliases are not looked up again", "list the templates themselves")
			} else if !has[name] {
				missing(l.key("aliases"), "alias "+strconv.Quote(alias), name)
			}
		}
	}
}

func sortedNames(m map[string][]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// selectors looks for selectors that select nothing, or nothing more.
func (l *linter) selectors() {
	inj := l.set.Injection
	for _, s := range inj.NeverInject {
		if s.Empty() {
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "an empty selector of neverInjectSelector selects nothing", "remove it, or set policy: disabled")
		}
	}
	for _, s := range inj.AlwaysInject {
		if s.Empty() {
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "an empty selector of alwaysInjectSelector selects nothing", "remove it, or set policy: enabled")
			continue
		}
		for _, never := range inj.NeverInject {
			if never.Node.Equal(s.Node) {
				l.add(diag.Warning, CodeIdle, s.Node.Span(), "neverInjectSelector has the same selector, and is asked first", "remove one of them")
			}
		}
	}
}

// template looks at the text of a template.
func (l *linter) template(t *config.Template) {
	dialect := tmpl.DialectOf(l.release)
	if _, bad := dialect.Parse(t.Name, t.Text); bad != nil {
		l.findings = append(l.findings, bad)
	}
	left, right := "{{", "}}"
	if l.set.Injection.Shape == release.Spec {
		left, right = release.Delimiters(t.Text.Data)
	}
	if own := dialect.Left(); own != left && bytes.Contains(t.Text.Data, []byte(left)) {
		l.add(diag.Error, CodeIdle, l.first(t.Text, left), "actions are written "+own+" in release "+l.release.String()+": this one is plain text", "read the configuration as another release, with --generation")
	} else if left == "[[" {
		l.add(l.ending(release.V(1, 1)), CodeEnds, l.first(t.Text, left), "actions in [[ ]] are plain text to releases after 1.1", "write {{ }}")
	}
	seen := map[string]bool{}
	for _, u := range release.Uses(t.Text, left, right) {
		if key := u.Kind.String() + u.Name + u.Path + strconv.FormatBool(u.Compared); !seen[key] {
			seen[key] = true
			l.use(u)
		}
	}
	if at := bytes.Index(t.Text.Data, []byte("restartPolicy:")); at >= 0 && l.release.Before(release.V(1, 19)) && l.set.Injection.Shape == release.Overlays {
		l.add(l.ending(release.V(1, 18)), CodeEnds, source.Span{Text: t.Text, Start: at, End: at + len("restartPolicy")},
			"restartPolicy of a container is dropped here, but counts since release 1.19: it makes an init container a sidecar", "remove it")
	}
}

func (l *linter) first(text *source.Text, word string) source.Span {
	i := bytes.Index(text.Data, []byte(word))
	return source.Span{Text: text, Start: i, End: i + len(word)}
}

// ending is how grave it is that something ends after a release: a warning
// where the next release does not have it any more.
func (l *linter) ending(last release.Release) diag.Severity {
	if last == l.release {
		return diag.Warning
	}
	return diag.Info
}

// use looks at a function or a field that a template names.
func (l *linter) use(u release.Use) {
	for _, f := range u.Features() {
		switch {
		case u.Kind == release.Field && !f.Has(l.release):
			l.add(diag.Warning, tmpl.CodeUnknown, u.At, "release "+l.release.String()+" has no field "+f.Name+": it is there "+f.String(), "leave it out, or read the configuration as one of another release")
		case f.Has(l.release) && !f.Until.IsZero() && f.Until != release.Newest:
			l.add(l.ending(f.Until), CodeEnds, u.At, f.Kind.String()+" "+f.Name+" is gone in releases after "+f.Until.String(), instead(f.Name))
		}
	}
	if u.Kind == release.Field && u.Name == "Values" && strings.Contains(u.Path, ".") {
		l.value(u)
	}
}

func instead(name string) string {
	switch name {
	case "render":
		return "write what it renders into the template"
	case "ProxyConfig.Concurrency as a number":
		return "write .ProxyConfig.Concurrency.GetValue"
	case "EstimatedConcurrency":
		return "write .ProxyConfig.Concurrency, or leave it to the proxy"
	}
	return ""
}

// value looks for a path of the values that is not there, where one is that is
// written nearly so.
func (l *linter) value(u release.Use) {
	at, path := l.set.Values.Root, strings.Split(u.Path, ".")[1:]
	for i, key := range path {
		if at.Kind() != source.Map {
			return
		}
		next, ok := at.Field(key)
		if ok {
			at = next.Value
			continue
		}
		keys := make([]string, 0, at.Len())
		for _, f := range at.Fields() {
			keys = append(keys, f.Key)
		}
		if near := diag.Nearest(key, keys); near != "" && !config.IsValue(path...) {
			l.add(diag.Warning, tmpl.CodeValues, u.At, "the values have no "+strings.Join(path[:i+1], "."),
				"did you mean "+strings.Join(append(append([]string(nil), path[:i]...), near), ".")+"?")
		}
		return
	}
}
