package config

import (
	"errors"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// document is one configuration document as it was found: in a file of its
// own, or as a string in the data of a ConfigMap.
type document struct {
	text *source.Text
	root *source.Node // nil where the document is empty
	// duplicates are warnings about keys that are given twice, also those of
	// the ConfigMap around.
	duplicates diag.List
}

// The keys of the ConfigMaps of an install.
const (
	keyConfig = "config"
	keyValues = "values"
	keyMesh   = "mesh"
)

// open reads text. Where that is a ConfigMap (or a List that holds one), the
// document is the string under key of its data. The Diagnostic, if any, is an
// error.
func open(text *source.Text, key string) (document, *diag.Diagnostic) {
	doc, bad := parse(text)
	if bad != nil {
		return doc, bad
	}
	object := doc.root
	if isKind(object, "List") || isKind(object, "ConfigMapList") {
		for _, item := range object.Get("items").Items() {
			if isConfigMap(item, object) && item.Get("data", key) != nil {
				return doc.openConfigMap(item, key)
			}
		}
	}
	if isConfigMap(object, nil) {
		return doc.openConfigMap(object, key)
	}
	return doc, nil
}

// parse reads text as it stands.
func parse(text *source.Text) (document, *diag.Diagnostic) {
	doc, err := source.Parse(text)
	if err != nil {
		return document{text: text}, syntaxFinding(text, err)
	}
	root := doc.Root
	if root.IsNull() {
		root = nil
	}
	return document{text, root, diag.DuplicateKeys(doc)}, nil
}

func syntaxFinding(text *source.Text, err error) *diag.Diagnostic {
	var syntax *source.SyntaxError
	if errors.As(err, &syntax) {
		return finding(diag.Error, diag.CodeSyntax, syntax.Span, "%s", syntax.Message)
	}
	return finding(diag.Error, diag.CodeSyntax, whole(text), "%v", err)
}

// openConfigMap reads the string under key in the data of a ConfigMap that
// stands in the document.
func (d *document) openConfigMap(object *source.Node, key string) (document, *diag.Diagnostic) {
	text, bad := FromConfigMap(object, key)
	if bad != nil {
		return document{}, bad
	}
	doc, bad := parse(text)
	doc.duplicates = append(d.duplicates, doc.duplicates...)
	return doc, bad
}

// FromConfigMap returns the string under key in the data of a ConfigMap, as a
// text for one of the parsers: "config" and "values" of istio-sidecar-injector,
// "mesh" of istio. The Diagnostic, if any, is an error and says what the
// ConfigMap has instead.
func FromConfigMap(object *source.Node, key string) (*source.Text, *diag.Diagnostic) {
	data := object.Get("data")
	f, ok := data.Field(key)
	if !ok {
		d := finding(diag.Error, CodeNoValue, object.Span(), "ConfigMap %q has no key %q in data", object.Get("metadata", "name").Str(), key)
		if data.Len() > 0 {
			d.Span = data.Span()
			d.Message += "; it has " + strings.Join(keys(data), ", ")
		}
		d.Fix = "take ConfigMap " + home(key)
		return nil, d
	}
	if f.Value.Kind() != source.String {
		return nil, finding(diag.Error, CodeType, f.Value.Span(), "data.%s of a ConfigMap must be a string, not %s", key, describe(f.Value))
	}
	return embed(f.Value), nil
}

// home names the ConfigMap that holds a key in an install without revision.
func home(key string) string {
	if key == keyMesh {
		return "istio"
	}
	return "istio-sidecar-injector"
}

// elsewhere says how to get the document that is kept under a key.
func elsewhere(key string) string {
	return "take the string under key " + key + " of ConfigMap " + home(key) + ", or that ConfigMap"
}

// isConfigMap reports whether an object is a ConfigMap. In a ConfigMapList the
// items need not say so.
func isConfigMap(object, list *source.Node) bool {
	return isKind(object, "ConfigMap") || isKind(list, "ConfigMapList") && object.Get("kind") == nil
}

// isKind reports whether n is a Kubernetes object of that kind.
func isKind(n *source.Node, kind string) bool {
	return n.Get("kind").Str() == kind && n.Get("apiVersion").Str() == "v1"
}

// embed returns the value of a String node as a text of its own, whose places
// are those of the file.
func embed(n *source.Node) *source.Text {
	name := ""
	if s := n.Span(); s.IsValid() {
		name = s.Text.Name
	}
	return n.Embed(name)
}

// whole is the place of a finding that concerns a text as such.
func whole(text *source.Text) source.Span { return source.Span{Text: text} }

// keys returns the keys of a Map in the order of the document.
func keys(n *source.Node) []string {
	list := make([]string, n.Len())
	for i, f := range n.Fields() {
		list[i] = f.Key
	}
	return list
}
