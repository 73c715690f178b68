package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// configDiff is one run of injector config diff.
type configDiff struct {
	*app
	files                        []string
	oldGeneration, newGeneration string
	revision                     string
	native                       bool
}

func (a *app) configDiffCommand() *cobra.Command {
	d := &configDiff{app: a}
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what injected pods gain and lose between two configurations",
		Long: `diff injects into workloads under two configurations, of any two releases, and
says what the pods gain and lose.

OLD and NEW are each a file, files separated by commas, or a folder. What a file
is for is told from its content: an injection configuration, a mesh
configuration, the values of an install, or ConfigMaps that hold them. Without
values there are none; without a mesh configuration there are the defaults of
the release.

It exits 0 where the pods are the same, 1 where they differ, 2 in trouble.`,
		Example: `  # What will an upgrade change?
  ` + a.name + ` injector config diff istio-1.8/ istio-1.20/ -f workloads/

  # What does an edit of the ConfigMap change?
  ` + a.name + ` injector config diff configmap.yaml edited.yaml -f deployment.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("two configurations are compared, %d given", len(args)).hinted("Write: %s OLD NEW -f workloads/", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			same, err := d.run(c.Context(), args[0], args[1])
			switch {
			case err != nil:
				return &exitError{err, exitTrouble}
			case !same:
				return &exitError{errReported, exitFailed}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&d.files, "filename", "f", nil, "file, folder or pattern with workloads, - for standard input (repeatable)")
	f.StringVar(&d.oldGeneration, "old-generation", "", "release that OLD is of; empty to tell it from the configuration")
	f.StringVar(&d.newGeneration, "new-generation", "", "release that NEW is of; empty to tell it from the configuration")
	f.StringVarP(&d.revision, "revision", "r", "", "revision of the control plane")
	f.BoolVar(&d.native, "native-sidecars", false, "make sidecars native ones, where the release can")
	return c
}

// exitTrouble is the exit code of a comparison that could not be made.
const exitTrouble = 2

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e *exitError) Unwrap() error { return e.error }

func (d *configDiff) run(ctx context.Context, oldArg, newArg string) (same bool, err error) {
	older, err := d.compile(oldArg, d.oldGeneration)
	if err != nil {
		return false, err
	}
	newer, err := d.compile(newArg, d.newGeneration)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(d.Stderr, "comparing release %s (%s) with release %s (%s)\n", older.Release(), oldArg, newer.Release(), newArg)
	list, err := d.findInputs(d.files)
	if err != nil {
		return false, err
	}
	inputs := &inputSet{app: d.app, list: list, room: spoolLimit}
	defer inputs.close()
	if err := inputs.keepAll(ctx); err != nil {
		return false, err
	}
	same = true
	var out bytes.Buffer
	for _, in := range list {
		var failed error
		err := inputs.documents(in, func(doc *source.Document, err error) bool {
			if err != nil {
				failed = err
				return false
			}
			for o := range kube.Objects(doc.Root) {
				if w, ok := o.Workload(nil); ok && w.Template != nil {
					before, after := d.inject(older, o, w), d.inject(newer, o, w)
					if lines := changes(before, after); len(lines) > 0 {
						same = false
						fmt.Fprintf(&out, "%s (%s)\n", w.Ref, o.Node.Pos())
						for _, l := range lines {
							fmt.Fprintf(&out, "  %s\n", l)
						}
					}
				}
			}
			return ctx.Err() == nil
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return false, fmt.Errorf("reading %s: %w", in.name, because(err))
		}
	}
	if _, err := d.Stdout.Write(out.Bytes()); err != nil {
		return false, &writeError{err}
	}
	return same, ctx.Err()
}

// outcomeOf is what a configuration makes of a workload: a pod, or the reason
// why not.
type outcomeOf struct {
	pod    *source.Node
	reason string
	// at is the place that the reason is about; two that differ in it alone are
	// the same.
	at source.Span
}

func (d *configDiff) inject(e *inject.Engine, o kube.Object, w kube.Workload) outcomeOf {
	r := &inject.Request{
		Door: inject.CommandLine, Pod: w.Template, Owner: w.Ref, OwnerMeta: o.Node.Get("metadata"),
		NamespaceName: w.Ref.Namespace, NativeSidecars: d.native, Revision: d.revision, Now: d.Now(),
		Getenv: func(name string) string {
			if name == nativeVariable && d.native {
				return "true"
			}
			return d.getenv(name)
		},
	}
	if r.NamespaceName == "" {
		r.NamespaceName = d.globals.namespace
	}
	if len(w.Path) == 0 {
		r.Owner, r.OwnerMeta = e.OwnerOf(r.Door, w.Template), nil
	}
	res := e.Run(r)
	switch {
	case res.Diagnostics.HasErrors():
		for _, f := range res.Diagnostics {
			if f.Error() != "" && f.Severity.String() == "Error" {
				return outcomeOf{reason: "refused: " + f.Message, at: f.Span}
			}
		}
	case res.Decision.Verdict == inject.Skip:
		return outcomeOf{pod: w.Template, reason: "not injected: " + res.Decision.Message}
	}
	return outcomeOf{pod: res.Pod}
}

// compile makes an engine of the files of an argument.
func (d *configDiff) compile(arg, generation string) (*inject.Engine, error) {
	if generation != "" {
		if _, err := release.Parse(generation); err != nil {
			return nil, usagef("%v", err)
		}
	}
	p, err := d.findPieces(arg)
	if err != nil {
		return nil, err
	}
	k := &kubeInject{app: d.app, generation: generation}
	set, list := k.load(p)
	if err := d.tell(list, "text"); err != nil {
		return nil, err
	}
	for _, t := range set.Injection.Templates {
		if _, bad := tmpl.DialectOf(set.Detected.Release).Parse(t.Name, t.Text); bad != nil {
			if err := d.tell(diag.List{bad}, "text"); err != nil {
				return nil, err
			}
		}
	}
	engine, list := inject.Compile(set.Injection, set.Mesh, set.Values, inject.Options{Release: set.Detected.Release})
	if err := d.tell(list, "text"); err != nil {
		return nil, err
	}
	return engine, nil
}

// findPieces tells from their content what the files of an argument are for.
func (d *configDiff) findPieces(arg string) (*pieces, error) {
	names := strings.Split(arg, ",")
	folder := false
	if info, err := os.Stat(d.path(arg)); err == nil {
		names = []string{arg}
		if folder = info.IsDir(); folder {
			entries, err := os.ReadDir(d.path(arg))
			if err != nil {
				return nil, fmt.Errorf("reading folder %s: %w", arg, because(err))
			}
			names = nil
			for _, e := range entries {
				if isManifest(e.Name()) && !e.IsDir() {
					names = append(names, filepath.Join(arg, e.Name()))
				}
			}
		}
	}
	k := &kubeInject{app: d.app}
	p := &pieces{
		mesh:   piece{source.NewText("", nil), "the defaults of the release", fromBuiltin},
		values: piece{source.NewText("", nil), "nowhere", fromBuiltin},
	}
	for _, name := range names {
		one, err := k.ownFiles(name, "", "")
		if err != nil {
			return nil, err
		}
		roles := rolesOf(one.template.text)
		if roles == (roleSet{}) && !folder {
			return nil, fmt.Errorf("reading %s: it is no injection configuration, no mesh configuration and no values", name)
		}
		for _, r := range []struct {
			has  bool
			what string
			to   *piece
		}{{roles.injection, "an injection configuration", &p.template}, {roles.mesh, "a mesh configuration", &p.mesh}, {roles.values, "values", &p.values}} {
			if !r.has {
				continue
			}
			if r.to.kind == fromFile && r.to.text != nil {
				return nil, fmt.Errorf("reading %s: both %s and %s hold %s: name the files that belong together, separated by commas", arg, r.to.text.Name, name, r.what)
			}
			*r.to = one.template
		}
	}
	if p.template.text == nil {
		return nil, fmt.Errorf("reading %s: there is no injection configuration", arg)
	}
	return p, nil
}

// roleSet tells which parts of a configuration a file holds.
type roleSet struct{ injection, mesh, values bool }

func rolesOf(text *source.Text) roleSet {
	if holds(text, "config") || holds(text, "mesh") || holds(text, "values") {
		return roleSet{holds(text, "config"), holds(text, "mesh"), holds(text, "values")}
	}
	doc, err := source.Parse(text)
	if err != nil || doc.Root.Kind() != source.Map {
		return roleSet{}
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return doc.Root.Get(k) != nil })
	}
	switch {
	case has("apiVersion", "kind"):
		return roleSet{}
	case has("templates", "template", "policy"):
		return roleSet{injection: true}
	case has("global"):
		return roleSet{values: true}
	case has("defaultConfig", "rootNamespace", "trustDomain", "enablePrometheusMerge", "enableTracing"):
		return roleSet{mesh: true}
	}
	return roleSet{}
}

// changes says what differs between two outcomes, one line a value.
func changes(before, after outcomeOf) []string {
	if before.reason != after.reason {
		say := func(o outcomeOf) string {
			if o.reason == "" {
				return "injected"
			}
			if o.at.IsValid() {
				return o.reason + " (" + o.at.Pos().String() + ")"
			}
			return o.reason
		}
		return []string{"- " + say(before), "+ " + say(after)}
	}
	var c changeList
	c.compare("", before.pod, after.pod)
	return c.lines
}

type changeList struct{ lines []string }

// statusPath leads to what injection says about itself, which follows from all
// else.
const statusPath = "metadata.annotations[" + annot.SidecarStatus + "]"

// isPlainMap tells maps whose entries are worth a line each.
func isPlainMap(n *source.Node) bool {
	return n.Kind() == source.Map && n.Len() > 0 && n.Get("name") == nil
}

func (c *changeList) compare(path string, a, b *source.Node) {
	switch {
	case a.Equal(b), path == statusPath:
	case isPlainMap(a) && b == nil, a == nil && isPlainMap(b):
		for _, key := range keysOf(a, b) {
			c.compare(joined(path, key), a.Get(key), b.Get(key))
		}
	case a == nil:
		c.lines = append(c.lines, "+ "+path+shown(b))
	case b == nil:
		c.lines = append(c.lines, "- "+path+shown(a))
	case a.Kind() == source.Map && b.Kind() == source.Map:
		for _, key := range keysOf(a, b) {
			c.compare(joined(path, key), a.Get(key), b.Get(key))
		}
	case a.Kind() == source.List && b.Kind() == source.List:
		c.compareLists(path, a.Items(), b.Items())
	default:
		c.lines = append(c.lines, "- "+path+shown(a), "+ "+path+shown(b))
	}
}

func (c *changeList) compareLists(path string, a, b []*source.Node) {
	key := mergeKey(a, b)
	if key == "" && areScalars(a) && areScalars(b) {
		c.compareTexts(path, a, b)
		return
	}
	if key == "" {
		for i := range max(len(a), len(b)) {
			var x, y *source.Node
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			c.compare(path+"["+strconv.Itoa(i)+"]", x, y)
		}
		return
	}
	find := func(list []*source.Node, name string) *source.Node {
		for _, n := range list {
			if n.Get(key).Scalar() == name {
				return n
			}
		}
		return nil
	}
	var order [2][]string
	for _, n := range a {
		name := n.Get(key).Scalar()
		c.compare(path+"["+name+"]", n, find(b, name))
		if find(b, name) != nil {
			order[0] = append(order[0], name)
		}
	}
	for _, n := range b {
		name := n.Get(key).Scalar()
		if find(a, name) == nil {
			c.compare(path+"["+name+"]", nil, n)
		} else {
			order[1] = append(order[1], name)
		}
	}
	if !slices.Equal(order[0], order[1]) {
		c.lines = append(c.lines, "- "+path+" in the order "+strings.Join(order[0], ", "), "+ "+path+" in the order "+strings.Join(order[1], ", "))
	}
}

func areScalars(list []*source.Node) bool {
	return !slices.ContainsFunc(list, func(n *source.Node) bool { return n.Kind() == source.Map || n.Kind() == source.List })
}

// compareTexts says which items of a list came and went, so that what only
// moved with them is not said.
func (c *changeList) compareTexts(path string, a, b []*source.Node) {
	// common[i][j] is how many items a[i:] and b[j:] have in common, in order.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].Equal(b[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i].Equal(b[j]):
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			c.lines = append(c.lines, "- "+path+"["+strconv.Itoa(i)+"]"+shown(a[i]))
			i++
		default:
			c.lines = append(c.lines, "+ "+path+"["+strconv.Itoa(j)+"]"+shown(b[j]))
			j++
		}
	}
}

// mergeKey returns the key that tells the items of two lists apart, "" where
// there is none.
func mergeKey(a, b []*source.Node) string {
	all := append(slices.Clone(a), b...)
	for _, key := range [...]string{"mountPath", "name", "containerPort"} {
		if len(all) > 0 && !slices.ContainsFunc(all, func(n *source.Node) bool { return n.Get(key).Scalar() == "" }) && distinct(a, key) && distinct(b, key) {
			return key
		}
	}
	return ""
}

func distinct(list []*source.Node, key string) bool {
	seen := map[string]bool{}
	for _, n := range list {
		if seen[n.Get(key).Scalar()] {
			return false
		}
		seen[n.Get(key).Scalar()] = true
	}
	return true
}

func keysOf(a, b *source.Node) []string {
	var keys []string
	for _, n := range []*source.Node{a, b} {
		for _, f := range n.Fields() {
			keys = append(keys, f.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// joined writes a key behind a path; one with a dot in it in brackets.
func joined(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// shown writes a value behind its path.
func shown(n *source.Node) string {
	if value := n.Get("value"); value != nil && n.Len() == 2 {
		n = value
	}
	return ": " + clipValue(string(source.AppendJSON(nil, n)))
}
