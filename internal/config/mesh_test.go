package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

func mustMesh(t *testing.T, text string) *meshv1alpha1.MeshConfig {
	t.Helper()
	m, diags := ParseMesh(source.NewText("mesh.yaml", []byte(text)))
	quiet(t, diags)
	if m == nil {
		t.FailNow()
	}
	return m.Config
}

func TestParseMeshMerges(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       func(*meshv1alpha1.MeshConfig)
	}{
		{"empty", "", func(*meshv1alpha1.MeshConfig) {}},
		{"null is the default", "rootNamespace: null\ndefaultConfig: null\ndefaultProviders:\n", func(*meshv1alpha1.MeshConfig) {}},
		{"a scalar replaces", "rootNamespace: mesh", func(m *meshv1alpha1.MeshConfig) { m.RootNamespace = "mesh" }},
		{"also by its proto name", "root_namespace: mesh", func(m *meshv1alpha1.MeshConfig) { m.RootNamespace = "mesh" }},
		{"a message replaces", "localityLbSetting: {}", func(m *meshv1alpha1.MeshConfig) { m.LocalityLbSetting.Enabled = nil }},
		{"a list replaces", "defaultServiceExportTo: [.]", func(m *meshv1alpha1.MeshConfig) { m.DefaultServiceExportTo = []string{"."} }},
		{"defaultConfig is merged", "defaultConfig: {concurrency: 0, statusPort: 1}", func(m *meshv1alpha1.MeshConfig) {
			m.DefaultConfig.StatusPort = 1
			m.DefaultConfig.Concurrency = mustMesh(t, "defaultConfig: {concurrency: 0}").DefaultConfig.Concurrency
		}},
		{"defaultProviders is merged", "defaultProviders: {metrics: [prometheus]}", func(m *meshv1alpha1.MeshConfig) {
			m.DefaultProviders.Metrics = []string{"prometheus"}
		}},
		{"providers are merged by name", "extensionProviders: [{name: envoy, envoyFileAccessLog: {path: /x}}, {name: mine}, {name: stackdriver}]", func(m *meshv1alpha1.MeshConfig) {
			m.ExtensionProviders[2].GetEnvoyFileAccessLog().Path = "/x"
			m.ExtensionProviders[1].Provider = nil
			m.ExtensionProviders = append(m.ExtensionProviders, &meshv1alpha1.MeshConfig_ExtensionProvider{Name: "mine"})
		}},
		{"aliases are sorted", "trustDomainAliases: [b, a, b]", func(m *meshv1alpha1.MeshConfig) { m.TrustDomainAliases = []string{"a", "b"} }},
		{"numbers in quotes", "proxyListenPort: '15002'", func(m *meshv1alpha1.MeshConfig) { m.ProxyListenPort = 15002 }},
		{"enum by number", "outboundTrafficPolicy: {mode: 0}", func(m *meshv1alpha1.MeshConfig) { m.OutboundTrafficPolicy.Mode = 0 }},
		{"the last of a oneof wins, by its type", "defaultConfig: {tracingServiceName: CANONICAL_NAME_ONLY, serviceCluster: x}", func(m *meshv1alpha1.MeshConfig) {
			m.DefaultConfig.ClusterName = &meshv1alpha1.ProxyConfig_TracingServiceName_{TracingServiceName: 1}
		}},
		{"from a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata:\n  mesh: |\n    rootNamespace: mesh\n", func(m *meshv1alpha1.MeshConfig) { m.RootNamespace = "mesh" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := DefaultMeshConfig()
			test.want(want)
			if diff := cmp.Diff(want, mustMesh(t, test.text), protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithProxyConfig(t *testing.T) {
	m, _ := ParseMesh(source.NewText("", []byte("defaultConfig: {proxyMetadata: {A: a, B: b}, proxyHeaders: {server: {disabled: true}, requestId: {disabled: true}}}")))
	before, _ := AppendProtoJSON(nil, m.Config)
	got, diags := m.WithProxyConfig(source.NewText("", []byte("proxyMetadata: {B: x, C: c}\nproxyHeaders: {requestId: {disabled: false}}\nconcurrency: 3")))
	quiet(t, diags)
	js, _ := AppendProtoJSON(nil, got.Config.DefaultConfig)
	for _, want := range []string{`"proxyMetadata":{"A":"a","B":"x","C":"c"}`, `"proxyHeaders":{"requestId":{"disabled":false},"server":{"disabled":true}}`, `"concurrency":3`} {
		if !strings.Contains(string(js), want) {
			t.Errorf("%s lacks %s", js, want)
		}
	}
	if after, _ := AppendProtoJSON(nil, m.Config); string(before) != string(after) {
		t.Errorf("the mesh was changed:\n%s\n%s", before, after)
	}
	if got, diags := m.WithProxyConfig(source.NewText("", []byte("concurrency: many"))); got != nil || !diags.HasErrors() {
		t.Error("a bad type was accepted")
	}
}

// findings spells findings as lines "severity line:col code message (fix)".
func findings(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(strings.ToLower(d.Severity.String()) + " " + d.Code + ": " + d.Message)
		if d.Fix != "" {
			b.WriteString(" (" + d.Fix + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestParseMeshFindings(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"defaultConfig: {drainDuraton: 5s}", "warning IGF0302: unknown field defaultConfig.drainDuraton: the control plane ignores it (did you mean drainDuration?)\n"},
		{"default_config: {concurrency: 2}", "warning IGF0304: default_config has no effect: the control plane reads it under another name (write defaultConfig)\n"},
		{"defaultConfig: {proxyMetadata: {ISTIO_META_DNS_AUTO_ALLOCATE: 'true'}}", "warning IGF0305: defaultConfig.proxyMetadata.ISTIO_META_DNS_AUTO_ALLOCATE is deprecated (leave it out: the control plane allocates addresses by itself)\n"},
		{"tlsDefaults: {ecdhCurves: [P-256, P-256, X]}", "warning IGF0305: tlsDefaults.ecdhCurves[1] is \"P-256\" for the second time\nwarning IGF0305: tlsDefaults.ecdhCurves[2] is \"X\", which is no curve that a proxy knows\n"},

		{"[]", "error IGF0301: the document must be an object, not an array\n"},
		{"trustDomain: 5", "error IGF0301: trustDomain must be a string, not the number 5\n"},
		{"proxyListenPort: 1.5", "error IGF0301: proxyListenPort must be a whole number, not the number 1.5\n"},
		{"enableTracing: 'yes'", "error IGF0301: enableTracing must be a boolean, not the string \"yes\"\n"},
		{"connectTimeout: 10", "error IGF0301: connectTimeout must be a duration such as \"10s\" or \"1m30s\", not the number 10\n"},
		{"accessLogEncoding: JSN", "error IGF0301: accessLogEncoding must be one of TEXT, JSON, not the string \"JSN\" (did you mean JSON?)\n"},
		{"extensionProviders: [{name: a}, {name: []}]", "error IGF0301: extensionProviders[1].name must be a string, not an array\n"},
		{"defaultConfig: {proxyMetadata: {A: 1}}", "error IGF0301: defaultConfig.proxyMetadata.A must be a string, not the number 1\n"},

		{"proxyListenPort: 0", "error IGF0303: proxyListenPort must be a port from 1 to 65535, not 0\n"},
		{"connectTimeout: 1us", "error IGF0303: connectTimeout must be at least a millisecond, not 1µs\n"},
		{"connectTimeout: 61m", "error IGF0303: connectTimeout must be at most an hour, not 1h1m0s\n"},
		{"protocolDetectionTimeout: 1us", "error IGF0303: protocolDetectionTimeout must be whole milliseconds, not 1µs\n"},
		{"trustDomain: a_b", "error IGF0303: trustDomain must be a domain name, not \"a_b\"\n"},
		{"trustDomainAliases: ['']", "error IGF0303: trustDomainAliases must hold domain names, of which \"\" is none\n"},
		{"serviceSettings: [{hosts: ['a*']}]", "error IGF0303: serviceSettings[0].hosts[0] must be a domain name, of which the first label may be *, not \"a*\"\n"},
		{"meshMTLS: {ecdhCurves: [P-256]}", "error IGF0303: meshMTLS.ecdhCurves cannot be set for the mesh's own TLS (set tlsDefaults.ecdhCurves, or leave it out)\n"},
		{"defaultConfig: {drainDuration: 1500ms}", "error IGF0303: defaultConfig.drainDuration must be whole seconds, not 1.5s\n"},
		{"defaultConfig: {discoveryAddress: istiod}", "error IGF0303: defaultConfig.discoveryAddress must be an address, not \"istiod\" (write host:port, such as istiod.istio-system.svc:15012)\n"},
		{"defaultConfig: {configPath: '', binaryPath: '', serviceCluster: ''}", "error IGF0303: defaultConfig.configPath must not be empty\nerror IGF0303: defaultConfig.binaryPath must not be empty\nerror IGF0303: defaultConfig.serviceCluster must not be empty\n"},
		{"defaultConfig: {tracing: {lightstep: {address: 'a:1'}}}", "error IGF0303: defaultConfig.tracing.lightstep.accessToken must not be empty\n"},
		{"defaultConfig: {tracing: {zipkin: {address: '$(HOST_IP)'}}}", "error IGF0303: defaultConfig.tracing.zipkin.address must be an address, not \"127.0.0.1\" (write host:port, such as istiod.istio-system.svc:15012)\n"},
		{"defaultConfig: {tracing: {tlsSettings: {mode: MUTUAL}}}", "error IGF0303: defaultConfig.tracing.tlsSettings.clientCertificate must not be empty\nerror IGF0303: defaultConfig.tracing.tlsSettings.privateKey must not be empty\n"},
		{"defaultConfig: {tracing: {tlsSettings: {mode: SIMPLE, credentialName: 'configmap://a/b', caCertificates: c, insecureSkipVerify: true}}}", "error IGF0303: defaultConfig.tracing.tlsSettings.credentialName cannot name a ConfigMap here, since tracing settings belong to no namespace\nerror IGF0303: defaultConfig.tracing.tlsSettings.insecureSkipVerify contradicts what says how to verify the server: caCertificates, subjectAltNames or credentialName\nerror IGF0303: defaultConfig.tracing.tlsSettings.credentialName excludes clientCertificate, caCertificates, privateKey and caCrl\n"},
		{"defaultConfig: {statusPort: 0, proxyAdminPort: 70000}", "error IGF0303: defaultConfig.proxyAdminPort must be a port from 1 to 65535, not 70000\nerror IGF0303: defaultConfig.statusPort must be a port from 1 to 65535, not 0\n"},
		{"defaultConfig: {controlPlaneAuthPolicy: INHERIT}", "error IGF0303: defaultConfig.controlPlaneAuthPolicy must be NONE or MUTUAL_TLS\n"},
		{"defaultConfig: {privateKeyProvider: {}}", "error IGF0303: defaultConfig.privateKeyProvider must have a provider, cryptomb or qat\n"},
		{"defaultConfig: {privateKeyProvider: {qat: {pollDelay: 0s}}}", "error IGF0303: defaultConfig.privateKeyProvider.qat.pollDelay must be set, and not zero\n"},
		{"defaultConfig: {connectionSettings: {http2InitialStreamWindowSize: 65534, httpIdleTimeout: -1s}}", "error IGF0303: defaultConfig.connectionSettings.http2InitialStreamWindowSize must be at least 65535, not 65534\nerror IGF0303: defaultConfig.connectionSettings.httpIdleTimeout must not be negative\n"},
		{"localityLbSetting: {distribute: [{from: a, to: {b: 100}}], failover: [{from: a, to: b}]}", "error IGF0303: localityLbSetting.distribute and failover exclude each other\n"},
		{"localityLbSetting: {failoverPriority: [x, topology.istio.io/subzone], failover: [{from: a, to: b}]}", "error IGF0303: localityLbSetting.failoverPriority[1] cannot be topology.istio.io/subzone where failover is set\n"},
		{"localityLbSetting: {distribute: [{from: a, to: {b: 101}}]}", "error IGF0303: localityLbSetting.distribute[0].to.b must be a weight from 1 to 100, not 101\n"},
		{"localityLbSetting: {distribute: [{from: a, to: {b: 99}}]}", "error IGF0303: localityLbSetting.distribute[0].to must hold weights whose sum is 100, not 99\n"},
		{"localityLbSetting: {distribute: [{from: a, to: {b/*: 50, b/c: 50}}]}", "error IGF0303: localityLbSetting.distribute[0].to has locality \"b/c\", which overlaps with one before it\n"},
		{"localityLbSetting: {distribute: [{from: a, to: {b: 50, '*': 50}}]}", "error IGF0303: localityLbSetting.distribute[0].to has locality \"b\", which overlaps with one before it\n"},
		{"localityLbSetting: {distribute: [{from: '*/a', to: {b: 100}}]}", "error IGF0303: localityLbSetting.distribute has locality \"*/a\": only its end may be *\n"},
		{"localityLbSetting: {distribute: [{from: a//b, to: {b: 100}}]}", "error IGF0303: localityLbSetting.distribute has locality \"a//b\": neither region nor zone nor subzone may be empty\n"},
		{"localityLbSetting: {failover: [{from: a/b, to: a/b}]}", "error IGF0303: localityLbSetting.failover[0] must lead from one region to another, not to itself\nerror IGF0303: localityLbSetting.failover[0] must name whole regions, without / and *\n"},
		{"zoneAwareLbSetting: {failoverPriority: [topology.kubernetes.io/zone], failover: [{from: a, to: '*'}]}", "error IGF0303: zoneAwareLbSetting.failoverPriority[0] cannot be topology.kubernetes.io/zone: regions and zones are ranked already\nerror IGF0303: zoneAwareLbSetting.failover[0] must name whole regions, without / and *\n"},
		{"defaultTrafficPolicy: {connectionPool: {}}", "error IGF0303: defaultTrafficPolicy.connectionPool must have http or tcp\n"},
		{"defaultTrafficPolicy: {connectionPool: {http: {maxRetries: -1, h2UpgradePolicy: UPGRADE, useClientProtocol: true}, tcp: {idleTimeout: 0s, connectTimeout: 0s}}}", "error IGF0303: defaultTrafficPolicy.connectionPool.http.maxRetries must be at least 0, not -1\nerror IGF0303: defaultTrafficPolicy.connectionPool.http.useClientProtocol contradicts h2UpgradePolicy UPGRADE\nerror IGF0303: defaultTrafficPolicy.connectionPool.tcp.connectTimeout must be at least a millisecond, not 0s\n"},
		{"defaultTrafficPolicy: {outlierDetection: {consecutiveLocalOriginFailures: 1, maxEjectionPercent: 101}}", "error IGF0303: defaultTrafficPolicy.outlierDetection.consecutiveLocalOriginFailures counts only where splitExternalLocalOriginErrors is true\nerror IGF0303: defaultTrafficPolicy.outlierDetection.maxEjectionPercent must be a percentage from 0 to 100, not 101\n"},

		{"global: {}", "error IGF0201: this is the values of an install, not a mesh configuration (take the string under key mesh of ConfigMap istio, or that ConfigMap)\n"},
		{"templates: {}", "error IGF0201: this is an injection configuration, not a mesh configuration (take the string under key mesh of ConfigMap istio, or that ConfigMap)\n"},
		{"apiVersion: v1\nkind: Service", "error IGF0201: this is a Kubernetes object of kind Service, not a mesh configuration (take the string under key mesh of ConfigMap istio, or that ConfigMap)\n"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata: {meshNetworks: ''}", "error IGF0202: ConfigMap \"istio\" has no key \"mesh\" in data; it has meshNetworks (take ConfigMap istio)\n"},
	} {
		m, diags := ParseMesh(source.NewText("mesh.yaml", []byte(test.text)))
		if got := findings(diags); got != test.want {
			t.Errorf("%s\ngot  %swant %s", test.text, got, test.want)
		}
		if (m == nil) != diags.HasErrors() {
			t.Errorf("%s: a value is there: %v, errors: %v", test.text, m != nil, diags.HasErrors())
		}
	}
}

func TestCheckProxyConfig(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"concurrency: 2\ntracing: {sampling: NaN}": "",
		`{"image": {"imageType": "debug"}}`:        "",
		"concurency: 2":                            "warning IGF0302: unknown field concurency: the control plane ignores it (did you mean concurrency?)\n",
		"concurrency: ' 2 '":                       "",
		"concurrency: two":                         "error IGF0301: concurrency must be a whole number, not the string \"two\"\n",
		"tracing: {sampling: lots}":                "error IGF0301: tracing.sampling must be a number, not the string \"lots\"\n",
		"tracing: {maxPathTagLength: -1}":          "error IGF0301: tracing.maxPathTagLength must be a whole number that is not negative, not the number -1\n",
		"statusPort: 0":                            "error IGF0303: statusPort must be a port from 1 to 65535, not 0\n",
		"- a":                                      "error IGF0301: the document must be an object, not an array\n",
	} {
		if got := findings(CheckProxyConfig(source.NewText("annotation", []byte(text)))); got != want {
			t.Errorf("%q\ngot  %swant %s", text, got, want)
		}
	}
	if diags := CheckProxyConfig(source.NewText("annotation", []byte("{"))); len(diags) != 1 || diags[0].Code != diag.CodeSyntax {
		t.Errorf("broken YAML: %v", diags)
	}
}
