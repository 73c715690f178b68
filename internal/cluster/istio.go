package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/source"
)

// The ConfigMaps that a control plane is configured by. Those of a revision
// have its name behind a dash.
const (
	// InjectorConfigMap holds the injection configuration (key config) and the
	// values of the install (key values).
	InjectorConfigMap = "istio-sidecar-injector"
	// MeshConfigMap holds the mesh configuration (key mesh).
	MeshConfigMap = "istio"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// ConfigMap is a ConfigMap of a control plane.
type ConfigMap struct {
	Namespace, Name string

	data      *source.Node
	revisions func() string
}

// ConfigMap reads a ConfigMap of a control plane. Where it does not exist, the
// error names the revisions that the namespace does have.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (*ConfigMap, error) {
	revisions := func() string { return c.revisionsFound(ctx, namespace) }
	n, err := c.Get(ctx, configMaps, namespace, name)
	if IsKind(err, NotFound) {
		return nil, notFound(fmt.Errorf("ConfigMap %s/%s does not exist; %s", namespace, name, revisions()))
	}
	if err != nil {
		return nil, err
	}
	return &ConfigMap{namespace, name, n.Get("data"), revisions}, nil
}

// Text returns the value of a key, as a text whose places count from the
// value's own first line.
func (m *ConfigMap) Text(key string) (*source.Text, error) {
	f, ok := m.data.Field(key)
	if !ok {
		var keys []string
		for _, f := range m.data.Fields() {
			keys = append(keys, f.Key)
		}
		has := "it has no keys at all"
		if len(keys) > 0 {
			slices.Sort(keys)
			has = "it has " + strings.Join(keys, ", ")
		}
		return nil, notFound(fmt.Errorf("ConfigMap %s/%s has no key %q: %s; %s", m.Namespace, m.Name, key, has, m.revisions()))
	}
	return source.NewText(fmt.Sprintf("ConfigMap %s/%s key %s", m.Namespace, m.Name, key), []byte(f.Value.Str())), nil
}

func notFound(err error) *Error {
	return &Error{
		NotFound,
		"Choose the revision with --revision (-r) and the control plane's namespace with --istioNamespace (-i), or give " + withoutCluster + ".",
		err,
	}
}

// Revisions lists the revisions of control planes in a namespace, in order,
// told by their ConfigMaps istio-sidecar-injector and
// istio-sidecar-injector-REVISION; the former is the revision default.
func (c *Client) Revisions(ctx context.Context, namespace string) ([]string, error) {
	var found []string
	for n, err := range c.List(ctx, configMaps, namespace, ListOptions{MetadataOnly: true}) {
		if err != nil {
			return nil, err
		}
		name := n.Get("metadata", "name").Str()
		if name == InjectorConfigMap {
			found = append(found, "default")
		} else if revision, ok := strings.CutPrefix(name, InjectorConfigMap+"-"); ok {
			found = append(found, revision)
		}
	}
	slices.Sort(found)
	return found, nil
}

// revisionsFound says which revisions there are; for the end of an error.
func (c *Client) revisionsFound(ctx context.Context, namespace string) string {
	revisions, err := c.Revisions(ctx, namespace)
	switch {
	case err != nil:
		return "which revisions there are cannot be told: " + err.Error()
	case len(revisions) == 0:
		return "no control plane was found in namespace " + namespace
	}
	return "revisions found in namespace " + namespace + ": " + strings.Join(revisions, ", ")
}

// Namespace reads a Namespace.
func (c *Client) Namespace(ctx context.Context, name string) (*source.Node, error) {
	return c.Get(ctx, namespaces, "", name)
}
