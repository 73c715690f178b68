package inject

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Codes of findings about a configuration as such.
const (
	CodeIdle    = "IGF0205" // a part of the configuration that does nothing
	CodeEnds    = "IGF0206" // what a later release does not have
	CodeNowhere = "IGF0207" // the name of a template that there is not
	CodeNoField = "IGF0208" // a field of a template that Kubernetes does not have
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
	l.values()
	slices.SortStableFunc(l.findings, func(a, b *diag.Diagnostic) int {
		p, q := a.Span.Pos(), b.Span.Pos()
		return cmp.Or(strings.Compare(p.File, q.File), p.Line-q.Line, p.Col-q.Col)
	})
	return l.findings
}

type linter struct {
	set      *config.Set
	release  release.Release
	findings diag.List
	// reads are those of the values by all templates; lost tells that there may
	// be more.
	reads []tmpl.ValueRead
	lost  bool
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
		switch {
		case s.Empty():
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "an empty selector of neverInjectSelector selects nothing", "remove it, or set policy: disabled")
		case inj.Policy == config.PolicyDisabled && len(inj.AlwaysInject) == 0:
			l.add(diag.Info, CodeIdle, s.Node.Span(), "neverInjectSelector changes nothing while policy is disabled and nothing is always injected", "")
		}
	}
	for _, s := range inj.AlwaysInject {
		if s.Empty() {
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "an empty selector of alwaysInjectSelector selects nothing", "remove it, or set policy: enabled")
			continue
		}
		i := slices.IndexFunc(inj.NeverInject, func(never config.Selector) bool { return selectsAll(never.Node, s.Node) })
		switch {
		case i >= 0 && inj.NeverInject[i].Node.Equal(s.Node):
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "neverInjectSelector has the same selector, and is asked first", "remove one of them")
		case i >= 0:
			l.add(diag.Warning, CodeIdle, s.Node.Span(), "a selector of neverInjectSelector ("+string(source.AppendJSON(nil, inj.NeverInject[i].Node))+
				") selects all that this one does, and is asked first", "narrow that one, or remove this one")
		case inj.Policy == config.PolicyEnabled:
			l.add(diag.Info, CodeIdle, s.Node.Span(), "alwaysInjectSelector changes nothing while policy is enabled: pods that do not say otherwise are injected into", "")
		}
	}
}

// selectsAll reports whether a selector has no requirement that another has
// not too: what the other selects, it selects.
func selectsAll(wide, narrow *source.Node) bool {
	if len(wide.Get("matchLabels").Fields())+len(wide.Get("matchExpressions").Items()) == 0 {
		return false // the empty one selects nothing here
	}
	for _, f := range wide.Get("matchLabels").Fields() {
		if n := narrow.Get("matchLabels", f.Key); n == nil || !n.Equal(f.Value) {
			return false
		}
	}
	for _, e := range wide.Get("matchExpressions").Items() {
		if !slices.ContainsFunc(narrow.Get("matchExpressions").Items(), e.Equal) {
			return false
		}
	}
	return true
}

// template looks at the text of a template.
func (l *linter) template(t *config.Template) {
	dialect := tmpl.DialectOf(l.release)
	survey := dialect.Survey(t.Text)
	if _, bad := dialect.Parse(t.Name, t.Text); bad != nil {
		if bad.Code == tmpl.CodeUnknown && survey != nil {
			l.functions(t, dialect, survey)
		} else {
			l.findings = append(l.findings, bad)
		}
	}
	left, right := "{{", "}}"
	if l.set.Injection.Shape == release.Spec {
		left, right = release.Delimiters(t.Text.Data)
	}
	if own := dialect.Left(); own != left && bytes.Contains(t.Text.Data, []byte(left)) {
		l.add(diag.Error, CodeIdle, l.first(t.Text, left), "actions are written "+own+" in release "+l.release.String()+": this one is plain text", "read the configuration as another release, with --generation")
		return
	} else if left == "[[" {
		l.add(l.ending(release.V(1, 1)), CodeEnds, l.first(t.Text, left), "actions in [[ ]] are plain text to releases after 1.1", "write {{ }}")
	}
	var keys []outlineKey
	ofPod := true
	if survey != nil {
		keys, ofPod = outlineOf(survey.Text, l.set.Injection.Shape)
	}
	seen := map[string]bool{}
	for _, u := range release.Uses(t.Text, left, right) {
		if key := u.Kind.String() + u.Name + u.Path + strconv.FormatBool(u.Compared); !seen[key] && (ofPod || u.Kind == release.Function) {
			seen[key] = true
			l.use(u)
		}
	}
	if survey == nil {
		l.lost = true
		return
	}
	l.reads = append(l.reads, survey.Values...)
	l.lost = l.lost || survey.Lost
	for _, at := range survey.Idle {
		l.add(diag.Warning, CodeIdle, at, "nothing invokes this template", "remove it, or invoke it with {{ template }}")
	}
	if !ofPod {
		return // it gets other data
	}
	l.fields(t, survey)
	for _, k := range survey.Keys {
		kind := annot.Annotation
		if k.Label {
			kind = annot.Label
		}
		l.name(kind, k.Name, k.At, "asks for")
	}
	l.text(t, keys)
}

