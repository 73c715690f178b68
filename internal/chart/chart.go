package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Chart is a chart as it was loaded. It is immutable: rendering it any number
// of times, also at the same time, changes nothing in it.
type Chart struct {
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Templates are the files below templates/, named from the chart's folder
	// on, in the order of their names.
	Templates []File
	// Files are all files that are neither templates nor read by the loader.
	Files Files
	// Subcharts are the charts in the folder charts/, in the order of the
	// names of their folders.
	Subcharts []*Chart

	metadata *source.Node // Chart.yaml
	values   *source.Node // values.yaml; nil where there is none
	parent   *Chart
}

// File is a named text: a template, or what became of it.
type File struct{ Name, Text string }

// Load reads the chart in a folder of a file system. Files that Helm packs
// away elsewhere (.helmignore, a packed subchart) are not its business: the
// first is a file like any other, the second is an error.
func Load(fsys fs.FS, dir string) (*Chart, error) {
	c, err := load(fsys, dir, nil)
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", dir, err)
	}
	return c, nil
}

func load(fsys fs.FS, dir string, parent *Chart) (*Chart, error) {
	c := &Chart{Files: Files{}, parent: parent}
	if err := c.readMetadata(fsys, dir); err != nil {
		return nil, err
	}
	err := fs.WalkDir(fsys, dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name := strings.TrimPrefix(file, dir+"/")
		if d.IsDir() {
			if path.Dir(name) != "charts" {
				return nil
			}
			if err := c.addSubchart(fsys, file); err != nil {
				return err
			}
			return fs.SkipDir
		}
		return c.add(fsys, file, name)
	})
	return c, err
}

// add takes one file of the chart in.
func (c *Chart) add(fsys fs.FS, file, name string) error {
	if name == "Chart.yaml" || name == "Chart.lock" {
		return nil
	}
	if path.Dir(name) == "charts" && path.Ext(name) == ".tgz" {
		return fmt.Errorf("%s: a packed subchart is not supported: unpack it", file)
	}
	if strings.HasPrefix(name, "charts/") && path.Ext(name) != ".prov" {
		return nil // lies among the subcharts without being one
	}
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case name == "values.yaml":
		c.values, err = readValues(file, data)
		return err
	case name == "values.schema.json":
	case strings.HasPrefix(name, "templates/"):
		c.Templates = append(c.Templates, File{name, string(data)})
	default:
		c.Files[name] = data
	}
	return nil
}

func (c *Chart) addSubchart(fsys fs.FS, dir string) error {
	if strings.IndexAny(path.Base(dir), "_.") == 0 {
		return nil
	}
	sub, err := load(fsys, dir, c)
	if err != nil {
		return fmt.Errorf("loading subchart %s: %w", dir, err)
	}
	c.Subcharts = append(c.Subcharts, sub)
	return nil
}

func (c *Chart) readMetadata(fsys fs.FS, dir string) error {
	file := path.Join(dir, "Chart.yaml")
	data, err := fs.ReadFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: %w", file, err)
	}
	if err != nil {
		return err
	}
	doc, err := source.Parse(source.NewText(file, data))
	if err != nil {
		return err
	}
	c.metadata = doc.Root
	c.Name, c.Version = doc.Root.Get("name").Scalar(), doc.Root.Get("version").Scalar()
	switch {
	case c.Name == "" || c.Version == "":
		return fmt.Errorf("%s: a chart needs a name and a version", file)
	case c.Name == "." || c.Name == ".." || strings.ContainsAny(c.Name, `/\`):
		return fmt.Errorf("%s: %q cannot be the name of a chart", file, c.Name)
	}
	return nil
}

// readValues reads values.yaml: one document, or several of which a later one
// goes over the earlier ones.
func readValues(file string, data []byte) (*source.Node, error) {
	var root *source.Node
	r := source.NewReader(file, bytes.NewReader(data))
	for {
		doc, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		if doc.Root == nil {
			continue
		}
		if doc.Root.Kind() != source.Map {
			return nil, fmt.Errorf("%s: values must be an object, not %s", doc.Root.Pos(), doc.Root.Kind())
		}
		root = overlay(root, doc.Root)
	}
}

// overlay merges over into base: maps field by field, all else replaced.
func overlay(base, over *source.Node) *source.Node {
	if base.Kind() != source.Map || over.Kind() != source.Map {
		return over
	}
	for _, f := range over.Fields() {
		base = base.With(f.Key, overlay(base.Get(f.Key), f.Value))
	}
	return base
}

// fullName is the path that names of the chart's templates begin with.
func (c *Chart) fullName() string {
	if c.parent == nil {
		return c.Name
	}
	return c.parent.fullName() + "/charts/" + c.Name
}

// isLibrary reports whether the chart only lends its partials to others.
func (c *Chart) isLibrary() bool {
	return strings.EqualFold(c.metadata.Get("type").Scalar(), "library")
}

// CRDs returns the files of the folder crds/, subcharts included, by name.
// They are no templates: Helm installs them as they are.
func (c *Chart) CRDs() []File {
	var out []File
	for name, data := range c.Files {
		switch strings.ToLower(path.Ext(name)) {
		case ".yaml", ".yml", ".json":
			if strings.HasPrefix(name, "crds/") {
				out = append(out, File{name, string(data)})
			}
		}
	}
	for _, sub := range c.Subcharts {
		out = append(out, sub.CRDs()...)
	}
	slices.SortStableFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// metadataMap is the .Chart of templates: the fields of Chart.yaml under the
// names of the fields of Helm's struct, empty ones included.
func (c *Chart) metadataMap() map[string]any {
	text := func(n *source.Node, keys ...string) map[string]any {
		m := make(map[string]any, len(keys)+8)
		for _, key := range keys {
			m[exported(key)] = n.Get(key).Scalar()
		}
		return m
	}
	list := func(n *source.Node, item func(*source.Node) any) []any {
		l := make([]any, n.Len())
		for i, e := range n.Items() {
			l[i] = item(e)
		}
		return l
	}
	scalar := func(n *source.Node) any { return n.Scalar() }

	m := text(c.metadata, "name", "home", "version", "description", "icon", "apiVersion", "condition", "tags", "appVersion", "kubeVersion", "type")
	if m["APIVersion"] == "" {
		m["APIVersion"] = "v1"
	}
	m["IsRoot"] = c.parent == nil
	m["Deprecated"] = c.metadata.Get("deprecated").IsTrue()
	m["Sources"] = list(c.metadata.Get("sources"), scalar)
	m["Keywords"] = list(c.metadata.Get("keywords"), scalar)
	m["Maintainers"] = list(c.metadata.Get("maintainers"), func(n *source.Node) any {
		return text(n, "name", "email", "url")
	})
	m["Dependencies"] = list(c.metadata.Get("dependencies"), func(n *source.Node) any {
		d := text(n, "name", "version", "repository", "condition", "alias")
		d["Enabled"] = n.Get("enabled").IsTrue()
		d["Tags"] = list(n.Get("tags"), scalar)
		d["ImportValues"] = list(n.Get("import-values"), plain)
		return d
	})
	var notes map[string]string
	for _, f := range c.metadata.Get("annotations").Fields() {
		if notes == nil {
			notes = map[string]string{}
		}
		notes[f.Key] = f.Value.Scalar()
	}
	m["Annotations"] = notes
	return m
}

// exported turns a key of Chart.yaml into the name of its field.
func exported(key string) string {
	switch key {
	case "url":
		return "URL"
	case "apiVersion":
		return "APIVersion"
	}
	return strings.ToUpper(key[:1]) + key[1:]
}
