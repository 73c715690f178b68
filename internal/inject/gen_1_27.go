package inject

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Releases 1.27 and later: whether the sidecar is native depends on the nodes.

func gen1_27() Generation {
	g := gen1_25()
	g.rules = rules131
	g.native = nativeByNodes
	g.validate = validatorOf(release.V(1, 27))
	return g
}

func gen1_30() Generation {
	g := gen1_27()
	g.validate = checkAnnotations
	return g
}

func gen1_31() Generation {
	g := gen1_30()
	g.steps = steps131
	g.proxyImage = imageOfType
	return g
}

// nativeByNodes leaves it to the nodes, unless the control plane is told.
func nativeByNodes(r *Request) bool {
	switch r.getenv("ENABLE_NATIVE_SIDECARS") {
	case "", "auto":
		return r.NativeSidecars
	case "true":
		return true
	}
	return false
}

// imageOfType is the image since 1.31: an image type that is empty says
// nothing.
func imageOfType(s *settings, proxy *meshv1alpha1.ProxyConfig, annotations *source.Node) string {
	return s.sidecarImage(proxy.GetImage().GetImageType(), annotations)
}
