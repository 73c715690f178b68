package tmpl

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// protoToJSON21 is the function protoToJSON of releases 1.4 to 1.21. The JSON
// of a proxy configuration has the fields of that release; since 1.6 it lacks
// those that are as by default.
func protoToJSON21(r *run) any {
	return func(m proto.Message) string {
		switch m := m.(type) {
		case *meshv1alpha1.ProxyConfig:
			return r.formerProxyJSON(m)
		case *proxyConfig6:
			return r.formerProxyJSON(m.ProxyConfig)
		case *proxyConfig16:
			return r.formerProxyJSON(m.ProxyConfig)
		case *meshConfig6:
			return protoToJSON(m.MeshConfig)
		case *tracing6:
			return protoToJSON(m.Tracing)
		}
		return protoToJSON(m)
	}
}

func (r *run) formerProxyJSON(p *meshv1alpha1.ProxyConfig) string {
	if p == nil {
		return "{}"
	}
	former := r.data.formerOrNone().Config.Proxy
	if rel := r.template.dialect.release; !rel.Before(release.V(1, 6)) {
		p, former = withoutFormerDefaults(p, former, rel)
		former.ConnectTimeout = nil // gone
	}
	js, err := config.AppendProtoJSON(nil, p)
	if err != nil {
		return "{}"
	}
	if former.ParentShutdownDuration == nil && former.ConnectTimeout == nil {
		return string(js)
	}
	doc, err := source.Parse(source.NewText("", js))
	if err != nil {
		return "{}"
	}
	fields := doc.Root
	fields = insertDuration(fields, "connectTimeout", former.ConnectTimeout, "configPath", "binaryPath", "serviceCluster",
		"drainDuration", "discoveryAddress", "discoveryRefreshDelay", "zipkinAddress")
	fields = insertDuration(fields, "parentShutdownDuration", former.ParentShutdownDuration,
		"configPath", "binaryPath", "serviceCluster", "drainDuration")
	return string(source.AppendJSON(nil, fields))
}

// insertDuration puts a field behind those that were declared before it.
func insertDuration(n *source.Node, name string, d *durationpb.Duration, before ...string) *source.Node {
	if d == nil {
		return n
	}
	js, err := config.AppendProtoJSON(nil, d)
	if err != nil {
		return n
	}
	value, err := source.Parse(source.NewText("", js))
	if err != nil {
		return n
	}
	at := 0
	for i, f := range n.Fields() {
		for _, b := range before {
			if f.Key == b {
				at = i + 1
			}
		}
	}
	fields := append([]source.Field(nil), n.Fields()[:at]...)
	fields = append(append(fields, source.F(name, value.Root)), n.Fields()[at:]...)
	return n.WithFields(fields...)
}

// withoutFormerDefaults takes out what is as the release has it by default.
func withoutFormerDefaults(p *meshv1alpha1.ProxyConfig, former config.FormerProxy, rel release.Release) (*meshv1alpha1.ProxyConfig, config.FormerProxy) {
	def := config.DefaultMesh(rel)
	c := withoutFieldsOf(p, def.Config.DefaultConfig)
	if isEmptyService(c.EnvoyMetricsService) {
		c.EnvoyMetricsService = nil
	}
	if isEmptyService(c.EnvoyAccessLogService) {
		c.EnvoyAccessLogService = nil
	}
	if sameJSON(c.Tracing, def.Config.DefaultConfig.Tracing) {
		c.Tracing = nil
	}
	if n := c.Concurrency; n != nil && def.Config.DefaultConfig.Concurrency != nil && n.Value == def.Config.DefaultConfig.Concurrency.Value {
		c.Concurrency = nil
	}
	if rel.Before(release.V(1, 7)) { // nobody left these out yet
		c.ControlPlaneAuthPolicy, c.TerminationDrainDuration = p.ControlPlaneAuthPolicy, p.TerminationDrainDuration
		if c.Concurrency.GetValue() == 0 {
			c.Concurrency = nil // a plain number: 0 is none
		}
	}
	if len(c.ProxyMetadata) == 0 {
		c.ProxyMetadata = nil
	}
	if sameDuration(former.ParentShutdownDuration, def.Former.Proxy.ParentShutdownDuration) {
		former.ParentShutdownDuration = nil
	}
	return c, former
}

func isEmptyService(s *meshv1alpha1.RemoteService) bool {
	return s != nil && s.Address == "" && s.TlsSettings == nil && s.TcpKeepalive == nil
}

func sameJSON(a, b *meshv1alpha1.Tracing) bool {
	if a == nil || b == nil {
		return false
	}
	x, err1 := config.AppendProtoJSON(nil, a)
	y, err2 := config.AppendProtoJSON(nil, b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
