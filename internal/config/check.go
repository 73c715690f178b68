package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// checker judges a configuration that was read, by the rules of the control
// plane (pkg/config/validation/agent of release 1.31), and finds the place of
// what it refuses.
type checker struct {
	root  *source.Node
	path  []string // keys that lead to the message being judged
	diags diag.List
}

// within runs the checks of a message that stands under keys.
func (c *checker) within(check func(), keys ...string) {
	length := len(c.path)
	c.path = append(c.path, keys...)
	check()
	c.path = c.path[:length]
}

// refuse adds an error about a field of the message being judged; its message
// is the path followed by the text. The place is the field, or what is nearest
// above it.
func (c *checker) refuse(field, format string, args ...any) *diag.Diagnostic {
	return c.find(diag.Error, CodeRefused, field, format, args...)
}

func (c *checker) find(severity diag.Severity, code, field, format string, args ...any) *diag.Diagnostic {
	d := decoder{path: c.path[:len(c.path):len(c.path)]}
	if field != "" {
		d.path = append(d.path, strings.Split(field, ".")...)
	}
	f := finding(severity, code, source.Span{}, "%s %s", d.at(), fmt.Sprintf(format, args...))
	node := c.root
	for _, key := range d.path {
		if node.Span().IsValid() {
			f.Span = node.Span()
		}
		if index, err := strconv.Atoi(strings.Trim(key, "[]")); err == nil && index < len(node.Items()) && index >= 0 {
			node = node.Items()[index]
		} else if node = child(node, key); node == nil {
			break
		}
	}
	if node.Span().IsValid() {
		f.Span = node.Span()
	}
	c.diags = append(c.diags, f)
	return f
}

// child finds a field by its JSON name, else by its name in the proto file.
func child(n *source.Node, key string) *source.Node {
	if v := n.Get(key); v != nil {
		return v
	}
	return n.Get(protoName(key))
}

// protoName turns a JSON name into one of a proto file: drainDuration into
// drain_duration.
func protoName(json string) string {
	var b strings.Builder
	for i := range len(json) {
		if isUpper(json[i]) {
			b.WriteByte('_')
			b.WriteByte(json[i] + 'a' - 'A')
		} else {
			b.WriteByte(json[i])
		}
	}
	return b.String()
}

func (c *checker) mesh(config *meshv1alpha1.MeshConfig) {
	c.port("proxyListenPort", config.ProxyListenPort)
	if c.duration("connectTimeout", config.ConnectTimeout) && config.ConnectTimeout.AsDuration() > time.Hour {
		c.refuse("connectTimeout", "must be at most an hour, not %v", config.ConnectTimeout.AsDuration())
	}
	if t := config.ProtocolDetectionTimeout.AsDuration(); t%time.Millisecond != 0 {
		c.refuse("protocolDetectionTimeout", "must be whole milliseconds, not %v", t)
	}
	c.within(func() { c.proxyConfig(config.DefaultConfig) }, "defaultConfig")
	c.within(func() { c.locality(config.LocalityLbSetting) }, "localityLbSetting")
	c.within(func() { c.zoneAware(config.ZoneAwareLbSetting) }, "zoneAwareLbSetting")
	for i, s := range config.ServiceSettings {
		for j, host := range s.GetHosts() {
			if !isWildcardDomain(host) {
				c.refuse(fmt.Sprintf("serviceSettings.[%d].hosts.[%d]", i, j), "must be a domain name, of which the first label may be *, not %q", host)
			}
		}
	}
	if !isTrustDomain(config.TrustDomain) {
		c.refuse("trustDomain", "must be a domain name, not %q", config.TrustDomain)
	}
	for _, name := range config.TrustDomainAliases {
		if !isTrustDomain(name) {
			c.refuse("trustDomainAliases", "must hold domain names, of which %q is none", name)
		}
	}
	if config.MeshMTLS.GetEcdhCurves() != nil {
		c.refuse("meshMTLS.ecdhCurves", "cannot be set for the mesh's own TLS").Fix = "set tlsDefaults.ecdhCurves, or leave it out"
	}
	c.curves(config.TlsDefaults.GetEcdhCurves())
	c.within(func() { c.trafficPolicy(config.DefaultTrafficPolicy) }, "defaultTrafficPolicy")
}

