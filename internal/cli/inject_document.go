package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// runner is the part of an engine that commands use.
type runner interface {
	Run(*inject.Request) *inject.Result
	OwnerOf(inject.Door, *source.Node) kube.Ref
}

// injector injects into the workloads of documents, one at a time. It is used
// by many goroutines at once.
type injector struct {
	engine   runner
	podPaths []kube.PodPath
	revision string
	// namespace is that of objects which do not state one.
	namespace string
	// namespaces holds the Namespace objects of the input by name.
	namespaces map[string]*source.Node
	// proxyConfigs are the ProxyConfig objects of the input.
	proxyConfigs *inject.ProxyConfigs
	// native tells whether a pod's cluster runs native sidecars.
	native func(pod *source.Node) bool
	getenv func(string) string
	now    time.Time
	// podSecurity is the level to judge pods by, whatever their namespace says.
	podSecurity inject.PodSecurity
	// canonical tells to write injected documents anew, and noRecord to leave
	// out what uninject needs.
	canonical, noRecord bool
	// reference leaves out what is only there for speed, so that tests can
	// compare.
	reference bool
	// joined tells that results are put into one stream, where a file that only
	// kustomize reads has no place.
	joined bool
	// patch is the form of patches to make instead, "" for none.
	patch string
}

// outcome is what became of one document.
type outcome struct {
	// data is the document's new text; nil where it stays as it is.
	data []byte
	// patches are what turns its objects into injected ones, where patches are
	// asked for: then there is no data.
	patches []objectPatch
	// findings are the user's mistakes in it.
	findings diag.List
	// skipped are the workloads that were left alone.
	skipped []skipped
}

// skipped is a workload that was left alone, and why.
type skipped struct {
	workload kube.Ref
	decision inject.Decision
}

// document injects into the workloads of one document. The error is that of
// reading it, if any.
func (j *injector) document(doc *source.Document, err error) outcome {
	var o outcome
	if err != nil {
		o.findings = diag.List{syntaxFinding(err)}
		return o
	}
	if doc.Root == nil {
		return o
	}
	if d, is := j.kustomization(doc); is {
		if d != nil {
			o.findings = diag.List{d}
		}
		return o
	}
	o.findings = named(doc, diag.DuplicateKeys(doc))
	var replaced []replacement
	var workloads []workload
	for object := range kube.Objects(doc.Root) {
		if d := notAnObject(object); d != nil {
			o.findings = append(o.findings, d)
			continue
		}
		w, ok := object.Workload(j.podPaths)
		for _, d := range checkObject(doc, object, w, ok && w.Template != nil) {
			o.findings = append(o.findings, concerning(d, object.Ref, object.Node))
		}
		if !ok {
			// A webhook that is asked knows those of its cluster.
			if e, own := j.engine.(*inject.Engine); own && inject.IsProxyConfig(object.Ref) {
				for _, d := range j.proxyConfigs.Check(e, object.Node, j.namespace) {
					o.findings = append(o.findings, concerning(d, object.Ref, object.Node))
				}
			}
			continue
		}
		if d := w.Missing(); d != nil {
			o.findings = append(o.findings, d)
			continue
		}
		if job, ok := injectedBeside(object, w); ok {
			o.findings = append(o.findings, concerning(&diag.Diagnostic{
				Code: diag.CodeGuess, Severity: diag.Warning, Span: job.node.Get("metadata").Span(),
				Message: "istioctl has injected into this CronJob, and says so on the template of its jobs: what that added is taken for the pod's own",
				Fix:     "take it out first: uninject --force",
			}, object.Ref, object.Node))
		}
		result := j.engine.Run(j.request(w, object.Node))
		for _, d := range result.Diagnostics {
			o.findings = append(o.findings, concerning(d, w.Ref, object.Node))
		}
		switch {
		case result.Diagnostics.HasErrors():
		case result.Decision.Verdict == inject.Skip:
			o.skipped = append(o.skipped, skipped{w.Ref, result.Decision})
		case result.Pod != w.Template:
			path := append(object.Path[:len(object.Path):len(object.Path)], w.Path...)
			replaced = append(replaced, replacement{path, result.Pod})
			workloads = append(workloads, workload{w, object.Node})
		}
	}
	switch {
	case o.findings.HasErrors():
	case len(replaced) > 0:
		j.write(&o, doc, replaced, workloads)
	case j.canonical && j.patch == "":
		o.data = rewrite(doc, doc.Root)
	}
	return o
}

