package inject

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// advice is one look at an injected pod for things that are legal, that the
// mesh's injector does without a word, and that seldom are what was meant.
type advice struct {
	name string
	give func(in *injection, pod *source.Node) diag.List
}

// advicesBefore look at the pod as it comes, so that they are given also where
// injection then fails.
var advicesBefore = [...]func(in *injection) diag.List{
	adviseNames, adviseContradictions, adviseAmbient, adviseOptIn, adviseWebhook, adviseUserVolumes, adviseNativeLost, adviseNoContainers,
}

var advices = [...]advice{
	{"effect", adviseEffect},
	{"resources", adviseResources},
	{"labels", adviseLabels},
	{"native sidecar", adviseNative},
	{"mounts", adviseMounts},
	{"stale containers", adviseStale},
	{"pull secrets", advisePullSecrets},
	{"pod security", advisePodSecurity},
	{"placeholder image", advisePlaceholder},
	{"ports", advisePorts},
	{"proxy user", adviseProxyUser},
	{"proxy image", adviseProxyImage},
	{"container names", adviseContainerNames},
	{"volumes", adviseVolumes},
	{"annotations", adviseOverwritten},
	{"probes", adviseProbes},
	{"DNS policy", adviseDNSPolicy},
}

func warn(code string, at source.Span, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Warning, Span: at, Message: message, Fix: fix}
}

func note(code string, at source.Span, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Info, Span: at, Message: message, Fix: fix}
}

func quote(s string) string { return strconv.Quote(s) }

// adviseUserVolumes finds what Kubernetes does not take in user volumes and
// mounts (I-45: a misspelt source makes an empty volume): keys that it does
// not know, at any depth, and values of the wrong type.
func adviseUserVolumes(in *injection) diag.List {
	var list diag.List
	for _, part := range [...]struct {
		name string
		typ  kube.Type
	}{{annot.SidecarUserVolume, kube.TypeVolume}, {annot.SidecarUserVolumeMount, kube.TypeVolumeMount}} {
		n := annotation(in.request.Pod, part.name)
		if n.Kind() != source.String || !json.Valid([]byte(n.Str())) {
			continue // the template says so, if it reads it
		}
		doc, err := source.Parse(n.Embed(part.name))
		if err != nil {
			continue
		}
		items := doc.Root.Items()
		names := make([]string, len(items))
		for i, item := range items {
			names[i] = nameOf(item)
		}
		for _, f := range doc.Root.Fields() {
			items, names = append(items, f.Value), append(names, f.Key)
		}
		for i, item := range items {
			c := userVolume{annotation: part.name, name: names[i]}
			c.unknown(item, part.typ, "")
			list = append(list, c.findings...)
			for _, d := range strictly.Check(item, part.typ) {
				d.Code, d.Severity = CodeUserVolume, diag.Warning
				d.Message = "annotation " + part.name + ": " + quote(names[i]) + ": " + d.Message
				list = append(list, d)
			}
		}
	}
	return list
}

// userVolume is one volume, or mount, of an annotation.
type userVolume struct {
	annotation, name string
	findings         diag.List
}

// unknown finds the keys of a value that its type does not have.
func (c *userVolume) unknown(n *source.Node, typ kube.Type, path string) {
	switch typ.Kind() {
	case kube.KindStruct:
		for _, f := range n.Fields() {
			info := typ.Field(f.Key)
			if info != nil {
				c.unknown(f.Value, info.Type, path+f.Key+".")
				continue
			}
			if hasFieldBut(typ, f.Key) {
				continue // told with the types
			}
			c.findings = append(c.findings, warn(CodeUserVolume, f.KeySpan,
				"annotation "+c.annotation+": "+quote(c.name)+" has "+quote(path+f.Key)+", which is no field of a "+typ.Name()+" and is ignored",
				c.fix(f.Key, typ)))
		}
	case kube.KindList, kube.KindMap:
		for _, item := range n.Items() {
			c.unknown(item, typ.Elem(), path)
		}
		for _, f := range n.Fields() {
			c.unknown(f.Value, typ.Elem(), path+f.Key+".")
		}
	}
}

// hasFieldBut tells a key that is a field but for upper and lower case.
func hasFieldBut(typ kube.Type, key string) bool {
	for _, f := range typ.Fields() {
		if strings.EqualFold(f.Name, key) {
			return true
		}
	}
	return false
}

