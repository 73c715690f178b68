package tmpl

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Unset looks for the cause of an output that proved faulty at an offset:
// values that the template writes though the values document does not have
// them. They come out as "<no value>" or "<nil>", which is text where YAML
// wants something else. It returns nil where there are none. It renders the
// template once more.
func (t *Template) Unset(at int, data *Data, env Env) *diag.Diagnostic {
	var rec Recorder
	out, bad := t.Render(data, env, &rec)
	if bad != nil {
		return nil
	}
	at = min(max(at, 0), len(out))
	start := bytes.LastIndexByte(out[:at], '\n') + 1
	end := len(out)
	if i := bytes.IndexByte(out[at:], '\n'); i >= 0 {
		end = at + i
	}
	// The line itself, or else the whole: an entry that is missing can make
	// another line the faulty one.
	if d := t.unsetIn(start, end, out, &rec, data, env); d != nil {
		return d
	}
	return t.unsetIn(0, len(out), out, &rec, data, env)
}

func (t *Template) unsetIn(start, end int, out []byte, rec *Recorder, data *Data, env Env) *diag.Diagnostic {
	var missing []string
	var span source.Span
	for i := range rec.Origins {
		o := &rec.Origins[i]
		if o.End <= start || o.Start >= end || !writesNothing(out[o.Start:o.End]) {
			continue
		}
		if found := lacking(o.Reads, data); len(found) > 0 {
			if missing == nil {
				span = o.Span
			}
			missing = append(missing, found...)
		}
	}
	if missing == nil {
		return nil
	}
	sort.Strings(missing)
	return t.diagnose(CodeValues, span, env.notSet(slices.Compact(missing))+", and the template writes it", valuesFix)
}

// writesNothing reports whether an action wrote what stands for no value.
func writesNothing(out []byte) bool {
	return strings.Contains(string(out), "<no value>") || strings.Contains(string(out), "<nil>")
}
