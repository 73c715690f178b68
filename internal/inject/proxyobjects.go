package inject

import (
	"cmp"
	"slices"
	"strconv"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// ProxyConfigs holds ProxyConfig objects (networking.istio.io/v1beta1). From
// release 1.13 on, the control plane lays them over the proxy configuration of
// the mesh: that of the mesh's root namespace, then that of the pod's namespace,
// and above the annotation of the pod the one that selects it by its labels. Of
// several at one place the oldest counts. It does not change.
type ProxyConfigs struct {
	by map[string]*proxiesOf
}

// proxiesOf holds the objects of one namespace, the oldest first.
type proxiesOf struct {
	whole, selecting []*proxyObject
}

type proxyObject struct {
	name, created string
	// text holds the fields of the object as those of a proxy configuration.
	text     string
	metadata map[string]string
	labels   []source.Field
}

// IsProxyConfig tells whether an object is a ProxyConfig.
func IsProxyConfig(ref kube.Ref) bool {
	return ref.Kind == "ProxyConfig" && kube.Group(ref.APIVersion) == "networking.istio.io"
}

// NewProxyConfigs takes over objects for which IsProxyConfig holds; namespace
// is that of objects which do not state one. Objects that cannot be read are
// left out, as Check tells.
func NewProxyConfigs(objects []*source.Node, namespace string) *ProxyConfigs {
	p := &ProxyConfigs{by: map[string]*proxiesOf{}}
	for _, object := range objects {
		o, findings := readProxyConfig(object)
		if findings.HasErrors() {
			continue
		}
		in := cmp.Or(object.Get("metadata", "namespace").Str(), namespace)
		list := p.by[in]
		if list == nil {
			list = &proxiesOf{}
			p.by[in] = list
		}
		switch selector := object.Get("spec", "selector"); {
		case selector.IsNull():
			list.whole = append(list.whole, o)
		case len(o.labels) > 0:
			list.selecting = append(list.selecting, o)
		}
	}
	for _, list := range p.by {
		slices.SortStableFunc(list.whole, byAge)
		slices.SortStableFunc(list.selecting, byAge)
	}
	return p
}

// byAge orders as the control plane does: by the time of creation, then by name.
func byAge(a, b *proxyObject) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.name, b.name))
}

// proxyFields are the fields of an object's spec, and what they are in a proxy
// configuration.
var proxyFields = [...][2]string{{"concurrency", "concurrency"}, {"environmentVariables", "proxyMetadata"}, {"image", "image"}}

// readProxyConfig reads an object. An error among the findings means that it
// cannot be applied, a warning that a part of it has no effect.
func readProxyConfig(object *source.Node) (*proxyObject, diag.List) {
	spec := object.Get("spec")
	o := &proxyObject{
		name: object.Get("metadata", "name").Str(), created: object.Get("metadata", "creationTimestamp").Scalar(),
		labels: spec.Get("selector", "matchLabels").Fields(),
	}
	var findings diag.List
	var fields []source.Field
	for _, f := range spec.Fields() {
		i := slices.IndexFunc(proxyFields[:], func(names [2]string) bool { return names[0] == f.Key })
		switch {
		case f.Key == "selector":
		case i < 0:
			findings = append(findings, warn(CodeNotApplied, f.KeySpan, "spec."+f.Key+" is no field of a ProxyConfig: it has no effect",
				"it has concurrency, environmentVariables, image and selector; other settings go into annotation proxy.istio.io/config of the pods"))
		case f.Value.IsNull():
		default:
			fields = append(fields, source.F(proxyFields[i][1], f.Value))
		}
	}
	o.text = string(source.AppendJSON(nil, source.NewMap(fields...)))
	for _, d := range config.CheckProxyConfig(source.NewText("", []byte(o.text))) {
		if d.Severity == diag.Error {
			findings = append(findings, &diag.Diagnostic{
				Code: CodeNotApplied, Severity: diag.Error, Span: spec.Span(), Message: "this ProxyConfig is not applied: " + d.Message, Fix: d.Fix,
			})
		}
	}
	for _, f := range spec.Get("environmentVariables").Fields() {
		if o.metadata == nil {
			o.metadata = map[string]string{}
		}
		o.metadata[f.Key] = f.Value.Scalar()
	}
	return o, findings
}

// selects tells whether the object's labels are all among others.
func (o *proxyObject) selects(labels *source.Node) bool {
	for _, f := range o.labels {
		if v := labels.Get(f.Key); v == nil || v.Scalar() != f.Value.Scalar() {
			return false
		}
	}
	return true
}

// of returns the objects that concern a pod: those below the pod's annotation,
// the weakest first, and the one above it, nil for none.
func (p *ProxyConfigs) of(root, namespace string, labels *source.Node) (below []*proxyObject, above *proxyObject) {
	if p == nil || len(p.by) == 0 {
		return nil, nil
	}
	if list := p.by[root]; list != nil && root != "" && len(list.whole) > 0 {
		below = append(below, list.whole[0])
	}
	list := p.by[namespace]
	if list == nil {
		return below, nil
	}
	if namespace != root && len(list.whole) > 0 {
		below = append(below, list.whole[0])
	}
	for _, o := range list.selecting {
		if o.selects(labels) {
			return below, o
		}
	}
	return below, nil
}

// Check tells what of a ProxyConfig object has no effect on the pods that e
// injects into. namespace is that of objects which do not state one.
func (p *ProxyConfigs) Check(e *Engine, object *source.Node, namespace string) diag.List {
	kind := object.Get("kind").Span()
	if !e.gen.proxyObjects {
		return diag.List{warn(CodeNotApplied, kind, "this ProxyConfig is not applied: releases before 1.13 do not know it",
			"write the settings into annotation proxy.istio.io/config of the pods, or into defaultConfig of the mesh configuration")}
	}
	o, findings := readProxyConfig(object)
	if findings.HasErrors() {
		for _, d := range findings {
			d.Severity = min(d.Severity, diag.Warning)
		}
		return findings
	}
	selector := object.Get("spec", "selector")
	if !selector.IsNull() {
		if len(o.labels) == 0 {
			findings = append(findings, warn(CodeNotApplied, selector.Span(), "this ProxyConfig is not applied: its selector has no matchLabels, so that it selects no pod",
				"write labels under matchLabels, or leave selector out for all pods of the namespace"))
		}
		return findings
	}
	in := cmp.Or(object.Get("metadata", "namespace").Str(), namespace)
	if p == nil {
		return findings
	}
	if list := p.by[in]; list != nil && len(list.whole) > 0 && list.whole[0].name != o.name {
		findings = append(findings, warn(CodeNotApplied, kind,
			"this ProxyConfig is not applied: "+strconv.Quote(list.whole[0].name)+" of the same namespace has no selector either, and is older or first by name",
			"make one of the two, or give one a selector"))
	}
	return findings
}

// layered merges proxy configurations one after the other into the mesh's.
func (e *Engine) layered(texts []string) (*meshv1alpha1.ProxyConfig, diag.List) {
	mesh := e.mesh
	for _, text := range texts {
		proxy, findings := e.gen.mergeProxy(mesh, text)
		if findings.HasErrors() {
			return nil, findings
		}
		mesh = mesh.WithDefaultConfig(proxy)
	}
	return mesh.Config.GetDefaultConfig(), nil
}
