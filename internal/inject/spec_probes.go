package inject

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/source"
)

// formerProbes says how a release until 1.8 sent probes to the agent.
type formerProbes struct {
	hooks []hook
	// byAnnotation tells that a pod can ask for it, or ask not to.
	byAnnotation bool
	// portOfArgs tells that the port of the agent stands among the arguments of
	// the proxy; else it is the mesh's, or that of the pod's annotation.
	portOfArgs bool
	// toHTTP tells that a probe over HTTPS becomes one over HTTP.
	toHTTP bool
	// withTimeout tells that the prober map has the timeouts too.
	withTimeout bool
	// always tells that the prober map is written even if empty.
	always bool
}

// rewrite is the step that sends probes to the agent.
func (p formerProbes) rewrite(a *appending, pod *source.Node) *source.Node {
	proxy, at := findContainer(pod, proxyContainer)
	if proxy == nil || !p.wanted(a) {
		return pod
	}
	port, ok := p.port(a, proxy)
	if !ok {
		return pod
	}
	var probers []prober
	pod = withSpecList(pod, listContainers, mapped(specList(pod, listContainers), func(c *source.Node) *source.Node {
		if nameOf(c) == proxyContainer {
			return c
		}
		for j := range p.hooks {
			c = p.hook(&p.hooks[j], c, port, &probers)
		}
		return c
	}))
	if len(probers) == 0 && !p.always {
		return pod
	}
	text := "{}"
	if len(probers) > 0 {
		text = proberMap(probers)
	}
	return withContainer(pod, at, withVariable(proxy, envProbers, text))
}

func (p formerProbes) wanted(a *appending) bool {
	if p.byAnnotation {
		if n := annotation(a.user, annot.SidecarRewriteAppHTTPProbers); n != nil {
			if on, err := strconv.ParseBool(n.Scalar()); err == nil {
				return on
			}
		}
	}
	return a.rewriteProbes
}

// port returns the port of the agent.
func (p formerProbes) port(a *appending, proxy *source.Node) (int64, bool) {
	if !p.portOfArgs {
		port := a.engine.settings.statusPort
		if n := annotation(a.user, annot.SidecarStatusPort); n != nil {
			if own, err := strconv.ParseInt(strings.TrimSpace(n.Scalar()), 10, 64); err == nil {
				port = own
			}
		}
		return port, true
	}
	args := proxy.Get("args").Items()
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg.Scalar(), "--statusPort=")
		if !ok && arg.Scalar() == "--statusPort" && i+1 < len(args) {
			value, ok = args[i+1].Scalar(), true
		}
		if port, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
			return port, true
		}
	}
	return 0, false
}

// hook sends one probe of a container to the agent, and notes what the agent is
// to ask. A port of a name that the container does not have is not noted.
func (p formerProbes) hook(h *hook, c *source.Node, port int64, probers *[]prober) *source.Node {
	handler := c.Get(h.path...)
	action := present(handler.Get("httpGet"))
	if action == nil {
		return c
	}
	url := h.url(nameOf(c))
	target := action.Get("port")
	if target.Kind() == source.String {
		target = namedPort(c, target.Str())
	}
	if target != nil {
		*probers = append(*probers, prober{url, p.entry(h, handler, action, target)})
	}
	now := toAgent(handler, "httpGet", url, port)
	if scheme := action.Get("scheme"); scheme != nil && !p.toHTTP {
		now = now.WithAt(scheme, "httpGet", "scheme")
	}
	return c.WithAt(now, h.path...)
}

func (p formerProbes) entry(h *hook, handler, action, port *source.Node) []byte {
	if p.withTimeout {
		return appendProber(nil, h, handler, "httpGet", action, port)
	}
	js := appendProber(nil, h, nil, "httpGet", action, port)
	return bytes.TrimSuffix(bytes.TrimPrefix(js, []byte(`{"httpGet":`)), []byte("}"))
}
