package kube

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// Codes of the findings that this package makes.
const (
	// CodeNoTemplate: a workload has no pod template where its kind keeps it.
	CodeNoTemplate = "IGF0101"
	// CodeWrongType: a value that the type of its field cannot hold.
	CodeWrongType = "IGF0102"
	// CodeUnquoted: a number or boolean where a string is wanted.
	CodeUnquoted = "IGF0103"
	// CodeFieldCase: a key that is a field but for upper and lower case.
	CodeFieldCase = "IGF0104"
)

// Workload is an object that makes pods.
type Workload struct {
	// Ref names the object.
	Ref Ref
	// Path leads from the object to its pod template; nil for a bare Pod, which
	// is its own template.
	Path Path
	// Template holds metadata and spec of the pod. It is nil where the object
	// has no pod template although it should: see Missing.
	Template *source.Node

	root *source.Node
}

// The places where kinds keep their pod template.
var (
	inSpec    = Path{"spec", "template"}
	inJobSpec = Path{"spec", "jobTemplate", "spec", "template"}
	atTop     = Path{"template"}
)

// known tells where a kind of Kubernetes or OpenShift keeps its pod template.
// groups lists the API groups that ever served the kind.
func known(kind string) (path Path, groups string, ok bool) {
	switch kind {
	case "Pod":
		return nil, "", true
	case "PodTemplate":
		return atTop, "", true
	case "ReplicationController":
		return inSpec, "", true
	case "Deployment", "DaemonSet", "ReplicaSet", "StatefulSet":
		return inSpec, "apps extensions", true
	case "Job":
		return inSpec, "batch extensions", true
	case "CronJob", "ScheduledJob":
		return inJobSpec, "batch", true
	case "DeploymentConfig":
		return inSpec, " apps.openshift.io", true
	}
	return nil, "", false
}

