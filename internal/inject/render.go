package inject

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"sync"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/tmpl"
)

// templates holds the templates of a configuration, each parsed when it is
// asked for first: a configuration has eight or so, and most pods want one.
type templates struct {
	list []*lazyTemplate // sorted by name, as in the configuration
}

type lazyTemplate struct {
	name string
	text *source.Text
	gen  *Generation
	// reference asks for text/template and nothing else.
	reference bool
	once      sync.Once
	t         *tmpl.Template
	// plans makes overlays without rendering; nil for reference.
	plans *tmpl.Planner
	bad   *diag.Diagnostic
	// hash is the version that the status annotation tells, in the shape Spec.
	hash string
	// blind is what unread found out.
	unreadOnce sync.Once
	blind      *Unread
}

func (l *lazyTemplate) parse() *diag.Diagnostic {
	l.once.Do(func() {
		if l.gen.shape == release.Spec {
			l.hash = hashOf(l.text)
		}
		l.t, l.bad = tmpl.DialectOf(l.gen.release).Parse(l.name, l.text)
		switch {
		case l.bad != nil:
		case l.reference:
			l.t = l.t.Reference()
		default:
			l.plans = tmpl.NewPlanner(l.t, func(root *source.Node) bool {
				findings := l.gen.judge(root)
				return !findings.HasErrors()
			})
		}
	})
	return l.bad
}

// judgeOverlay tells what keeps an overlay from being merged into a pod.
func judgeOverlay(overlay *source.Node) diag.List { return strictly.Check(overlay, kube.TypePod) }

func newTemplates(cfg *config.Injection, gen *Generation, reference bool) templates {
	var ts templates
	for _, t := range cfg.Templates {
		ts.list = append(ts.list, &lazyTemplate{name: t.Name, text: t.Text, gen: gen, reference: reference})
	}
	return ts
}

// check parses all templates.
func (ts *templates) check() diag.List {
	var findings diag.List
	for _, l := range ts.list {
		if bad := l.parse(); bad != nil {
			findings = append(findings, bad)
		}
	}
	return findings
}

func (ts *templates) find(name string) *lazyTemplate {
	for _, l := range ts.list {
		if l.name == name {
			return l
		}
	}
	return nil
}

// object returns the kind of the first object that a template of the gateway
// controller makes: its templates stand in the same configuration, but make
// Deployments and Services, not parts of a pod. It is "" for others.
func (l *lazyTemplate) object() string {
	for line := range bytes.Lines(l.text.Data) {
		if kind, ok := bytes.CutPrefix(line, []byte("kind:")); ok {
			if kind := string(bytes.TrimSpace(kind)); kind != "Pod" && !strings.Contains(kind, "{{") {
				return kind
			}
		}
	}
	return ""
}

