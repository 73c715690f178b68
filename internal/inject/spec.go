package inject

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// This file is how releases until 1.8 inject. The template renders a list of
// things to append to a pod (the mesh calls it a SidecarInjectionSpec), and a
// generation's steps, which differ between admission and the command line,
// append them.

// specLists are the lists that a spec may have, under the names that they have
// in a pod.
var specLists = [...]string{listInitContainers, listContainers, listVolumes, listPullSecrets}

// appending is one run of the steps.
type appending struct {
	*injection
	// spec holds what the template rendered: lists, and dnsConfig.
	spec *source.Node
	// rewriteProbes and redirect are the other fields that it may have.
	rewriteProbes bool
	redirect      *source.Node
	// hash is that of the template's text.
	hash string
}

// specStep is one thing that is done to the spec or to the pod.
type specStep struct {
	name string
	do   func(*appending, *source.Node) *source.Node
}

// applySpec renders the template and runs the steps of the door.
func applySpec(in *injection, pod *source.Node) (*source.Node, diag.List) {
	in.user = pod
	l := in.engine.templates.list[0]
	if bad := l.parse(); bad != nil {
		return nil, diag.List{bad}
	}
	rendered, bad := in.renderOne(l, pod)
	if bad != nil {
		return nil, diag.List{bad}
	}
	a := &appending{
		injection: in, spec: prunedSpec(rendered), hash: l.hash,
		rewriteProbes: fieldFold(rendered, "rewriteAppHTTPProbe").IsTrue(),
		redirect:      fieldFold(rendered, "podRedirectAnnot"),
	}
	for _, s := range in.engine.gen.specSteps[in.request.Door] {
		pod = s.do(a, pod)
	}
	in.templates = source.NewMap(source.F("spec", a.spec))
	return pod, nil
}

// hashOf is the version that the status annotation tells: the hash of the
// template as it stands in the configuration.
func hashOf(text *source.Text) string {
	sum := sha256.Sum256(text.Data)
	return hex.EncodeToString(sum[:])
}

// fieldFold returns a field whose name is matched as encoding/json does.
func fieldFold(n *source.Node, name string) *source.Node {
	for _, f := range n.Fields() {
		if strings.EqualFold(f.Key, name) {
			return f.Value
		}
	}
	return nil
}

// judgeSpec tells what is wrong with a rendered spec.
func judgeSpec(root *source.Node) diag.List {
	findings := unknownKeys(root)
	for _, name := range append(specLists[:], "dnsConfig") {
		value := fieldFold(root, name)
		typ := kube.TypePodSpec.Field(name).Type
		c := kube.Checker{At: kube.Path{name}}
		findings = append(findings, c.Check(value, typ)...)
		if !findings.HasErrors() {
			findings = append(findings, unknownFields(value, typ, name)...)
		}
	}
	return findings
}

// specKeys are the keys that a spec of any release had.
var specKeys = []string{
	listInitContainers, listContainers, listVolumes, listPullSecrets,
	"dnsConfig", "rewriteAppHTTPProbe", redirectAnnotations, "holdApplicationUntilProxyStarts",
}

// redirectAnnotations is the key of annotations that tell what is redirected.
const redirectAnnotations = "podRedirectAnnot"

// unknownKeys finds what a spec does not have. The release drops it without a
// word, and with it whatever the author meant to append.
func unknownKeys(root *source.Node) diag.List {
	var findings diag.List
	for _, f := range root.Fields() {
		known := slices.ContainsFunc(specKeys, func(key string) bool { return strings.EqualFold(key, f.Key) })
		if known {
			continue
		}
		fix := "it may have " + strings.Join(specKeys, ", ")
		if near := diag.Nearest(f.Key, specKeys); near != "" {
			fix = "did you mean " + near + "?"
		}
		findings = append(findings, &diag.Diagnostic{
			Severity: diag.Error, Span: f.KeySpan, Message: f.Key + " is nothing that the template may append to a pod: " + fix,
		})
	}
	return findings
}

// unknownFields finds what Kubernetes does not have. Two things are passed
// over that the mesh's own templates had, and that Kubernetes drops.
func unknownFields(n *source.Node, typ kube.Type, path string) diag.List {
	var findings diag.List
	switch typ.Kind() {
	case kube.KindList:
		for _, item := range n.Items() {
			findings = append(findings, unknownFields(item, typ.Elem(), path)...)
		}
	case kube.KindStruct:
		for _, f := range n.Fields() {
			info := fieldOf(typ, f.Key)
			switch {
			case info != nil:
				findings = append(findings, unknownFields(f.Value, info.Type, path+"."+f.Key)...)
			case !isPassedOver(f.Key):
				findings = append(findings, &diag.Diagnostic{
					Severity: diag.Error, Span: f.KeySpan, Message: path + "." + f.Key + " is no field of Kubernetes",
				})
			}
		}
	}
	return findings
}