// kustomization tells whether a document is the file that kustomize wants in a
// folder, which is no Kubernetes object and may lack apiVersion and kind. It
// stays as it is beside the manifests that it names; the finding tells that it
// cannot be among them.
func (j *injector) kustomization(doc *source.Document) (*diag.Diagnostic, bool) {
	const group = "kustomize.config.k8s.io/"
	version := doc.Root.Get("apiVersion").Scalar()
	named := false
	switch path.Base(filepath.ToSlash(doc.Text.Name)) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		named = doc.Root.Kind() == source.Map && (version == "" || strings.HasPrefix(version, group))
	}
	if !named && !strings.HasPrefix(version, group) {
		return nil, false
	}
	if !j.joined || version != "" && !doc.Root.Get("kind").IsNull() && j.patch == "" {
		return nil, true
	}
	return &diag.Diagnostic{
		Code: diag.CodeNoKind, Severity: diag.Error, Span: firstByte(doc.Root),
		Message: "this is the list of files that kustomize reads, and no Kubernetes object: it has no place in a stream of them, or among the resources of another list",
		Fix:     "write into a folder (-o out/, or --in-place), or inject into what kustomize makes of the folder: kubectl kustomize",
	}, true
}

// workload is a workload of a document, with its object.
type workload struct {
	kube.Workload
	object *source.Node
}

// write writes the injected pods of workloads into their document. Where that
// was injected before, it starts from the document as it was then.
func (j *injector) write(o *outcome, doc *source.Document, pods []replacement, workloads []workload) {
	if j.patch != "" {
		var bad diag.List
		o.patches, bad = patches(j.patch, pods, workloads)
		o.findings = append(o.findings, bad...)
		return
	}
	if j.canonical {
		o.data = rewrite(doc, replaceAll(doc.Root, unmarked(pods)))
		return
	}
	paths := make([]kube.Path, len(pods))
	for i := range pods {
		paths[i] = pods[i].path
	}
	base, stale := before(doc, paths)
	o.findings = append(o.findings, named(doc, stale)...)
	if base != doc {
		for i, w := range workloads {
			w.Template = kube.At(base.Root, paths[i])
			result := j.engine.Run(j.request(w.Workload, w.object))
			if result.Diagnostics.HasErrors() {
				o.findings = append(o.findings, result.Diagnostics...)
				return
			}
			pods[i].node = result.Pod
		}
	}
	data, bad := keep(base, pods, !j.noRecord, j.reference)
	o.data = data
	if bad != nil {
		o.findings = append(o.findings, named(base, diag.List{bad})...)
	}
}

// named returns findings with the objects of a document that they are in.
func named(doc *source.Document, findings diag.List) diag.List {
	for i, d := range findings {
		if d.Object != "" || d.Span.Text != doc.Text {
			continue
		}
		for object := range kube.Objects(doc.Root) {
			if s := object.Node.Span(); s.Text == d.Span.Text && s.Start <= d.Span.Start && d.Span.End <= s.End {
				findings[i] = concerning(d, object.Ref, object.Node)
				break
			}
		}
	}
	return findings
}

// request says to the engine what is known about a workload's pod.
func (j *injector) request(w kube.Workload, object *source.Node) *inject.Request {
	owner, meta := w.Ref, object.Get("metadata")
	if len(w.Path) == 0 {
		owner, meta = j.engine.OwnerOf(inject.CommandLine, w.Template), nil
	}
	namespace := w.Ref.Namespace // where the pods live, whatever a pod template says
	if namespace == "" {
		namespace = j.namespace
	}
	return &inject.Request{
		Door:           inject.CommandLine,
		Pod:            w.Template,
		Owner:          owner,
		OwnerMeta:      meta,
		NamespaceName:  namespace,
		Namespace:      j.namespaces[namespace],
		ProxyConfigs:   j.proxyConfigs,
		NativeSidecars: j.native(w.Template),
		Revision:       j.revision,
		Getenv:         j.getenv,
		Now:            j.now,
		PodSecurity:    j.podSecurity,
	}
}

