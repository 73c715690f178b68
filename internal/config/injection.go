package config

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// DefaultTemplate is the template used where neither the pod nor the
// configuration names one; a bare template gets this name.
const DefaultTemplate = "sidecar"

// OldTemplate names the one template of a configuration of release 1.8 or
// older, where it has no name.
const OldTemplate = "template"

const injectionDocument = "injection configuration"

// ParseInjection reads an injection configuration of any release: key "config" of the ConfigMap istio-sidecar-injector, or the ConfigMap
// itself. Keys are matched as encoding/json does, without regard to case; one
// that is not known is ignored, with a warning.
//
// A text that is no such document is taken for a template, as kube-inject
// does, unless it is evidently something else.
func ParseInjection(text *source.Text) (*Injection, diag.List) {
	doc, bad := open(text, keyConfig)
	if bad != nil {
		if bad.Code == diag.CodeSyntax && doc.text == text && looksLikeTemplate(text.Data) {
			at := notText(text.Data)
			if at < 0 {
				return bare(text), nil
			}
			bad = finding(diag.Error, diag.CodeSyntax, source.Span{Text: text, Start: at, End: at + 1},
				"byte 0x%02x belongs to no text: this is neither an %s nor a template", text.Data[at], injectionDocument)
		}
		return nil, diag.List{bad}
	}
	inFile := doc.text == text
	switch what, fix := notInjection(doc.root); {
	case what != "":
		d := finding(diag.Error, CodeDocument, doc.root.Span(), "this is %s, not an %s", what, injectionDocument)
		d.Fix = fix
		return nil, diag.List{d}
	case doc.root == nil:
		d := finding(diag.Error, CodeNoValue, whole(doc.text), "the %s is empty", injectionDocument)
		return nil, diag.List{d}
	case inFile && !isConfig(doc.root):
		return bare(text), nil
	}
	r := injectionReader{decoder{diags: doc.duplicates}}
	inj := r.read(doc)
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return inj, r.diags
}

// bare returns the configuration whose only template is a whole text.
func bare(text *source.Text) *Injection {
	return &Injection{
		Text:             text,
		Bare:             true,
		Policy:           PolicyEnabled,
		Templates:        []Template{{Name: DefaultTemplate, Text: text}},
		DefaultTemplates: []string{DefaultTemplate},
	}
}

// The keys of an injection configuration, template being the one of releases
// before 1.9.
var injectionKeys = []string{
	"templates", "defaultTemplates", "aliases", "policy", "neverInjectSelector",
	"alwaysInjectSelector", "injectedAnnotations", "template",
}

// isConfig reports whether a document has a key that only an injection
// configuration has.
func isConfig(root *source.Node) bool {
	return slices.ContainsFunc(root.Fields(), func(f source.Field) bool { return injectionKey(f.Key) != "" })
}

// injectionKey returns the key of an injection configuration that a key of a
// document means, or "".
func injectionKey(key string) string {
	for _, k := range injectionKeys {
		if strings.EqualFold(k, key) {
			return k
		}
	}
	return ""
}

// looksLikeTemplate tells a template, which need not be YAML, from a
// configuration that is broken YAML and from what is neither: it has actions,
// and none of the keys at the start of a line.
func looksLikeTemplate(data []byte) bool {
	for line := range bytes.Lines(data) {
		key, _, found := bytes.Cut(line, []byte(":"))
		if found && injectionKey(string(key)) != "" {
			return false
		}
	}
	return bytes.Contains(data, []byte("{{"))
}

// notText returns the offset of the first byte that text in UTF-8 does not
// have, -1 for none.
func notText(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return i
		}
		i += size
	}
	return -1
}

// notInjection says what a document is that is evidently something else, and
// how to get what is wanted.
func notInjection(root *source.Node) (what, fix string) {
	fix = elsewhere(keyConfig)
	kind := root.Get("kind").Str()
	switch {
	case root != nil && root.Kind() != source.Map && !hasAction(root):
		return describe(root), fix
	case root.Get("apiVersion") != nil && kind != "" && kind != "Pod": // a template may be spelled as a whole Pod
		if kind == "MutatingWebhookConfiguration" {
			fix += "; the webhooks of this one are shown by injector config show --webhookFile"
		}
		return "a Kubernetes object of kind " + kind, fix
	case isConfig(root):
		return "", ""
	case root.Get("global").Kind() == source.Map:
		return "the values of an install", fix + "; values go to --valuesFile"
	case root.Get("defaultConfig") != nil || root.Get("rootNamespace") != nil || root.Get("trustDomain") != nil:
		return "a mesh configuration", fix + "; it goes to --meshConfigFile"
	}
	return "", ""
}

// hasAction reports whether the text of a node has an action of a template in
// it: {{ .X }} as a whole document is YAML too.
func hasAction(n *source.Node) bool { return bytes.Contains(n.Raw(), []byte("{{")) }