func (c *checker) proxyConfig(config *meshv1alpha1.ProxyConfig) {
	c.filled("configPath", config.ConfigPath)
	c.filled("binaryPath", config.BinaryPath)
	if name, ok := config.ClusterName.(*meshv1alpha1.ProxyConfig_ServiceCluster); ok {
		c.filled("serviceCluster", name.ServiceCluster)
	}
	if c.duration("drainDuration", config.DrainDuration) && config.DrainDuration.AsDuration()%time.Second != 0 {
		c.refuse("drainDuration", "must be whole seconds, not %v", config.DrainDuration.AsDuration())
	}
	c.address("discoveryAddress", config.DiscoveryAddress)
	c.tracing(config.Tracing)
	for _, f := range []struct{ name, address string }{
		{"statsdUdpAddress", config.StatsdUdpAddress},
		//lint:ignore SA1019 deprecated, and still judged
		{"envoyMetricsServiceAddress", config.EnvoyMetricsServiceAddress},
		{"envoyMetricsService.address", config.EnvoyMetricsService.GetAddress()},
		{"envoyAccessLogService.address", config.EnvoyAccessLogService.GetAddress()},
	} {
		if f.address != "" {
			c.address(f.name, f.address)
		}
	}
	const autoAllocate = "ISTIO_META_DNS_AUTO_ALLOCATE"
	if _, set := config.ProxyMetadata[autoAllocate]; set {
		c.find(diag.Warning, CodeWarned, "proxyMetadata."+autoAllocate, "is deprecated").Fix = "leave it out: the control plane allocates addresses by itself"
	}
	c.port("proxyAdminPort", config.ProxyAdminPort)
	c.port("statusPort", config.StatusPort)
	if p := config.ControlPlaneAuthPolicy; p != meshv1alpha1.AuthenticationPolicy_NONE && p != meshv1alpha1.AuthenticationPolicy_MUTUAL_TLS {
		c.refuse("controlPlaneAuthPolicy", "must be NONE or MUTUAL_TLS")
	}
	c.within(func() { c.keyProvider(config.PrivateKeyProvider) }, "privateKeyProvider")
	c.within(func() { c.connections(config.ConnectionSettings) }, "connectionSettings")
}

func (c *checker) tracing(t *meshv1alpha1.Tracing) {
	// The control plane puts the node's address in place of this variable.
	hostIP := func(address string) string { return strings.Replace(address, "$(HOST_IP)", "127.0.0.1", 1) }
	if l := t.GetLightstep(); l != nil {
		c.address("tracing.lightstep.address", l.Address)
		c.filled("tracing.lightstep.accessToken", l.AccessToken)
	}
	if z := t.GetZipkin(); z != nil {
		c.address("tracing.zipkin.address", hostIP(z.Address))
	}
	if d := t.GetDatadog(); d != nil {
		c.address("tracing.datadog.address", hostIP(d.Address))
	}
	if s := t.GetTlsSettings(); s != nil {
		c.within(func() { c.tls(s) }, "tracing", "tlsSettings")
	}
}

func (c *checker) tls(s *networkingv1alpha3.ClientTLSSettings) {
	simple := s.Mode == networkingv1alpha3.ClientTLSSettings_SIMPLE
	mutual := s.Mode == networkingv1alpha3.ClientTLSSettings_MUTUAL
	if strings.HasPrefix(s.CredentialName, "configmap://") {
		c.refuse("credentialName", "cannot name a ConfigMap here, since tracing settings belong to no namespace")
	}
	if s.InsecureSkipVerify.GetValue() && (simple || mutual) {
		if s.CaCertificates != "" || s.SubjectAltNames != nil || simple && s.CredentialName != "" {
			c.refuse("insecureSkipVerify", "contradicts what says how to verify the server: caCertificates, subjectAltNames or credentialName")
		}
	}
	switch {
	case (simple || mutual) && s.CredentialName != "":
		if s.ClientCertificate != "" || s.CaCertificates != "" || s.PrivateKey != "" || s.CaCrl != "" {
			c.refuse("credentialName", "excludes clientCertificate, caCertificates, privateKey and caCrl")
		}
	case mutual:
		c.filled("clientCertificate", s.ClientCertificate)
		c.filled("privateKey", s.PrivateKey)
	}
}

