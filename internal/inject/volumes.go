package inject

import (
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// A volume has one source. Merging by name would leave two where the pod and a
// template, or two templates, have a volume of one name and different kinds;
// the API server refuses that (I-44).

// sourceOf returns the first source of a volume: the field besides the name
// that is set.
func sourceOf(volume *source.Node) (source.Field, bool) {
	for _, f := range volume.Fields() {
		if f.Key != "name" && !f.Value.IsNull() {
			return f, true
		}
	}
	return source.Field{}, false
}

// clash is a volume of the user's that a template has with another source.
type clash struct {
	users        *source.Node
	mine, theirs string // the kinds of source
}

func (c clash) finding(template string) *diag.Diagnostic {
	return warn(CodeVolumeClash, c.users.Span(),
		"the pod's volume "+quote(nameOf(c.users))+" has source "+c.mine+", where template "+quote(template)+
			" has one of that name with source "+c.theirs+": the pod's is used, by the sidecar too",
		"rename the pod's volume")
}

// settleVolumes prepares an overlay and the pod below it so that no volume
// gets two sources. The pod's source wins where the volume is the user's own;
// else the overlay's.
func settleVolumes(pod, overlay *source.Node, users func(name string) bool) (*source.Node, *source.Node, []clash) {
	var clashes []clash
	below, above := specList(pod, listVolumes), specList(overlay, listVolumes)
	for i, v := range above {
		j := find(below, nameOf(v))
		if j < 0 {
			continue
		}
		theirs, has := sourceOf(v)
		mine, had := sourceOf(below[j])
		if !has || !had || theirs.Key == mine.Key || !v.Get(mine.Key).IsNull() || removes(v, mine.Key) {
			continue
		}
		if users(nameOf(v)) {
			above = replaced(above, i, v.Without(theirs.Key))
			clashes = append(clashes, clash{below[j], mine.Key, theirs.Key})
		} else {
			below = replaced(below, j, below[j].Without(mine.Key))
		}
	}
	return withSpecList(pod, listVolumes, below), withSpecList(overlay, listVolumes, above), clashes
}

// removes reports whether an overlay sets a field to null, which removes it.
func removes(overlay *source.Node, key string) bool {
	f, ok := overlay.Field(key)
	return ok && f.Value.IsNull()
}

// shared returns the names of the user's own items that the templates have too.
func shared(pod, templates *source.Node, list string, injected, kept []string) []string {
	var names []string
	added := specList(templates, list)
	for _, item := range specList(pod, list) {
		name := nameOf(item)
		if find(added, name) >= 0 && (!contains(injected, name) || contains(kept, name)) {
			names = append(names, name)
		}
	}
	return names
}
