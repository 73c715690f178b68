package config

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"
)

// DefaultProxyConfig returns what a proxy is configured with where neither the
// mesh nor the pod says otherwise. The figures are those of release 1.31, as
// its package pkg/config/mesh has them; the caller owns the message.
func DefaultProxyConfig() *meshv1alpha1.ProxyConfig {
	return &meshv1alpha1.ProxyConfig{
		ConfigPath:               "./etc/istio/proxy",
		BinaryPath:               "/usr/local/bin/envoy",
		ClusterName:              &meshv1alpha1.ProxyConfig_ServiceCluster{ServiceCluster: "istio-proxy"},
		DiscoveryAddress:         "istiod.istio-system.svc:15012",
		ControlPlaneAuthPolicy:   meshv1alpha1.AuthenticationPolicy_MUTUAL_TLS,
		DrainDuration:            durationpb.New(45 * time.Second),
		TerminationDrainDuration: durationpb.New(5 * time.Second),
		ProxyAdminPort:           15000,
		StatusPort:               15020,
		StatNameLength:           189,
	}
}

// DefaultMeshConfig returns the configuration of a mesh whose file is empty,
// as release 1.31 has it in the same package; the caller owns the message.
func DefaultMeshConfig() *meshv1alpha1.MeshConfig {
	provider := func(name string) *meshv1alpha1.MeshConfig_ExtensionProvider {
		return &meshv1alpha1.MeshConfig_ExtensionProvider{Name: name}
	}
	prometheus, stackdriver, envoy := provider("prometheus"), provider("stackdriver"), provider("envoy")
	prometheus.Provider = &meshv1alpha1.MeshConfig_ExtensionProvider_Prometheus{
		Prometheus: &meshv1alpha1.MeshConfig_ExtensionProvider_PrometheusMetricsProvider{},
	}
	stackdriver.Provider = &meshv1alpha1.MeshConfig_ExtensionProvider_Stackdriver{
		Stackdriver: &meshv1alpha1.MeshConfig_ExtensionProvider_StackdriverProvider{},
	}
	envoy.Provider = &meshv1alpha1.MeshConfig_ExtensionProvider_EnvoyFileAccessLog{
		EnvoyFileAccessLog: &meshv1alpha1.MeshConfig_ExtensionProvider_EnvoyFileAccessLogProvider{Path: "/dev/stdout"},
	}
	return &meshv1alpha1.MeshConfig{
		DefaultConfig:                  DefaultProxyConfig(),
		RootNamespace:                  "istio-system",
		TrustDomain:                    "cluster.local",
		ProxyListenPort:                15001,
		ProxyInboundListenPort:         15006,
		ConnectTimeout:                 durationpb.New(10 * time.Second),
		ProtocolDetectionTimeout:       durationpb.New(0),
		DnsRefreshRate:                 durationpb.New(60 * time.Second),
		EnableTracing:                  true,
		EnableAutoMtls:                 wrapperspb.Bool(true),
		EnablePrometheusMerge:          wrapperspb.Bool(true),
		IngressClass:                   "istio",
		IngressService:                 "istio-ingressgateway",
		IngressControllerMode:          meshv1alpha1.MeshConfig_STRICT,
		AccessLogEncoding:              meshv1alpha1.MeshConfig_TEXT,
		DefaultServiceExportTo:         []string{"*"},
		DefaultVirtualServiceExportTo:  []string{"*"},
		DefaultDestinationRuleExportTo: []string{"*"},
		OutboundTrafficPolicy: &meshv1alpha1.MeshConfig_OutboundTrafficPolicy{
			Mode: meshv1alpha1.MeshConfig_OutboundTrafficPolicy_ALLOW_ANY,
		},
		InboundTrafficPolicy: &meshv1alpha1.MeshConfig_InboundTrafficPolicy{
			Mode: meshv1alpha1.MeshConfig_InboundTrafficPolicy_PASSTHROUGH,
		},
		LocalityLbSetting:  &networkingv1alpha3.LocalityLoadBalancerSetting{Enabled: wrapperspb.Bool(true)},
		DefaultProviders:   &meshv1alpha1.MeshConfig_DefaultProviders{},
		ExtensionProviders: []*meshv1alpha1.MeshConfig_ExtensionProvider{prometheus, stackdriver, envoy},
	}
}
