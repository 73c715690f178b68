package config

import (
	"maps"
	"slices"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// ParseMesh reads a mesh configuration: key "mesh" of the ConfigMap istio, or
// the ConfigMap itself. What it leaves out comes from DefaultMeshConfig, as in
// the control plane: fields replace defaults, except that defaultConfig and
// defaultProviders are merged field by field, extensionProviders by name.
//
// What the control plane refuses is an error; an unknown field, which it does
// not notice, is a warning.
func ParseMesh(text *source.Text) (*Mesh, diag.List) {
	doc, bad := open(text, keyMesh)
	if bad != nil {
		return nil, diag.List{bad}
	}
	if bad := notMesh(doc.root); bad != nil {
		return nil, diag.List{bad}
	}
	d := &decoder{diags: doc.duplicates}
	config := DefaultMeshConfig()
	d.mesh(config, doc.root)
	if !d.diags.HasErrors() {
		c := checker{root: doc.root}
		c.mesh(config)
		d.diags = append(d.diags, c.diags...)
	}
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return &Mesh{Text: doc.text, Root: doc.root, Config: config}, d.diags
}

// notMesh says so where a document is evidently no mesh configuration.
func notMesh(root *source.Node) *diag.Diagnostic {
	what := ""
	switch {
	case root.Get("apiVersion") != nil && root.Get("kind") != nil:
		what = "a Kubernetes object of kind " + root.Get("kind").Str()
	case root.Get("templates").Kind() == source.Map || root.Get("template") != nil:
		what = "an injection configuration"
	case root.Get("global").Kind() == source.Map:
		what = "the values of an install"
	default:
		return nil
	}
	d := finding(diag.Error, CodeDocument, root.Span(), "this is %s, not a mesh configuration", what)
	d.Fix = elsewhere(keyMesh)
	return d
}

// mesh merges a mesh configuration into config.
func (d *decoder) mesh(config *meshv1alpha1.MeshConfig, root *source.Node) {
	defaults := config.ExtensionProviders
	rest := root
	for _, name := range []string{"defaultConfig", "default_config", "defaultProviders", "default_providers"} {
		rest = rest.Without(name)
	}
	d.message(config, rest)
	if root.Kind() != source.Map {
		return
	}
	d.below(root, "defaultConfig", func(n *source.Node) { d.proxyConfig(config.DefaultConfig, n) })
	d.below(root, "defaultProviders", func(n *source.Node) { d.message(config.DefaultProviders, n) })
	// The control plane looks for these two under their JSON names only; under
	// the other ones they are read for errors and then dropped.
	d.dropped(root, "default_config", "defaultConfig", &meshv1alpha1.ProxyConfig{})
	d.dropped(root, "default_providers", "defaultProviders", &meshv1alpha1.MeshConfig_DefaultProviders{})

	config.ExtensionProviders = mergeProviders(defaults, config.ExtensionProviders)
	slices.Sort(config.TrustDomainAliases)
	config.TrustDomainAliases = slices.Compact(config.TrustDomainAliases)
}

func (d *decoder) below(root *source.Node, name string, read func(*source.Node)) {
	if f, ok := root.Field(name); ok && !f.Value.IsNull() {
		d.path = append(d.path, name)
		read(f.Value)
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *decoder) dropped(root *source.Node, name, instead string, scratch any) {
	if _, both := root.Field(instead); both {
		return
	}
	d.below(root, name, func(n *source.Node) {
		f, _ := root.Field(name)
		w := d.add(finding(diag.Warning, CodeNoEffect, f.KeySpan, "%s has no effect: the control plane reads it under another name", name))
		w.Fix = "write " + instead
		d.message(scratch, n)
	})
}

// mergeProviders returns the default providers, each replaced by the given one
// of the same name, followed by the other given ones.
func mergeProviders(defaults, given []*meshv1alpha1.MeshConfig_ExtensionProvider) []*meshv1alpha1.MeshConfig_ExtensionProvider {
	merged := defaults
	for _, p := range given {
		i := slices.IndexFunc(merged, func(e *meshv1alpha1.MeshConfig_ExtensionProvider) bool { return e.Name == p.Name })
		if i < 0 {
			merged = append(merged, p)
		} else {
			merged[i].Provider = p.Provider
		}
	}
	return merged
}

// proxyConfig merges a proxy configuration into config, which it changes:
// fields replace those of config, except that proxyMetadata is merged by key,
// and some of proxyHeaders stay where the new ones leave them out.
func (d *decoder) proxyConfig(config *meshv1alpha1.ProxyConfig, n *source.Node) {
	metadata, headers := config.ProxyMetadata, config.ProxyHeaders
	d.message(config, n)
	if metadata != nil {
		merged := maps.Clone(metadata)
		maps.Copy(merged, config.ProxyMetadata)
		config.ProxyMetadata = merged
	}
	if h := config.ProxyHeaders; h != nil && headers != nil && h != headers {
		if h.ForwardedClientCert == 0 {
			h.ForwardedClientCert = headers.ForwardedClientCert
		}
		keep(&h.RequestId, headers.RequestId)
		keep(&h.AttemptCount, headers.AttemptCount)
		keep(&h.Server, headers.Server)
		keep(&h.EnvoyDebugHeaders, headers.EnvoyDebugHeaders)
	}
}

// keep sets a field that is not set to what it was before.
func keep[T any](field **T, before *T) {
	if *field == nil {
		*field = before
	}
}

// WithProxyConfig returns a mesh configuration whose defaultConfig has a
// pod's own proxy configuration (the value of annotation
// proxy.istio.io/config) merged in. The receiver stays as it is. Like the
// control plane it does not ask whether the result makes sense, which
// CheckProxyConfig does.
func (m *Mesh) WithProxyConfig(text *source.Text) (*Mesh, diag.List) {
	doc, bad := parse(text)
	if bad != nil {
		return nil, diag.List{bad}
	}
	d := &decoder{}
	proxy := shallow(m.Config.DefaultConfig)
	d.proxyConfig(proxy, doc.root)
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return m.WithDefaultConfig(proxy), d.diags
}

// WithDefaultConfig returns a mesh configuration with another defaultConfig.
// The receiver stays as it is.
func (m *Mesh) WithDefaultConfig(proxy *meshv1alpha1.ProxyConfig) *Mesh {
	merged := *m
	merged.Config = shallow(m.Config)
	merged.Config.DefaultConfig = proxy
	return &merged
}

// CheckProxyConfig judges the value of annotation proxy.istio.io/config: it
// must be a proxy configuration that is sound when merged into
// DefaultProxyConfig.
func CheckProxyConfig(text *source.Text) diag.List {
	doc, bad := parse(text)
	if bad != nil {
		return diag.List{bad}
	}
	d := &decoder{diags: doc.duplicates}
	config := DefaultProxyConfig()
	d.message(config, doc.root)
	if d.diags.HasErrors() {
		return d.diags
	}
	c := checker{root: doc.root}
	c.proxyConfig(config)
	return append(d.diags, c.diags...)
}
