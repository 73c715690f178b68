package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

const (
	operatorVersion = "install.istio.io/v1alpha1"
	operatorKind    = "IstioOperator"
)

// readOperator reads a file that holds one IstioOperator, and returns its
// object; nil where the findings say why there is none.
func readOperator(name string, in io.Reader) (*source.Node, diag.List, error) {
	var root *source.Node
	var found diag.List
	r := source.NewReader(name, in)
	for {
		doc, err := r.Next()
		var syntax *source.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			if root == nil && !found.HasErrors() {
				found = append(found, &diag.Diagnostic{Code: CodeOperator, Severity: diag.Error, File: name, Message: "the file holds no IstioOperator"})
			}
			return root, found, nil
		case errors.As(err, &syntax):
			return nil, append(found, finding(diag.Error, diag.CodeSyntax, syntax.Span, "%s", syntax.Message)), nil
		case err != nil:
			return nil, found, err
		case doc.Root.IsNull():
			continue
		}
		for _, d := range diag.DuplicateKeys(doc) {
			d.Severity, d.Fix = diag.Error, "put both together"
			found = append(found, d)
		}
		bad := notOperator(doc.Root)
		if bad == nil && root != nil {
			bad = finding(diag.Error, CodeOperator, start(doc.Root), "a second IstioOperator in one file: only one is read")
			bad.Fix = "put it into a file of its own, and name both with -f"
		}
		if bad != nil {
			return nil, append(found, bad), nil
		}
		root = doc.Root
	}
}

// start is the place where a node begins: its first line only.
func start(n *source.Node) source.Span {
	s := n.Span()
	if s.IsValid() && s.End > s.Start {
		s.End = s.Start + 1
	}
	return s
}

// notOperator says why an object is no IstioOperator.
func notOperator(root *source.Node) *diag.Diagnostic {
	const fix = "write apiVersion: install.istio.io/v1alpha1 and kind: IstioOperator"
	if root.Kind() != source.Map {
		return finding(diag.Error, CodeOperator, start(root), "an IstioOperator is an object, not %s", root.Kind().Noun())
	}
	version, hasVersion := root.Field("apiVersion")
	kind, hasKind := root.Field("kind")
	var d *diag.Diagnostic
	switch {
	case !hasKind:
		d = finding(diag.Error, CodeOperator, start(root), "the object has no kind")
	case kind.Value.Str() != operatorKind:
		d = finding(diag.Error, CodeOperator, kind.Value.Span(), "kind %s is not IstioOperator", kind.Value.Scalar())
	case hasVersion && version.Value.Str() != operatorVersion:
		d = finding(diag.Error, CodeOperator, version.Value.Span(), "apiVersion %s is not %s", version.Value.Scalar(), operatorVersion)
	default:
		return nil
	}
	d.Fix = fix
	return d
}

// withoutEmpty leaves out what a file names and gives nothing for: an empty
// components: or values: says nothing, rather than that all of it goes. Within
// values and mesh configuration a null has a meaning: it takes a default away.
func withoutEmpty(n *source.Node, s *shape) *source.Node {
	if n.Kind() != source.Map || s.kind != shapeObject {
		return n
	}
	var fields []source.Field
	for _, f := range n.Fields() {
		if f.Value.IsNull() {
			continue
		}
		if below := s.field(f.Key); below != nil {
			f.Value = withoutEmpty(f.Value, below)
		}
		fields = append(fields, f)
	}
	return n.WithFields(fields...)
}

// merged lays over over base: objects field by field, all else replaced.
func merged(base, over *source.Node) *source.Node {
	if base.Kind() != source.Map || over.Kind() != source.Map {
		return over
	}
	fields := append(make([]source.Field, 0, base.Len()+over.Len()), base.Fields()...)
	for _, f := range over.Fields() {
		i := slices.IndexFunc(fields[:base.Len()], func(b source.Field) bool { return b.Key == f.Key })
		if i < 0 {
			fields = append(fields, f)
			continue
		}
		f.Value = merged(fields[i].Value, f.Value)
		fields[i] = f
	}
	return base.WithFields(fields...)
}

// replacedLists warns of lists of one file that a later one replaces, where
// items are lost.
func replacedLists(before, after *source.Node, path string) (found diag.List) {
	switch {
	case before.Kind() == source.Map && after.Kind() == source.Map:
		for _, f := range after.Fields() {
			if b := before.Get(f.Key); b != nil {
				found = append(found, replacedLists(b, f.Value, strings.TrimPrefix(path+"."+f.Key, "."))...)
			}
		}
	case before.Kind() == source.List && after.Kind() == source.List:
		lost := lostItems(before, after)
		if lost == "" {
			return nil
		}
		d := finding(diag.Warning, CodeReplaced, start(after), "%s replaces the list at %s, of which %s", path, before.Pos(), lost)
		d.Fix = "repeat here what is to stay: lists are not merged"
		found = append(found, d)
	}
	return found
}

// lostItems says what a list has that the one that replaces it has not.
func lostItems(before, after *source.Node) string {
	var lost []string
	for _, item := range before.Items() {
		name := item.Get("name").Scalar()
		same := slices.IndexFunc(after.Items(), func(n *source.Node) bool {
			return n.Equal(item) || name != "" && n.Get("name").Scalar() == name
		})
		switch {
		case same < 0 && name == "" && item.Kind() != source.Map:
			lost = append(lost, item.Scalar()+" is dropped")
		case same < 0:
			lost = append(lost, strings.TrimSpace("an item "+name)+" is dropped")
		case !after.Items()[same].Equal(item):
			if keys := lostKeys(item, after.Items()[same], ""); len(keys) > 0 {
				lost = append(lost, name+" loses "+strings.Join(keys, ", "))
			}
		}
	}
	if len(lost) > 3 {
		lost = append(lost[:3], fmt.Sprintf("and %d more", len(lost)-3))
	}
	return strings.Join(lost, ", ")
}

