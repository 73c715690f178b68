package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// withContainerDefaults returns a container with what Kubernetes adds to one
// that does not say, as far as sidecars of releases until 1.0 left it out.
func withContainerDefaults(c *source.Node) *source.Node {
	c = withDefault(c, source.NewString("/dev/termination-log"), "terminationMessagePath")
	c = withDefault(c, source.NewString("File"), "terminationMessagePolicy")
	policy := "IfNotPresent"
	image, _, _ := strings.Cut(c.Get("image").Scalar(), "@")
	if tag := image[strings.LastIndexByte(image, '/')+1:]; !strings.Contains(tag, ":") || strings.HasSuffix(tag, ":latest") {
		policy = "Always"
	}
	c = withDefault(c, source.NewString(policy), "imagePullPolicy")
	c = withItemDefaults(c, "ports", func(p *source.Node) *source.Node {
		return withDefault(p, source.NewString("TCP"), "protocol")
	})
	c = withItemDefaults(c, "env", func(v *source.Node) *source.Node {
		if present(v.Get("valueFrom", "fieldRef")) == nil {
			return v
		}
		return withDefault(v, source.NewString("v1"), "valueFrom", "fieldRef", "apiVersion")
	})
	for _, probe := range [...]string{"livenessProbe", "readinessProbe"} {
		if p := present(c.Get(probe)); p != nil {
			c = c.With(probe, withProbeDefaults(p))
		}
	}
	return c
}

func withProbeDefaults(p *source.Node) *source.Node {
	p = withDefault(p, source.NewInt(1), "timeoutSeconds")
	p = withDefault(p, source.NewInt(10), "periodSeconds")
	p = withDefault(p, source.NewInt(1), "successThreshold")
	p = withDefault(p, source.NewInt(3), "failureThreshold")
	if present(p.Get("httpGet")) != nil {
		p = withDefault(p, source.NewString("/"), "httpGet", "path")
		p = withDefault(p, source.NewString("HTTP"), "httpGet", "scheme")
	}
	return p
}

// withVolumeDefaults does the same for a volume.
func withVolumeDefaults(v *source.Node) *source.Node {
	for _, kind := range [...]string{"secret", "configMap", "projected", "downwardAPI"} {
		if present(v.Get(kind)) != nil {
			v = withDefault(v, source.NewInt(420), kind, "defaultMode")
		}
	}
	if _, has := sourceOf(v); !has {
		v = v.With("emptyDir", source.NewMap())
	}
	return v
}

// withDefault sets what is absent or zero.
func withDefault(n, value *source.Node, path ...string) *source.Node {
	switch old := n.Get(path...); {
	case old.IsNull(), old.Scalar() == "" && old.Len() == 0, old.Scalar() == "0":
		return n.WithAt(value, path...)
	}
	return n
}

func withItemDefaults(n *source.Node, list string, each func(*source.Node) *source.Node) *source.Node {
	items := mapped(n.Get(list).Items(), each)
	if same(items, n.Get(list).Items()) {
		return n
	}
	return n.With(list, n.Get(list).WithItems(items...))
}
