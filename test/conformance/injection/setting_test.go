package injection

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"istio.io/istio/operator/pkg/render"
	"sigs.k8s.io/yaml"
)

// setting is what an injector is configured with, as text: both sides read the
// same bytes.
type setting struct {
	// name says how the setting came about, for reports.
	name string
	// config, mesh and values are the three documents of a control plane:
	// keys config and values of one ConfigMap, key mesh of the other.
	config, mesh, values string
	revision             string
}

// source says how to make a setting: charts rendered by the mesh's installer,
// then changes of single values in the rendered documents. It is a value that
// can be printed, shrunk and used as a key.
type recipe struct {
	// Set holds --set flags of the installer.
	Set []string `json:",omitempty"`
	// File names an IstioOperator file in the mesh's own test inputs, or is
	// the text of one.
	File string `json:",omitempty"`
	// Edits change the documents after rendering.
	Edits    []edit `json:",omitempty"`
	Revision string `json:",omitempty"`
}

// edit sets one value of a document: In is config, mesh or values. A nil Value
// removes it.
type edit struct {
	In    string
	Path  []string
	Value any
}

func (r recipe) String() string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// rendering is what the installer made of the flags and the file of a recipe.
type rendering struct {
	config, mesh, values string
	err                  error
}

var renderings sync.Map // flags and file -> func() rendering

// render runs the mesh's installer on its own charts, once for each input.
func (r recipe) render() rendering {
	key := strings.Join(r.Set, "\n") + "\n\n" + r.File
	f, _ := renderings.LoadOrStore(key, sync.OnceValue(func() rendering {
		config, mesh, values, err := install(r.Set, r.File)
		return rendering{config, mesh, values, err}
	}))
	return f.(func() rendering)()
}

func install(set []string, file string) (config, mesh, values string, err error) {
	flags := append([]string{
		"installPackagePath=" + filepath.Join(peerDir(), "manifests"), "profile=empty", "components.pilot.enabled=true",
	}, set...)
	var files []string
	switch {
	case strings.Contains(file, "\n"):
		f, err := os.CreateTemp("", "iop-*.yaml")
		if err != nil {
			return "", "", "", err
		}
		defer os.Remove(f.Name())
		if _, err := f.WriteString(file); err != nil {
			return "", "", "", err
		}
		if err := f.Close(); err != nil {
			return "", "", "", err
		}
		files = []string{f.Name()}
	case file != "":
		files = []string{filepath.Join(peerInputs(), file)}
	}
	sets, _, err := render.GenerateManifest(files, flags, true, nil, nil)
	if err != nil {
		return "", "", "", fmt.Errorf("rendering the charts: %w", err)
	}
	for _, s := range sets {
		for _, m := range s.Manifests {
			if m.GetKind() != "ConfigMap" {
				continue
			}
			data, _ := m.Object["data"].(map[string]any)
			text := func(key string) string { s, _ := data[key].(string); return s }
			switch name := m.GetName(); {
			case strings.HasPrefix(name, "istio-sidecar-injector"):
				config, values = text("config"), text("values")
			case name == "istio" || strings.HasPrefix(name, "istio-") && text("mesh") != "":
				mesh = text("mesh")
			}
		}
	}
	if config == "" || mesh == "" || values == "" {
		return "", "", "", fmt.Errorf("the charts made no configuration (flags %v)", set)
	}
	return config, mesh, values, nil
}

// make renders the recipe and applies its edits.
func (r recipe) make() (*setting, error) {
	base := r.render()
	if base.err != nil {
		return nil, base.err
	}
	s := &setting{name: r.String(), config: base.config, mesh: base.mesh, values: base.values, revision: r.Revision}
	var config, mesh, values []edit
	for _, e := range r.Edits {
		switch e.In {
		case "config":
			config = append(config, e)
		case "mesh":
			mesh = append(mesh, e)
		case "values":
			values = append(values, e)
		}
	}
	var err error
	if s.mesh, err = editText(s.mesh, mesh); err != nil {
		return nil, fmt.Errorf("editing the mesh configuration: %w", err)
	}
	if s.values, err = editText(s.values, values); err != nil {
		return nil, fmt.Errorf("editing the values: %w", err)
	}
	if s.config, err = editConfig(s.config, config); err != nil {
		return nil, fmt.Errorf("editing the injection configuration: %w", err)
	}
	return s, nil
}

// editText returns a YAML or JSON document with the edits applied. An edit
// with an empty path replaces the whole document by a text.
func editText(text string, edits []edit) (string, error) {
	if len(edits) == 0 {
		return text, nil
	}
	root := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return "", err
	}
	for _, e := range edits {
		if len(e.Path) == 0 {
			s, _ := e.Value.(string)
			return s, nil
		}
		setPath(root, e.Path, e.Value)
	}
	var out []byte
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		out, err = json.MarshalIndent(root, "", "  ")
	} else {
		out, err = yaml.Marshal(root)
	}
	return string(out), err
}

// editConfig is editText for the injection configuration. The templates, which
// are all but a few lines of it, are not read: an edit of one only adds it.
// Without other edits the text stays as the charts made it.
func editConfig(text string, edits []edit) (string, error) {
	if len(edits) == 0 {
		return text, nil
	}
	for _, e := range edits {
		if len(e.Path) == 0 {
			s, _ := e.Value.(string)
			return s, nil
		}
	}
	head, templates, ok := strings.Cut(text, "\ntemplates:\n")
	if !ok {
		return "", errors.New("the charts made no templates")
	}
	var rest, added []edit
	for _, e := range edits {
		switch {
		case len(e.Path) == 2 && e.Path[0] == "templates":
			added = append(added, edit{Path: e.Path[1:], Value: e.Value})
		case len(e.Path) == 1 && e.Path[0] == "only":
			var names []string
			for _, name := range e.Value.([]any) {
				names = append(names, fmt.Sprint(name))
			}
			templates = onlyTemplates(templates, names)
		default:
			rest = append(rest, e)
		}
	}
	head, err := editText(head, rest)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(head, "\n") + "\ntemplates:\n" + strings.TrimRight(templates, "\n") + "\n")
	for _, e := range added {
		entry, err := yaml.Marshal(map[string]any{e.Path[0]: e.Value})
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(entry)) {
			b.WriteString("  " + line)
		}
	}
	return b.String(), nil
}

// onlyTemplates keeps those of the templates that are named, which spares both
// sides to read the others.
func onlyTemplates(text string, names []string) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			keep = slices.Contains(names, name)
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}

func setPath(m map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	if value == nil {
		delete(m, path[len(path)-1])
		return
	}
	m[path[len(path)-1]] = value
}
