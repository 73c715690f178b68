package chart

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/ingraft/ingraft/internal/source"
)

// funcMap returns Sprig's functions without those that read the environment or
// the network, and Helm's. The functions that concern the rendering at hand
// (include, tpl) are the renderer's.
func (r *renderer) funcMap() template.FuncMap {
	f := sprig.TxtFuncMap()
	delete(f, "env")
	delete(f, "expandenv")
	f["getHostByName"] = func(string) string { return "" }

	f["include"] = r.include(r.root)
	f["tpl"] = r.tpl(r.root)
	f["required"] = required
	f["fail"] = func(message string) (string, error) { return "", &failure{message} }
	f["lookup"] = func(string, string, string, string) (map[string]any, error) { return map[string]any{}, nil }

	f["toYaml"] = r.toYAML
	f["mustToYaml"] = toYAMLOrError
	f["fromYaml"] = r.fromYAML
	f["fromYamlArray"] = fromYAMLArray
	f["toJson"] = toJSON
	f["mustToJson"] = toJSONOrError
	f["fromJson"] = fromJSON
	f["fromJsonArray"] = fromJSONArray
	for _, name := range []string{"toToml", "mustToToml", "fromToml", "toYamlPretty"} {
		f[name] = unsupported(name)
	}
	return f
}

// unsupported stands for a function that no chart of the mesh has ever called.
// Its library would add 0.3 ms to every start of the program.
func unsupported(name string) func(any) (string, error) {
	return func(any) (string, error) {
		return "", fmt.Errorf("charts cannot use the function %s here: it is not supported", name)
	}
}

// failure is an error that a chart raises itself: by fail or required.
type failure struct{ message string }

func (f *failure) Error() string { return f.message }

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return value, &failure{message}
	}
	return value, nil
}

func toYAMLOrError(v any) (string, error) {
	n, err := source.Value(v)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(source.AppendYAML(nil, n)), "\n"), nil
}

// longText is from how many bytes on a text is worth remembering.
const longText = 4 << 10

// toYAML is the function toYAML, and remembers what long texts spell.
func (r *renderer) toYAML(v any) string {
	n, err := source.Value(v)
	if err != nil {
		return ""
	}
	text := strings.TrimSuffix(string(source.AppendYAML(nil, n)), "\n")
	if len(text) >= longText {
		r.made[text] = n
	}
	return text
}

// toYAML returns "" for what cannot be encoded, as does toJSON.
func toYAML(v any) string {
	s, _ := toYAMLOrError(v)
	return s
}

// fromYAML decodes an object. Where the text is none, the result says so under
// the key Error. Each call returns data of its own, since templates change it;
// but the text last read need not be read again.
func (r *renderer) fromYAML(text string) map[string]any {
	if r.lastRoot == nil || text != r.lastText {
		doc, err := source.Parse(source.NewText("", []byte(text)))
		if err != nil || doc.Root.Kind() != source.Map {
			return fromYAMLSlowly(text)
		}
		r.lastText, r.lastRoot = text, doc.Root
	}
	return plainMap(r.lastRoot)
}

// fromYAMLSlowly decodes with the library that Helm uses. Errors are part of
// the result, so their text has to be the library's.
func fromYAMLSlowly(text string) map[string]any {
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func fromYAMLArray(text string) []any {
	l := []any{}
	if err := yaml.Unmarshal([]byte(text), &l); err != nil {
		return []any{err.Error()}
	}
	return l
}

func toJSONOrError(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

func toJSON(v any) string {
	s, _ := toJSONOrError(v)
	return s
}

func fromJSON(text string) map[string]any {
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func fromJSONArray(text string) []any {
	l := []any{}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return []any{err.Error()}
	}
	return l
}
