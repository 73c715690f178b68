package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Setting is a value given on the command line for a path of the
// specification.
type Setting struct {
	// Flag is what the user gave it by: --set, --revision.
	Flag string
	// Path and Value are its two parts.
	Path, Value string
	// Word is the text of the flag; "" where it is Path=Value.
	Word string
}

// ParseSetting reads the value of --set.
func ParseSetting(text string) (Setting, *diag.Diagnostic) {
	path, value, ok := strings.Cut(text, "=")
	s := Setting{Flag: "--set", Path: strings.TrimSpace(path), Value: strings.TrimSpace(value), Word: text}
	switch {
	case !ok:
		return s, s.finding(CodePath, "the setting has no value: = is missing", "write "+text+"=VALUE")
	case s.Path == "" || len(parsePath(s.Path)) == 0:
		return s, s.finding(CodePath, "the setting names no path before =", "write PATH=VALUE, as in profile=demo")
	}
	return s, nil
}

// name is what places call the setting.
func (s Setting) name() string {
	word := s.Word
	if word == "" {
		word = s.Path + "=" + s.Value
	}
	return s.Flag + " " + word
}

func (s Setting) finding(code, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Error, File: s.name(), Message: message, Fix: fix}
}

// setter applies settings to what the user's files say.
type setter struct {
	root *source.Node // the user's spec
	// below is the spec of the profile: lists that a setting reaches into, and
	// that no file gives, are those of the profile.
	below *source.Node
	found diag.List
}

// apply applies one setting.
func (t *setter) apply(s Setting) {
	steps := parsePath(s.Path)
	text := source.NewText(s.name(), nil)
	value, bad := s.read(formAt(steps))
	if bad != nil {
		t.found = append(t.found, bad)
		return
	}
	w := setWalk{setting: s, key: source.Span{Text: text}}
	root, err := w.put(t.root, t.below, steps, 0, value)
	if err != "" {
		t.found = append(t.found, s.finding(CodePath, err, w.fix))
		return
	}
	t.found = append(t.found, w.found...)
	t.root = root
}

// setWalk is the way of one setting down the tree.
type setWalk struct {
	setting Setting
	key     source.Span
	fix     string
	found   diag.List
}

// put returns n with value at the path steps[at:]. below is what the profile
// has in the place of n. The text returned says why it cannot be done.
func (w *setWalk) put(n, below *source.Node, steps []step, at int, value *source.Node) (*source.Node, string) {
	if at == len(steps) {
		return value, ""
	}
	if steps[at].kind != isKey {
		return w.putItem(n, below, steps, at, value)
	}
	switch n.Kind() {
	case source.Null:
		n = source.NewMap()
	case source.Map:
	default:
		return nil, fmt.Sprintf("%s is %s, so that nothing can be set below it", place(steps[:at]), n.Kind().Noun())
	}
	key := steps[at].key
	child, why := w.put(n.Get(key), below.Get(key), steps, at+1, value)
	if why != "" {
		return nil, why
	}
	return withField(n, source.Field{Key: key, KeySpan: w.key, Value: child}), ""
}

func place(steps []step) string {
	if len(steps) == 0 {
		return "the specification"
	}
	return spell(steps)
}

func (w *setWalk) putItem(n, below *source.Node, steps []step, at int, value *source.Node) (*source.Node, string) {
	if n.IsNull() && below.Kind() == source.List {
		n = below
	}
	switch n.Kind() {
	case source.Null:
		n = source.NewList()
	case source.List:
	default:
		return nil, fmt.Sprintf("%s is %s, not a list", place(steps[:at]), n.Kind().Noun())
	}
	items := n.Items()
	i, why := w.find(items, steps, at)
	if why != "" {
		return nil, why
	}
	var old *source.Node
	if i < len(items) {
		old = items[i]
	}
	item, why := w.put(old, nil, steps, at+1, value)
	if why != "" {
		return nil, why
	}
	items = append(items[:len(items):len(items)], nil)
	items[i] = item
	if i < n.Len() {
		items = items[:n.Len()]
	}
	return n.WithItems(items...), ""
}

