package inject

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// values looks for what templates read and the values do not have, where
// something is there that is written nearly so.
func (l *linter) values() {
	told := map[string]bool{}
	for _, r := range l.reads {
		l.value(r, told)
	}
	if !l.lost && l.release != release.Newest { // loading tells of the newest
		l.unread(l.set.Values.Root, nil, told)
	}
}

// unread looks for keys of the values that nothing reads and no release has,
// where they are nearly those of a setting.
func (l *linter) unread(n *source.Node, path []string, told map[string]bool) {
	for _, f := range n.Fields() {
		path := append(slices.Clip(path), f.Key)
		switch {
		case config.IsValue(path...):
			l.unread(f.Value, path, told)
		case !l.isRead(path):
			near := diag.Nearest(f.Key, config.ValuesAt(path[:len(path)-1]...))
			meant := strings.Join(append(slices.Clone(path[:len(path)-1]), near), ".")
			if _, there := n.Field(near); near != "" && !there && !told[meant] {
				told[meant] = true
				l.unreadKey(f.KeySpan, strings.Join(path, "."), meant)
			}
		}
	}
}

func (l *linter) unreadKey(at source.Span, path, meant string) {
	l.add(diag.Warning, CodeIdle, at, "nothing reads "+path+" of the values", "did you mean "+meant+"?")
}

func (l *linter) value(r tmpl.ValueRead, told map[string]bool) {
	at := l.set.Values.Root
	for i, key := range r.Path {
		if at.Kind() != source.Map {
			return
		}
		if next, ok := at.Field(key); ok {
			at = next.Value
			continue
		}
		path := strings.Join(r.Path[:i+1], ".")
		near := diag.Nearest(key, keysOfMap(at))
		if near == "" || told[path] {
			return
		}
		told[path] = true
		meant := append(slices.Clone(r.Path[:i]), near)
		found, _ := at.Field(near)
		switch {
		case !config.IsValue(r.Path...):
			l.add(diag.Warning, tmpl.CodeValues, r.At, "the values have no "+path, "did you mean "+strings.Join(meant, ".")+"?")
		case !l.lost && !l.isRead(meant) && !config.IsValue(meant...):
			l.unreadKey(found.KeySpan, strings.Join(meant, "."), path)
		}
		return
	}
}

func keysOfMap(n *source.Node) []string {
	keys := make([]string, 0, n.Len())
	for _, f := range n.Fields() {
		keys = append(keys, f.Key)
	}
	return keys
}

// isRead reports whether a template reads a path of the values, or something
// below it, or all of something above it.
func (l *linter) isRead(path []string) bool { return readsValue(l.reads, path) }

func readsValue(reads []tmpl.ValueRead, path []string) bool {
	return slices.ContainsFunc(reads, func(r tmpl.ValueRead) bool {
		n := min(len(r.Path), len(path))
		return slices.Equal(r.Path[:n], path[:n]) && (n == len(path) || r.Whole)
	})
}

// WithoutReadValues returns what is left of the findings about a configuration when those
// about keys of the values are dropped that one of its templates reads, though
// the mesh itself does not know them.
func WithoutReadValues(set *config.Set, list diag.List) diag.List {
	concerns := func(d *diag.Diagnostic) bool {
		return d.Code == config.CodeUnknown && d.Span.Text != nil && d.Span.Text == set.Values.Text
	}
	if !slices.ContainsFunc(list, concerns) {
		return list
	}
	var reads []tmpl.ValueRead
	for _, t := range set.Injection.Templates {
		s := tmpl.DialectOf(set.Detected.Release).Survey(t.Text)
		if s == nil || s.Lost {
			return slices.DeleteFunc(slices.Clone(list), concerns)
		}
		reads = append(reads, s.Values...)
	}
	return slices.DeleteFunc(slices.Clone(list), func(d *diag.Diagnostic) bool {
		return concerns(d) && readsValue(reads, pathOf(set.Values.Root, d.Span))
	})
}

// pathOf returns the keys that lead to the one at a place.
func pathOf(n *source.Node, at source.Span) []string {
	for _, f := range n.Fields() {
		if f.KeySpan == at {
			return []string{f.Key}
		}
		if below := pathOf(f.Value, at); below != nil {
			return append([]string{f.Key}, below...)
		}
	}
	return nil
}