// fix says which field was meant: one of a name like it, or one of the same
// name at a place above or below.
func (c *userVolume) fix(key string, typ kube.Type) string {
	if fix := placeFor(key, typ); fix != "" {
		return fix
	}
	if kube.TypeVolume.Field(key) != nil && typ != kube.TypeVolume {
		return key + " is a field of the volume: write it further out"
	}
	return ""
}

func nearestField(key string, typ kube.Type) string {
	var names []string
	for _, f := range typ.Fields() {
		names = append(names, f.Name)
	}
	if near := diag.Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// adviseStale finds containers that an earlier injection added, that no
// template makes any more, and that might be the user's for all that is known.
func adviseStale(in *injection, _ *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]struct {
		list  string
		added []string
	}{{listContainers, in.was.containers}, {listInitContainers, in.was.initContainers}} {
		for _, c := range specList(in.user, part.list) {
			name := nameOf(c)
			if in.was.isLeft(name, part.added) && find(specList(in.templates, part.list), name) < 0 {
				list = append(list, warn(CodeStale, c.Span(),
					"container "+quote(name)+" was added by an earlier injection, and no template makes it any more: it stays",
					"remove the container if it is not yours"))
			}
		}
	}
	return list
}

// resourceAnnotations are the annotations that set the proxy's resources, with
// the place of each in a container's resources.
var resourceAnnotations = [...]struct{ name, kind, resource string }{
	{annot.SidecarProxyCPU, "requests", "cpu"},
	{annot.SidecarProxyMemory, "requests", "memory"},
	{annot.SidecarProxyCPULimit, "limits", "cpu"},
	{annot.SidecarProxyMemoryLimit, "limits", "memory"},
}

// adviseResources tells that one annotation about resources turns all the
// defaults off (I-36).
func adviseResources(in *injection, pod *source.Node) diag.List {
	var (
		set  *source.Node
		name string
		lost []string
	)
	proxy, _ := findContainer(pod, proxyContainer)
	for _, a := range resourceAnnotations {
		if n := annotation(in.user, a.name); n != nil {
			set, name = n, a.name
			continue
		}
		byDefault := in.engine.values.Root.Get("global", "proxy", "resources", a.kind, a.resource)
		if !byDefault.IsNull() && proxy != nil && proxy.Get("resources", a.kind, a.resource) == nil {
			lost = append(lost, "the "+strings.TrimSuffix(a.kind, "s")+" of "+byDefault.Scalar()+" "+a.resource)
		}
	}
	if set == nil || len(lost) == 0 {
		return nil
	}
	return diag.List{warn(CodeResources, set.Span(),
		"annotation "+name+" replaces all default resources of the sidecar: it loses "+strings.Join(lost, ", "),
		"set the other annotations too: "+annot.SidecarProxyCPU+", "+annot.SidecarProxyMemory+", "+annot.SidecarProxyCPULimit+", "+annot.SidecarProxyMemoryLimit)}
}

// adviseLabels finds labels that injection made and that the API server would
// refuse (I-37: templates of older releases cut a name in the wrong place).
func adviseLabels(in *injection, pod *source.Node) diag.List {
	var list diag.List
	before := in.request.Pod.Get("metadata", "labels").Finder()
	for _, f := range pod.Get("metadata", "labels").Fields() {
		if before.Get(f.Key) == f.Value || isLabelValue(f.Value.Scalar()) {
			continue
		}
		list = append(list, warn(CodeLabelValue, source.Span{},
			"injection sets label "+f.Key+" to "+quote(f.Value.Scalar())+", which the API server refuses: a label has at most 63 letters, digits, \"-\", \"_\", \".\", and begins and ends with a letter or digit",
			"set the label "+f.Key+" on the pod template"))
	}
	return list
}