// Group returns the API group of an apiVersion: "apps" for apps/v1, "" for v1.
func Group(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// WorkloadOf tells whether an object makes pods, and where its pod template
// is. These are workloads, in this order:
//
//   - a kind that extra names, where the path leads to something;
//   - the kinds of Kubernetes (in any version of any group that ever served
//     them) and OpenShift's DeploymentConfig, even if the template is missing:
//     Workload.Missing tells;
//   - any other object that holds a pod where these kinds keep it: at
//     spec.template or spec.jobTemplate.spec.template. A pod is told by
//     spec.containers or spec.initContainers being a list of objects, so that
//     an Argo Rollout, a CloneSet and a Knative Service count, and templates of
//     something else (a Certificate's, a KubeVirt machine's) do not.
//
// The list kinds are no workloads; Objects yields what they hold.
func WorkloadOf(root *source.Node, extra []PodPath) (Workload, bool) {
	return Object{Node: root, Ref: RefOf(root)}.Workload(extra)
}

// Workload is WorkloadOf for an object of a list.
func (o Object) Workload(extra []PodPath) (Workload, bool) {
	if o.Node.Kind() != source.Map {
		return Workload{}, false
	}
	w := Workload{Ref: o.Ref, root: o.Node}
	group := Group(o.Ref.APIVersion)
	for _, p := range extra {
		if p.Kind == o.Ref.Kind && p.Group == group {
			w = w.at(p.Path)
			if w.Template.Get("spec") == nil && isObjects(w.Template.Get("containers")) {
				w.Template = nil // a pod spec, not a template: Missing says so
			}
			return w, true // a path that leads nowhere is told, by Missing
		}
	}
	if path, groups, ok := known(o.Ref.Kind); ok && hasWord(groups, group) {
		return w.at(path), true
	} else if ok && len(path) == 0 {
		return w.at(nil), holdsPod(o.Node) // a Pod of no group that serves pods
	}
	for _, path := range []Path{inSpec, inJobSpec} {
		if holdsPod(At(o.Node, path)) {
			return w.at(path), true
		}
	}
	return Workload{}, false
}

// IsKubernetes reports whether the object is of a kind of Kubernetes itself,
// which knows how to merge patches of such objects.
func (w Workload) IsKubernetes() bool {
	_, groups, ok := known(w.Ref.Kind)
	return ok && w.Ref.Kind != "DeploymentConfig" && hasWord(groups, Group(w.Ref.APIVersion))
}

func hasWord(words, word string) bool {
	for w := range strings.SplitSeq(words, " ") {
		if w == word {
			return true
		}
	}
	return false
}

func (w Workload) at(path Path) Workload {
	w.Path = path
	if t := At(w.root, path); t.Kind() == source.Map {
		w.Template = t
	}
	return w
}

func holdsPod(template *source.Node) bool {
	spec := template.Get("spec")
	return isObjects(spec.Get("containers")) || isObjects(spec.Get("initContainers"))
}

func isObjects(n *source.Node) bool {
	for _, item := range n.Items() {
		if item.Kind() != source.Map {
			return false
		}
	}
	return n.Len() > 0 && n.Kind() == source.List
}

// Missing returns what to tell the user where Template is nil, and nil where
// it is not. (The control plane's injector refuses such an object of some
// kinds; for others it makes up a pod of nothing but the sidecar, which the
// API server then refuses.)
func (w Workload) Missing() *diag.Diagnostic {
	if w.Template != nil {
		return nil
	}
	d := &diag.Diagnostic{
		Code: CodeNoTemplate, Severity: diag.Error, Object: w.Ref.String(), Span: w.root.Span(),
		Message: fmt.Sprintf("%s is required: a %s makes its pods from it", w.Path, w.Ref.Kind),
		Fix:     fmt.Sprintf("add the pod template (metadata and spec) at %s", w.Path),
	}
	n := w.root
	for i := range w.Path {
		if i == len(w.Path)-1 && At(w.root, w.Path).Kind() == source.Map {
			d.Span = At(w.root, w.Path).Span()
			d.Message = fmt.Sprintf("%s is the spec of a pod, not a pod template", w.Path)
			d.Fix = "give the path of the object that holds metadata and spec of the pod"
			break
		}
		next := At(n, w.Path[i:i+1])
		if next.IsNull() {
			if f, ok := n.Field(w.Path[i]); ok {
				d.Span = f.KeySpan
			}
			break
		}
		n, d.Span = next, next.Span()
		if (n.Kind() != source.Map && n.Kind() != source.List) || (n.Kind() == source.List && i == len(w.Path)-1) {
			d.Message = fmt.Sprintf("%s must be an object, not %s: a %s makes its pods from %s",
				w.Path[:i+1], n.Kind().Noun(), w.Ref.Kind, w.Path)
			break
		}
	}
	return d
}

// Object is one object of a document.
type Object struct {
	Node *source.Node
	// Ref names the object. Items of a typed list that state no apiVersion and
	// kind, as the API server sends them, have those that the list implies.
	Ref Ref
	// Path leads from the root of the document to the object; nil where the
	// document is the object.
	Path Path
}

// IsList reports whether an object is a list: kind List of the core group, or
// a kind such as DeploymentList with a list of items.
func IsList(root *source.Node) bool {
	kind := root.Get("kind").Str()
	return strings.HasSuffix(kind, "List") && root.Get("items").Kind() == source.List
}

// Objects yields the objects of a document in order: the document's own
// object, or where that is a list (a v1 List, a DeploymentList, ...) the items
// of it, and of lists in it.
func Objects(root *source.Node) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		yieldObjects(Object{Node: root, Ref: RefOf(root)}, yield)
	}
}

