package inject

import (
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// advice is one look at an injected pod for things that are legal, that the
// mesh's injector does without a word, and that seldom are what was meant.
type advice struct {
	name string
	give func(in *injection, pod *source.Node) diag.List
}

var advices = [...]advice{
	{"names", adviseNames},
	{"resources", adviseResources},
	{"labels", adviseLabels},
	{"native sidecar", adviseNative},
	{"user volumes", adviseUserVolumes},
	{"mounts", adviseMounts},
	{"stale containers", adviseStale},
	{"pull secrets", advisePullSecrets},
	{"pod security", advisePodSecurity},
	{"placeholder image", advisePlaceholder},
	{"ports", advisePorts},
	{"proxy user", adviseProxyUser},
	{"proxy image", adviseProxyImage},
	{"DNS policy", adviseDNSPolicy},
}

func warn(code string, at source.Span, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Warning, Span: at, Message: message, Fix: fix}
}

func note(code string, at source.Span, message, fix string) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Info, Span: at, Message: message, Fix: fix}
}

func quote(s string) string { return strconv.Quote(s) }

// adviseNames finds annotations and labels that look like the mesh's and are
// none of them, and values of another form than the mesh reads (I-46).
func adviseNames(in *injection, _ *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]struct {
		key  string
		kind annot.Kind
	}{{"annotations", annot.Annotation}, {"labels", annot.Label}} {
		for _, f := range in.request.Pod.Get("metadata", part.key).Fields() {
			if !annot.IsMesh(f.Key) || f.Value.IsNull() {
				continue
			}
			k, known := annot.Lookup(part.kind, f.Key)
			switch {
			case !known:
				fix := ""
				if near := annot.Nearest(part.kind, f.Key); near != "" {
					fix = "did you mean " + near + "?"
				}
				list = append(list, warn(CodeUnknownName, f.KeySpan,
					"the mesh has no "+part.kind.String()+" "+f.Key+": it has no effect", fix))
			case f.Key == annot.SidecarInject || k.Refused || k.Set == annot.ByMesh:
				// Judged elsewhere, or written by the mesh.
			default:
				if wrong := k.Check(f.Value.Scalar()); wrong != "" {
					list = append(list, warn(CodeValueForm, f.Value.Span(), part.kind.String()+" "+f.Key+" "+wrong, k.Form))
				}
			}
		}
	}
	return list
}

