package tmpl

import (
	"reflect"

	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
)

// withoutDefaults copies a proxy configuration without the fields that the
// injector leaves out of protoToJSON: those equal to the proxy's own built-in
// defaults.
func withoutDefaults(pc *meshv1alpha1.ProxyConfig) *meshv1alpha1.ProxyConfig {
	return withoutFieldsOf(pc, config.DefaultProxyConfig())
}

// withoutFieldsOf copies a proxy configuration without the fields that are as
// in def.
func withoutFieldsOf(pc, def *meshv1alpha1.ProxyConfig) *meshv1alpha1.ProxyConfig {
	c := &meshv1alpha1.ProxyConfig{}
	from, to := reflect.ValueOf(pc).Elem(), reflect.ValueOf(c).Elem()
	for i := range from.NumField() {
		if to.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	drop(&c.ConfigPath, def.ConfigPath)
	drop(&c.BinaryPath, def.BinaryPath)
	drop(&c.DiscoveryAddress, def.DiscoveryAddress)
	drop(&c.ProxyAdminPort, def.ProxyAdminPort)
	drop(&c.ControlPlaneAuthPolicy, def.ControlPlaneAuthPolicy)
	drop(&c.StatNameLength, def.StatNameLength)
	drop(&c.StatusPort, def.StatusPort)
	if _, ok := c.ClusterName.(*meshv1alpha1.ProxyConfig_ServiceCluster); ok && c.GetServiceCluster() == def.GetServiceCluster() {
		c.ClusterName = nil
	}
	if sameDuration(c.DrainDuration, def.DrainDuration) {
		c.DrainDuration = nil
	}
	if sameDuration(c.TerminationDrainDuration, def.TerminationDrainDuration) {
		c.TerminationDrainDuration = nil
	}
	return c
}

// drop clears a field that has its default.
func drop[T comparable](field *T, def T) {
	if *field == def {
		*field = *new(T)
	}
}

func sameDuration(a, b *durationpb.Duration) bool {
	return a != nil && a.Seconds == b.GetSeconds() && a.Nanos == b.GetNanos()
}