func isLabelValue(s string) bool {
	alnum := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	for i := range len(s) {
		if c := s[i]; !alnum(c) && (c != '-' && c != '_' && c != '.' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return len(s) <= 63
}

// adviseNative tells that a template does not know native sidecars (I-41).
func adviseNative(in *injection, _ *source.Node) diag.List {
	if !in.wantsNative() || find(specList(in.templates, listContainers), proxyContainer) < 0 ||
		find(specList(in.templates, listInitContainers), proxyContainer) >= 0 {
		return nil
	}
	return diag.List{note(CodeNotNative, source.Span{},
		"native sidecars are on, but the template makes istio-proxy an ordinary container: init containers run without it", "")}
}

// wantsNative tells whether the sidecar of the pod is to be a native one.
func (in *injection) wantsNative() bool {
	switch annotation(in.user, annot.SidecarNativeSidecar).Scalar() {
	case "true":
		return true
	case "false":
		return false
	}
	return in.native
}

// adviseMounts finds mounts of the sidecar that have no volume (I-45).
func adviseMounts(_ *injection, pod *source.Node) diag.List {
	var list diag.List
	volumes := specList(pod, listVolumes)
	proxy, _ := findContainer(pod, proxyContainer)
	for _, m := range proxy.Get("volumeMounts").Items() {
		if name := nameOf(m); find(volumes, name) < 0 {
			at := m.Span()
			if n := annotation(pod, annot.SidecarUserVolumeMount); n != nil && strings.Contains(n.Scalar(), quote(name)) {
				at = n.Span()
			}
			list = append(list, warn(CodeMount, at,
				"the sidecar mounts volume "+quote(name)+", which the pod does not have: the API server refuses such a pod",
				"add the volume to the pod, or to annotation "+annot.SidecarUserVolume))
		}
	}
	return list
}

// advisePullSecrets tells that a list of pull secrets on the pod keeps that of
// its service account from being used (I-48).
func advisePullSecrets(in *injection, pod *source.Node) diag.List {
	if len(specList(in.user, listPullSecrets)) > 0 || len(specList(pod, listPullSecrets)) == 0 {
		return nil
	}
	return diag.List{note(CodePullSecrets, source.Span{},
		"injection gives the pod pull secrets of its own ("+strings.Join(names(specList(pod, listPullSecrets)), ", ")+"): those of its service account are not used then",
		"list the pull secrets that the pod needs in its own imagePullSecrets")}
}

// advisePlaceholder finds the image "auto" where nothing replaced it (I-51).
func advisePlaceholder(_ *injection, pod *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]string{listInitContainers, listContainers} {
		for _, c := range specList(pod, part) {
			if image := c.Get("image"); image.Scalar() == autoImage {
				list = append(list, warn(CodePlaceholder, image.Span(),
					"container "+quote(nameOf(c))+" keeps the placeholder image auto, which cannot be pulled: no template replaced it",
					"let injection take place, with a template that has this container, or name an image"))
			}
		}
	}
	return list
}

// advisePorts finds ports of the application that the sidecar takes (I-54).
func advisePorts(_ *injection, pod *source.Node) diag.List {
	proxy, _ := findContainer(pod, proxyContainer)
	if proxy == nil {
		return nil
	}
	taken := map[string]bool{}
	for _, p := range proxy.Get("ports").Items() {
		if name := nameOf(p); name != "" {
			taken[name] = true
		}
	}
	var list diag.List
	for _, c := range runningContainers(pod) {
		if nameOf(c) == proxyContainer {
			continue
		}
		for _, p := range c.Get("ports").Items() {
			port, _ := p.Get("containerPort").Int()
			if owner := reservedFor(int(port)); owner != "" && p.Get("protocol").Scalar() != "UDP" {
				list = append(list, warn(CodePort, p.Get("containerPort").Span(),
					"container "+quote(nameOf(c))+" listens on port "+strconv.FormatInt(port, 10)+", which the sidecar needs for "+owner,
					"let the application listen on another port"))
			}
			if taken[nameOf(p)] {
				list = append(list, warn(CodePort, p.Get("name").Span(),
					"container "+quote(nameOf(c))+" has a port named "+quote(nameOf(p))+", as the sidecar does: who asks the pod for the port by its name gets one of the two",
					"give the port another name"))
			}
		}
	}
	return list
}

// runningContainers returns the containers that run all the time: the ordinary
// ones, and the native sidecars.
func runningContainers(pod *source.Node) []*source.Node {
	list := specList(pod, listContainers)
	list = list[:len(list):len(list)]
	for _, c := range specList(pod, listInitContainers) {
		if c.Get("restartPolicy").Scalar() == "Always" {
			list = append(list, c)
		}
	}
	return list
}

// adviseProxyUser finds containers that run as the proxy's user or group, whose
// traffic is taken for the proxy's own and not redirected (O-3).
func adviseProxyUser(in *injection, pod *source.Node) diag.List {
	proxy, _ := findContainer(pod, proxyContainer)
	if proxy == nil || in.unredirected() != "" {
		return nil
	}
	var list diag.List
	for _, what := range [...]struct{ key, words string }{{"runAsUser", "user"}, {"runAsGroup", "group"}} {
		id, ok := proxy.Get("securityContext", what.key).Int()
		if !ok || id == 0 {
			continue
		}
		complain := func(n *source.Node, who string) {
			list = append(list, warn(CodeProxyUser, n.Span(),
				who+" runs as "+what.words+" "+n.Scalar()+", as the sidecar does: its traffic bypasses the sidecar",
				"choose another "+what.key))
		}
		ofPod := pod.Get("spec", "securityContext", what.key)
		inherited := false
		for _, c := range runningContainers(pod) {
			if nameOf(c) == proxyContainer {
				continue
			}
			n := c.Get("securityContext", what.key)
			inherited = inherited || n.IsNull()
			if own, ok := n.Int(); ok && own == id {
				complain(n, "container "+quote(nameOf(c)))
			}
		}
		if own, ok := ofPod.Int(); ok && own == id && inherited {
			complain(ofPod, "the pod")
		}
	}
	return list
}

// adviseProxyImage tells that the user's own istio-proxy container brings its
// own image (O-13).
func adviseProxyImage(in *injection, _ *source.Node) diag.List {
	if in.engine.gen.shape == release.Spec {
		return nil // it is appended beside, not merged
	}
	own, _ := findContainer(in.user, proxyContainer)
	image := own.Get("image")
	if image.Scalar() == "" || image.Scalar() == autoImage {
		return nil
	}
	return diag.List{warn(CodeProxyImage, image.Span(),
		"the pod's own container istio-proxy replaces the sidecar's image by "+quote(image.Scalar()),
		"write image: auto to keep the image of the mesh")}
}

// adviseContainerNames finds containers of the pod's that a template has too.
// Not meant are istio-proxy, which one writes to change the sidecar, and
// templates that change the pod's containers: those give them no image.
func adviseContainerNames(in *injection, pod *source.Node) diag.List {
	if in.engine.gen.shape == release.Spec {
		return adviseTwins(pod)
	}
	var list diag.List
	for _, part := range [...]string{listInitContainers, listContainers} {
		for _, c := range specList(in.user, part) {
			name, theirs := nameOf(c), specList(in.templates, part)
			if i := find(theirs, name); i >= 0 && name != proxyContainer && !theirs[i].Get("image").IsNull() &&
				!contains(in.was.containers, name) && !contains(in.was.initContainers, name) {
				list = append(list, warn(CodeContainerName, c.Get("name").Span(),
					"container "+quote(name)+" has the name of one that the injection template adds: the two become one",
					"rename the container, unless it is meant to change the template's"))
			}
		}
	}
	return append(list, adviseNamesInBothLists(in, pod)...)
}

// adviseNamesInBothLists finds containers of the pod's whose name the template
// gives to one of the other list: names are unique among both.
func adviseNamesInBothLists(in *injection, pod *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]struct{ mine, theirs, kind string }{
		{listContainers, listInitContainers, "an init container"}, {listInitContainers, listContainers, "a container"},
	} {
		for _, c := range specList(in.user, part.mine) {
			name := nameOf(c)
			if find(specList(in.templates, part.theirs), name) < 0 || find(specList(pod, part.mine), name) < 0 || find(specList(pod, part.theirs), name) < 0 {
				continue
			}
			list = append(list, warn(CodeContainerName, c.Get("name").Span(),
				"container "+quote(name)+" has the name of "+part.kind+" that the injection template adds: the API server refuses a pod with two containers of one name",
				"rename the container"))
		}
	}
	return list
}