// names lists the templates that are for pods.
func (ts *templates) names() string {
	var names []string
	for _, l := range ts.list {
		if l.object() == "" {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, ", ")
}

// selected returns the templates of a pod: those that its annotation names,
// else the configuration's; aliases stand for lists of templates, and are not
// looked up again in those.
func (e *Engine) selected(pod *source.Node) ([]*lazyTemplate, *diag.Diagnostic) {
	asked := e.config.DefaultTemplates
	var at source.Span
	if n := annotation(pod, annot.InjectTemplates); n != nil {
		asked, at = strings.Split(n.Scalar(), ","), n.Span()
		for i, name := range asked {
			asked[i] = strings.TrimSpace(name)
		}
	}
	list := make([]*lazyTemplate, 0, len(asked))
	for _, name := range asked {
		names := []string{name}
		if alias, ok := e.config.Aliases[name]; ok {
			names = alias
		}
		for _, name := range names {
			l := e.templates.find(name)
			if l == nil {
				return nil, &diag.Diagnostic{
					Code: CodeNoTemplate, Severity: diag.Error, Span: at,
					Message: "the injection configuration has no template " + strconv.Quote(name),
					Fix:     nearestFix(name, e.templates.list) + "it has " + e.templates.names(),
				}
			}
			if bad := l.parse(); bad != nil {
				return nil, bad
			}
			list = append(list, l)
		}
	}
	return list, nil
}

func nearestFix(name string, list []*lazyTemplate) string {
	var names []string
	for _, l := range list {
		if l.object() == "" {
			names = append(names, l.name)
		}
	}
	if near := diag.Nearest(name, names); near != "" {
		return "did you mean " + near + "? "
	}
	return ""
}

// overlay is what a template makes of a pod.
type overlay struct {
	name string
	of   *lazyTemplate
	root *source.Node
}

// data returns what templates see of a pod, the pod itself aside.
func (in *injection) data() tmpl.Data {
	e, r := in.engine, in.request
	annotations := in.user.Get("metadata", "annotations")
	d := tmpl.Data{
		ProxyConfig:              in.proxy,
		MeshConfig:               e.mesh.Config,
		Values:                   e.values.Map,
		Revision:                 r.Revision,
		NativeSidecars:           in.native,
		ProxyImage:               e.gen.proxyImage(&e.settings, in.proxy, annotations),
		ProxyInitImage:           e.settings.redirectImage(annotations),
		InboundTrafficPolicyMode: inboundPolicy(e.mesh.Config),
		CompliancePolicy:         r.getenv("COMPLIANCE_POLICY"),
	}
	d.TypeMeta.Kind, d.TypeMeta.APIVersion = r.Owner.Kind, r.Owner.APIVersion
	d.DeploymentMeta.Name, d.DeploymentMeta.Namespace = r.Owner.Name, r.Owner.Namespace
	d.ProxyUID, d.ProxyGID = proxyIDs(r.Namespace)
	if e.gen.former != nil {
		d.SetFormer(e.gen.former(in))
	}
	return d
}

func inboundPolicy(mesh *meshv1alpha1.MeshConfig) string {
	if mesh.GetInboundTrafficPolicy().GetMode() == meshv1alpha1.MeshConfig_InboundTrafficPolicy_LOCALHOST {
		return "localhost"
	}
	return "passthrough"
}

func (in *injection) env() tmpl.Env {
	return tmpl.Env{Getenv: in.request.getenv, Now: in.request.Now, ValuesName: in.engine.values.Text.Name}
}

// render makes the overlays of a pod.
func (in *injection) render() ([]overlay, *diag.Diagnostic) {
	list, bad := in.engine.selected(in.request.Pod)
	if bad != nil {
		return nil, bad
	}
	seen := in.seen()
	overlays := make([]overlay, 0, len(list))
	for _, l := range list {
		root, bad := in.renderOne(l, seen)
		if bad != nil {
			if kind := l.object(); kind != "" {
				bad = in.notForPods(l, kind)
			}
			return nil, bad
		}
		if prepare := in.engine.gen.prepare; prepare != nil {
			root = prepare(root)
		}
		overlays = append(overlays, overlay{l.name, l, root})
	}
	return overlays, nil
}

// notForPods returns the finding about a template that makes objects.
func (in *injection) notForPods(l *lazyTemplate, kind string) *diag.Diagnostic {
	d := &diag.Diagnostic{
		Code: CodeNoTemplate, Severity: diag.Error,
		Message: "template " + strconv.Quote(l.name) + " is for the gateway controller, which makes objects of it (" + kind + "), and not for pods",
		Fix:     "choose among " + in.engine.templates.names(),
	}
	if n := annotation(in.request.Pod, annot.InjectTemplates); n != nil {
		d.Span = n.Span()
	}
	return d
}

// renderOne returns what a template makes of a pod.
func (in *injection) renderOne(l *lazyTemplate, seen *source.Node) (*source.Node, *diag.Diagnostic) {
	t, data := l.t, in.data()
	if root, ok := in.planned(l, &data, seen); ok {
		return root, nil
	}
	if bad := data.SetPod(seen, t.Needs()); bad != nil {
		return nil, bad
	}
	if data.ObjectMeta.Namespace == "" {
		data.ObjectMeta.Namespace = in.request.NamespaceName
	}
	var rec *tmpl.Recorder
	if in.request.Explain {
		rec = &tmpl.Recorder{}
	}
	out, bad := t.Render(&data, in.env(), rec)
	if bad != nil {
		return nil, in.culprit(t, bad)
	}
	text := source.NewText("", out)
	root, bad := in.read(t, &data, text)
	if bad == nil && rec != nil {
		in.renderings = append(in.renderings, Rendering{t.Name(), text, root, rec})
	}
	return root, bad
}

// planned returns the overlay of a template that is known well enough not to be
// rendered: the same as rendering would give.
func (in *injection) planned(l *lazyTemplate, data *tmpl.Data, seen *source.Node) (*source.Node, bool) {
	if l.plans == nil || in.request.Explain {
		return nil, false
	}
	if len(suspects(in, l.text.Data)) > 0 {
		return nil, false // texts that read has to look into
	}
	return l.plans.Overlay(&tmpl.Input{Pod: seen, Namespace: in.request.NamespaceName, Data: data, Env: in.env()})
}

// culprit returns the finding to give where a template failed: about an
// annotation that the template names and that has not the form it should have,
// or else about the template.
func (in *injection) culprit(t *tmpl.Template, bad *diag.Diagnostic) *diag.Diagnostic {
	for _, f := range in.user.Get("metadata", "annotations").Fields() {
		k, ok := annot.Lookup(annot.Annotation, f.Key)
		if !ok || !bytes.Contains(t.Text().Data, []byte(f.Key)) {
			continue
		}
		if wrong := k.Check(f.Value.Scalar()); wrong != "" {
			why, _, _ := strings.Cut(bad.Message, "; here ") // the value is shown already
			return &diag.Diagnostic{
				Code: CodeAnnotation, Severity: diag.Error, Span: k.Place(f.Value),
				Message: "annotation " + f.Key + " " + wrong + ", so that " + strings.Replace(why, `": `, `" fails: `, 1), Fix: k.Form,
			}
		}
	}
	return bad
}

// read parses what a template made, and checks that it is part of a pod and
// that no text of the pod's has changed its shape.
func (in *injection) read(t *tmpl.Template, data *tmpl.Data, text *source.Text) (*source.Node, *diag.Diagnostic) {
	doc, err := source.Parse(text)
	var root *source.Node
	failure, at := "", -1
	switch {
	case err != nil:
		var syntax *source.SyntaxError
		failure = "is not YAML: " + err.Error()
		if errors.As(err, &syntax) {
			failure, at = "is not YAML: "+syntax.Message, syntax.Span.Start
		}
	case doc.Root.Kind() != source.Map && !doc.Root.IsNull():
		failure, at = "is no object", doc.Root.Span().Start
	default:
		if bad := firstError(in.engine.gen.judge(doc.Root)); bad != nil {
			failure = in.engine.gen.misfit + bad.Message
			if bad.Span.IsValid() {
				at = bad.Span.Start
			}
		} else {
			root = doc.Root
		}
	}
	if bad := in.engine.checkTexts(in, t, data, root); bad != nil {
		return nil, bad
	}
	if failure != "" {
		line := renderedLine(text.Data, at)
		if bad := t.Unset(at, data, in.env()); bad != nil {
			return nil, bad
		}
		where := ""
		if line = bytes.TrimSpace(line); len(line) > 0 {
			where = " (at " + strconv.Quote(string(line[:min(len(line), 80)])) + ")"
		}
		return nil, in.misfit(t, data, at, failure+where)
	}
	return root, nil
}

// misfit returns the finding about something that a template made and that
// cannot be used, whose first byte is at an offset of what it makes of data; -1
// where that is not known. The place is the action or text of the template
// that wrote it, or the pod's annotation where the action wrote that.
func (in *injection) misfit(t *tmpl.Template, data *tmpl.Data, at int, failure string) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: CodeOverlay, Severity: diag.Error, Span: source.Span{Text: t.Text()}}
	span, reads := t.Source(at, data, in.env())
	if span.IsValid() {
		d.Span = span
	}
	if in.engine.gen.shape == release.Spec {
		d.Fix = fixForActions(in.engine.gen.release, t.Text())
	}
	of := "this pod"
	if key, value := in.readAnnotation(reads); value != nil {
		d.Fix = ""
		of = "annotation " + key
		d.Code, d.Span = CodeAnnotation, value.Span()
		if k, ok := annot.Lookup(annot.Annotation, key); ok {
			d.Fix = k.Form
		}
	}
	d.Message = "what template " + strconv.Quote(t.Name()) + " makes of " + of + " " + failure
	return d
}

