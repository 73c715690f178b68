package release

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Shape tells how a configuration's templates are applied to a pod.
type Shape uint8

// The shapes.
const (
	// Overlays: key templates; each is a part of a pod that is merged over it.
	Overlays Shape = iota
	// Spec: key template; one list of things to append to the pod.
	Spec
)

// String names the shape.
func (s Shape) String() string { return [...]string{"overlays", "appended spec"}[s] }

// Material is what the release of a configuration is told from.
type Material struct {
	Shape     Shape
	Templates []*source.Text
	// Keys are those of the configuration that the table of features may have.
	Keys []Use
	// Tag is the tag of the images in the values, and TagAt its place.
	Tag   string
	TagAt source.Span
}

// Evidence is one thing that speaks for a release.
type Evidence struct {
	// What says it: "tag 1.9.3 of the values' global.tag".
	What string
	// Span is the releases that it speaks for.
	Span Span
	At   source.Span
	// Decided tells that this evidence named the release, Ignored that it
	// contradicts stronger evidence.
	Decided, Ignored bool
}

// Detected is the release of a configuration and how it was told.
type Detected struct {
	Release  Release
	Evidence []Evidence
}

// Detect tells the release that a configuration was written for: by the tag of
// its images where that names one, else it is the newest that has everything
// the configuration uses.
func Detect(m Material) Detected {
	var d Detected
	span := d.shape(m)
	if r, ok := d.tag(m, span); ok {
		d.Release = r
		return d
	}
	if m.Shape == Overlays && !mayEnd(m.Templates) {
		d.Release = Newest
		d.Evidence[0].Decided = true
		return d
	}
	fits, uses := Fit(m, span)
	d.Evidence = append(d.Evidence, uses...)
	r, ok := fits.Last()
	if !ok {
		r, _ = span.Last()
	}
	d.Release = r
	for i := range d.Evidence {
		d.Evidence[i].Decided = d.Evidence[i].Span.Until == r || r == Newest && d.Evidence[i].Span.Until.IsZero()
	}
	return d
}

// mayEnd reports whether templates hold a word that newer releases do not have
// any more: only then must they be read.
func mayEnd(templates []*source.Text) bool {
	for _, text := range templates {
		for i := range features {
			f := &features[i]
			if f.Kind != Key && !f.Until.IsZero() && bytes.Contains(text.Data, []byte(f.Name)) {
				return true
			}
		}
	}
	return false
}

// shape notes what the shape and the delimiters tell.
func (d *Detected) shape(m Material) Span {
	e := Evidence{What: "key templates: overlays", Span: from(1, 9)}
	if m.Shape == Spec {
		e = Evidence{What: "key template: a list of things to append", Span: Span{Until: V(1, 8)}}
	}
	d.Evidence = append(d.Evidence, e)
	if m.Shape == Overlays || len(m.Templates) == 0 {
		return e.Span
	}
	text := m.Templates[0]
	left, right := Delimiters(text.Data)
	i := strings.Index(string(text.Data), left)
	if i < 0 {
		return e.Span // plain text
	}
	span := Span{Until: V(1, 1)}
	if left == "{{" {
		span = Span{V(1, 2), V(1, 8)}
	}
	d.Evidence = append(d.Evidence, Evidence{
		What: "actions in " + left + " " + right, Span: span, At: source.Span{Text: text, Start: i, End: i + 2},
	})
	return e.Span.And(span)
}

// tag looks for a release in the tags of images.
func (d *Detected) tag(m Material, span Span) (Release, bool) {
	try := func(tag, where string, at source.Span) (Release, bool) {
		r, ok := OfTag(tag)
		if !ok {
			return r, false
		}
		e := Evidence{What: "tag " + tag + " " + where, Span: Span{r, r}, At: at}
		if Newest.Before(r) && span.Until.IsZero() {
			e.What += ", which is newer than any that is known"
			r = Newest
		}
		e.Decided = span.Has(r)
		e.Ignored = !e.Decided
		d.Evidence = append(d.Evidence, e)
		return r, e.Decided
	}
	if r, ok := try(m.Tag, "in the values (global.tag)", m.TagAt); ok {
		return r, true
	}
	for _, text := range m.Templates {
		for _, at := range imageTags(text) {
			if r, ok := try(string(text.Data[at.Start:at.End]), "of an image in the template", at); ok {
				return r, true
			}
		}
	}
	return Release{}, false
}

// imageNames are the names of the mesh's own images.
var imageNames = [...]string{"/proxyv2:", "/proxy_init:", "/proxy_debug:", "/proxy:"}

// imageTags finds the tags of the mesh's own images that stand in a text.
func imageTags(text *source.Text) []source.Span {
	var spans []source.Span
	s := string(text.Data)
	for _, name := range imageNames {
		i := strings.Index(s, name)
		if i < 0 {
			continue
		}
		start := i + len(name)
		end := start
		for end < len(s) && (isWordByte(s[end]) || s[end] == '.' || s[end] == '-') {
			end++
		}
		spans = append(spans, source.Span{Text: text, Start: start, End: end})
	}
	return spans
}

// Fit returns the releases of a span that have everything a configuration
// uses, and what narrows it. The span is empty where no release has all of it.
func Fit(m Material, span Span) (Span, []Evidence) {
	var list []Evidence
	narrow := func(u Use) {
		s := u.Span()
		both := span.And(s)
		if both == span {
			return
		}
		name := u.Name
		for _, f := range u.Features() {
			if span.And(f.Span) != span {
				name = f.Name
			}
		}
		what := u.Kind.String() + " " + name
		list = append(list, Evidence{What: what, Span: s, At: u.At})
		span = both
	}
	for _, u := range m.Keys {
		narrow(u)
	}
	for _, text := range m.Templates {
		left, right := "{{", "}}"
		if m.Shape == Spec {
			left, right = Delimiters(text.Data)
		}
		for _, u := range Uses(text, left, right) {
			narrow(u)
		}
	}
	return span, list
}