// find returns the index of the item that a step selects; the length of the
// list for one that is to be added.
func (w *setWalk) find(items []*source.Node, steps []step, at int) (int, string) {
	s := steps[at]
	switch s.kind {
	case isIndex:
		switch {
		case s.index >= 0 && s.index <= len(items):
			return s.index, ""
		case s.index == -1:
			return len(items), ""
		case s.index < 0:
			w.fix = "count from 0; [-1] adds an item"
			return 0, fmt.Sprintf("%s has no item %s", place(steps[:at]), s)
		}
		w.found = append(w.found, &diag.Diagnostic{
			Code: CodeNoMatch, Severity: diag.Warning, File: w.setting.name(),
			Message: fmt.Sprintf("%s has %d items, so that %s adds one at its end", place(steps[:at]), len(items), s),
			Fix:     fmt.Sprintf("write [%d]", len(items)),
		})
		return len(items), ""
	case isField:
		var names []string
		for i, item := range items {
			if v := item.Get(s.key); v != nil {
				if v.Scalar() == s.value {
					return i, ""
				}
				names = append(names, v.Scalar())
			}
		}
		if near := diag.Nearest(s.value, names); near != "" {
			w.fix = "did you mean [" + s.key + ":" + near + "]?"
		} else if len(names) > 0 {
			w.fix = "there is " + strings.Join(names, ", ")
		}
		return 0, fmt.Sprintf("%s has no item whose %s is %s", place(steps[:at]), s.key, s.value)
	case isValue:
		for i, item := range items {
			if item.Scalar() == s.value {
				return i, ""
			}
		}
		return 0, fmt.Sprintf("%s has no item %s", place(steps[:at]), s.value)
	}
	w.fix = "write [0] for the first item, [name:NAME] for one with that name"
	return 0, fmt.Sprintf("%s in %s selects nothing", s, spell(steps))
}

// withField returns a Map with a field set, whose key then is at the place of
// the new field.
func withField(n *source.Node, f source.Field) *source.Node {
	fields := append(make([]source.Field, 0, n.Len()+1), n.Fields()...)
	for i := range fields {
		if fields[i].Key == f.Key {
			fields[i] = f
			return n.WithFields(fields...)
		}
	}
	return n.WithFields(append(fields, f)...)
}

// read makes a value of the text of a setting, which is to have that form. The
// node's place is the setting.
func (s Setting) read(form config.Form) (*source.Node, *diag.Diagnostic) {
	text := strings.ReplaceAll(s.Value, `\,`, ",")
	switch form {
	case config.Text:
		return s.node(quote(text)), nil
	case config.Array:
		if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
			var items []string
			for item := range strings.SplitSeq(strings.TrimSuffix(inner, "}"), ",") {
				if item = strings.TrimSpace(item); item != "" {
					items = append(items, quote(item))
				}
			}
			return s.node("[" + strings.Join(items, ",") + "]"), nil
		}
		return nil, s.finding(config.CodeType, fmt.Sprintf("%s is a list, and %q is none", s.Path, s.Value),
			"write {a,b}, or name the item: "+s.Path+"[0]="+s.Value)
	case config.Object:
		if s.Value == "null" || s.Value == "{}" {
			return s.node(s.Value), nil
		}
		return nil, s.finding(config.CodeType, fmt.Sprintf("%s is an object, and %q is a single value", s.Path, s.Value),
			"name the field: "+s.Path+".FIELD=VALUE")
	case config.Flag:
		if s.Value != "true" && s.Value != "false" && s.Value != "null" {
			fix := "write true or false"
			return nil, s.finding(config.CodeType, fmt.Sprintf("%s must be true or false, not %q", s.Path, s.Value), fix)
		}
	case config.Number:
		if !json.Valid([]byte(text)) || strings.ContainsAny(text, `"{[ft`) {
			return nil, s.finding(config.CodeType, fmt.Sprintf("%s must be a number, not %q", s.Path, s.Value), "write a number")
		}
	}
	if text == "true" || text == "false" || isNumber(text) {
		return s.node(text), nil
	}
	if text == "null" && form != config.Anything {
		return s.node(text), nil
	}
	return s.node(quote(text)), nil
}

// isNumber tells the numbers of JSON.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

func quote(s string) string {
	return string(source.AppendJSON(nil, source.NewString(s)))
}

// node reads JSON as a text of the setting's name.
func (s Setting) node(text string) *source.Node {
	doc, err := source.Parse(source.NewText(s.name(), []byte(text)))
	if err != nil || doc.Root == nil {
		return source.NewString(s.Value) // what JSON cannot spell: no valid UTF-8
	}
	return doc.Root
}
