package inject

import (
	"bytes"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// What annotations and labels say is read from names, and nothing complains
// about a name that nobody reads: the advice below does.

// metadataKinds lists the two maps of names of an object's metadata.
var metadataKinds = [...]struct {
	key  string
	kind annot.Kind
}{{"annotations", annot.Annotation}, {"labels", annot.Label}}

// bearer is an object whose annotations and labels are looked at.
type bearer struct {
	metadata *source.Node
	// scope is what the object is; 0 where the table of names does not know.
	scope annot.Scope
	// what names it in messages: "a pod", "a Service".
	what string
}

// judge finds names that the mesh does not have, those that it reads from
// other objects, and values of another form than it reads (I-46).
func (b *bearer) judge() diag.List {
	var list diag.List
	for _, part := range metadataKinds {
		for _, f := range b.metadata.Get(part.key).Fields() {
			if f.Value.IsNull() {
				continue
			}
			k, known := annot.Lookup(part.kind, f.Key)
			if !known {
				if what, fix := b.unknown(part.kind, f.Key); what != "" {
					list = append(list, warn(CodeUnknownName, f.KeySpan, what+": it has no effect", fix))
				}
				continue
			}
			if !aboutMesh(f.Key) || k.Set == annot.ByMesh {
				continue
			}
			switch {
			case b.scope != 0 && k.Scope&(b.scope|annot.Any) == 0:
				list = append(list, warn(CodeNoEffect, f.KeySpan,
					part.kind.String()+" "+f.Key+" is read from "+k.Scope.String()+", and has no effect on "+b.what,
					"move it to where it belongs"))
			case f.Key == annot.SidecarInject || k.Refused || f.Key == annot.SidecarUserVolume || f.Key == annot.SidecarUserVolumeMount:
				// Judged with the decision, before injection, and by templates.
			default:
				if wrong := k.Check(f.Value.Scalar()); wrong != "" {
					list = append(list, warn(CodeValueForm, k.Place(f.Value), part.kind.String()+" "+f.Key+" "+wrong, k.Form))
				}
			}
		}
	}
	return list
}

// aboutMesh tells the names that steer the mesh, and those of Kubernetes that
// decide what the mesh may do.
func aboutMesh(name string) bool {
	return annot.IsMesh(name) || name == annot.NamespaceInjection ||
		name == annot.PodSecurityEnforce || name == annot.PodSecurityEnforceVersion
}

// unknown returns what to say about a name that the table does not have, and
// how to mend it; "" where it is someone else's.
func (b *bearer) unknown(kind annot.Kind, name string) (what, fix string) {
	near := ""
	what = "the mesh has no " + kind.String() + " " + name
	switch other := 1 - kind; {
	case annot.IsMesh(name) || name == annot.NamespaceInjection:
		if k, ok := annot.Lookup(other, name); ok && k.Set == annot.ByPeople {
			return name + " is read as " + article(other) + ", not as " + article(kind), "move it to " + metadataKinds[other].key
		} else if ok && b.scope == annot.Pod {
			return name + " is read as " + article(other) + ", not as " + article(kind), "remove it: the mesh sets " + article(other) + " of that name by itself"
		} else if ok || strings.HasPrefix(name, annot.OperatorPrefix) {
			return "", ""
		}
		if near = annot.Nearest(kind, name); near == "" && b.scope != annot.Pod {
			return "", "" // what installs the mesh marks its objects with names of its own
		}
	default:
		if near = annot.Misspelt(kind, name); near == "" {
			return "", ""
		}
		what = kind.String() + " " + name + " is none of the mesh's"
	}
	if near != "" {
		fix = "did you mean " + near + "?"
	}
	return what, fix
}

func article(k annot.Kind) string {
	if k == annot.Annotation {
		return "an annotation"
	}
	return "a label"
}

// adviseNames looks at the names of the pod.
func adviseNames(in *injection) diag.List {
	b := bearer{in.request.Pod.Get("metadata"), annot.Pod, "a pod"}
	return b.judge()
}

// CheckObject finds, in the annotations and labels of an object that is
// neither a pod nor makes any, names that the mesh does not have or reads from
// other objects, and values of another form than it reads.
func CheckObject(ref kube.Ref, object *source.Node) diag.List {
	b := bearer{object.Get("metadata"), scopeOf(ref), "a " + ref.Kind}
	list := b.judge()
	if b.scope == annot.Namespace {
		list = append(list, checkIDRanges(object)...)
	}
	return list
}

// scopeOf returns what an object is to the table of names, 0 for what the
// table does not know.
func scopeOf(ref kube.Ref) annot.Scope {
	switch kube.Group(ref.APIVersion) + "/" + ref.Kind {
	case "/Namespace":
		return annot.Namespace
	case "/Service":
		return annot.Service
	case "/Node":
		return annot.Node
	case "networking.istio.io/ServiceEntry":
		return annot.ServiceEntry
	case "networking.istio.io/WorkloadEntry":
		return annot.WorkloadEntry
	case "gateway.networking.k8s.io/Gateway":
		return annot.Gateway
	case "gateway.networking.k8s.io/GatewayClass":
		return annot.GatewayClass
	case "networking.k8s.io/Ingress", "extensions/Ingress":
		return annot.Ingress
	}
	return 0
}

// CheckWorkload finds annotations and labels that stand on a workload, but are
// read from the pods that it makes (I-58).
func CheckWorkload(w kube.Workload) diag.List {
	var list diag.List
	for _, above := range w.Above() {
		if isInstalled(above.Metadata) {
			continue
		}
		b := bearer{above.Metadata, 0, "a " + w.Ref.Kind}
		list = append(list, b.judge()...)
		for _, part := range metadataKinds {
			for _, f := range above.Metadata.Get(part.key).Fields() {
				k, known := annot.Lookup(part.kind, f.Key)
				if !known || k.Set == annot.ByMesh || !aboutMesh(f.Key) || k.Scope&annot.Any != 0 || f.Value.IsNull() {
					continue
				}
				name := part.kind.String() + " " + f.Key
				if k.Scope&annot.Pod == 0 {
					list = append(list, warn(CodeNoEffect, f.KeySpan,
						name+" is read from "+k.Scope.String()+", and has no effect on a "+w.Ref.Kind, "move it to where it belongs"))
					continue
				}
				at := append(w.Path[:len(w.Path):len(w.Path)], "metadata", part.key)
				of := w.Template.Get("metadata", part.key, f.Key)
				if !of.IsNull() && of.Scalar() == f.Value.Scalar() {
					continue // said to the pods, too
				}
				has := "which does not have it"
				if !of.IsNull() {
					has = "where it is " + quote(of.Scalar())
				}
				list = append(list, warn(CodeOnWorkload, f.KeySpan,
					name+" stands on the "+above.What+" and has no effect there: it is read from the pod template, "+has,
					"move it to "+at.String()))
			}
		}
	}
	return list
}

// isInstalled tells the objects of the mesh itself, whose labels say what made
// them.
func isInstalled(metadata *source.Node) bool {
	labels := metadata.Get("labels")
	return !labels.Get(annot.OperatorComponent).IsNull() || !labels.Get(annot.GatewayManaged).IsNull()
}

// adviseContradictions finds a label and an annotation that say different
// things about one question.
func adviseContradictions(in *injection) diag.List {
	var list diag.List
	pod := in.request.Pod
	says, hidden := label(pod, annot.SidecarInject), annotation(pod, annot.SidecarInject)
	if says != nil && hidden != nil && says.Scalar() != hidden.Scalar() {
		counts := "the label counts"
		if v := says.Scalar(); v != "true" && v != "false" {
			counts = "the label hides it, and counts as unset itself"
		}
		list = append(list, warn(CodeContradiction, hidden.Span(),
			"annotation "+annot.SidecarInject+" is "+quote(hidden.Scalar())+", but the label of that name is "+quote(says.Scalar())+": "+counts,
			"remove the annotation"))
	}
	return list
}

// adviseAmbient tells that a pod with a sidecar is not in ambient mode.
func adviseAmbient(in *injection) diag.List {
	if n := label(in.request.Pod, annot.DataplaneMode); n.Scalar() == "ambient" {
		return diag.List{warn(CodeContradiction, n.Span(),
			"label "+annot.DataplaneMode+" is \"ambient\", but the pod gets a sidecar: ambient mode leaves it alone",
			"remove the label, or set label "+annot.SidecarInject+` to "false"`)}
	}
	return nil
}

// adviseOptIn tells that an annotation asks for injection here, but nowhere
// else (I-57): at admission it can keep the sidecar out, not bring it in, as
// the API server asks the webhook by labels.
func adviseOptIn(in *injection) diag.List {
	n := annotation(in.request.Pod, annot.SidecarInject)
	if n.Scalar() != "true" || label(in.request.Pod, annot.SidecarInject) != nil || in.request.Door == Admission {
		return nil
	}
	return diag.List{note(CodeOptIn, n.Span(),
		"annotation "+annot.SidecarInject+" asks for a sidecar, but at admission it cannot: the webhook is called by labels of pod and namespace only",
		"write it as a label")}
}

// adviseWebhook tells that the namespace asks for injection at admission, where
// the webhook's own configuration replaces the one that is used here (I-23).
func adviseWebhook(in *injection) diag.List {
	if in.request.Door == Admission {
		return nil
	}
	labels := in.request.Namespace.Get("metadata", "labels")
	asks, at := "", labels.Get(annot.NamespaceInjection)
	switch {
	case at.Scalar() == "enabled":
		asks = annot.NamespaceInjection + ": enabled"
	case at.IsNull() && labels.Get(annot.Revision).Scalar() != "":
		at = labels.Get(annot.Revision)
		asks = annot.Revision + ": " + at.Scalar()
	default:
		return nil
	}
	return diag.List{note(CodeWebhookToo, at.Span(),
		"namespace "+in.request.NamespaceName+" has label "+asks+": the webhook injects into these pods again, by its own configuration, which replaces this one",
		"leave the injection to it; or to keep this one, set label "+annot.SidecarInject+` to "false" on the injected pod template`)}
}

// adviseEffect finds settings of the pod that nothing reads: the selected
// templates do not name them, or traffic is not redirected.
func adviseEffect(in *injection, _ *source.Node) diag.List {
	var list diag.List
	var unredirected *string
	for _, f := range in.request.Pod.Get("metadata", "annotations").Fields() {
		if f.Value.IsNull() || !annot.IsMesh(f.Key) {
			continue
		}
		why := ""
		switch {
		case steersRedirection(f.Key):
			if unredirected == nil {
				s := in.unredirected()
				unredirected = &s
			}
			if why = *unredirected; why == "" && f.Key == annot.TrafficExcludeInboundPorts && f.Value.Scalar() != "" {
				if in := inboundOf(&in.finishing, in.user); !in.all {
					why = "not all inbound ports are redirected to begin with, but only " + quote(in.include)
				}
			}
		case readByTemplates(f.Key) && !in.templatesName(f.Key):
			why = "the pod's injection template does not read it"
			if names := in.templateNames(); names != "" {
				why = "injection template " + names + " does not read it"
			}
		}
		if why != "" {
			list = append(list, warn(CodeNoEffect, f.KeySpan, "annotation "+f.Key+" has no effect: "+why, "remove it"))
		}
	}
	return list
}

// steersRedirection tells the annotations that only the redirection of
// traffic reads, be it made by a container of the pod or by the CNI plugin.
func steersRedirection(name string) bool {
	switch name {
	case annot.TrafficExcludeInboundPorts, annot.TrafficExcludeInterfaces, annot.TrafficExcludeOutboundIPRanges,
		annot.TrafficExcludeOutboundPorts, annot.TrafficIncludeInboundPorts, annot.TrafficIncludeOutboundIPRanges,
		annot.TrafficIncludeOutboundPorts, annot.TrafficKubevirtInterfaces, annot.RerouteVirtualInterfaces:
		return true
	}
	return false
}

// readByTemplates tells the annotations that nothing but templates reads.
func readByTemplates(name string) bool {
	switch name {
	case annot.SidecarAgentLogLevel, annot.SidecarBootstrapOverride, annot.SidecarCapNetBindService,
		annot.SidecarComponentLogLevel, annot.SidecarEnableCoreDump, annot.SidecarLogLevel,
		annot.SidecarProxyCPU, annot.SidecarProxyCPULimit, annot.SidecarProxyMemory, annot.SidecarProxyMemoryLimit,
		annot.SidecarUserVolume, annot.SidecarUserVolumeMount,
		annot.ReadinessApplicationPorts, annot.ReadinessFailureThreshold, annot.ReadinessInitialDelaySeconds, annot.ReadinessPeriodSeconds:
		return true
	}
	return false
}

// unredirected says why nothing redirects the pod's traffic, or "".
func (in *injection) unredirected() string {
	if in.interceptionMode() == "NONE" {
		return "traffic is not redirected (interception mode NONE)"
	}
	if in.engine.values.Root.Get("pilot", "cni", "enabled").IsTrue() && find(specList(in.templates, listContainers), proxyContainer)+
		find(specList(in.templates, listInitContainers), proxyContainer) > -2 && !in.isProxyless() {
		return "" // the CNI plugin does, for every pod with a sidecar
	}
	for _, c := range specList(in.templates, listInitContainers) {
		if args := c.Get("args").Items(); len(args) > 0 && args[0].Scalar() == "istio-iptables" || nameOf(c) == initContainer {
			return ""
		}
	}
	if names := in.templateNames(); names != "" {
		return "injection template " + names + " does not redirect traffic"
	}
	return "the injection template does not redirect traffic"
}

// isProxyless tells a pod whose agent serves a gRPC application; the CNI
// plugin leaves it alone.
func (in *injection) isProxyless() bool {
	proxy, _ := findContainer(in.templates, proxyContainer)
	generator, _ := variable(proxy, "ISTIO_META_GENERATOR")
	return generator == "grpc"
}

// templatesName tells whether a selected template names an annotation.
func (in *injection) templatesName(name string) bool {
	list, bad := in.engine.selected(in.request.Pod)
	if bad != nil {
		return true
	}
	for _, t := range list {
		if bytes.Contains(t.text.Data, []byte(name)) {
			return true
		}
	}
	return false
}

// templateNames quotes the names of the templates of the pod, "" where that is
// the only one and has none.
func (in *injection) templateNames() string {
	list, bad := in.engine.selected(in.request.Pod)
	if bad != nil {
		return ""
	}
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = quote(t.name)
	}
	return strings.Join(names, ", ")
}
