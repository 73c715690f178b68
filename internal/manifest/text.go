package manifest

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// spelled returns a scalar as the user wrote it: 1.10, which as a number is
// 1.1.
func spelled(n *source.Node) string {
	if raw := n.Raw(); len(raw) > 0 && (n.Kind() == source.Number || n.Kind() == source.Bool) {
		return string(raw)
	}
	return n.Scalar()
}

// texts turns numbers and booleans into text where text is meant: tags, and
// what goes into annotations, labels and variables. It warns where the text
// differs from the number.
type texts struct{ found diag.List }

// spec does so for a specification.
func (t *texts) spec(spec *source.Node) *source.Node {
	if v := spec.Get("tag"); v != nil {
		spec = spec.With("tag", t.text(v, "tag"))
	}
	if values := spec.Get("values"); values.Kind() == source.Map {
		spec = spec.With("values", t.values(values, "values", ""))
	}
	for _, c := range spec.Get("components").Fields() {
		switch {
		case c.Value.Kind() == source.List:
			items := append([]*source.Node(nil), c.Value.Items()...)
			for i, item := range items {
				if v := item.Get("tag"); v != nil {
					items[i] = item.With("tag", t.text(v, "components."+c.Key+"["+strconv.Itoa(i)+"].tag"))
				}
			}
			spec = spec.WithAt(c.Value.WithItems(items...), "components", c.Key)
		case c.Value.Get("tag") != nil:
			spec = spec.WithAt(t.text(c.Value.Get("tag"), "components."+c.Key+".tag"), "components", c.Key, "tag")
		}
	}
	return spec
}

// values walks the values; under is the key that n stands under.
func (t *texts) values(n *source.Node, path, under string) *source.Node {
	switch n.Kind() {
	case source.List:
		items := append([]*source.Node(nil), n.Items()...)
		changed := false
		for i := range items {
			item := t.values(items[i], path+"["+strconv.Itoa(i)+"]", "")
			changed = changed || item != items[i]
			items[i] = item
		}
		if changed {
			return n.WithItems(items...)
		}
		return n
	case source.Map:
	default:
		return n
	}
	var fields []source.Field
	for i, f := range n.Fields() {
		at := path + "." + f.Key
		v := f.Value
		switch {
		case path == "values" && f.Key == "meshConfig":
		case isTag(f.Key) || holdsTexts(under):
			v = t.text(v, at)
		}
		if path != "values" || f.Key != "meshConfig" {
			v = t.values(v, at, f.Key)
		}
		if v != f.Value {
			if fields == nil {
				fields = append(make([]source.Field, 0, n.Len()), n.Fields()...)
			}
			fields[i].Value = v
		}
	}
	if fields == nil {
		return n
	}
	return n.WithFields(fields...)
}

// text returns a scalar as text.
func (t *texts) text(n *source.Node, path string) *source.Node {
	if n.Kind() != source.Number && n.Kind() != source.Bool {
		return n
	}
	s := spelled(n)
	if s != n.Scalar() || n.Kind() == source.Number && goNumber(n) != s {
		d := finding(diag.Warning, CodeText, n.Span(), "%s is taken as the text %s, though YAML reads the %s %s", path, s, n.Kind(), n.Scalar())
		d.Fix = "quote it: " + strconv.Quote(s)
		t.found = append(t.found, d)
	}
	return source.NewString(s)
}

// goNumber is how templates print a number.
func goNumber(n *source.Node) string {
	f, err := strconv.ParseFloat(n.Scalar(), 64)
	if err != nil {
		return n.Scalar()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
