package config

import (
	"fmt"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// ParseValues reads the values of an install, JSON or YAML: key "values" of
// the ConfigMap istio-sidecar-injector, or the ConfigMap itself. An empty text
// stands for no values at all. A value of a type that the control plane
// refuses is an error.
func ParseValues(text *source.Text) (*Values, diag.List) {
	values, root, diags := readValues(text)
	if diags.HasErrors() {
		return nil, diags
	}
	d := &decoder{diags: diags}
	d.values(root, 0)
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return values, d.diags
}

// notValues says so where a document is evidently no values document.
func notValues(root *source.Node) *diag.Diagnostic {
	what := ""
	switch {
	case root.Get("apiVersion") != nil && root.Get("kind") != nil:
		what = "a Kubernetes object of kind " + root.Get("kind").Str()
	case root.Get("templates").Kind() == source.Map || root.Get("template") != nil && root.Get("policy") != nil:
		what = "an injection configuration"
	case root.Get("global") == nil && root.Get("defaultConfig") != nil:
		what = "a mesh configuration"
	default:
		return nil
	}
	d := finding(diag.Error, CodeDocument, root.Span(), "this is %s, not the values of an install", what)
	d.Fix = elsewhere(keyValues)
	return d
}

// The getters below return what the injector itself reads of the values, apart
// from the templates, which see Map: the zero value where nothing is set.

// Hub returns global.hub, the registry of the images.
func (v *Values) Hub() string { return v.at("global", "hub").Str() }

// Tag returns global.tag, the tag of the images. It may be of any type in the
// values; what is not a string is printed as Go prints it.
func (v *Values) Tag() string {
	tag, ok := v.at("global").Field("tag")
	if !ok {
		return ""
	}
	return fmt.Sprint(tag.Value.Any())
}

// Variant returns global.variant, the type of the images: debug, distroless.
func (v *Values) Variant() string { return v.at("global", "variant").Str() }

// ProxyImage returns global.proxy.image, the name of the sidecar's image.
func (v *Values) ProxyImage() string { return v.at("global", "proxy", "image").Str() }

// ProxyInitImage returns global.proxy_init.image, the name of the init
// container's image.
func (v *Values) ProxyInitImage() string { return v.at("global", "proxy_init", "image").Str() }

// ClusterName returns global.multiCluster.clusterName.
func (v *Values) ClusterName() string { return v.at("global", "multiCluster", "clusterName").Str() }

// Network returns global.network, the network that the pods are in.
func (v *Values) Network() string { return v.at("global", "network").Str() }

// HoldApplicationUntilProxyStarts returns
// global.proxy.holdApplicationUntilProxyStarts.
func (v *Values) HoldApplicationUntilProxyStarts() bool {
	return v.at("global", "proxy", "holdApplicationUntilProxyStarts").IsTrue()
}

// RewriteAppHTTPProbe returns sidecarInjectorWebhook.rewriteAppHTTPProbe,
// whether probes are rewritten where the pod does not say.
func (v *Values) RewriteAppHTTPProbe() bool {
	return v.at("sidecarInjectorWebhook", "rewriteAppHTTPProbe").IsTrue()
}

func (v *Values) at(path ...string) *source.Node {
	if v == nil {
		return nil
	}
	return v.Root.Get(path...)
}
