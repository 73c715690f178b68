package inject

import (
	"sort"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// The kubelet cannot speak to an application that takes mutual TLS only, so
// probes and lifecycle hooks go to the agent beside the proxy, which knows
// from a variable (the prober map) what to ask the application.

// hook is one thing of a container that the kubelet asks over the network.
type hook struct {
	path   []string // of the handler in the container
	prefix string   // of the path that the agent serves, the container's name following
	suffix string
	probe  bool // a probe, which has a timeout and may be gRPC; else a lifecycle hook
}

var hooks = [...]hook{
	{[]string{"readinessProbe"}, "/app-health/", "/readyz", true},
	{[]string{"livenessProbe"}, "/app-health/", "/livez", true},
	{[]string{"startupProbe"}, "/app-health/", "/startupz", true},
	{[]string{"lifecycle", "preStop"}, "/app-lifecycle/", "/prestopz", false},
	{[]string{"lifecycle", "postStart"}, "/app-lifecycle/", "/poststartz", false},
}

// startupHook is the index of the startup probe in hooks.
const startupHook = 2

func (h *hook) url(container string) string { return h.prefix + container + h.suffix }

// handlerKinds lists what a handler may be, in the order in which the control
// plane looks.
var handlerKinds = [...]string{"httpGet", "tcpSocket", "grpc"}

// probeRules says which hooks go to the agent.
type probeRules struct {
	hooks    []hook
	handlers []string // kinds of handler, of handlerKinds
	lists    []string // of containers
	// tcpSwitch is the variable of the control plane that keeps tcpSocket
	// handlers as they are where it is false.
	tcpSwitch string
}

// has reports whether handlers of a kind go to the agent.
func (p *probeRules) has(kind string, getenv func(string) string) bool {
	if kind == "tcpSocket" && p.tcpSwitch != "" {
		if on, err := strconv.ParseBool(getenv(p.tcpSwitch)); err == nil && !on {
			return false
		}
	}
	return contains(p.handlers, kind)
}

// action returns the kind and the action of a handler that goes over the
// network.
func (h *hook) action(handler *source.Node) (kind string, action *source.Node) {
	for _, kind := range handlerKinds {
		if kind == "grpc" && !h.probe {
			break
		}
		if action := present(handler.Get(kind)); action != nil {
			return kind, action
		}
	}
	return "", nil
}

// rewriteProbes is the step that sends probes and lifecycle hooks to the
// agent.
func rewriteProbes(f *finishing, pod *source.Node) *source.Node {
	proxy, at := findContainer(pod, proxyContainer)
	if proxy == nil || !rewritesProbes(f.engine, pod) {
		return pod
	}
	w := newProbeRewriter(f, pod)
	for _, list := range w.rules.lists {
		pod = withSpecList(pod, list, mapped(specList(pod, list), func(c *source.Node) *source.Node {
			if nameOf(c) == proxyContainer {
				return c
			}
			return w.container(c)
		}))
	}
	if len(w.probers) == 0 {
		return pod
	}
	return withContainer(pod, at, withProbers(proxy, w.probers, f.was.injected))
}

func rewritesProbes(e *Engine, pod *source.Node) bool {
	if n := annotation(pod, annot.SidecarRewriteAppHTTPProbers); n != nil {
		if on, err := strconv.ParseBool(n.Scalar()); err == nil {
			return on
		}
	}
	return e.settings.rewriteProbes
}

// probeRewriter rewrites the probes of one pod.
type probeRewriter struct {
	rules    *probeRules
	getenv   func(string) string
	findings *diag.List
	inbound  inbound
	// meshPort is the mesh's status port: a probe on it is the agent's own.
	// port is the one of this pod, where probes go.
	meshPort, port int64
	probers        []prober
}

// prober is one entry of the prober map.
type prober struct {
	url  string
	json []byte
}

func newProbeRewriter(f *finishing, pod *source.Node) *probeRewriter {
	w := &probeRewriter{
		rules: &f.engine.gen.probes, getenv: f.request.getenv, findings: f.findings, inbound: inboundOf(f, pod),
		meshPort: f.engine.settings.statusPort, port: f.engine.settings.statusPort,
	}
	if n := annotation(pod, annot.SidecarStatusPort); n != nil {
		w.port, _ = strconv.ParseInt(strings.TrimSpace(n.Scalar()), 10, 64)
	}
	return w
}

func (w *probeRewriter) container(c *source.Node) *source.Node {
	for i := range w.rules.hooks {
		h := &w.rules.hooks[i]
		handler := c.Get(h.path...)
		kind, action := h.action(handler)
		if action == nil || !w.rules.has(kind, w.getenv) {
			continue
		}
		if now := w.hook(h, c, handler, kind, action); now != handler {
			c = c.WithAt(now, h.path...)
		}
	}
	return c
}

// hook returns the handler that asks the agent instead, and notes in the
// prober map what the agent is to ask. It returns the same handler where that
// would break it.
func (w *probeRewriter) hook(h *hook, c, handler *source.Node, kind string, action *source.Node) *source.Node {
	url := h.url(nameOf(c))
	port, named := action.Get("port"), action.Get("port").Kind() == source.String
	number, _ := port.Int()
	if named && kind != "grpc" {
		found := namedPort(c, port.Str())
		if found == nil {
			w.leave(h, c, port, "the container has no port named "+strconv.Quote(port.Str()),
				"give the port's number, or name a port of the container so")
			return handler
		}
		port = found
		number, _ = port.Int()
	} else if number == w.meshPort && kind != "grpc" {
		if kind == "httpGet" && action.Get("path").Scalar() == url {
			return toAgent(handler, kind, url, w.port) // rewritten before
		}
		w.leave(h, c, port, "port "+port.Scalar()+" is the agent's own", "")
		return handler
	}
	if w.port == 0 {
		w.leave(h, c, port, "the agent has no status port (0)", "")
		return handler
	}
	if why := w.inbound.bypasses(number); why != "" {
		w.leave(h, c, port, why, "")
		return handler
	}
	if kind != "httpGet" {
		*w.findings = append(*w.findings, note(CodeProbeMoved, action.Span(),
			strings.Join(h.path, ".")+" of container "+quote(nameOf(c))+" becomes an HTTP request to the agent, which then asks the application as "+kind+" says", ""))
	}
	if host := action.Get("host"); host.Scalar() != "" {
		w.otherHost(h, c, kind, host)
	}
	w.probers = append(w.probers, prober{url, appendProber(nil, h, handler, kind, action, port)})
	return toAgent(handler, kind, url, w.port)
}

// otherHost tells that a probe of another host than the pod comes to ask for
// the agent there, or asks the pod in its place: the mesh keeps the host of
// httpGet, and drops that of tcpSocket.
func (w *probeRewriter) otherHost(h *hook, c *source.Node, kind string, host *source.Node) {
	what := strings.Join(h.path, ".") + " of container " + quote(nameOf(c)) + " names host " + quote(host.Scalar())
	if kind == "httpGet" {
		what += ", which then is asked for the agent's port " + strconv.FormatInt(w.port, 10) + ": the agent listens in the pod, so it fails"
	} else {
		what += ", which is dropped: the agent asks the pod"
	}
	*w.findings = append(*w.findings, warn(CodeProbe, host.Span(), what,
		"leave host out, so that the pod is asked, or keep the pod's probes as they are with annotation "+annot.SidecarRewriteAppHTTPProbers+`: "false"`))
}

// leave notes that a probe is left alone.
func (w *probeRewriter) leave(h *hook, c, at *source.Node, why, fix string) {
	severity := diag.Info
	if fix != "" {
		severity = diag.Warning
	}
	*w.findings = append(*w.findings, &diag.Diagnostic{
		Code: CodeProbeLeft, Severity: severity, Span: at.Span(),
		Message: strings.Join(h.path, ".") + " of container " + strconv.Quote(nameOf(c)) + " is left as it is: " + why,
		Fix:     fix,
	})
}

// namedPort returns the number of a container's port.
func namedPort(c *source.Node, name string) *source.Node {
	var number *source.Node
	for _, p := range c.Get("ports").Items() {
		if n := p.Get("name").Scalar(); n != "" && n == name {
			number = p.Get("containerPort") // the last one wins, as in a map
		}
	}
	return number
}

// toAgent makes a handler ask the agent, over plain HTTP whatever it was.
func toAgent(handler *source.Node, kind, url string, port int64) *source.Node {
	get := handler.Get("httpGet")
	if kind != "httpGet" {
		get = source.NewMap()
	}
	get = get.With("path", source.NewString(url)).With("port", source.NewInt(port))
	if get.Get("scheme").Scalar() == "HTTPS" {
		get = get.With("scheme", source.NewString("HTTP"))
	}
	if kind != "httpGet" {
		handler = handler.Without(kind)
	}
	return handler.With("httpGet", get)
}

// appendProber writes an entry of the prober map as the control plane does:
// the fields of the action in the order of their declaration, without those
// that are zero.
func appendProber(b []byte, h *hook, handler *source.Node, kind string, action, port *source.Node) []byte {
	b = append(append(append(b, `{"`...), kind...), `":{`...)
	if kind == "grpc" {
		b = append(appendPort(append(b, `"port":`...), port), `,"service":`...)
		if service := action.Get("service"); service.IsNull() {
			b = append(b, "null"...)
		} else {
			b = appendQuoted(b, service.Scalar())
		}
	} else {
		if path := action.Get("path").Scalar(); path != "" && kind == "httpGet" {
			b = append(appendQuoted(append(b, `"path":`...), path), ',')
		}
		b = appendPort(append(b, `"port":`...), port)
		if host := action.Get("host").Scalar(); host != "" {
			b = appendQuoted(append(b, `,"host":`...), host)
		}
		if kind == "httpGet" {
			b = appendHTTP(b, action)
		}
	}
	b = append(b, '}')
	if t, ok := handler.Get("timeoutSeconds").Int(); h.probe && ok && t != 0 {
		b = strconv.AppendInt(append(b, `,"timeoutSeconds":`...), t, 10)
	}
	return append(b, '}')
}

func appendHTTP(b []byte, action *source.Node) []byte {
	if scheme := action.Get("scheme").Scalar(); scheme != "" {
		b = appendQuoted(append(b, `,"scheme":`...), scheme)
	}
	if headers := action.Get("httpHeaders").Items(); len(headers) > 0 {
		b = append(b, `,"httpHeaders":[`...)
		for i, header := range headers {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(append(b, `{"name":`...), nameOf(header))
			b = append(appendQuoted(append(b, `,"value":`...), header.Get("value").Scalar()), '}')
		}
		b = append(b, ']')
	}
	return b
}

func appendPort(b []byte, port *source.Node) []byte {
	if port.IsNull() {
		return append(b, '0')
	}
	return source.AppendJSON(b, port)
}

// withProbers sets the prober map of the proxy. Where the pod was injected
// before and the map is there already, both are merged, and the entries that
// are there win.
func withProbers(proxy *source.Node, probers []prober, again bool) *source.Node {
	env := proxy.Get("env").Items()
	at := find(env, envProbers)
	if at < 0 || !again {
		return withVariable(proxy, envProbers, proberMap(probers))
	}
	old, err := parseJSON(env[at].Get("value").Scalar())
	if err != nil || old.Kind() != source.Map {
		return proxy
	}
	merged := make([]prober, 0, old.Len()+len(probers))
	for _, f := range old.Fields() {
		merged = append(merged, prober{f.Key, source.AppendJSON(nil, f.Value)})
	}
	there := make(map[string]bool, cap(merged))
	for _, p := range merged {
		there[p.url] = true
	}
	for _, p := range probers {
		entry, err := parseJSON(string(p.json))
		if err != nil || there[p.url] {
			continue
		}
		there[p.url] = true
		merged = append(merged, prober{p.url, source.AppendJSON(nil, entry)})
	}
	items := replaced(env, at, newVariable(envProbers, proberMap(merged)))
	return proxy.With("env", proxy.Get("env").WithItems(items...))
}

// proberMap writes the prober map, sorted as encoding/json sorts.
func proberMap(probers []prober) string {
	sort.Slice(probers, func(i, j int) bool { return probers[i].url < probers[j].url })
	b := make([]byte, 0, 128*len(probers))
	for i, p := range probers {
		b = append(b, "{,"[min(i, 1)])
		b = append(append(appendQuoted(b, p.url), ':'), p.json...)
	}
	return string(append(b, '}'))
}

// restoreProbes puts back the probes and hooks that an earlier injection sent
// to the agent: the proxy's prober map says what they were.
func restoreProbes(pod, proxy *source.Node) *source.Node {
	text, ok := variable(proxy, envProbers)
	if !ok {
		return pod
	}
	probers, err := parseJSON(text)
	if err != nil {
		return pod
	}
	saved := probers.Finder()
	for _, list := range [...]string{listInitContainers, listContainers} {
		pod = withSpecList(pod, list, mapped(specList(pod, list), func(c *source.Node) *source.Node {
			for j := range hooks {
				c = hooks[j].restore(c, &saved)
			}
			return c
		}))
	}
	return pod
}

func (h *hook) restore(c *source.Node, probers *source.Finder) *source.Node {
	handler := c.Get(h.path...)
	url := h.url(nameOf(c))
	get := handler.Get("httpGet")
	was := probers.Get(url)
	if was == nil || get.Get("path").Scalar() != url {
		return c
	}
	kind, action := h.action(was)
	if action == nil {
		return c
	}
	if kind == "httpGet" {
		for _, key := range [...]string{"path", "port", "scheme"} {
			if n := action.Get(key); n != nil {
				get = get.With(key, n)
			} else {
				get = get.Without(key)
			}
		}
		handler = handler.With("httpGet", get)
	} else {
		if action.Get("service").IsNull() {
			action = action.Without("service")
		}
		handler = handler.Without("httpGet").With(kind, action)
	}
	return c.WithAt(handler, h.path...)
}

// inbound tells which ports of a pod the proxy takes over.
type inbound struct {
	none             bool
	all              bool
	include, exclude string
}

// inboundOf reads the annotations and values that the templates make the
// redirection of.
func inboundOf(f *finishing, pod *source.Node) inbound {
	s := &f.engine.settings
	in := inbound{none: f.interceptionMode() == "NONE", include: s.includePorts, exclude: s.excludePorts}
	if n := annotation(pod, annot.TrafficIncludeInboundPorts); n != nil {
		in.include = n.Scalar()
	}
	if n := annotation(pod, annot.TrafficExcludeInboundPorts); n != nil {
		in.exclude = n.Scalar()
	}
	in.all = strings.TrimSpace(in.include) == "*"
	return in
}

// interceptionMode returns how connections are led to the proxy: REDIRECT,
// TPROXY or NONE.
func (f *finishing) interceptionMode() string {
	if n := annotation(f.user, annot.SidecarInterceptionMode); n != nil {
		return n.Scalar()
	}
	return f.proxy.GetInterceptionMode().String()
}

// bypasses says why traffic to a port does not go through the proxy, or "".
// Excluded ports count only where all others are included: the redirection
// asks for them nowhere else.
func (in *inbound) bypasses(port int64) string {
	switch {
	case in.none:
		return "traffic is not redirected (interception mode NONE)"
	case in.all && listsPort(in.exclude, port):
		return "port " + strconv.FormatInt(port, 10) + " is excluded from redirection"
	case !in.all && !listsPort(in.include, port):
		return "port " + strconv.FormatInt(port, 10) + " is not among those that are redirected"
	}
	return ""
}

func listsPort(list string, port int64) bool {
	for part := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32); err == nil && n == port {
			return true
		}
	}
	return false
}
