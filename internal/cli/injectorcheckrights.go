package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

// isOurs tells the webhooks of ingraft.
func isOurs(h *admit.Hook) bool { return strings.HasSuffix(h.Name, ".injector.ingraft.io") }

// configured looks at the injection configuration that a webhook injects with.
func (k *injectorCheck) configured(ctx context.Context, h *admit.Hook, pods []*source.Node) {
	const check = "configuration"
	if file := podFlag(pods, "injectConfigFile"); file != "" {
		k.say("unknown", check, h.Configuration, "not looked at: the injector has it in its file "+file, "'ingraft injector config lint' judges such a file.")
		return
	}
	e, err := k.engineOf(ctx, h, pods)
	revision := k.configRevision(h, pods)
	object := "revision " + revision
	switch {
	case cluster.IsKind(err, cluster.NotFound):
		status := "error"
		if len(pods) == 0 {
			status = "warning" // it may have files, or be another cluster's
		}
		k.say(status, check, object, err.Error(), "Install the control plane of that revision, or name the ConfigMaps' with 'injector serve --config-revision'.")
	case err != nil && ctx.Err() == nil && !isClusterError(err):
		k.say("error", check, object, "it is broken: "+err.Error(), "Mend it: 'ingraft injector config lint -r "+revision+"' says more. The injector goes on with the one before until it is restarted.")
	case err != nil:
		k.failed(ctx, check, object, err)
	case e.set.Injection.Policy == "disabled":
		k.say("warning", check, object, "policy is disabled: only pods with label sidecar.istio.io/inject: \"true\" get a sidecar", "Set policy to enabled if all pods that the webhook is asked about are to have one.")
	default:
		k.say("ok", check, object, fmt.Sprintf("release %s, policy %s, %s", e.set.Detected.Release, e.set.Injection.Policy, plural(len(e.set.Injection.Templates), "template")), "")
	}
}

func isClusterError(err error) bool {
	for _, kind := range [...]cluster.Kind{cluster.Failed, cluster.BadConfig, cluster.Unreachable, cluster.Unauthorized, cluster.Forbidden, cluster.NotFound} {
		if cluster.IsKind(err, kind) {
			return true
		}
	}
	return false
}

// configRevision is the revision of the ConfigMaps that a webhook injects with.
func (k *injectorCheck) configRevision(h *admit.Hook, pods []*source.Node) string {
	if r := podFlag(pods, "config-revision"); r != "" {
		return r
	}
	return revisionOf(h)
}

// engineOf compiles the configuration that a webhook injects with.
func (k *injectorCheck) engineOf(ctx context.Context, h *admit.Hook, pods []*source.Node) (*compiled, error) {
	own := *k.app
	if ns := podFlag(pods, "istioNamespace"); ns != "" {
		own.globals.istioNamespace = ns
	} else if namespace, _, ok := strings.Cut(h.Service, "/"); ok && !isOurs(h) {
		own.globals.istioNamespace = namespace
	}
	i := &kubeInject{app: &own, revision: k.configRevision(h, pods), revisionGiven: true, injectConfigMap: cluster.InjectorConfigMap, meshConfigMap: cluster.MeshConfigMap}
	if i.revision == "default" {
		i.revision = ""
	}
	p := &pieces{}
	if err := i.readConfigMaps(ctx, k.client, p); err != nil {
		return nil, err
	}
	return compilePieces(p)
}

// decides tells what the configuration of a webhook says about a pod, nil where it
// is not known.
func (k *injectorCheck) decides(ctx context.Context, h *admit.Hook, pod, namespace *source.Node) *inject.Decision {
	var pods []*source.Node
	if namespaceName, name, ok := strings.Cut(h.Service, "/"); ok {
		if service, err := k.client.Get(ctx, serviceResource, namespaceName, name); err == nil && selectorOf(service) != "" {
			pods, _ = k.client.PodsOf(ctx, namespaceName, selectorOf(service))
		}
	}
	e, err := k.engineOf(ctx, h, pods)
	if err != nil {
		return nil
	}
	d := e.engine.Decide(&inject.Request{Door: inject.Admission, Pod: pod, NamespaceName: nameOfObject(namespace), Namespace: namespace})
	return &d
}

// right is something that the service account of an injector has to be allowed.
type right struct {
	verb                   string
	resource               schema.GroupResource
	namespace, name, means string
}

