package manifest

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// component is a part of an install that has a chart of its own.
type component struct {
	// key is its name under spec.components; name is what --only calls it.
	key, name string
	chart     string
	// values leads to its settings in the values.
	values []string
	// kind, resource and container are the workload and the container that its
	// k8s settings are for; none where there is no workload.
	kind, resource, container string
	// byDefault tells that it is installed where spec.components says nothing.
	byDefault bool
	// gateway tells that there may be several.
	gateway bool
	// flat tells that its chart has its settings at the top of the values.
	flat bool
}

// components lists the components in the order in which they are rendered.
var components = [...]component{
	{key: "base", name: "base", chart: "charts/base", values: []string{"global"}, byDefault: true},
	{
		key: "pilot", name: "pilot", chart: "charts/istio-control/istio-discovery", values: []string{"pilot"},
		kind: "Deployment", resource: "istiod", container: "discovery", byDefault: true,
	},
	{
		key: "ingressGateways", name: "ingress-gateway", chart: "charts/gateways/istio-ingress", values: []string{"gateways", "istio-ingressgateway"},
		kind: "Deployment", resource: "istio-ingressgateway", container: "istio-proxy", byDefault: true, gateway: true,
	},
	{
		key: "egressGateways", name: "egress-gateway", chart: "charts/gateways/istio-egress", values: []string{"gateways", "istio-egressgateway"},
		kind: "Deployment", resource: "istio-egressgateway", container: "istio-proxy", gateway: true,
	},
	{
		key: "cni", name: "cni", chart: "charts/istio-cni", values: []string{"cni"},
		kind: "DaemonSet", resource: "istio-cni-node", container: "install-cni",
	},
	{
		key: "ztunnel", name: "ztunnel", chart: "charts/ztunnel", values: []string{"ztunnel"},
		kind: "DaemonSet", resource: "ztunnel", container: "istio-proxy", flat: true,
	},
}

// instance is a component that is to be installed; of gateways there may be
// several.
type instance struct {
	*component
	name, namespace string
	// spec is what spec.components says of it; nil where it says nothing.
	spec *source.Node
	// where leads to spec, for messages.
	where string
}

// instances lists what is to be installed.
func instances(root *source.Node) []instance {
	namespace := root.Get("metadata", "namespace").Str()
	if namespace == "" {
		namespace = "istio-system"
	}
	spec := root.Get("spec")
	var list []instance
	for i := range components {
		c := &components[i]
		// Gateways can be asked for in the values as well.
		byValues := c.gateway && spec.Get("values").Get(c.values...).Get("enabled").IsTrue()
		add := func(s *source.Node, where string) {
			if e := s.Get("enabled"); !e.IsNull() && !e.IsTrue() && !byValues {
				return
			}
			in := instance{component: c, name: s.Get("name").Str(), namespace: s.Get("namespace").Str(), spec: s, where: where}
			if in.namespace == "" {
				in.namespace = namespace
			}
			list = append(list, in)
		}
		switch s := spec.Get("components", c.key); {
		case s.IsNull():
			if c.byDefault || byValues {
				list = append(list, instance{component: c, namespace: namespace})
			}
		case c.gateway:
			for i, item := range s.Items() {
				add(item, "components."+c.key+"["+itoa(i)+"]")
			}
		default:
			add(s, "components."+c.key)
		}
	}
	return list
}

// valuesOf returns the values that the chart of a component is given.
func (in *instance) valuesOf(root *source.Node) *source.Node {
	values := root.Get("spec", "values")
	if in.spec == nil {
		return values
	}
	put := func(v *source.Node, path ...string) {
		values = putAt(values, v, append(in.values[:len(in.values):len(in.values)], path...)...)
	}
	k8s := in.spec.Get("k8s")
	if in.gateway {
		put(source.NewString(in.name), "name")
		label := in.spec.Get("label")
		if label.IsNull() {
			label = source.NewMap()
		}
		put(label, "labels")
		if ports := k8s.Get("service", "ports"); ports.Len() > 0 {
			put(typed(ports, kube.TypeService.Field("spec").Type.Field("ports").Type), "ports")
		}
	}
	if in.kind == "Deployment" {
		for _, s := range []struct{ from, to string }{{"minReplicas", "autoscaleMin"}, {"maxReplicas", "autoscaleMax"}} {
			if n := k8s.Get("hpaSpec", s.from); !n.IsNull() && (s.from == "minReplicas" || n.Scalar() != "0") {
				put(n, s.to)
			}
		}
		if n := k8s.Get("replicaCount"); !n.IsNull() && n.Scalar() != "0" {
			put(n, "replicaCount")
		}
	}
	for _, of := range []string{"limits", "requests"} {
		if q, err := resource.ParseQuantity(k8s.Get("resources", of, "cpu").Scalar()); err == nil && !q.IsZero() {
			put(source.NewString(q.String()), "resources", of, "cpu")
		}
	}
	if hub := in.spec.Get("hub"); hub.Str() != "" {
		put(hub, "hub")
	}
	if tag := in.spec.Get("tag"); !tag.IsNull() {
		put(tag, "tag")
	}
	if in.flat {
		values = in.flattened(values)
	}
	return values
}

// typed returns a value as its Go type writes it: with the zero values that it
// writes unasked.
func typed(n *source.Node, typ kube.Type) *source.Node {
	doc, err := source.Parse(source.NewText("", kube.AppendTyped(nil, kube.Normalize(n, typ), typ)))
	if err != nil {
		return n
	}
	return doc.Root
}

// flattened brings the settings of a component to the top of the values: what
// is global, what is no object, and the component's own.
func (in *instance) flattened(values *source.Node) *source.Node {
	own := values.Get(in.values...)
	if own.Kind() != source.Map {
		return values
	}
	flat := source.NewMap()
	if global := values.Get("global"); global != nil {
		flat = flat.With("global", global)
	}
	for _, f := range values.Fields() {
		if f.Value.Kind() != source.Map {
			flat = flat.With(f.Key, f.Value)
		}
	}
	for _, f := range own.Fields() {
		flat = flat.With(f.Key, f.Value)
	}
	return flat
}