func lostKeys(before, after *source.Node, path string) (keys []string) {
	for _, f := range before.Fields() {
		at := strings.TrimPrefix(path+"."+f.Key, ".")
		switch v := after.Get(f.Key); {
		case v == nil:
			keys = append(keys, at)
		case v.Kind() == source.Map:
			keys = append(keys, lostKeys(f.Value, v, at)...)
		}
	}
	return keys
}

// readProfile reads a profile, laid over the default one.
func readProfile(charts fs.FS, name string) (*source.Node, error) {
	base, err := readProfileFile(charts, "default")
	if err != nil || name == "" || name == "default" {
		return base, err
	}
	top, err := readProfileFile(charts, name)
	if err != nil {
		return nil, err
	}
	return merged(base, top), nil
}

// noProfileError tells that there is no profile of a name.
type noProfileError struct {
	name  string
	known []string
}

func (e *noProfileError) Error() string { return fmt.Sprintf("there is no profile %q", e.name) }

func readProfileFile(charts fs.FS, name string) (*source.Node, error) {
	file := "profiles/" + name + ".yaml"
	data, err := fs.ReadFile(charts, file)
	if err != nil {
		known := profiles(charts)
		if len(known) == 0 {
			return nil, errors.New("the folder of the charts has no profiles/*.yaml")
		}
		return nil, &noProfileError{name, known}
	}
	doc, err := source.Parse(source.NewText(file, data))
	if err != nil {
		return nil, fmt.Errorf("reading profile %s: %w", name, err)
	}
	return doc.Root, nil
}

// profiles lists the names of the profiles.
func profiles(charts fs.FS) []string {
	files, _ := fs.Glob(charts, "profiles/*.yaml")
	for i := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(files[i], "profiles/"), ".yaml")
	}
	return files
}

// released puts the images of the release into the embedded profiles, which
// name those of the project's tests.
func released(profile *source.Node) *source.Node {
	return profile.WithAt(source.NewString(builtin.Hub), "spec", "hub").WithAt(source.NewString(builtin.Tag), "spec", "tag")
}

// translated hands what the specification says at its top to the charts, whose
// values have it elsewhere. userValues are the user's own values, which win.
func translated(root *source.Node) *source.Node {
	spec := root.Get("spec")
	userless := spec
	for _, t := range []struct {
		key string
		to  []string
	}{
		{"hub", []string{"values", "global", "hub"}},
		{"tag", []string{"values", "global", "tag"}},
		{"revision", []string{"values", "revision"}},
		{"compatibilityVersion", []string{"values", "compatibilityVersion"}},
	} {
		if v := spec.Get(t.key); !v.IsNull() {
			userless = putAt(userless, v, t.to...)
		}
	}
	if mesh := spec.Get("meshConfig"); mesh.Kind() == source.Map {
		userless = putAt(userless, merged(userless.Get("values", "meshConfig"), mesh), "values", "meshConfig")
	}
	on := func(component string) *source.Node {
		return source.NewBool(spec.Get("components", component, "enabled").IsTrue())
	}
	userless = putAt(userless, on("pilot"), "values", "pilot", "enabled")
	userless = putAt(userless, on("cni"), "values", "pilot", "cni", "enabled")
	root = root.With("spec", userless)
	if n := userless.Get("values", "global", "istioNamespace"); n.Str() != "" {
		root = putAt(root, n, "metadata", "namespace")
	}
	return root
}

// userValues lays the user's values over a translated specification, since they
// win over what it says at its top. They do not where the profile has no object
// that they and the translation would both go into: the installer then keeps
// what it translated, as in values.meshConfig and values.pilot.enabled.
func userValues(spec, profile, values *source.Node) *source.Node {
	before := spec.Get("values")
	after := merged(before, values)
	for _, path := range [][]string{
		{"global", "hub"},
		{"global", "tag"},
		{"revision"},
		{"compatibilityVersion"},
		{"pilot", "enabled"},
		{"pilot", "cni", "enabled"},
	} {
		if v := before.Get(path...); v != nil && !hasObjects(profile, path[:len(path)-1]) {
			after = putAt(after, v, path...)
		}
	}
	if mesh := before.Get("meshConfig"); mesh != nil && !hasObjects(profile, []string{"meshConfig"}) {
		after = putAt(after, mesh, "meshConfig")
	}
	return putAt(spec, after, "values")
}

// hasObjects reports whether there is an object at a path and at all places on
// the way.
func hasObjects(n *source.Node, path []string) bool {
	for i := 0; i <= len(path); i++ {
		if n.Get(path[:i]...).Kind() != source.Map {
			return false
		}
	}
	return true
}

// putAt is WithAt which also passes through what is no object.
func putAt(n, value *source.Node, path ...string) *source.Node {
	if len(path) == 0 {
		return value
	}
	if n.Kind() != source.Map {
		n = source.NewMap()
	}
	return n.With(path[0], putAt(n.Get(path[0]), value, path[1:]...))
}
