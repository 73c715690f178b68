package config

import (
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// checker judges a configuration that was read, by the rules of the control
// plane, and finds the place of what it refuses.
type checker struct {
	root  *source.Node
	diags diag.List
}

func (c *checker) mesh(config *meshv1alpha1.MeshConfig) {}

func (c *checker) proxyConfig(config *meshv1alpha1.ProxyConfig) {}