// adviseVolumes finds volumes of the pod's that a template of the same name
// changes: who mounts them finds other data than the user put there. (Where
// the two have different kinds of source, merging tells.)
func adviseVolumes(in *injection, pod *source.Node) diag.List {
	var list diag.List
	for _, v := range specList(in.user, listVolumes) {
		name, now := nameOf(v), specList(pod, listVolumes)
		i := find(now, name)
		if i < 0 || find(specList(in.templates, listVolumes), name) < 0 || !in.isUsersVolume(name) || contains(in.keptVolumes, name) {
			continue
		}
		path, was, is := difference(v, now[i])
		if path == "" {
			continue
		}
		list = append(list, warn(CodeVolumeClash, v.Span(),
			"the pod's volume "+quote(name)+" has the name of one of the injection template's, which changes it: its "+path+" becomes "+brief(is)+was,
			"rename the pod's volume, where it is mounted too"))
	}
	return list
}

// difference returns the path of the first value that is another in now, in
// the order of its fields, and what it was, in words; "" where there is none.
func difference(was, now *source.Node) (path, before string, value *source.Node) {
	if was.Kind() != source.Map || now.Kind() != source.Map {
		if was.Equal(now) {
			return "", "", nil
		}
		return "value", ", not " + brief(was), now
	}
	for _, f := range now.Fields() {
		old := was.Get(f.Key)
		switch {
		case old == nil && f.Value.IsNull():
		case old == nil:
			return f.Key, "", f.Value
		case old.Kind() == source.Map && f.Value.Kind() == source.Map:
			if path, before, value := difference(old, f.Value); path != "" {
				return f.Key + "." + path, before, value
			}
		case !old.Equal(f.Value):
			return f.Key, ", not " + brief(old), f.Value
		}
	}
	return "", "", nil
}