func isPassedOver(key string) bool { return key == "fsGroup" || key == "restartPolicy" }

// fieldOf finds a field of a type as encoding/json does.
func fieldOf(typ kube.Type, key string) *kube.FieldInfo {
	if info := typ.Field(key); info != nil {
		return info
	}
	fields := typ.Fields()
	for i := range fields {
		if strings.EqualFold(fields[i].Name, key) {
			return &fields[i]
		}
	}
	return nil
}

// prunedSpec returns the lists and dnsConfig of a rendered spec as Kubernetes'
// types of the time held them.
func prunedSpec(root *source.Node) *source.Node {
	spec := source.NewMap()
	for _, name := range append(specLists[:], "dnsConfig") {
		value := fieldFold(root, name)
		if value.IsNull() {
			continue
		}
		typ := kube.TypePodSpec.Field(name).Type
		spec = spec.With(name, kube.Normalize(pruned(value, typ), typ))
	}
	return withoutRestartPolicy(source.NewMap(source.F("spec", spec))).Get("spec")
}

// pruned returns a value without the fields that its type does not have. It
// shares with n all that does not change.
func pruned(n *source.Node, typ kube.Type) *source.Node {
	switch {
	case typ.Kind() == kube.KindList && n.Kind() == source.List:
		items := mapped(n.Items(), func(item *source.Node) *source.Node { return pruned(item, typ.Elem()) })
		if same(items, n.Items()) {
			return n
		}
		return n.WithItems(items...)
	case typ.Kind() == kube.KindStruct && n.Kind() == source.Map:
		all := n.Fields()
		var kept []source.Field // nil as long as nothing changes
		for i, f := range all {
			info := fieldOf(typ, f.Key)
			change := info == nil
			if info != nil {
				was := f
				f.Key, f.Value = info.Name, pruned(f.Value, info.Type)
				change = f.Key != was.Key || f.Value != was.Value
			}
			if change && kept == nil {
				kept = append(make([]source.Field, 0, len(all)), all[:i]...)
			}
			if kept != nil && info != nil {
				kept = append(kept, f)
			}
		}
		if kept != nil {
			return n.WithFields(kept...)
		}
	}
	return n
}

// Steps that look at the spec.

// setConcurrency gives the proxy as many worker threads as it has CPUs, where
// the template does not say.
func setConcurrency(a *appending, pod *source.Node) *source.Node {
	containers := a.spec.Get(listContainers)
	at := find(containers.Items(), proxyContainer)
	if at < 0 {
		return pod
	}
	proxy := containers.Items()[at]
	args := proxy.Get("args")
	if hasConcurrency(args.Items()) {
		return pod
	}
	n, ok := wholeCPUs(proxy.Get("resources", "limits", "cpu"))
	if !ok {
		if n, ok = wholeCPUs(proxy.Get("resources", "requests", "cpu")); !ok {
			return pod
		}
	}
	more := append(append([]*source.Node(nil), args.Items()...),
		source.NewString("--concurrency"), source.NewString(source.NewInt(int64(n)).Scalar()))
	proxy = proxy.With("args", args.WithItems(more...))
	a.spec = a.spec.With(listContainers, containers.WithItems(replaced(containers.Items(), at, proxy)...))
	return pod
}

func hasConcurrency(args []*source.Node) bool {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg.Scalar(), "--concurrency=")
		if !ok && i+1 < len(args) && (arg.Scalar() == "--concurrency" || arg.Scalar() == "-concurrency") {
			value, ok = args[i+1].Scalar(), true
		}
		if n, whole := source.NewNumber(value).Int(); ok && whole && n > 0 {
			return true
		}
	}
	return false
}