// syntaxFinding turns the error of a reader into a finding.
func syntaxFinding(err error) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: diag.CodeSyntax, Severity: diag.Error, Message: err.Error()}
	var syntax *source.SyntaxError
	if errors.As(err, &syntax) {
		d.Span, d.Message = syntax.Span, syntax.Message
	}
	return d
}

// notAnObject returns what to tell about a document, or an item of a list,
// that is no Kubernetes object.
func notAnObject(o kube.Object) *diag.Diagnostic {
	if o.Node.Kind() != source.Map {
		return &diag.Diagnostic{
			Code: diag.CodeNotObject, Severity: diag.Error, Span: o.Node.Span(),
			Message: "this is " + o.Node.Kind().Noun() + ", not a Kubernetes object",
			Fix:     "write an object with apiVersion, kind and metadata, or leave the file out",
		}
	}
	if items := o.Node.Get("items"); o.Ref.Kind == "List" && o.Ref.APIVersion == "v1" && !items.IsNull() && items.Kind() != source.List {
		return &diag.Diagnostic{
			Code: kube.CodeWrongType, Severity: diag.Error, Span: items.Span(), Object: o.Ref.String(),
			Message: "items must be a list, not " + items.Kind().Noun(),
			Fix:     "write the objects as a list: a dash before each",
		}
	}
	for _, key := range [...]string{"apiVersion", "kind"} {
		if n := o.Node.Get(key); !n.IsNull() && n.Kind() != source.String {
			return &diag.Diagnostic{
				Code: kube.CodeWrongType, Severity: diag.Error, Span: n.Span(),
				Message: key + " must be a string, not " + described(n),
				Fix:     map[string]string{"apiVersion": "write for example apiVersion: apps/v1", "kind": "write for example kind: Deployment"}[key],
			}
		}
	}
	missing := ""
	switch {
	case o.Ref.Kind == "" && o.Ref.APIVersion == "":
		missing = "apiVersion and kind"
	case o.Ref.Kind == "":
		missing = "kind"
	case o.Ref.APIVersion == "":
		missing = "apiVersion"
	default:
		return nil
	}
	return &diag.Diagnostic{
		Code: diag.CodeNoKind, Severity: diag.Error, Span: firstByte(o.Node), Object: o.Ref.String(),
		Message: "this object has no " + missing + ", so that nobody can tell what it is",
		Fix:     "add " + missing + ", or leave the file out if it is no Kubernetes manifest",
	}
}

// described says what a value is: the number 5.
func described(n *source.Node) string {
	switch n.Kind() {
	case source.Number, source.Bool:
		return "the " + strings.TrimPrefix(strings.TrimPrefix(n.Kind().Noun(), "a "), "an ") + " " + n.Scalar()
	}
	return n.Kind().Noun()
}

// firstByte returns the span of where a node begins, to point at an object as
// a whole.
func firstByte(n *source.Node) source.Span {
	if fields := n.Fields(); len(fields) > 0 && fields[0].KeySpan.IsValid() {
		return fields[0].KeySpan
	}
	span := n.Span()
	span.End = min(span.Start+1, span.End)
	return span
}

// concerning returns a finding that names its object, and is placed there
// where it has no place of its own. Findings of the engine may be shared, so
// they are not changed.
func concerning(d *diag.Diagnostic, ref kube.Ref, object *source.Node) *diag.Diagnostic {
	placed := *d
	if d.Object == "" {
		placed.Object = ref.String()
	}
	if !d.Span.IsValid() && d.File == "" {
		placed.Span = firstByte(object)
	}
	if at := firstByte(object); at.IsValid() && placed.Manifest == "" {
		if file := at.Pos().File; file != placed.Pos().File {
			placed.Manifest = file
		}
	}
	return &placed
}

// replacement is a new value for what stands at a path.
type replacement struct {
	path kube.Path
	node *source.Node
}