// fixForActions says what to do about a template whose actions are not written
// as those of the release are, and so are plain text.
func fixForActions(r release.Release, text *source.Text) string {
	own := tmpl.DialectOf(r).Left()
	if left, right := release.Delimiters(text.Data); left != own && bytes.Contains(text.Data, []byte(left)) {
		return "actions in " + left + " " + right + " are plain text in release " + r.String() + ": choose another with --generation, or leave it out"
	}
	return ""
}

// readAnnotation returns the one annotation of the pod's among what an action
// reads; nil where there is none, or more.
func (in *injection) readAnnotation(reads []tmpl.Read) (key string, value *source.Node) {
	for _, r := range reads {
		if len(r) < 3 || r[0] != "ObjectMeta" || r[1] != "Annotations" {
			continue
		}
		if n := annotation(in.request.Pod, r[2]); n != nil {
			if value != nil && key != r[2] {
				return "", nil
			}
			key, value = r[2], n
		}
	}
	return key, value
}

func firstError(findings diag.List) *diag.Diagnostic {
	for _, d := range findings {
		if d.Severity == diag.Error {
			return d
		}
	}
	return nil
}

// renderedLine returns the line of a rendering that holds the byte at an
// offset, nil for none.
func renderedLine(out []byte, at int) []byte {
	if at < 0 || at > len(out) {
		return nil
	}
	start := bytes.LastIndexByte(out[:at], '\n') + 1
	line, _, _ := bytes.Cut(out[start:], []byte("\n"))
	return line
}

