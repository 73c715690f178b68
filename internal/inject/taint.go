package inject

import (
	"bytes"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// Templates paste the text of annotations into YAML. A quote or a line break
// in it can end the value that it was meant for, and what follows would be
// read as more of the pod. To tell, the template is rendered once more with a
// plain word in place of the text: the word and the text must make values at
// the same place, with everything around them of the same shape. The text may
// be a whole object or list where the word was a whole value: then the
// template wants it so.

// plainWord stands for the text of an annotation.
const plainWord = "igf0word"

// suspect is a text of the pod's that could change the shape of a rendering.
type suspect struct {
	name string // what holds it
	at   source.Span
	text string
	// with returns the template's data with another text in its place.
	with func(data *tmpl.Data, text string) *tmpl.Data
}

// suspects lists the texts that a template may paste and that hold characters
// which mean something in YAML.
func suspects(in *injection, template []byte) []suspect {
	pod := in.request.Pod
	var list []suspect
	for _, f := range pod.Get("metadata", "annotations").Fields() {
		value := f.Value.Scalar()
		if f.Key == annot.ProxyConfig || !isSuspicious(value) || !bytes.Contains(template, []byte(f.Key)) {
			continue
		}
		list = append(list, suspect{"annotation " + f.Key, f.Value.Span(), value, func(data *tmpl.Data, text string) *tmpl.Data {
			d := *data
			d.ObjectMeta.Annotations = maps.Clone(d.ObjectMeta.Annotations)
			if _, ok := d.ObjectMeta.Annotations[f.Key]; ok {
				d.ObjectMeta.Annotations[f.Key] = text
			}
			return &d
		}})
	}
	n := annotation(pod, annot.ProxyConfig)
	objects := in.request.ProxyConfigs
	if n == nil && objects == nil || !bytes.Contains(template, []byte("ProxyMetadata")) {
		return list
	}
	mesh := in.engine.mesh.Config.GetDefaultConfig()
	for key, value := range in.proxy.GetProxyMetadata() {
		if !isSuspicious(value) || mesh.GetProxyMetadata()[key] == value {
			continue
		}
		name, at := "annotation "+annot.ProxyConfig, n.Span()
		switch {
		case n == nil:
			name, at = "variable "+key+" of a ProxyConfig", pod.Get("metadata").Span()
		case objects != nil:
			name = "variable " + key + " of annotation " + annot.ProxyConfig + " or of a ProxyConfig"
		}
		list = append(list, suspect{name, at, value, func(data *tmpl.Data, text string) *tmpl.Data {
			d := *data
			d.ProxyConfig = proto.Clone(d.ProxyConfig).(*meshv1alpha1.ProxyConfig)
			d.ProxyConfig.ProxyMetadata[key] = text
			return &d
		}})
	}
	return list
}

func isSuspicious(s string) bool {
	return strings.ContainsAny(s, "\"'\n\r\t\\#{}[]&*!|>%@`") || strings.Contains(s, ": ") ||
		strings.HasPrefix(s, "- ") || strings.HasSuffix(s, ":")
}

// variants returns what to render instead of a suspicious text: the plain
// word, and where the text is JSON, the same JSON with plain words in it.
func (s *suspect) variants() []string {
	list := []string{plainWord}
	if root, err := parseJSON(s.text); err == nil && (root.Kind() == source.Map || root.Kind() == source.List) {
		if plain := plainLeaves(root); plain != root {
			list = append(list, string(source.AppendJSON(nil, plain)))
		}
	}
	return list
}

func plainLeaves(n *source.Node) *source.Node {
	switch n.Kind() {
	case source.String:
		if isSuspicious(n.Str()) {
			return source.NewString(plainWord)
		}
	case source.List:
		items := mapped(n.Items(), plainLeaves)
		if !same(items, n.Items()) {
			return n.WithItems(items...)
		}
	case source.Map:
		fields, changed := append([]source.Field(nil), n.Fields()...), false
		for i, f := range fields {
			if v := plainLeaves(f.Value); v != f.Value {
				fields[i].Value, changed = v, true
			}
			if isSuspicious(f.Key) {
				fields[i].Key, changed = plainWord+strconv.Itoa(i), true
			}
		}
		if changed {
			return n.WithFields(fields...)
		}
	}
	return n
}

// checkTexts returns an error for the first annotation whose text changes the
// shape of what a template makes. overlay is the rendering as it is, nil where
// it cannot be read at all.
func (e *Engine) checkTexts(in *injection, t *tmpl.Template, data *tmpl.Data, overlay *source.Node) *diag.Diagnostic {
	for _, s := range suspects(in, t.Text().Data) {
		for _, text := range s.variants() {
			out, bad := t.Render(s.with(data, text), in.env(), nil)
			if bad != nil {
				continue // the template reads the text, and wants it as it is
			}
			doc, err := source.Parse(source.NewText("", out))
			if err != nil || overlay != nil && sameShape(overlay, doc.Root, s.text) {
				continue
			}
			return &diag.Diagnostic{
				Code: CodeStructure, Severity: diag.Error, Span: s.at,
				Message: s.name + " holds characters that end the value which template " +
					strconv.Quote(t.Name()) + " makes of it: the rest would be read as part of the pod",
				Fix: "take quotes, line breaks, and \"#\" or \":\" next to a blank out of the text",
			}
		}
	}
	return nil
}

// sameShape compares a rendering with one that has plain words in it.
func sameShape(n, plain *source.Node, text string) bool {
	if plain.Kind() == source.String && strings.Contains(plain.Str(), plainWord) {
		if n.Kind() == source.Map || n.Kind() == source.List {
			return plain.Str() == plainWord
		}
		return !isCut(n.Scalar(), plain.Str(), text)
	}
	switch plain.Kind() {
	case source.Map:
		if n.Kind() != source.Map || n.Len() != plain.Len() {
			return false
		}
		for i, f := range plain.Fields() {
			g := n.Fields()[i]
			if g.Key != f.Key && !strings.Contains(f.Key, plainWord) || !sameShape(g.Value, f.Value, text) {
				return false
			}
		}
		return true
	case source.List:
		if n.Kind() != source.List || n.Len() != plain.Len() {
			return false
		}
		for i, item := range plain.Items() {
			if !sameShape(n.Items()[i], item, text) {
				return false
			}
		}
		return true
	}
	return n.Kind() != source.Map && n.Kind() != source.List
}

// isCut reports whether a comment sign within the text ended the value.
func isCut(value, plain, text string) bool {
	before, after, _ := strings.Cut(plain, plainWord)
	rest, ok := strings.CutPrefix(value, before)
	if !ok || after != "" || len(rest) >= len(text) {
		return false
	}
	lost, ok := strings.CutPrefix(text, rest)
	return ok && strings.HasPrefix(strings.TrimLeft(lost, " \t"), "#")
}