// brief shows a value as JSON, the beginning of a long one.
func brief(n *source.Node) string {
	const most = 60
	if b := source.AppendJSON(nil, n); len(b) <= most {
		return string(b)
	}
	return n.Kind().Noun()
}

// adviseOverwritten finds annotations and labels of the pod's that a template
// gives another value. Those of an earlier injection are meant to change, and
// what a template makes of the value that was there is that value and more.
func adviseOverwritten(in *injection, pod *source.Node) diag.List {
	if in.was.injected {
		return nil
	}
	var list diag.List
	for _, part := range [...]struct{ field, noun string }{{"annotations", "annotation"}, {"labels", "label"}} {
		theirs := in.templates.Get("metadata", part.field).Finder()
		for _, f := range in.user.Get("metadata", part.field).Fields() {
			was, is := f.Value.Scalar(), pod.Get("metadata", part.field, f.Key).Scalar()
			if theirs.Get(f.Key) == nil || is == was || f.Key == annot.SidecarStatus || f.Key == annot.MultusNetworks ||
				strings.HasPrefix(is, was+",") || strings.HasSuffix(is, ","+was) {
				continue
			}
			fix := "remove the " + part.noun + ": injection sets it"
			if f.Key == annot.Revision && part.field == "annotations" {
				fix = "inject with --revision " + was + " if that revision is meant, or remove the annotation: injection sets it"
			}
			list = append(list, warn(CodeOverwritten, f.Value.Span(),
				"injection sets "+part.noun+" "+f.Key+" to "+quote(is)+", and the pod's own value "+quote(was)+" is lost", fix))
		}
	}
	return list
}

// adviseTwins finds containers of one name, where a template appends another:
// also a sidecar that is there already.
func adviseTwins(pod *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]string{listInitContainers, listContainers} {
		items := specList(pod, part)
		for i, c := range items {
			if at := c.Get("name").Span(); at.IsValid() && find(items[i+1:], nameOf(c)) >= 0 {
				list = append(list, warn(CodeContainerName, at,
					"container "+quote(nameOf(c))+" has the name of one that the injection template appends: the API server refuses the pod",
					"rename the container; take out the sidecar of an earlier injection with uninject"))
			}
		}
	}
	return list
}

// adviseNativeLost finds the native sidecar of an earlier injection that
// somebody has taken the restart policy from (I-69).
func adviseNativeLost(in *injection) diag.List {
	n := annotation(in.request.Pod, annot.SidecarStatus)
	if n == nil {
		return nil
	}
	was, err := parseStatus(n.Scalar())
	if err != nil || !contains(was.initContainers, proxyContainer) {
		return nil
	}
	items := specList(in.request.Pod, listInitContainers)
	i := find(items, proxyContainer)
	if i < 0 || items[i].Get("restartPolicy").Scalar() == "Always" {
		return nil
	}
	return diag.List{warn(CodeNativeLost, items[i].Get("name").Span(),
		"init container istio-proxy was injected as a native sidecar, and has lost restartPolicy: Always since: as it is, the pod never gets past it",
		"find out which tool or webhook drops the field; injection puts it back")}
}