// rightsOf lists what an injector has to be allowed: of ingraft what its chart
// gives it, of the mesh what injection needs of the control plane.
func (k *injectorCheck) rightsOf(h *admit.Hook, pods []*source.Node) []right {
	own, _, _ := strings.Cut(h.Service, "/")
	admission := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}
	core := func(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }
	const bundle, noMissed = "caBundle is not kept right", "pods that were missed are not counted"
	if !isOurs(h) {
		return []right{
			{"watch", core("configmaps"), own, "", "its configuration is not followed"},
			{"list", core("namespaces"), "", "", "it does not start"},
			{"patch", admission, "", h.Configuration, bundle},
		}
	}
	istio := podFlag(pods, "istioNamespace")
	if istio == "" {
		istio = k.globals.istioNamespace
	}
	suffix := ""
	if r := k.configRevision(h, pods); r != "default" {
		suffix = "-" + r
	}
	var list []right
	for _, verb := range [...]string{"get", "list", "watch"} {
		list = append(list, right{verb, core("configmaps"), istio, cluster.InjectorConfigMap + suffix, "its configuration is not read or followed"})
		list = append(list, right{verb, core("configmaps"), istio, cluster.MeshConfigMap + suffix, "its configuration is not read or followed"})
	}
	if secret := podFlag(pods, "secret"); secret != "" {
		list = append(list, right{"create", core("secrets"), own, "", "it has no certificate"})
		for _, verb := range [...]string{"get", "list", "watch", "update"} {
			list = append(list, right{verb, core("secrets"), own, secret, "certificates are not kept"})
		}
		leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
		list = append(list, right{"create", leases, own, "", "no replica keeps certificates"})
		for _, verb := range [...]string{"get", "update"} {
			list = append(list, right{verb, leases, own, secret, "no replica keeps certificates"})
		}
	}
	if kept := podFlag(pods, "webhook-config"); kept != "" {
		for _, verb := range [...]string{"get", "list", "watch", "patch"} {
			list = append(list, right{verb, admission, "", kept, bundle})
		}
	}
	if podFlag(pods, "events") == "true" {
		for _, verb := range [...]string{"create", "patch"} {
			list = append(list, right{verb, core("events"), "", "", "nobody is told about pods that are denied"})
		}
	}
	if every := podFlag(pods, "missed-every"); every != "" && every != "0s" {
		list = append(list, right{"list", core("pods"), "", "", noMissed}, right{"get", core("pods"), "", "", noMissed}, right{"list", core("namespaces"), "", "", noMissed})
	}
	for _, verb := range [...]string{"list", "watch"} {
		list = append(list, right{verb, schema.GroupResource{Group: "networking.istio.io", Resource: "proxyconfigs"}, "", "", "ProxyConfig objects are not followed"})
	}
	if native := podFlag(pods, "native-sidecars"); native == "" || native == "auto" {
		list = append(list, right{"list", core("nodes"), "", "", "no sidecar is a native one"})
	}
	return list
}

// accessReviews are asked what somebody may do.
var accessReviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}

// rights asks what the service account of an injector may do.
func (k *injectorCheck) rights(ctx context.Context, h *admit.Hook, pods []*source.Node) {
	const check = "rights"
	if len(pods) == 0 {
		return // nobody to ask about: what is missing has been told
	}
	namespace, account := pods[0].Get("metadata", "namespace").Str(), pods[0].Get("spec", "serviceAccountName").Str()
	if account == "" {
		account = "default"
	}
	object := "service account " + namespace + "/" + account
	list := k.rightsOf(h, pods)
	var missing []string
	means := ""
	for _, r := range list {
		allowed, err := k.allowed(ctx, namespace, account, r)
		if err != nil {
			k.failed(ctx, check, object, err)
			return
		}
		if !allowed {
			missing = append(missing, r.String())
			means = r.means
		}
	}
	if len(missing) > 0 {
		k.say("error", check, object, "it may not "+strings.Join(missing, ", nor ")+": "+means, "Apply the manifest of the injector again: it has the rights.")
		return
	}
	k.say("ok", check, object, "it has the "+plural(len(list), "right")+" that it needs", "")
}

// String says it as kubectl auth can-i is asked.
func (r right) String() string {
	s := r.verb + " " + r.resource.String()
	if r.name != "" {
		s += "/" + r.name
	}
	if r.namespace != "" {
		s += " in " + r.namespace
	}
	return s
}

func (k *injectorCheck) allowed(ctx context.Context, namespace, account string, r right) (bool, error) {
	s := source.NewString
	attributes := source.NewMap(source.F("verb", s(r.verb)), source.F("group", s(r.resource.Group)), source.F("resource", s(r.resource.Resource)))
	if r.namespace != "" {
		attributes = attributes.With("namespace", s(r.namespace))
	}
	if r.name != "" {
		attributes = attributes.With("name", s(r.name))
	}
	answer, err := k.client.Create(ctx, accessReviews, "", source.NewMap(
		source.F("apiVersion", s("authorization.k8s.io/v1")), source.F("kind", s("SubjectAccessReview")),
		source.F("spec", source.NewMap(
			source.F("user", s("system:serviceaccount:"+namespace+":"+account)),
			source.F("groups", source.NewList(s("system:serviceaccounts"), s("system:serviceaccounts:"+namespace), s("system:authenticated"))),
			source.F("resourceAttributes", attributes)))))
	return answer.Get("status", "allowed").IsTrue(), err
}
