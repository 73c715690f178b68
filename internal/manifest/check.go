package manifest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// checking judges a specification.
type checking struct {
	found diag.List
	path  []string
	// lenient tells that the charts are of another release, whose settings are
	// not known: what is unknown may well be right.
	lenient bool
}

func (c *checking) add(severity diag.Severity, code string, at source.Span, fix, format string, args ...any) {
	d := finding(severity, code, at, format, args...)
	d.Fix = fix
	c.found = append(c.found, d)
}

func (c *checking) at(more ...string) string {
	var b strings.Builder
	for _, key := range append(c.path[:len(c.path):len(c.path)], more...) {
		if b.Len() > 0 && !strings.HasPrefix(key, "[") {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	return b.String()
}

func (c *checking) in(key string, do func()) {
	c.path = append(c.path, key)
	do()
	c.path = c.path[:len(c.path)-1]
}

// root judges the whole object.
func (c *checking) root(root *source.Node) {
	known := []string{"apiVersion", "kind", "metadata", "spec"}
	for _, f := range root.Fields() {
		switch f.Key {
		case "apiVersion", "kind":
		case "metadata":
			c.in("metadata", func() { c.kube(f.Value, kube.TypeObjectMeta) })
		case "spec":
			c.value(f.Value, specShape)
		default:
			c.unknown(f, known)
		}
	}
}

// value judges a value by its shape.
func (c *checking) value(n *source.Node, s *shape) {
	if n.IsNull() {
		return
	}
	kind := n.Kind()
	switch s.kind {
	case shapeText:
		if kind != source.String {
			c.mistyped(n, "a string")
		}
	case shapeTag:
		if kind == source.Map || kind == source.List {
			c.mistyped(n, "a string")
		}
	case shapeFlag:
		if kind != source.Bool {
			c.mistyped(n, "true or false")
		}
	case shapeCount:
		if i, ok := n.Int(); !ok || i < 0 || i > 1<<32-1 {
			c.mistyped(n, "a whole number from 0")
		}
	case shapeKube:
		c.kube(n, s.typ())
	case shapeMesh:
		if kind != source.Map {
			c.mistyped(n, "an object")
		}
	case shapeValues:
		if kind != source.Map {
			c.mistyped(n, "an object")
		}
	case shapeList:
		if kind != source.List {
			c.mistyped(n, "a list")
			return
		}
		for i, item := range n.Items() {
			c.in("["+strconv.Itoa(i)+"]", func() { c.value(item, s.elem) })
		}
	case shapeObject:
		c.object(n, s)
	}
}

func (c *checking) object(n *source.Node, s *shape) {
	if n.Kind() != source.Map {
		c.mistyped(n, "an object")
		return
	}
	for _, f := range n.Fields() {
		field := s.field(f.Key)
		if field == nil {
			c.unknown(f, s.names())
			continue
		}
		if field.idle != "" && !f.Value.IsNull() {
			c.add(diag.Warning, config.CodeNoEffect, keySpan(f), field.idle, "%s has no effect: nothing reads it", c.at(f.Key))
		}
		c.in(f.Key, func() { c.value(f.Value, field) })
	}
}

func keySpan(f source.Field) source.Span {
	if f.KeySpan.IsValid() {
		return f.KeySpan
	}
	return f.Value.Span()
}

func (c *checking) unknown(f source.Field, known []string) {
	severity := diag.Error
	if c.lenient {
		severity = diag.Warning
	}
	fix := ""
	if near := diag.Nearest(f.Key, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	c.add(severity, config.CodeUnknown, keySpan(f), fix, "unknown field %s", c.at(f.Key))
}

func (c *checking) mistyped(n *source.Node, want string) {
	fix := ""
	if want == "a string" && (n.Kind() == source.Number || n.Kind() == source.Bool) {
		fix = "quote it: " + strconv.Quote(spelled(n))
	}
	c.add(diag.Error, config.CodeType, n.Span(), fix, "%s must be %s, not %s", c.at(), want, described(n))
}

func described(n *source.Node) string {
	switch n.Kind() {
	case source.Number, source.Bool:
		return "the " + n.Kind().String() + " " + n.Scalar()
	case source.String:
		if len(n.Str()) <= 60 {
			return "the string " + strconv.Quote(n.Str())
		}
	}
	return n.Kind().Noun()
}

// kube judges a value of a type of Kubernetes: what the type cannot hold, and
// fields that it does not have.
func (c *checking) kube(n *source.Node, typ kube.Type) {
	found := kube.Checker{Strict: true, At: kube.Path(c.path)}.Check(n, typ)
	for _, d := range found {
		if d.Code == kube.CodeFieldCase {
			continue // an unknown field, see below
		}
		c.found = append(c.found, d)
	}
	c.kubeFields(n, typ)
}

func (c *checking) kubeFields(n *source.Node, typ kube.Type) {
	switch {
	case typ.Kind() == kube.KindStruct && n.Kind() == source.Map:
		for _, f := range n.Fields() {
			info := typ.Field(f.Key)
			if info == nil {
				var known []string
				for _, i := range typ.Fields() {
					known = append(known, i.Name)
				}
				c.unknown(f, known)
				continue
			}
			c.in(f.Key, func() { c.kubeFields(f.Value, info.Type) })
		}
	case typ.Kind() == kube.KindMap && n.Kind() == source.Map:
		for _, f := range n.Fields() {
			c.in(f.Key, func() { c.kubeFields(f.Value, typ.Elem()) })
		}
	case typ.Kind() == kube.KindList && n.Kind() == source.List:
		for i, item := range n.Items() {
			c.in("["+strconv.Itoa(i)+"]", func() { c.kubeFields(item, typ.Elem()) })
		}
	}
}

// check judges the merged object: types, names of fields, and what cannot
// work.
func check(root *source.Node, lenient bool) diag.List {
	c := &checking{lenient: lenient}
	c.root(root)
	spec := root.Get("spec")
	values := spec.Get("values")
	if values.Kind() == source.Map {
		for _, d := range config.CheckValues(values, "values") {
			if lenient && d.Code == config.CodeUnknown {
				d.Severity = diag.Warning
			}
			c.found = append(c.found, d)
		}
		for _, v := range valuesOfKubernetes {
			path := strings.Split(v.path, ".")
			if n := values.Get(path...); !n.IsNull() {
				c.path = append([]string{"values"}, path...)
				c.kube(n, v.typ())
				c.path = nil
			}
		}
		c.mesh(values.Get("meshConfig"))
		c.ranges(values.Get("global", "proxy"))
	}
	if c.found.HasErrors() {
		return c.found
	}
	c.images(spec)
	if r := spec.Get("revision"); r.Str() != "" && !isLabel(r.Str()) {
		c.add(diag.Error, config.CodeRefused, r.Span(), "write lower case letters, digits and dashes", "revision %q is no name", r.Str())
	}
	c.gateways(spec)
	c.replicas(spec)
	return c.found
}

// valuesOfKubernetes are the values that charts hand to the API server as they
// are, with their types.
var valuesOfKubernetes = [...]struct {
	path string
	typ  func() kube.Type
}{
	{"cni.affinity", podType("affinity")},
	{"cni.seccompProfile", seccompType},
	{"gateways.istio-egressgateway.tolerations", podType("tolerations")},
	{"gateways.istio-ingressgateway.tolerations", podType("tolerations")},
	{"global.defaultTolerations", podType("tolerations")},
	{"global.proxy.lifecycle", containerType("lifecycle")},
	{"global.proxy.seccompProfile", seccompType},
	{"global.waypoint.affinity", podType("affinity")},
	{"global.waypoint.toleration", podType("tolerations")},
	{"global.waypoint.topologySpreadConstraints", podType("topologySpreadConstraints")},
	{"pilot.affinity", podType("affinity")},
	{"pilot.seccompProfile", seccompType},
	{"pilot.tolerations", podType("tolerations")},
	{"pilot.topologySpreadConstraints", podType("topologySpreadConstraints")},
	{"pilot.volumeMounts", containerType("volumeMounts")},
	{"pilot.volumes", podType("volumes")},
}

func podType(field string) func() kube.Type {
	return func() kube.Type { return kube.TypePodSpec.Field(field).Type }
}

func containerType(field string) func() kube.Type {
	return func() kube.Type { return kube.TypeContainer.Field(field).Type }
}

func seccompType() kube.Type {
	return kube.TypePodSpec.Field("securityContext").Type.Field("seccompProfile").Type
}

func (c *checking) mesh(n *source.Node) {
	if !n.IsNull() && n.Kind() != source.Map {
		return // told by the types of the values
	}
	c.found = append(c.found, config.CheckMesh(n, "meshConfig")...)
}

// ranges judges the lists of addresses and ports of the proxy.
func (c *checking) ranges(proxy *source.Node) {
	for _, key := range []string{"includeIPRanges", "excludeIPRanges"} {
		n := proxy.Get(key)
		if s := n.Str(); s != "" && s != "*" {
			for part := range strings.SplitSeq(s, ",") {
				if _, err := netip.ParsePrefix(part); err != nil {
					c.add(diag.Error, config.CodeRefused, n.Span(), "write it as in 10.0.0.0/8", "values.global.proxy.%s: %q is no range of addresses", key, part)
				}
			}
		}
	}
	for _, key := range []string{"includeInboundPorts", "excludeInboundPorts"} {
		n := proxy.Get(key)
		for part := range strings.SplitSeq(n.Str(), ",") {
			if port, err := strconv.ParseInt(part, 10, 32); part != "" && part != "*" && (err != nil || port < 0 || port > 65535) {
				c.add(diag.Error, config.CodeRefused, n.Span(), "", "values.global.proxy.%s: %q is no port", key, part)
			}
		}
	}
}

// images judges hub and tag at the top of the specification.
func (c *checking) images(spec *source.Node) {
	if hub := spec.Get("hub"); hub.Str() != "" && !isRepository(hub.Str()) {
		c.add(diag.Error, config.CodeRefused, hub.Span(), "write a registry and a folder, as in registry.example.com/istio", "hub %q cannot be part of the name of an image", hub.Str())
	}
	if tag := spec.Get("tag"); !tag.IsNull() && !isImageTag(tag.Scalar()) {
		c.add(diag.Error, config.CodeRefused, tag.Span(), "", "tag %q cannot be the tag of an image", tag.Scalar())
	}
}

// isRepository tells what can stand before the name of an image.
func isRepository(hub string) bool {
	host, rest, several := strings.Cut(hub, "/")
	if several && (strings.ContainsAny(host, ".:") || host == "localhost") {
		if strings.ContainsFunc(host, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(".:-_[]", r)
		}) {
			return false
		}
	} else {
		rest = hub
	}
	return len(rest)+len("/pilot") < 256 && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && !strings.ContainsRune("_-./", r)
	})
}