// adviseUserVolumes finds keys of user volumes and mounts that Kubernetes does
// not know (I-45: a misspelt source makes an empty volume).
func adviseUserVolumes(in *injection, _ *source.Node) diag.List {
	var list diag.List
	for _, part := range [...]struct {
		name string
		typ  kube.Type
	}{{annot.SidecarUserVolume, kube.TypeVolume}, {annot.SidecarUserVolumeMount, kube.TypeVolumeMount}} {
		n := annotation(in.user, part.name)
		if n == nil {
			continue
		}
		root, err := parseJSON(n.Scalar())
		if err != nil {
			continue // the template says so, if it reads it
		}
		for _, item := range root.Fields() {
			for _, f := range item.Value.Fields() {
				if part.typ.Field(f.Key) == nil {
					list = append(list, warn(CodeUserVolume, n.Span(),
						"annotation "+part.name+": "+quote(item.Key)+" has "+quote(f.Key)+", which is no field of a "+part.typ.Name()+" and is ignored",
						nearestField(f.Key, part.typ)))
				}
			}
		}
	}
	return list
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
	before := in.request.Pod.Get("metadata", "labels")
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

// advisePodSecurity tells what of the sidecar the namespace's Pod Security
// level forbids (I-49).
func advisePodSecurity(in *injection, pod *source.Node) diag.List {
	level := in.request.Namespace.Get("metadata", "labels", annot.PodSecurityEnforce).Scalar()
	if level != "restricted" && level != "baseline" {
		return nil
	}
	var list diag.List
	for _, part := range [...]string{listInitContainers, listContainers} {
		for _, c := range specList(pod, part) {
			if name := nameOf(c); find(specList(in.templates, part), name) >= 0 {
				for _, what := range offences(c, pod, level) {
					list = append(list, warn(CodePodSecurity, source.Span{},
						"container "+quote(name)+" breaks Pod Security level "+level+" of the namespace: "+what[0], what[1]))
				}
			}
		}
	}
	return list
}

// offences lists what a container does that a Pod Security level forbids, and
// the setting of the install that cures it.
func offences(c, pod *source.Node, level string) [][2]string {
	const useCNI = "install the mesh's CNI plugin (values pilot.cni.enabled), which needs no privileges in the pod"
	var list [][2]string
	context := c.Get("securityContext")
	for _, n := range context.Get("capabilities", "add").Items() {
		if n.Scalar() != "NET_BIND_SERVICE" {
			list = append(list, [2]string{"it adds capability " + n.Scalar(), useCNI})
		}
	}
	if context.Get("privileged").IsTrue() {
		list = append(list, [2]string{"it is privileged", "set global.proxy.privileged to false"})
	}
	if level == "baseline" {
		return list
	}
	if context.Get("allowPrivilegeEscalation").IsTrue() {
		list = append(list, [2]string{"it allows privilege escalation", "set global.proxy.privileged to false"})
	}
	if id, ok := context.Get("runAsUser").Int(); ok && id == 0 || !context.Get("runAsNonRoot").IsTrue() {
		list = append(list, [2]string{"it may run as root", useCNI})
	}
	profile := context.Get("seccompProfile", "type").Scalar()
	if profile == "" {
		profile = pod.Get("spec", "securityContext", "seccompProfile", "type").Scalar()
	}
	if profile != "RuntimeDefault" && profile != "Localhost" {
		list = append(list, [2]string{"it has no seccomp profile", `set global.proxy.seccompProfile to {type: RuntimeDefault}`})
	}
	return list
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
	var list diag.List
	for _, c := range specList(pod, listContainers) {
		if nameOf(c) == proxyContainer {
			continue
		}
		for _, p := range c.Get("ports").Items() {
			port, _ := p.Get("containerPort").Int()
			if owner := reservedFor(int(port)); owner != "" {
				list = append(list, warn(CodePort, p.Get("containerPort").Span(),
					"container "+quote(nameOf(c))+" listens on port "+strconv.FormatInt(port, 10)+", which the sidecar needs for "+owner,
					"let the application listen on another port"))
			}
		}
	}
	return list
}

// adviseProxyUser finds containers that run as the proxy's user, whose traffic
// is taken for the proxy's own and not redirected (O-3).
func adviseProxyUser(in *injection, pod *source.Node) diag.List {
	proxy, _ := findContainer(pod, proxyContainer)
	user, ok := proxy.Get("securityContext", "runAsUser").Int()
	if !ok || user == 0 || len(specList(pod, listInitContainers)) == 0 {
		return nil
	}
	var list diag.List
	complain := func(n *source.Node, who string) {
		list = append(list, warn(CodeProxyUser, n.Span(),
			who+" runs as user "+n.Scalar()+", as the sidecar does: its traffic bypasses the sidecar",
			"choose another runAsUser"))
	}
	for _, c := range specList(pod, listContainers) {
		if n := c.Get("securityContext", "runAsUser"); nameOf(c) != proxyContainer && n != nil {
			if id, ok := n.Int(); ok && id == user {
				complain(n, "container "+quote(nameOf(c)))
			}
		}
	}
	if n := pod.Get("spec", "securityContext", "runAsUser"); n != nil {
		if id, ok := n.Int(); ok && id == user {
			complain(n, "the pod")
		}
	}
	return list
}

// adviseProxyImage tells that the user's own istio-proxy container brings its
// own image (O-13).
func adviseProxyImage(in *injection, _ *source.Node) diag.List {
	own, _ := findContainer(in.user, proxyContainer)
	image := own.Get("image")
	if image.Scalar() == "" || image.Scalar() == autoImage {
		return nil
	}
	return diag.List{warn(CodeProxyImage, image.Span(),
		"the pod's own container istio-proxy replaces the sidecar's image by "+quote(image.Scalar()),
		"write image: auto to keep the image of the mesh")}
}

// adviseDNSPolicy tells that the sidecar needs the cluster's names.
func adviseDNSPolicy(_ *injection, pod *source.Node) diag.List {
	policy := pod.Get("spec", "dnsPolicy")
	if policy.Scalar() == "" || policy.Scalar() == "ClusterFirst" {
		return nil
	}
	return diag.List{warn(CodeDNSPolicy, policy.Span(),
		"dnsPolicy is "+policy.Scalar()+", not ClusterFirst: the sidecar may not find the control plane", "")}
}