func (c *checker) keyProvider(p *meshv1alpha1.PrivateKeyProvider) {
	var delay *durationpb.Duration
	name := ""
	switch {
	case p == nil:
		return
	case p.GetCryptomb() != nil:
		name, delay = "cryptomb", p.GetCryptomb().PollDelay
	case p.GetQat() != nil:
		name, delay = "qat", p.GetQat().PollDelay
	default:
		c.refuse("", "must have a provider, cryptomb or qat")
		return
	}
	if delay.GetSeconds() == 0 && delay.GetNanos() == 0 {
		c.refuse(name+".pollDelay", "must be set, and not zero")
	}
}

func (c *checker) connections(s *meshv1alpha1.ProxyConfig_ConnectionSettings) {
	if s == nil {
		return
	}
	// Limits that are not set (nil) are not judged.
	for _, f := range []struct {
		name  string
		value interface{ GetValue() int32 }
		set   bool
		least int32
	}{
		{"listenerPerConnectionBufferLimitBytes", s.ListenerPerConnectionBufferLimitBytes, s.ListenerPerConnectionBufferLimitBytes != nil, 0},
		{"clusterPerConnectionBufferLimitBytes", s.ClusterPerConnectionBufferLimitBytes, s.ClusterPerConnectionBufferLimitBytes != nil, 0},
		{"httpMaxConcurrentStreams", s.HttpMaxConcurrentStreams, s.HttpMaxConcurrentStreams != nil, 1},
		{"http2InitialStreamWindowSize", s.Http2InitialStreamWindowSize, s.Http2InitialStreamWindowSize != nil, 65535},
		{"http2InitialConnectionWindowSize", s.Http2InitialConnectionWindowSize, s.Http2InitialConnectionWindowSize != nil, 65535},
		{"listenerConnectionLimit", s.ListenerConnectionLimit, s.ListenerConnectionLimit != nil, 1},
		{"globalDownstreamConnectionLimit", s.GlobalDownstreamConnectionLimit, s.GlobalDownstreamConnectionLimit != nil, 1},
	} {
		if f.set {
			c.least(f.name, f.value.GetValue(), f.least)
		}
	}
	for _, f := range []struct {
		name string
		time *durationpb.Duration
	}{
		{"httpIdleTimeout", s.HttpIdleTimeout},
		{"httpMaxConnectionDuration", s.HttpMaxConnectionDuration},
		{"httpDrainTimeout", s.HttpDrainTimeout},
		{"httpRequestTimeout", s.HttpRequestTimeout},
		{"httpRequestHeadersTimeout", s.HttpRequestHeadersTimeout},
		{"httpStreamIdleTimeout", s.HttpStreamIdleTimeout},
		{"httpMaxStreamDuration", s.HttpMaxStreamDuration},
	} {
		if f.time.AsDuration() < 0 {
			c.refuse(f.name, "must not be negative")
		}
	}
}

// The labels that name a place; a proxy ranks endpoints by them by itself.
func isPlaceLabel(name string) bool {
	switch name {
	case annot.TopologyRegion, annot.TopologyZone, annot.TopologySubzone:
		return true
	}
	return false
}