// adviseProbes finds probes that the sidecar answers, or that ask an agent
// which is not there yet.
func adviseProbes(in *injection, pod *source.Node) diag.List {
	proxy, at := findContainer(pod, proxyContainer)
	if proxy == nil || in.isProxyless() {
		return nil
	}
	if rewritesProbes(in.engine, in.user) {
		return adviseEarlyProbes(pod, at.list == listInitContainers)
	}
	if in.unredirected() != "" {
		return nil
	}
	var list diag.List
	inbound := inboundOf(&in.finishing, in.user)
	for _, c := range runningContainers(pod) {
		if nameOf(c) == proxyContainer {
			continue
		}
		for i := range hooks {
			h := &hooks[i]
			kind, action := h.action(c.Get(h.path...))
			port := action.Get("port")
			if port.Kind() == source.String {
				port = namedPort(c, port.Str())
			}
			number, ok := port.Int()
			if !h.probe || !ok || inbound.bypasses(number) != "" || number == in.engine.settings.statusPort {
				continue
			}
			message := " reaches the application through the sidecar as plain text: it fails where mutual TLS is required (mode STRICT)"
			if kind == "tcpSocket" {
				message = " is answered by the sidecar: it passes whether or not the application listens"
			}
			list = append(list, warn(CodeProbe, action.Span(),
				strings.Join(h.path, ".")+" of container "+quote(nameOf(c))+message,
				"let injection lead probes through the agent: remove annotation "+annot.SidecarRewriteAppHTTPProbers+", or set values sidecarInjectorWebhook.rewriteAppHTTPProbe to true"))
		}
	}
	return list
}

// adviseEarlyProbes finds startup probes of restartable init containers, which
// Kubernetes waits for before it starts the agent that they ask.
func adviseEarlyProbes(pod *source.Node, native bool) diag.List {
	var list diag.List
	for _, c := range specList(pod, listInitContainers) {
		if nameOf(c) == proxyContainer {
			break // those after it find the agent
		}
		probe := c.Get("startupProbe")
		get := probe.Get("httpGet")
		if c.Get("restartPolicy").Scalar() != "Always" || get.Get("path").Scalar() != hooks[startupHook].url(nameOf(c)) {
			continue
		}
		fix := "make the sidecar a native one (--native-sidecars true), or probe with a command (exec)"
		if native {
			fix = "probe with a command (exec), or move the container behind istio-proxy"
		}
		list = append(list, warn(CodeProbe, probe.Span(),
			"startupProbe of init container "+quote(nameOf(c))+" asks the agent beside the proxy, which is started only when the probe has passed: the pod never starts", fix))
	}
	return list
}

// adviseDNSPolicy tells that the sidecar needs the cluster's names.
func adviseDNSPolicy(_ *injection, pod *source.Node) diag.List {
	policy := pod.Get("spec", "dnsPolicy")
	message, fix := "", "remove dnsPolicy, or write ClusterFirst"
	switch policy.Scalar() {
	case "Default":
		message = "the pod asks the name server of its node, which does not know the services of the cluster"
	case "None":
		message = "the pod asks the name servers of its dnsConfig only"
		fix = "see to it that a name server of dnsConfig knows the services of the cluster, or write ClusterFirst"
	default:
		return nil
	}
	return diag.List{warn(CodeDNSPolicy, policy.Span(),
		"dnsPolicy is "+policy.Scalar()+": "+message+", and the sidecar may not find the control plane", fix)}
}

// adviseNoContainers finds a pod that has nothing to put a sidecar beside
// (O-10).
func adviseNoContainers(in *injection) diag.List {
	pod := in.request.Pod
	if len(specList(pod, listContainers)) > 0 {
		return nil
	}
	at := pod.Span()
	for _, path := range [...]string{"spec", listContainers} {
		f, ok := pod.Field(path)
		if !ok {
			break
		}
		at, pod = f.KeySpan, f.Value
	}
	return diag.List{warn(CodeNoContainers, at,
		"the pod has no containers: it would consist of the sidecar only", "list the containers at spec.containers of the pod")}
}