func isImageTag(tag string) bool {
	if len(tag) == 0 || len(tag) > 128 {
		return false
	}
	return !strings.ContainsFunc(tag, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("_-.", r)
	})
}

// isLabel tells the names that RFC 1123 calls labels.
func isLabel(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

// gateways judges the lists of gateways: each has a name of its own, and ports
// that a proxy which is not root can listen on.
func (c *checking) gateways(spec *source.Node) {
	namespace := spec.Get("values", "global", "istioNamespace").Str()
	seen := map[string]*source.Node{}
	for _, kind := range components {
		if !kind.gateway {
			continue
		}
		asRoot := spec.Get("values", "gateways", kind.resource, "runAsRoot").IsTrue()
		for i, g := range spec.Get("components", kind.key).Items() {
			where := fmt.Sprintf("components.%s[%d]", kind.key, i)
			name := g.Get("name")
			if name.Str() == "" {
				c.add(diag.Error, CodeGateway, start(g), "write name: "+kind.resource, "%s has no name: its Deployment and Service would have none either", where)
				continue
			}
			c.gateway(where, kind.resource, g, asRoot)
			if f, ok := g.Field("enabled"); ok && !f.Value.IsTrue() && !f.Value.IsNull() {
				continue
			}
			ns := g.Get("namespace").Str()
			if ns == "" {
				ns = namespace
			}
			if first := seen[ns+"/"+name.Str()]; first != nil {
				c.add(diag.Error, CodeGateway, name.Span(), "give it another name or namespace", "gateway %s in namespace %s is there twice; the first is at %s", name.Str(), ns, whence(first))
			}
			seen[ns+"/"+name.Str()] = name
		}
	}
	for _, p := range spec.Get("values", "gateways", "istio-ingressgateway", "ingressPorts").Items() {
		c.port("values.gateways.istio-ingressgateway.ingressPorts", "istio-ingressgateway", p, false)
	}
}

func whence(n *source.Node) string {
	if s := n.Span(); s.IsValid() && strings.HasPrefix(s.Text.Name, "--") {
		return s.Text.Name
	}
	return n.Pos().String()
}

func (c *checking) gateway(where, values string, g *source.Node, asRoot bool) {
	name := g.Get("name")
	if strings.ContainsFunc(name.Str(), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}) || len(name.Str()) > 254 {
		c.add(diag.Error, CodeGateway, name.Span(), "write lower case letters, digits and dashes", "%s: %q is no name", where, name.Str())
	}
	if asRoot {
		return
	}
	for _, p := range g.Get("k8s", "service", "ports").Items() {
		c.port(where+".k8s.service.ports", values, p, true)
	}
}