// injectionReader reads the document of an injection configuration.
type injectionReader struct{ decoder }

func (r *injectionReader) read(doc document) *Injection {
	inj := &Injection{Text: doc.text}
	if doc.root.Kind() != source.Map {
		r.mistyped(doc.root, "an object")
		return inj
	}
	templates := map[string]*source.Text{}
	var old *source.Node
	// Of two spellings of a key the control plane sees the one last that sorts
	// last, since it goes through JSON with sorted keys.
	fields := slices.Clone(doc.root.Fields())
	sort.SliceStable(fields, func(i, j int) bool { return fields[i].Key < fields[j].Key })
	for _, f := range fields {
		r.path = []string{f.Key}
		if key := injectionKey(f.Key); key != "" {
			inj.Keys = append(inj.Keys, release.Use{Kind: release.Key, Name: key, At: f.KeySpan})
		}
		switch injectionKey(f.Key) {
		case "policy":
			inj.Policy = r.text(f.Value)
		case "templates":
			for _, t := range r.object(f.Value) {
				r.path = []string{f.Key, t.Key}
				templates[t.Key] = r.template(t.Value)
			}
		case "defaultTemplates":
			inj.DefaultTemplates = r.texts(f.Value)
		case "aliases":
			for _, a := range r.object(f.Value) {
				r.path = []string{f.Key, a.Key}
				if inj.Aliases == nil {
					inj.Aliases = map[string][]string{}
				}
				inj.Aliases[a.Key] = r.texts(a.Value)
			}
		case "injectedAnnotations":
			inj.InjectedAnnotations = r.textMap(f.Value, inj.InjectedAnnotations)
		case "neverInjectSelector":
			inj.NeverInject = r.selectors(f.Value)
		case "alwaysInjectSelector":
			inj.AlwaysInject = r.selectors(f.Value)
		case "template":
			old = f.Value
		default:
			r.path = nil
			r.unknown(f, injectionKeys)
		}
	}
	r.path = nil
	for name, text := range templates {
		inj.Templates = append(inj.Templates, Template{Name: name, Text: text})
	}
	slices.SortFunc(inj.Templates, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	if len(inj.DefaultTemplates) == 0 {
		inj.DefaultTemplates = []string{DefaultTemplate}
	}
	switch {
	case len(inj.Templates) > 0 || r.diags.HasErrors():
	case isOldTemplate(old):
		inj.Shape = release.Spec
		r.path = []string{"template"}
		inj.Templates = []Template{{Name: OldTemplate, Text: r.template(old)}}
		inj.DefaultTemplates = []string{OldTemplate}
	default:
		r.add(finding(diag.Error, CodeNoValue, doc.root.Span(), "the %s has no templates", injectionDocument))
	}
	return inj
}

// isOldTemplate tells the template of release 1.8 or older from the one that
// newer configurations carry to make such a release fail.
func isOldTemplate(n *source.Node) bool {
	return !n.IsNull() && !strings.Contains(n.Scalar(), "Template_Version_And_Istio_Version_Mismatched")
}

// template reads the text of a template.
func (r *injectionReader) template(n *source.Node) *source.Text {
	if n.Kind() != source.String {
		n = source.NewString(r.text(n))
	}
	return embed(n)
}

// text reads a string, into which sigs.k8s.io/yaml turns numbers and booleans
// where a string is wanted; null is the empty string.
func (r *injectionReader) text(n *source.Node) string {
	switch n.Kind() {
	case source.String, source.Bool, source.Null:
		return n.Scalar()
	case source.Number:
		if strings.ContainsAny(n.Scalar(), ".eE") {
			if f, err := strconv.ParseFloat(n.Scalar(), 64); err == nil {
				return strconv.FormatFloat(f, 'g', -1, 32)
			}
		}
		return n.Scalar()
	}
	r.mistyped(n, "a string")
	return ""
}

// texts reads an array of strings.
func (r *injectionReader) texts(n *source.Node) []string {
	var list []string
	for i, item := range r.array(n) {
		r.path = append(r.path, "["+strconv.Itoa(i)+"]")
		list = append(list, r.text(item))
		r.path = r.path[:len(r.path)-1]
	}
	return list
}

// textMap reads an object of strings into a map, nil or made before.
func (r *injectionReader) textMap(n *source.Node, into map[string]string) map[string]string {
	for _, f := range r.object(n) {
		if into == nil {
			into = map[string]string{}
		}
		r.path = append(r.path, f.Key)
		into[f.Key] = r.text(f.Value)
		r.path = r.path[:len(r.path)-1]
	}
	return into
}

func (r *injectionReader) object(n *source.Node) []source.Field {
	if n.Kind() != source.Map && !n.IsNull() {
		r.mistyped(n, "an object")
	}
	return n.Fields()
}

func (r *injectionReader) array(n *source.Node) []*source.Node {
	if n.Kind() != source.List && !n.IsNull() {
		r.mistyped(n, "an array")
	}
	return n.Items()
}
