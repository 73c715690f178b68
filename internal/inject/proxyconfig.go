package inject

import (
	"strings"
	"sync"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// maxProxyConfigs bounds the cache of proxy configurations.
const maxProxyConfigs = 256

// proxyCache holds what the values of annotation proxy.istio.io/config, and
// ProxyConfig objects, come to on top of the mesh configuration. It only saves time.
type proxyCache struct {
	mu sync.Mutex
	by map[string]*meshv1alpha1.ProxyConfig
}

func (c *proxyCache) get(text string) *meshv1alpha1.ProxyConfig {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[text]
}

func (c *proxyCache) put(text string, p *meshv1alpha1.ProxyConfig) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= maxProxyConfigs {
		c.by = map[string]*meshv1alpha1.ProxyConfig{}
	}
	c.by[strings.Clone(text)] = p // the text may be part of a large pod
}

// ProxyConfig returns the proxy configuration of a pod: the mesh's defaults
// with the ProxyConfig objects that concern it and its annotation merged in. It
// must not be changed.
func (e *Engine) ProxyConfig(r *Request) (*meshv1alpha1.ProxyConfig, diag.List) {
	n := annotation(r.Pod, annot.ProxyConfig)
	var below []*proxyObject
	var above *proxyObject
	if e.gen.proxyObjects {
		below, above = r.ProxyConfigs.of(e.mesh.Config.GetRootNamespace(), r.NamespaceName, r.Pod.Get("metadata", "labels"))
	}
	if n == nil && len(below) == 0 && above == nil {
		return e.mesh.Config.GetDefaultConfig(), nil
	}
	var texts []string
	for _, o := range below {
		texts = append(texts, o.text)
	}
	if n != nil {
		texts = append(texts, n.Scalar())
	}
	if above != nil {
		texts = append(texts, above.text)
	}
	key := strings.Join(texts, "\x00")
	if !e.reference {
		if p := e.proxies.get(key); p != nil {
			return p, nil
		}
	}
	p, findings := e.layered(texts)
	if findings.HasErrors() && n != nil { // the objects were read before
		for _, d := range findings {
			d.Span = n.Span()
			d.Message = "annotation " + annot.ProxyConfig + ": " + d.Message
		}
		return nil, findings
	}
	e.proxies.put(key, p)
	return p, nil
}

// mergedProxyConfig merges as the control plane's webhook does. It takes a
// zero value for one that is not set, so that an annotation cannot set back to
// zero what the mesh sets; kube-inject of the mesh differs in that.
func mergedProxyConfig(mesh *config.Mesh, text string) (*meshv1alpha1.ProxyConfig, diag.List) {
	merged, findings := mesh.WithProxyConfig(source.NewText("", []byte(text)))
	if findings.HasErrors() {
		return nil, findings
	}
	was, now := mesh.Config.GetDefaultConfig(), merged.Config.GetDefaultConfig()
	keepSet(&now.InterceptionMode, was.InterceptionMode)
	keepSet(&now.ControlPlaneAuthPolicy, was.ControlPlaneAuthPolicy)
	keepSet(&now.StatusPort, was.StatusPort)
	keepSet(&now.ProxyAdminPort, was.ProxyAdminPort)
	keepSet(&now.StatNameLength, was.StatNameLength)
	keepSet(&now.ConfigPath, was.ConfigPath)
	keepSet(&now.BinaryPath, was.BinaryPath)
	keepSet(&now.DiscoveryAddress, was.DiscoveryAddress)
	keepSet(&now.StatsdUdpAddress, was.StatsdUdpAddress)
	keepSet(&now.CustomConfigFile, was.CustomConfigFile)
	keepSet(&now.ProxyBootstrapTemplatePath, was.ProxyBootstrapTemplatePath)
	return now, nil
}

// keepSet gives a field that is zero the value that it had before.
func keepSet[T comparable](field *T, was T) {
	var zero T
	if *field == zero {
		*field = was
	}
}