// port refuses a port that only root can listen on.
func (c *checking) port(where, values string, p *source.Node, typed bool) {
	target, port := p.Get("targetPort"), p.Get("port")
	if target.Kind() == source.String {
		return
	}
	t, _ := target.Int()
	number, isNumber := port.Int()
	if !isNumber && !typed || t == 0 && number > 1024 || t >= 1024 {
		return
	}
	at := target.Span()
	if !at.IsValid() {
		at = start(p)
	}
	c.add(diag.Error, config.CodeRefused, at, "set targetPort above 1024, or values.gateways."+values+".runAsRoot=true",
		"%s: port %d goes to %d, which only root can listen on", where, number, t)
}

// replicas warns of a number of replicas that the autoscaler changes at once.
func (c *checking) replicas(spec *source.Node) {
	warn := func(n *source.Node, where, values string) {
		c.add(diag.Warning, config.CodeNoEffect, n.Span(), "set k8s.hpaSpec.minReplicas, or "+values+".autoscaleEnabled=false",
			"%s has no lasting effect: %s.autoscaleEnabled is true, and the autoscaler changes it", where, values)
	}
	on := func(path ...string) bool {
		return spec.Get(append([]string{"values"}, append(path, "autoscaleEnabled")...)...).IsTrue()
	}
	if n := spec.Get("components", "pilot", "k8s", "replicaCount"); on("pilot") {
		if i, ok := n.Int(); ok && i > 1 {
			warn(n, "components.pilot.k8s.replicaCount", "values.pilot")
		}
	}
	for _, c := range components {
		if !c.gateway {
			continue
		}
		for i, g := range spec.Get("components", c.key).Items() {
			n := g.Get("k8s", "replicaCount")
			if count, ok := n.Int(); ok && count != 0 && on(c.values...) {
				warn(n, fmt.Sprintf("components.%s[%d].k8s.replicaCount", c.key, i), "values."+strings.Join(c.values, "."))
			}
		}
	}
}