func (c *checker) locality(s *networkingv1alpha3.LocalityLoadBalancerSetting) {
	if len(s.GetDistribute()) > 0 && len(s.GetFailover()) > 0 {
		c.refuse("distribute", "and failover exclude each other")
		return
	}
	if len(s.GetFailover()) > 0 {
		for i, name := range s.GetFailoverPriority() {
			if isPlaceLabel(name) {
				c.refuse(fmt.Sprintf("failoverPriority.[%d]", i), "cannot be %s where failover is set", name)
				return
			}
		}
	}
	var sources []string
	for i, d := range s.GetDistribute() {
		sources = append(sources, d.From)
		field := fmt.Sprintf("distribute.[%d].to", i)
		var total uint32
		for _, to := range sortedKeys(d.To) {
			if weight := d.To[to]; weight < 1 || weight > 100 {
				c.refuse(field+"."+to, "must be a weight from 1 to 100, not %d", weight)
				return
			}
			total += d.To[to]
		}
		if total != 100 {
			c.refuse(field, "must hold weights whose sum is 100, not %d", total)
			return
		}
		c.localities(field, sortedKeys(d.To))
	}
	c.localities("distribute", sources)
	for i, f := range s.GetFailover() {
		c.failover(fmt.Sprintf("failover.[%d]", i), f.From, f.To)
	}
}

// localities refuses localities (region/zone/subzone) that are malformed, and
// such as lie within one that stands before them.
func (c *checker) localities(field string, list []string) {
	var before [][3]string
	for _, l := range list {
		if n := strings.Count(l, "*"); n > 1 || n == 1 && !strings.HasSuffix(l, "*") {
			c.refuse(field, "has locality %q: only its end may be *", l)
			return
		}
		parts := strings.SplitN(l, "/", 3)
		place := [3]string{"*", "*", "*"}
		for i, part := range parts {
			if part == "" {
				c.refuse(field, "has locality %q: neither region nor zone nor subzone may be empty", l)
				return
			}
			place[i] = part
		}
		for _, b := range before {
			if covers(b, place, len(parts)) {
				c.refuse(field, "has locality %q, which overlaps with one before it", l)
				return
			}
		}
		before = append(before, place)
	}
}

// covers reports whether two localities overlap, of which the second has the
// given number of parts.
func covers(first, second [3]string, parts int) bool {
	zone := parts == 1 || first[1] == "*" ||
		first[1] == second[1] && (parts == 2 || first[2] == "*" || first[2] == second[2])
	return first[0] == "*" || first[0] == second[0] && zone
}

func (c *checker) zoneAware(s *networkingv1alpha3.ZoneAwareLoadBalancerSetting) {
	for i, name := range s.GetFailoverPriority() {
		if isPlaceLabel(name) {
			c.refuse(fmt.Sprintf("failoverPriority.[%d]", i), "cannot be %s: regions and zones are ranked already", name)
		}
	}
	for i, f := range s.GetFailover() {
		c.failover(fmt.Sprintf("failover.[%d]", i), f.From, f.To)
	}
}

func (c *checker) failover(field, from, to string) {
	if from == to {
		c.refuse(field, "must lead from one region to another, not to itself")
	}
	if strings.ContainsAny(from+to, "/*") {
		c.refuse(field, "must name whole regions, without / and *")
	}
}

// curves warns of elliptic curves that a proxy does not know.
func (c *checker) curves(list []string) {
	seen := map[string]bool{}
	for i, name := range list {
		field := fmt.Sprintf("tlsDefaults.ecdhCurves.[%d]", i)
		switch name {
		case "", "P-224", "P-256", "P-384", "P-521", "X25519", "X25519Kyber768Draft00", "X25519MLKEM768":
			if seen[name] {
				c.find(diag.Warning, CodeWarned, field, "is %q for the second time", name)
			}
			seen[name] = true
		default:
			c.find(diag.Warning, CodeWarned, field, "is %q, which is no curve that a proxy knows", name)
		}
	}
}