// serviceAccountPath is where Kubernetes mounts the token of a service account.
const serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// shareServiceAccount lets the proxy mount what an application mounts in place
// of the service account's token.
func shareServiceAccount(a *appending, pod *source.Node) *source.Node {
	var mount *source.Node
	for _, c := range specList(pod, listContainers) {
		for _, m := range c.Get("volumeMounts").Items() {
			if m.Get("mountPath").Scalar() == serviceAccountPath {
				mount = m
			}
		}
	}
	containers := a.spec.Get(listContainers)
	at := find(containers.Items(), proxyContainer)
	if mount == nil || at < 0 {
		return pod
	}
	proxy := containers.Items()[at]
	mounts := proxy.Get("volumeMounts")
	more := append(append([]*source.Node(nil), mounts.Items()...), mount)
	proxy = proxy.With("volumeMounts", mounts.WithItems(more...))
	a.spec = a.spec.With(listContainers, containers.WithItems(replaced(containers.Items(), at, proxy)...))
	return pod
}

// Steps that change the pod.

// removeEarlier takes out what an earlier injection added: what the status
// annotation names, or where that names nothing, what the oldest releases added.
func removeEarlier(_ *appending, pod *source.Node) *source.Node {
	var s status
	if n := annotation(pod, annot.SidecarStatus); n != nil {
		if read, err := parseStatus(n.Scalar()); err == nil {
			s = read
		}
	}
	if len(s.initContainers)+len(s.containers)+len(s.volumes)+len(s.pullSecrets) == 0 {
		s = status{
			initContainers: []string{initContainer, coreDumpContainer}, containers: []string{proxyContainer},
			volumes: []string{"istio-certs", "istio-envoy"},
		}
	}
	for list, names := range map[string][]string{
		listInitContainers: s.initContainers, listContainers: s.containers,
		listVolumes: s.volumes, listPullSecrets: s.pullSecrets,
	} {
		items := specList(pod, list)
		kept := make([]*source.Node, 0, len(items))
		for _, item := range items {
			if !contains(names, nameOf(item)) {
				kept = append(kept, item)
			}
		}
		if len(kept) < len(items) {
			pod = withSpecList(pod, list, kept)
		}
	}
	return pod
}

// appendTo returns the step that appends the lists of the spec. first tells the
// containers that go to the front of their list instead.
func appendTo(lists []string, first func(a *appending, name string) bool) func(*appending, *source.Node) *source.Node {
	return func(a *appending, pod *source.Node) *source.Node {
		for _, list := range lists {
			items := append([]*source.Node(nil), specList(pod, list)...)
			for _, added := range a.spec.Get(list).Items() {
				if first(a, nameOf(added)) {
					items = append([]*source.Node{added}, items...)
				} else {
					items = append(items, added)
				}
			}
			pod = withSpecList(pod, list, items)
		}
		return pod
	}
}

func nothingFirst(*appending, string) bool { return false }

// setDNS replaces the pod's dnsConfig where the spec has one.
func setDNS(a *appending, pod *source.Node) *source.Node {
	if dns := present(a.spec.Get("dnsConfig")); dns != nil {
		return pod.WithAt(dns, "spec", "dnsConfig")
	}
	return pod
}

// assignDNS gives the pod the spec's dnsConfig, even none.
func assignDNS(a *appending, pod *source.Node) *source.Node {
	if present(a.spec.Get("dnsConfig")) == nil && pod.Get("spec", "dnsConfig") != nil {
		return pod.With("spec", pod.Get("spec").Without("dnsConfig"))
	}
	return setDNS(a, pod)
}

// replaceSecurity makes the group of all files the proxy's, and drops all else
// of the pod's security context.
func replaceSecurity(wanted func(*appending) bool) func(*appending, *source.Node) *source.Node {
	return func(a *appending, pod *source.Node) *source.Node {
		if !wanted(a) {
			return pod
		}
		return pod.WithAt(source.NewMap(source.F("fsGroup", source.NewInt(defaultProxyID))), "spec", "securityContext")
	}
}

// setFSGroup makes the group of all files the proxy's.
func setFSGroup(wanted func(*appending) bool) func(*appending, *source.Node) *source.Node {
	return func(a *appending, pod *source.Node) *source.Node {
		if !wanted(a) {
			return pod
		}
		return pod.WithAt(source.NewInt(defaultProxyID), "spec", "securityContext", "fsGroup")
	}
}

// usesTokenMount tells that the proxy gets certificates by a token from the
// node agent.
func usesTokenMount(a *appending) bool {
	m := &a.engine.mesh.Former.Mesh
	return m.EnableSdsTokenMount && m.SdsUdsPath != ""
}

// usesNodeAgent tells that the proxy gets certificates from the node agent.
func usesNodeAgent(a *appending) bool { return a.engine.mesh.Former.Mesh.SdsUdsPath != "" }