// merge applies overlays to the user's pod, and to an empty one.
func (in *injection) merge(overlays []overlay) (*source.Node, *diag.Diagnostic) {
	in.templates = source.NewMap()
	sidecars := in.sidecarList(overlays)
	for i, o := range overlays {
		if sidecars != "" {
			o.root = oneProxy(o.root, sidecars)
		}
		overlays[i] = o
		below, above, _ := settleVolumes(in.templates, o.root, never)
		below, above, _ = settleHandlers(below, above, noHandler)
		merged, err := kube.Merge(below, above, kube.TypePod)
		if err != nil {
			return nil, in.unmergeable(&o, err)
		}
		in.templates = merged
	}
	if in.was.injected {
		in.user = dropStale(in.user, in.templates, &in.was)
	}
	in.keptPullSecrets = shared(in.user, in.templates, listPullSecrets, in.was.pullSecrets, in.was.keptPullSecrets)

	pod := in.user
	native := find(specList(in.templates, listInitContainers), proxyContainer) >= 0
	if i := find(specList(in.user, listContainers), proxyContainer); native && i >= 0 && specList(in.user, listContainers)[i].Get("restartPolicy") != nil {
		in.keptContainers = []string{proxyContainer}
	}
	for _, o := range overlays {
		if native {
			pod = oneProxy(pod, listInitContainers)
		} else if find(specList(in.templates, listContainers), proxyContainer) >= 0 {
			pod = oneProxy(pod, listContainers)
		}
		below, above, clashes := settleVolumes(pod, o.root, in.isUsersVolume)
		for _, c := range clashes {
			*in.findings = append(*in.findings, c.finding(o.name))
			in.keptVolumes = append(in.keptVolumes, nameOf(c.users))
		}
		below, above, twice := settleHandlers(below, above, in.isUsersHandler)
		for _, t := range twice {
			*in.findings = append(*in.findings, t.finding(o.name))
		}
		merged, err := kube.Merge(below, above, kube.TypePod)
		if err != nil {
			return nil, in.unmergeable(&o, err)
		}
		pod = merged
	}
	return pod, nil
}

// sidecarList returns the list that the sidecar is to be in, whichever template
// adds to it: that of the first template that gives it an image, else where the
// pod has one, unless sidecars are native, else that of the first template that
// has one; "" where none has. There must not be one in each list.
func (in *injection) sidecarList(overlays []overlay) string {
	first := ""
	for _, o := range overlays {
		for _, list := range [...]string{listInitContainers, listContainers} {
			items := specList(o.root, list)
			i := find(items, proxyContainer)
			switch {
			case i < 0 || items[i].Get("$patch") != nil:
			case items[i].Get("image").Scalar() != "":
				return list
			case first == "":
				first = list
			}
		}
	}
	if own, at := findContainer(in.user, proxyContainer); own != nil && first != "" && !in.native {
		return at.list
	}
	return first
}

func never(string) bool { return false }

// isUsersVolume tells whether a volume of the pod's is the user's own, and not
// left by an earlier injection.
func (in *injection) isUsersVolume(name string) bool {
	return find(specList(in.user, listVolumes), name) >= 0 &&
		(!contains(in.was.volumes, name) || contains(in.was.keptVolumes, name))
}

// unmergeable returns the finding about an overlay that cannot be merged. The
// template is rendered once more to find the place: overlays need not know it.
func (in *injection) unmergeable(o *overlay, err error) *diag.Diagnostic {
	t, data, at := o.of.t, in.data(), -1
	if bad := data.SetPod(in.seen(), t.Needs()); bad != nil {
		return bad
	}
	if data.ObjectMeta.Namespace == "" {
		data.ObjectMeta.Namespace = in.request.NamespaceName
	}
	var wrong *kube.MergeError
	out, bad := t.Render(&data, in.env(), nil)
	if bad == nil && errors.As(err, &wrong) {
		if doc, err := source.Parse(source.NewText("", out)); err == nil {
			if n := kube.At(doc.Root, wrong.Path); n.Span().IsValid() {
				at = n.Span().Start
			}
		}
	}
	return in.misfit(t, &data, at, "cannot be merged: "+err.Error())
}