func (c *checker) trafficPolicy(p *meshv1alpha1.MeshConfig_DefaultTrafficPolicy) {
	if pool := p.GetConnectionPool(); pool != nil {
		if pool.Http == nil && pool.Tcp == nil {
			c.refuse("connectionPool", "must have http or tcp")
		}
		c.within(func() { c.httpPool(pool.Http) }, "connectionPool", "http")
		c.within(func() { c.tcpPool(pool.Tcp) }, "connectionPool", "tcp")
	}
	if o := p.GetOutlierDetection(); o != nil {
		c.within(func() { c.outliers(o) }, "outlierDetection")
	}
}

func (c *checker) httpPool(s *networkingv1alpha3.ConnectionPoolSettings_HTTPSettings) {
	if s == nil {
		return
	}
	c.least("http1MaxPendingRequests", s.Http1MaxPendingRequests, 0)
	c.least("http2MaxRequests", s.Http2MaxRequests, 0)
	c.least("maxRequestsPerConnection", s.MaxRequestsPerConnection, 0)
	c.least("maxRetries", s.MaxRetries, 0)
	c.least("maxConcurrentStreams", s.MaxConcurrentStreams, 0)
	c.optional("idleTimeout", s.IdleTimeout)
	if s.UseClientProtocol && s.H2UpgradePolicy == networkingv1alpha3.ConnectionPoolSettings_HTTPSettings_UPGRADE {
		c.refuse("useClientProtocol", "contradicts h2UpgradePolicy UPGRADE")
	}
}

func (c *checker) tcpPool(s *networkingv1alpha3.ConnectionPoolSettings_TCPSettings) {
	if s == nil {
		return
	}
	c.least("maxConnections", s.MaxConnections, 0)
	c.optional("connectTimeout", s.ConnectTimeout)
	c.optional("maxConnectionDuration", s.MaxConnectionDuration)
	if s.IdleTimeout.AsDuration().Milliseconds() != 0 { // 0 turns it off
		c.duration("idleTimeout", s.IdleTimeout)
	}
	c.optional("tcpKeepalive.time", s.TcpKeepalive.GetTime())
	c.optional("tcpKeepalive.interval", s.TcpKeepalive.GetInterval())
}

func (c *checker) outliers(o *networkingv1alpha3.OutlierDetection) {
	c.optional("baseEjectionTime", o.BaseEjectionTime)
	c.optional("interval", o.Interval)
	if o.ConsecutiveLocalOriginFailures.GetValue() > 0 && !o.SplitExternalLocalOriginErrors {
		c.refuse("consecutiveLocalOriginFailures", "counts only where splitExternalLocalOriginErrors is true")
	}
	for _, f := range []struct {
		name    string
		percent int32
	}{{"maxEjectionPercent", o.MaxEjectionPercent}, {"minHealthPercent", o.MinHealthPercent}} {
		if f.percent < 0 || f.percent > 100 {
			c.refuse(f.name, "must be a percentage from 0 to 100, not %d", f.percent)
		}
	}
}

func (c *checker) filled(field, value string) {
	if value == "" {
		c.refuse(field, "must not be empty")
	}
}

func (c *checker) least(field string, value, least int32) {
	if value < least {
		c.refuse(field, "must be at least %d, not %d", least, value)
	}
}

func (c *checker) port(field string, number int32) {
	if !isPort(int(number)) {
		c.refuse(field, "must be a port from 1 to 65535, not %d", number)
	}
}

func (c *checker) address(field, address string) {
	if !isAddress(address) {
		c.refuse(field, "must be an address, not %q", address).Fix = "write host:port, such as istiod.istio-system.svc:15012"
	}
}

// duration reports whether a duration is at least a millisecond and a whole
// number of them, as durations of the mesh must be.
func (c *checker) duration(field string, d *durationpb.Duration) bool {
	switch t := d.AsDuration(); {
	case t < time.Millisecond:
		c.refuse(field, "must be at least a millisecond, not %v", t)
	case t%time.Millisecond != 0:
		c.refuse(field, "must be whole milliseconds, not %v", t)
	default:
		return true
	}
	return false
}

// optional is duration for a field that may be left out.
func (c *checker) optional(field string, d *durationpb.Duration) {
	if d != nil {
		c.duration(field, d)
	}
}