// writeStatus notes what was added.
func writeStatus(a *appending, pod *source.Node) *source.Node {
	s := status{
		initContainers: names(a.spec.Get(listInitContainers).Items()),
		containers:     names(a.spec.Get(listContainers).Items()),
		volumes:        names(a.spec.Get(listVolumes).Items()),
		pullSecrets:    names(a.spec.Get(listPullSecrets).Items()),
	}
	b := append(appendQuoted([]byte(`{"version":`), a.hash), ',')
	return withAnnotation(pod, annot.SidecarStatus, string(append(s.appendLists(b), '}')))
}

// addAnnotations writes the annotations that the configuration adds to every
// pod.
func addAnnotations(a *appending, pod *source.Node) *source.Node {
	injected := a.engine.config.InjectedAnnotations
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(injected)) {
		pairs = append(pairs, name, injected[name])
	}
	return withAnnotations(pod, pairs...)
}

// addRedirectAnnotations writes the annotations that the template made for
// redirection.
func addRedirectAnnotations(a *appending, pod *source.Node) *source.Node {
	for _, f := range a.redirect.Fields() {
		if _, known := annot.Lookup(annot.Annotation, f.Key); known && f.Value.Scalar() != "" {
			pod = withAnnotation(pod, f.Key, f.Value.Scalar())
		}
	}
	return pod
}

// withDefaultLabel sets a label unless the pod has a value for it.
func withDefaultLabel(pod *source.Node, name, value string) *source.Node {
	if pod.Get("metadata", "labels", name).Scalar() != "" {
		return pod
	}
	return withText(pod, value, "metadata", "labels", name)
}

// markTLS says that the pod takes mutual TLS.
func markTLS(_ *appending, pod *source.Node) *source.Node {
	return withDefaultLabel(pod, annot.SecurityTLSMode, "istio")
}

// nameService labels the pod with the service that it belongs to.
func nameService(a *appending, pod *source.Node) *source.Node {
	first := func(last string, names ...string) string {
		for _, name := range names {
			if v := a.user.Get("metadata", "labels", name).Scalar(); v != "" {
				return v
			}
		}
		return last
	}
	pod = withDefaultLabel(pod, annot.ServiceCanonicalName,
		first(a.request.Owner.Name, annot.ServiceCanonicalName, annot.KubernetesName, "app"))
	return withDefaultLabel(pod, annot.ServiceCanonicalRevision,
		first("latest", annot.ServiceCanonicalRevision, annot.KubernetesVersion, "version"))
}

// markRevision labels the pod with the control plane's revision.
func markRevision(a *appending, pod *source.Node) *source.Node {
	return withDefaultLabel(pod, annot.Revision, a.request.Revision)
}

// setRevision labels the pod with the revision, whatever it is and was.
func setRevision(a *appending, pod *source.Node) *source.Node {
	return withText(pod, a.request.Revision, "metadata", "labels", annot.Revision)
}

// markNetwork labels the pod with the network that a container was told.
func markNetwork(a *appending, pod *source.Node) *source.Node {
	for _, c := range a.spec.Get(listContainers).Items() {
		if network, ok := variable(c, envNetwork); ok && network != "" {
			pod = withDefaultLabel(pod, annot.TopologyNetwork, network)
		}
	}
	return pod
}

// setPathEnv puts the variables of the request path on the proxy of the spec.
func setPathEnv(a *appending, pod *source.Node) *source.Node {
	if len(a.finishing.env) == 0 {
		return pod
	}
	whole := source.NewMap(source.F("spec", a.spec))
	a.spec = setClusterEnv(&a.finishing, whole).Get("spec")
	return pod
}

// mergeMetrics6 is the metrics merge of releases 1.6 to 1.8.
func mergeMetrics6(a *appending, pod *source.Node) *source.Node {
	if !mergesMetrics(&a.engine.settings, pod) {
		return pod
	}
	get := func(name string) string { return annotation(pod, name).Scalar() }
	return pointAtAgent(&a.finishing, pod, scrape{
		scrape: get(annot.PrometheusScrape), path: get(annot.PrometheusPath), port: get(annot.PrometheusPort),
	}, nil)
}

// announceMetrics is what the command line of 1.7 made of the merge: the
// annotations alone.
func announceMetrics(a *appending, pod *source.Node) *source.Node {
	if !mergesMetrics(&a.engine.settings, pod) {
		return pod
	}
	pod = withAnnotation(pod, annot.PrometheusPath, mergedMetricsPath)
	pod = withAnnotation(pod, annot.PrometheusPort, a.engine.settings.statusPortText)
	return withAnnotation(pod, annot.PrometheusScrape, "true")
}