// functions tells the functions that there are not.
func (l *linter) functions(t *config.Template, dialect *tmpl.Dialect, s *tmpl.Survey) {
	for _, at := range s.Functions {
		l.findings = append(l.findings, dialect.NoFunction(t.Name, at))
	}
}

// fields tells the fields that the data does not have, in this release or a
// later one.
func (l *linter) fields(t *config.Template, s *tmpl.Survey) {
	gone := map[source.Span]bool{}
	for _, f := range s.Fields {
		gone[f.At] = true
		if _, told := release.Lookup(release.Field, f.Path); told {
			continue
		}
		fix := ""
		if f.Near != "" {
			fix = "did you mean " + f.Near + "?"
		}
		l.add(diag.Error, tmpl.CodeUnknown, f.At, "there is no field "+f.Name+" in "+f.Of, fix)
	}
	for r := l.release; r != release.Newest; r = r.Next() {
		later := tmpl.DialectOf(r.Next())
		if later.SameData(tmpl.DialectOf(r)) {
			continue
		}
		for _, f := range tmpl.DialectOf(l.release).SurveyOn(later, t.Text).Fields {
			if _, told := release.Lookup(release.Field, f.Path); told || gone[f.At] {
				continue
			}
			gone[f.At] = true
			name := f.Path
			if name == "" {
				name = f.Name + " of " + f.Of
			}
			l.add(l.ending(r), CodeEnds, f.At, "field "+name+" is gone in releases after "+r.String(), "")
		}
	}
}

// text looks at the keys that a template writes.
func (l *linter) text(t *config.Template, keys []outlineKey) {
	shape := l.set.Injection.Shape
	for _, k := range keys {
		at := source.Span{Text: t.Text, Start: k.start, End: k.end}
		switch {
		case k.of.part == partSpec && strings.EqualFold(k.name, redirectAnnotations):
			if l.release.Before(release.V(1, 8)) {
				l.add(l.ending(release.V(1, 7)), CodeEnds, at, k.name+" does nothing in releases after 1.7", "annotate the pods that need it")
			} else {
				l.add(diag.Info, CodeIdle, at, k.name+" does nothing since release 1.8", "remove it")
			}
		case k.name == "restartPolicy" && k.of.typ.Name() == "Container":
			if shape == release.Overlays && l.release.Before(release.V(1, 19)) {
				l.add(l.ending(release.V(1, 18)), CodeEnds, at,
					"restartPolicy of a container is dropped here, but counts since release 1.19: it makes an init container a sidecar", "remove it")
			}
		case k.of.part == partAnnotations || k.of.part == partLabels:
			l.name(k.of.part.kind(), k.name, at, "sets")
		case k.of.part == partSpec:
			fix := "it may have " + strings.Join(specKeys, ", ")
			if near := diag.Nearest(k.name, specKeys); near != "" {
				fix = "did you mean " + near + "?"
			}
			l.add(diag.Error, CodeNoField, at, k.name+" is nothing that the template may append to a pod", fix)
		case shape == release.Spec && isPassedOver(k.name):
		case shape == release.Spec:
			l.add(diag.Error, CodeNoField, at, k.name+" is no field of "+ofType(k.of.typ), placeFor(k.name, k.of.typ))
		default:
			l.add(diag.Warning, CodeNoField, at, k.name+" is no field of "+ofType(k.of.typ)+": it is dropped without a word", placeFor(k.name, k.of.typ))
		}
	}
}

func ofType(typ kube.Type) string {
	name := typ.Name()
	if strings.ContainsAny(name[:1], "AEIO") {
		return "an " + name
	}
	return "a " + name
}

// placeFor says which field was meant by a key that a type does not have.
func placeFor(key string, typ kube.Type) string {
	if fix := nearestField(key, typ); fix != "" {
		return fix
	}
	for _, f := range typ.Fields() {
		if f.Type.Field(key) != nil {
			return key + " is a field of " + f.Name + ": write it there"
		}
	}
	if typ.Field("annotations") != nil && strings.Contains(key, "/") {
		return "write it below annotations"
	}
	return ""
}

// name looks at the name of an annotation or label that a template has.
func (l *linter) name(kind annot.Kind, name string, at source.Span, does string) {
	if _, known := annot.Lookup(kind, name); known {
		return
	}
	pod := bearer{scope: annot.Pod}
	// What a template asks for need not be in the table: it gives it a meaning.
	if what, fix := pod.unknown(kind, name); what != "" && fix != "" {
		l.add(diag.Warning, CodeUnknownName, at, "the template "+does+" "+kind.String()+" "+name+": "+what, fix)
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
			l.add(diag.Error, tmpl.CodeUnknown, u.At, "release "+l.release.String()+" has no field "+f.Name+": it is there "+f.String(), "leave it out, or read the configuration as one of another release")
		case f.Has(l.release) && !f.Until.IsZero() && f.Until != release.Newest:
			l.add(l.ending(f.Until), CodeEnds, u.At, f.Kind.String()+" "+f.Name+" is gone in releases after "+f.Until.String(), instead(f.Name))
		}
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
