package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// File is an IstioOperator file.
type File struct {
	Name string
	In   io.Reader
}

// Input is what an install is made from.
type Input struct {
	// Files are laid over each other in their order.
	Files []File
	// Settings are laid over the files, in their order.
	Settings []Setting
	// Charts holds charts/... and profiles/...; nil stands for what is built
	// in.
	Charts fs.FS
	// OpenCharts opens the charts that a file or a setting names by
	// installPackagePath; nil where that cannot be done.
	OpenCharts func(path string) (fs.FS, error)
	// Detected are settings that come from the cluster: they lie over the
	// profile, and below the files.
	Detected []Setting
	// KubeVersion is the version of Kubernetes to render for, "" for the
	// oldest that the release supports.
	KubeVersion string
	// Force renders also what is refused, with warnings instead of errors.
	Force bool
}

// Result is an install.
type Result struct {
	// Objects are in the order in which they are to be applied.
	Objects []Object
	// Operator is the specification that they were made from.
	Operator *source.Node
	// Namespace is where the control plane lives.
	Namespace string
}

// Generate makes the objects of an install. The findings are the user's
// mistakes; where there are errors among them, there is no result.
func Generate(in Input) (*Result, diag.List, error) {
	g := generator{Input: in}
	res, err := g.run()
	if err != nil || g.found.HasErrors() {
		res = nil
	}
	return res, placed(g.found), err
}

type generator struct {
	Input
	found diag.List
	own   bool // the charts are those that are built in
}

func (g *generator) run() (*Result, error) {
	root, err := g.merge()
	if root == nil || err != nil || g.found.HasErrors() {
		return nil, err
	}
	found := check(root, !g.own)
	if g.Force {
		for _, d := range found {
			if d.Severity == diag.Error {
				d.Severity = diag.Warning
			}
		}
	}
	if g.found = append(g.found, found...); g.found.HasErrors() {
		return nil, nil
	}
	if more := root.Get("spec", "unvalidatedValues"); more.Kind() == source.Map {
		root = root.With("spec", putAt(root.Get("spec"), merged(root.Get("spec", "values"), more), "values"))
	}
	version := g.KubeVersion
	if version == "" {
		version = builtin.MinKubeVersion
	}
	kubeVersion, err := chart.ParseKubeVersion(version)
	if err != nil {
		return nil, err
	}
	r := rendering{charts: g.Charts, capabilities: chart.Capabilities{KubeVersion: kubeVersion, APIVersions: builtin.APIVersions()}}
	objects, found, err := r.renderAll(root, instances(root))
	g.found = append(g.found, found...)
	if err != nil {
		return nil, err
	}
	inOrder(objects)
	namespace := root.Get("metadata", "namespace").Str()
	if namespace == "" {
		namespace = builtin.Namespace
	}
	return &Result{Objects: objects, Operator: root, Namespace: namespace}, nil
}

// merge puts the specification together: profile, what the cluster is known to
// want, files, settings.
func (g *generator) merge() (*source.Node, error) {
	user, err := g.files()
	if err != nil || g.found.HasErrors() {
		return nil, err
	}
	if err := g.openCharts(user); err != nil || g.found.HasErrors() {
		return nil, err
	}
	profile, err := g.profile(user)
	if err != nil || g.found.HasErrors() {
		return nil, err
	}
	t := setter{root: user.Get("spec"), below: profile.Get("spec")}
	for _, s := range g.Settings {
		t.apply(s)
	}
	if g.found = append(g.found, t.found...); g.found.HasErrors() {
		return nil, nil
	}
	var words texts
	spec := words.spec(t.root)
	g.found = append(g.found, words.found...)
	user = user.With("spec", spec)
	g.namespace(user, profile)

	root := translated(merged(profile, user))
	if values := spec.Get("values"); values.Kind() == source.Map {
		root = root.With("spec", userValues(root.Get("spec"), profile.Get("spec", "values"), values))
	}
	return root, nil
}

// files lays the user's files over each other.
func (g *generator) files() (*source.Node, error) {
	user := source.NewMap(source.F("spec", source.NewMap()))
	for _, f := range g.Files {
		root, found, err := readOperator(f.Name, f.In)
		g.found = append(g.found, found...)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Name, err)
		}
		if root == nil {
			continue
		}
		if root.Get("spec").IsNull() {
			root = root.Without("spec")
		} else if root.Get("spec").Kind() != source.Map {
			g.found = append(g.found, finding(diag.Error, config.CodeType, root.Get("spec").Span(), "spec must be an object, not %s", described(root.Get("spec"))))
			continue
		} else {
			root = root.With("spec", withoutEmpty(root.Get("spec"), specShape))
		}
		g.found = append(g.found, replacedLists(user, root, "")...)
		user = merged(user, root)
	}
	return user, nil
}

// setting returns the last setting of a path of one key, else what the files
// say.
func (g *generator) setting(user *source.Node, key string) (value string, at *diag.Diagnostic) {
	for i := len(g.Settings) - 1; i >= 0; i-- {
		if steps := parsePath(g.Settings[i].Path); len(steps) == 1 && steps[0].key == key {
			return g.Settings[i].Value, &diag.Diagnostic{File: g.Settings[i].name()}
		}
	}
	n := user.Get("spec", key)
	return n.Str(), &diag.Diagnostic{Span: n.Span()}
}

func (g *generator) openCharts(user *source.Node) error {
	if name, at := g.setting(user, "installPackagePath"); name != "" && g.Charts == nil {
		if g.OpenCharts == nil {
			return fmt.Errorf("opening the charts in %s: there is no way to", name)
		}
		charts, err := g.OpenCharts(name)
		if err != nil {
			at.Code, at.Severity, at.Message = CodePath, diag.Error, "opening the charts: "+err.Error()
			g.found = append(g.found, at)
			return nil
		}
		g.Charts = charts
	}
	if g.Charts == nil {
		g.Charts, g.own = builtin.FS(), true
	}
	return nil
}

func (g *generator) profile(user *source.Node) (*source.Node, error) {
	name, at := g.setting(user, "profile")
	profile, err := readProfile(g.Charts, name)
	var none *noProfileError
	if errors.As(err, &none) {
		at.Code, at.Severity, at.Message = CodeNoMatch, diag.Error, err.Error()
		at.Fix = "there is " + strings.Join(none.known, ", ")
		if near := diag.Nearest(none.name, none.known); near != "" {
			at.Fix = "did you mean " + near + "?"
		}
		g.found = append(g.found, at)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if g.own {
		profile = released(profile)
	}
	t := setter{root: profile.Get("spec")}
	for _, s := range g.Detected {
		t.apply(s)
	}
	g.found = append(g.found, t.found...)
	return profile.With("spec", t.root), nil
}

// namespace warns of a namespace that the files give and nothing reads.
func (g *generator) namespace(user, profile *source.Node) {
	given := user.Get("metadata", "namespace")
	real := merged(profile, user).Get("spec", "values", "global", "istioNamespace")
	if given.Str() == "" || real.Str() == "" || given.Str() == real.Str() {
		return
	}
	d := finding(diag.Warning, config.CodeNoEffect, given.Span(), "metadata.namespace has no effect: the control plane goes into %s", real.Str())
	d.Fix = "set values.global.istioNamespace: " + given.Str()
	g.found = append(g.found, d)
}