func yieldObjects(o Object, yield func(Object) bool) bool {
	if !IsList(o.Node) {
		return yield(o)
	}
	for i, item := range o.Node.Get("items").Items() {
		if item.IsNull() {
			continue
		}
		path := append(o.Path[:len(o.Path):len(o.Path)], "items", strconv.Itoa(i))
		in := Object{Node: item, Ref: RefOf(item), Path: path}
		if kind := strings.TrimSuffix(o.Ref.Kind, "List"); in.Ref.Kind == "" && kind != "" {
			in.Ref.Kind = kind
			if in.Ref.APIVersion == "" {
				in.Ref.APIVersion = o.Ref.APIVersion
			}
		}
		if !yieldObjects(in, yield) {
			return false
		}
	}
	return true
}

// PodPath tells where objects of one kind keep their pod template.
type PodPath struct {
	// Kind and Group name the kind; Group is empty for the core group.
	Kind, Group string
	// Path leads to the pod template: an object that holds spec. It is empty
	// where the object itself is built like a Pod.
	Path Path
}

// ParsePodPath reads Kind.group=dotted.path: Foo.example.com=spec.pod. Kinds
// of the core group are written without a group. A dot within a key is written
// \., an item of a list as its index (spec.roles.0.template), and a single dot
// is the object itself.
func ParsePodPath(s string) (PodPath, error) {
	kind, dotted, ok := strings.Cut(s, "=")
	if !ok || kind == "" || dotted == "" {
		return PodPath{}, fmt.Errorf("reading pod path %q: want Kind.group=dotted.path, as in Rollout.argoproj.io=spec.template", s)
	}
	var p PodPath
	p.Kind, p.Group, _ = strings.Cut(kind, ".")
	if p.Kind == "" || strings.HasSuffix(kind, ".") || strings.ContainsAny(kind, "/ ") {
		return PodPath{}, fmt.Errorf("reading pod path %q: %q is no Kind.group", s, kind)
	}
	if c := p.Kind[0]; c < 'A' || c > 'Z' {
		return PodPath{}, fmt.Errorf("reading pod path %q: a kind begins with a capital letter, as in its manifest: %q", s, p.Kind)
	}
	if dotted == "." {
		return p, nil
	}
	if strings.ContainsAny(dotted, "[]") {
		return PodPath{}, fmt.Errorf("reading pod path %q: write an item of a list as its index between dots, as in spec.roles.0.template", s)
	}
	key := ""
	for i := 0; i <= len(dotted); i++ {
		switch {
		case i < len(dotted)-1 && dotted[i] == '\\' && dotted[i+1] == '.':
			key += "."
			i++
		case i < len(dotted) && dotted[i] != '.':
			key += dotted[i : i+1]
		case key == "":
			return PodPath{}, fmt.Errorf("reading pod path %q: the path has an empty part", s)
		default:
			p.Path = append(p.Path, key)
			key = ""
		}
	}
	return p, nil
}

// ParsePodPaths reads several; a kind may be given once only.
func ParsePodPaths(list []string) ([]PodPath, error) {
	var paths []PodPath
	for _, s := range list {
		p, err := ParsePodPath(s)
		if err != nil {
			return nil, err
		}
		for _, q := range paths {
			if q.Kind == p.Kind && q.Group == p.Group {
				return nil, fmt.Errorf("reading pod path %q: the kind is given twice", s)
			}
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// Above is metadata that stands above a pod template.
type Above struct {
	Metadata *source.Node
	// What names the object that has it: "Deployment", "job template".
	What string
}

// Above returns the metadata of the objects around the pod template: that of
// the workload, and of the job template of a CronJob. A pod has none.
func (w Workload) Above() []Above {
	var list []Above
	n, what := w.root, w.Ref.Kind
	for i := range w.Path {
		if m := n.Get("metadata"); m.Kind() == source.Map {
			list = append(list, Above{m, what})
		}
		n, what = At(n, w.Path[i:i+1]), "part "+w.Path[:i+1].String()
		if w.Path[i] == "jobTemplate" {
			what = "job template"
		}
	}
	return list
}

// Outer returns the workload without its pod template.
func (w Workload) Outer() *source.Node {
	if len(w.Path) == 0 {
		return nil
	}
	return Put(w.root, w.Path, source.NewNull())
}