// replaceAll returns root with all replacements made. No path leads to a place
// within another's, and those within one list follow each other.
func replaceAll(root *source.Node, all []replacement) *source.Node {
	if len(all) == 1 {
		return kube.Put(root, all[0].path, all[0].node)
	}
	items := root.Items()
	if root.Kind() == source.List {
		items = append([]*source.Node(nil), items...)
	}
	for len(all) > 0 {
		key, same := all[0].path[0], 1
		for same < len(all) && all[same].path[0] == key {
			same++
		}
		below := make([]replacement, same)
		for i, r := range all[:same] {
			below[i] = replacement{r.path[1:], r.node}
		}
		value := replaceAll(kube.At(root, kube.Path{key}), below)
		if root.Kind() == source.List {
			items[indexOf(key)] = value
		} else {
			root = root.With(key, value)
		}
		all = all[same:]
	}
	if root.Kind() == source.List {
		return root.WithItems(items...)
	}
	return root
}

func indexOf(key string) int {
	i := 0
	for _, digit := range key {
		i = i*10 + int(digit-'0')
	}
	return i
}

// rewrite returns the text of a document whose value is now root: everything
// written anew, in the notation that it had, with sorted keys. The
// separator before it stays.
func rewrite(doc *source.Document, root *source.Node) []byte {
	data := doc.Text.Data
	if doc.Format == source.JSON {
		return rewriteJSON(doc, root)
	}
	separator, directives := separatorOf(data)
	out := make([]byte, 0, len(data)+8<<10)
	out = append(append(out, directives...), separator...)
	out = source.AppendYAML(out, root)
	if ended(data) {
		out = append(out, "...\n"...) // directives may follow
	}
	return out
}

// separatorOf returns the line of a document that separates it from the one
// before (--- and what else stands on it, unless that is already the
// document), and what precedes that line.
func separatorOf(data []byte) (line, before []byte) {
	for at := 0; at < len(data); {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			end = len(data) - at - 1
		}
		l := data[at : at+end+1]
		trimmed := bytes.TrimSpace(l)
		switch {
		case bytes.HasPrefix(bytes.TrimPrefix(l, bom), []byte("---")):
			if rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimPrefix(l, bom), []byte("---"))); len(rest) > 0 && rest[0] != '#' {
				return []byte("---\n"), data[:at]
			}
			return l, data[:at]
		case len(trimmed) == 0 || trimmed[0] == '#' || trimmed[0] == '%':
			at += end + 1
		default:
			return nil, nil
		}
	}
	return nil, nil
}

var bom = []byte("\ufeff")

// ended reports whether a document ends in the marker "...".
func ended(data []byte) bool {
	data = bytes.TrimRight(data, " \t\r\n")
	return bytes.Equal(data, []byte("...")) || bytes.HasSuffix(data, []byte("\n..."))
}

// rewriteJSON returns a document with root as JSON in place of its value: on
// one line where it was, else indented as it was.
func rewriteJSON(doc *source.Document, root *source.Node) []byte {
	data, span := doc.Text.Data, doc.Root.Span()
	var out bytes.Buffer
	out.Grow(len(data) + 8<<10)
	out.Write(data[:span.Start])
	compact := source.AppendJSON(nil, sorted(root))
	if indent, ok := indentOf(data[span.Start:span.End]); !ok || json.Indent(&out, compact, "", indent) != nil {
		out.Write(compact)
	}
	out.Write(data[span.End:])
	return out.Bytes()
}

// sorted returns a value with the keys of all objects in order.
func sorted(n *source.Node) *source.Node {
	switch n.Kind() {
	case source.Map:
		fields := slices.Clone(n.Fields())
		for i := range fields {
			fields[i] = source.F(fields[i].Key, sorted(fields[i].Value))
		}
		slices.SortStableFunc(fields, func(a, b source.Field) int { return strings.Compare(a.Key, b.Key) })
		return source.NewMap(fields...)
	case source.List:
		items := slices.Clone(n.Items())
		for i := range items {
			items[i] = sorted(items[i])
		}
		return source.NewList(items...)
	}
	return n
}

// indentOf returns the blanks at the start of the second line; false where
// there is only one line.
func indentOf(value []byte) (string, bool) {
	_, rest, ok := bytes.Cut(value, []byte("\n"))
	if !ok {
		return "", false
	}
	return string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]), true
}
