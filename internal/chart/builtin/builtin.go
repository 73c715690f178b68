// Package builtin holds what ingraft knows without files and without a
// cluster: the charts and profiles of the mesh release that it is built with.
package builtin

import (
	"fmt"
	"io/fs"
	"strings"

	"istio.io/istio/manifests"

	"github.com/ingraft/ingraft/internal/chart"
	"github.com/ingraft/ingraft/internal/source"
)

// The release that is built in. Its charts name images of the project's own
// test runs; Hub and Tag name the released ones.
const (
	// Version is the minor release that the charts belong to.
	Version = "1.31"
	// Hub is the registry and folder of the released images.
	Hub = "registry.istio.io/release"
	// Tag is the tag of the released images.
	Tag = "1.31.0"
	// MinKubeVersion is the oldest Kubernetes that the release supports. Where
	// no cluster is at hand, charts are rendered for it.
	MinKubeVersion = "v1.32.0"
	// Namespace is where a control plane lives unless told otherwise.
	Namespace = "istio-system"
)

// FS returns the embedded charts (charts/...) and profiles (profiles/...).
func FS() fs.FS { return manifests.FS }

// Charts lists the folders of the embedded charts.
func Charts() []string {
	return []string{
		"charts/base",
		"charts/default",
		"charts/gateway",
		"charts/gateways/istio-egress",
		"charts/gateways/istio-ingress",
		"charts/istio-cni",
		"charts/istio-control/istio-discovery",
		"charts/ztunnel",
	}
}

// Injection chooses among the default injection configurations. Its zero value
// is the one of `istioctl install` without flags.
type Injection struct {
	// Revision is the control plane's revision; "" and "default" are the same.
	Revision string
	// IstioNamespace is where the control plane lives; "" means Namespace.
	IstioNamespace string
	// Hub and Tag name the images; "" means the released ones.
	Hub, Tag string
}

// DefaultInjection renders what an install of the default profile would tell
// its injector: the keys config and values of the ConfigMap
// istio-sidecar-injector and the key mesh of the ConfigMap istio.
func DefaultInjection(o Injection) (config, mesh, values []byte, err error) {
	c, err := chart.Load(FS(), "charts/istio-control/istio-discovery")
	if err != nil {
		return nil, nil, nil, err
	}
	kube, err := chart.ParseKubeVersion(MinKubeVersion)
	if err != nil {
		return nil, nil, nil, err
	}
	o.fill()
	const dir = "istiod/templates/"
	const injector, istio = dir + "istiod-injector-configmap.yaml", dir + "configmap.yaml"
	out, err := c.Render(o.values(), chart.Options{
		Release:      chart.Release{Name: "istio", Namespace: o.IstioNamespace},
		Capabilities: chart.Capabilities{KubeVersion: kube, APIVersions: APIVersions()},
		Only: func(name string) bool {
			return name == injector || name == istio || strings.HasPrefix(name, dir+"zz")
		},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	inject, err := data(out, injector, "config", "values")
	if err != nil {
		return nil, nil, nil, err
	}
	istioData, err := data(out, istio, "mesh")
	if err != nil {
		return nil, nil, nil, err
	}
	return inject[0], istioData[0], inject[1], nil
}

// data reads keys of a rendered ConfigMap.
func data(out *chart.Output, file string, keys ...string) ([][]byte, error) {
	text, _, _ := strings.Cut(out.Get(file), "\n---\n")
	doc, err := source.Parse(source.NewText(file, []byte(text)))
	if err != nil {
		return nil, fmt.Errorf("reading the rendered chart: %w", err)
	}
	values := make([][]byte, len(keys))
	for i, key := range keys {
		n := doc.Root.Get("data", key)
		if n.Kind() != source.String {
			return nil, fmt.Errorf("reading the rendered chart: %s has no data under %s", file, key)
		}
		values[i] = []byte(n.Str())
	}
	return values, nil
}

func (o *Injection) fill() {
	for _, f := range []struct {
		value *string
		def   string
	}{
		{&o.IstioNamespace, Namespace},
		{&o.Hub, Hub},
		{&o.Tag, Tag},
	} {
		if *f.value == "" {
			*f.value = f.def
		}
	}
	if o.Revision == "default" {
		o.Revision = ""
	}
}

// values are the Helm values that the installer makes of its default profile:
// the profile's own, and what it derives from the components that are on. Of
// the profile only global, pilot and the scalars can reach the two ConfigMaps.
func (o *Injection) values() map[string]any {
	return map[string]any{
		"defaultRevision": "",
		"revision":        o.Revision,
		"global": map[string]any{
			"istioNamespace":   o.IstioNamespace,
			"configValidation": true,
			"hub":              o.Hub,
			"tag":              o.Tag,
		},
		"gateways": map[string]any{
			"istio-ingressgateway": map[string]any{},
			"istio-egressgateway":  map[string]any{},
		},
		"ztunnel": map[string]any{"resourceName": "ztunnel"},
		"pilot": map[string]any{
			"enabled": true,
			"cni":     map[string]any{"enabled": false},
		},
	}
}

// APIVersions lists the API versions that charts may ask for where no cluster
// is at hand: those that Helm's client knows.
func APIVersions() chart.VersionSet {
	return chart.VersionSet{
		"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1alpha1", "admissionregistration.k8s.io/v1beta1",
		"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1",
		"apps/v1", "apps/v1beta1", "apps/v1beta2",
		"authentication.k8s.io/v1", "authentication.k8s.io/v1alpha1", "authentication.k8s.io/v1beta1",
		"authorization.k8s.io/v1", "authorization.k8s.io/v1beta1",
		"autoscaling/v1", "autoscaling/v2",
		"batch/v1", "batch/v1beta1",
		"certificates.k8s.io/v1", "certificates.k8s.io/v1alpha1", "certificates.k8s.io/v1beta1",
		"coordination.k8s.io/v1", "coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1",
		"discovery.k8s.io/v1", "discovery.k8s.io/v1beta1",
		"events.k8s.io/v1", "events.k8s.io/v1beta1",
		"extensions/v1beta1",
		"flowcontrol.apiserver.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1beta1", "flowcontrol.apiserver.k8s.io/v1beta2", "flowcontrol.apiserver.k8s.io/v1beta3",
		"internal.apiserver.k8s.io/v1alpha1",
		"networking.k8s.io/v1", "networking.k8s.io/v1beta1",
		"node.k8s.io/v1", "node.k8s.io/v1alpha1", "node.k8s.io/v1beta1",
		"policy/v1", "policy/v1beta1",
		"rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1",
		"resource.k8s.io/v1", "resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2",
		"scheduling.k8s.io/v1", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1",
		"storage.k8s.io/v1", "storage.k8s.io/v1alpha1", "storage.k8s.io/v1beta1",
		"storagemigration.k8s.io/v1beta1",
		"v1",
	}
}
