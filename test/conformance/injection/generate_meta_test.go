package injection

import (
	"maps"
	"strings"
)

// texts holds values of an annotation or a label: sound ones, and those that
// are not.
type texts struct {
	key       string
	good, bad []string
}

// annotationTexts covers every annotation that the injector or one of its
// templates reads.
var annotationTexts = []texts{
	{"sidecar.istio.io/inject", []string{"true", "true", "false", ""}, []string{"maybe", "TRUE"}},
	{"inject.istio.io/templates", []string{"sidecar", "gateway", "grpc-agent", "grpc-simple", "sidecar,custom", "custom", "gateway, custom", "both", "sidecar,grpc-simple"}, []string{"", "absent", "sidecar,absent", ",", "sidecar,sidecar", "waypoint", "kube-gateway", "agentgateway"}},
	{"sidecar.istio.io/interceptionMode", []string{"REDIRECT", "TPROXY"}, []string{"", "redirect", "OTHER"}},
	{"status.sidecar.istio.io/port", []string{"15020", "16020"}, []string{"x", "-1", "70000", ""}},
	{"readiness.status.sidecar.istio.io/initialDelaySeconds", []string{"0", "7"}, []string{"-1", "x", ""}},
	{"readiness.status.sidecar.istio.io/periodSeconds", []string{"3"}, []string{"1.5"}},
	{"readiness.status.sidecar.istio.io/failureThreshold", []string{"9"}, []string{"four"}},
	{"readiness.status.sidecar.istio.io/applicationPorts", []string{"80,90"}, nil},
	{"traffic.sidecar.istio.io/includeOutboundIPRanges", []string{"*", "10.0.0.0/8", "10.0.0.0/8,fd00::/8", ""}, []string{"10.0.0.0", "x", "10.0.0.0/8, 11.0.0.0/8"}},
	{"traffic.sidecar.istio.io/excludeOutboundIPRanges", []string{"10.1.0.0/16", ""}, []string{"*", "10.0.0/8"}},
	{"traffic.sidecar.istio.io/includeInboundPorts", []string{"*"}, []string{"http", "80;90", "65536"}},
	{"traffic.sidecar.istio.io/excludeInboundPorts", []string{"81", "15020", "15020,81", " 81 , 82", ""}, []string{"*", "x", "81,"}},
	{"traffic.sidecar.istio.io/includeOutboundPorts", []string{"443", "*", "", "any thing"}, nil},
	{"traffic.sidecar.istio.io/excludeOutboundPorts", []string{"3306,27017", ""}, []string{"*", "80;443", "-1"}},
	{"traffic.sidecar.istio.io/kubevirtInterfaces", []string{"net1", "net1,net2"}, []string{"a b", "", "x\ny", "averyveryverylongname"}},
	{"istio.io/reroute-virtual-interfaces", []string{"net3", "net3,net4"}, []string{"a/b", ","}},
	{"traffic.sidecar.istio.io/excludeInterfaces", []string{"eth1", "eth1,eth2"}, []string{"e t", "eth1,,eth2"}},
	{"prometheus.istio.io/merge-metrics", []string{"true", "false", "1"}, []string{"yes", ""}},
	{"prometheus.io/scrape", []string{"true", "false", "maybe"}, nil},
	{"prometheus.io/port", []string{"8080", "9090", "15020", "16020"}, []string{"http", "0", "15090", "99999", "15021", ""}},
	{"prometheus.io/path", []string{"/metrics", "metrics", "", "/a?b=<c>"}, nil},
	{"prometheus.istio.io/scrape-targets", []string{"9090:/metrics", "9090:/metrics,9091:/m", "9090"}, []string{"15020:/m", "x:/m", "15090", "", ",", "0:/a", "9090:m"}},
	{"prometheus.istio.io/secure-port", []string{"15443"}, nil},
	{"sidecar.istio.io/rewriteAppHTTPProbers", []string{"true", "false"}, []string{"perhaps"}},
	{"proxy.istio.io/config", []string{
		"concurrency: 2", "holdApplicationUntilProxyStarts: true", "holdApplicationUntilProxyStarts: false", "interceptionMode: TPROXY",
		"statusPort: 16020", "proxyMetadata: {A: b, ISTIO_META_ENABLE_HBONE: \"true\"}", "image: {imageType: distroless}", "image: {}", "tracing: {}",
		"tracing: {zipkin: {address: \"z:9411\"}}", "terminationDrainDuration: 7s", "{}", "", "proxyHeaders: {server: {value: s}}", "privateKeyProvider: {cryptomb: {pollDelay: 10ms}}",
		"discoveryAddress: istiod.other.svc:15012", "tracing: {tlsSettings: {caCertificates: /etc/certs/ca.pem, mode: SIMPLE}, zipkin: {address: \"z:1\"}}",
		"concurrency: 0", "proxyMetadata: {ENVOY_SECURE_MERGED_METRICS_PORT: \"15443\"}", "drainDuration: 23s\nstatNameLength: 300", "configPath: /x\nserviceCluster: y",
	}, []string{"nope: true", "concurrency: x", "a: [", "- 1", "drainDuration: 1", "concurrency: -1", "discoveryAddress: x", "binaryPath: \"\""}},
	{"sidecar.istio.io/proxyCPU", []string{"60m", "1", "0"}, []string{"x", "", "1\n2"}},
	{"sidecar.istio.io/proxyMemory", []string{"64Mi", "0.5Gi"}, []string{"1MB"}},
	{"sidecar.istio.io/proxyCPULimit", []string{"2", "2000m"}, []string{"two"}},
	{"sidecar.istio.io/proxyMemoryLimit", []string{"1Gi"}, []string{"- 1"}},
	{"sidecar.istio.io/proxyImage", []string{"my/proxy:1", "name-only", ""}, []string{"a \"b\": c"}},
	{"sidecar.istio.io/proxyImageType", []string{"distroless", "debug", "default", "", "own"}, nil},
	{"sidecar.istio.io/bootstrapOverride", []string{"my-bootstrap", ""}, []string{"a: b"}},
	{"sidecar.istio.io/logLevel", []string{"debug", ""}, []string{"x # y", "a: b"}},
	{"sidecar.istio.io/componentLogLevel", []string{"misc:error", ""}, []string{"a\nb: c"}},
	{"sidecar.istio.io/agentLogLevel", []string{"default:debug", ""}, []string{"\"quoted\""}},
	{"sidecar.istio.io/userVolume", []string{`[{"name":"user-volume","emptyDir":{}}]`, `{"user-volume":{"persistentVolumeClaim":{"claimName":"p"}}}`, `[{"name":"user-volume","secret":{"secretName":"s"}},{"name":"two","emptyDir":{}}]`, "{}", ""}, []string{"bad", "[", "3"}},
	{"sidecar.istio.io/userVolumeMount", []string{`[{"name":"user-volume","mountPath":"/mnt","readOnly":true}]`, `{"user-volume":{"mountPath":"/mnt","readOnly":true}}`, "{}", ""}, []string{"bad", "7", `[{"name":1}]`}},
	{"sidecar.istio.io/nativeSidecar", []string{"true", "false"}, []string{"", "maybe"}},
	{"sidecar.istio.io/capNetBindService", []string{"true", "false"}, []string{"x"}},
	{"sidecar.istio.io/enableCoreDump", []string{"true", "false"}, nil},
	{"sidecar.istio.io/statsInclusionPrefixes", []string{"a,b"}, nil},
	{"sidecar.istio.io/extraStatTags", []string{"a"}, nil},
	{"sidecar.istio.io/discoveryAddress", []string{"d:1"}, nil},
	{"k8s.v1.cni.cncf.io/networks", []string{"net-a", "net-a, default/istio-cni", `[{"name":"net-a"}]`, `[{"name":"istio-cni","namespace":"default"}]`, "istio-cni", ""}, []string{`[{"name":`, "a]", `["x"]`, "it's"}},
	{"kubectl.kubernetes.io/default-container", []string{"web", ""}, nil},
	{"kubectl.kubernetes.io/default-logs-container", []string{"web"}, nil},
	{"apm.datadoghq.com/env", []string{`{"a":"b"}`, "{}"}, []string{"bad", "a: b", `{"a":"b"`}},
	{"resource.opentelemetry.io/service.namespace", []string{"on", ""}, nil},
	{"resource.opentelemetry.io/service.version", []string{"ov"}, nil},
	{"resource.opentelemetry.io/service.instance.id", []string{"oi"}, nil},
	{"istio.io/rev", []string{"canary"}, nil},
	{"gateway.istio.io/agentgatewayImage", []string{"a/b:c"}, nil},
	{"networking.istio.io/traffic-distribution", []string{"PreferClose"}, nil},
	{"example.com/mine", []string{"x", "multi\nline: {{ y }}", "\"", "é<&>"}, nil},
	{"cluster-autoscaler.kubernetes.io/safe-to-evict", []string{"true"}, nil},
}

var labelTexts = []texts{
	{"app", []string{"web", "", strings.Repeat("l", 63)}, nil},
	{"version", []string{"v1", ""}, nil},
	{"app.kubernetes.io/name", []string{"named", ""}, nil},
	{"app.kubernetes.io/version", []string{"2.0"}, nil},
	{"service.istio.io/canonical-name", []string{"canon", "-canon-"}, nil},
	{"service.istio.io/canonical-revision", []string{"crev"}, nil},
	{"service.istio.io/workload-name", []string{"wl"}, nil},
	{"security.istio.io/tlsMode", []string{"disabled", ""}, nil},
	{"networking.istio.io/tunnel", []string{"none"}, nil},
	{"topology.istio.io/network", []string{"n-label", ""}, nil},
	{"sidecar.istio.io/inject", []string{"true", "true", "true", "false"}, []string{"maybe", ""}},
	{"istio.io/rev", []string{"canary"}, nil},
	{"istio.io/dataplane-mode", []string{"ambient", "none"}, nil},
	{"com.test/foo", []string{"bar"}, nil},
	{"team", []string{"red", "blue"}, nil},
	{"pod-template-hash", []string{"5d4f"}, nil},
	{"gateway.networking.k8s.io/gateway-name", []string{"gw"}, nil},
}

func (g gen) texts(table []texts, lo, hi int, bad float64) object {
	o := object{}
	for _, t := range some(g, lo, hi, table) {
		values := t.good
		if len(t.bad) > 0 && g.chance(bad) {
			values = t.bad
		}
		o[t.key] = oneOf(g, values...)
	}
	return o
}

func (g gen) annotations() object {
	bad := 0.02
	if g.has(quirkTexts) {
		bad = 0.5
	}
	o := g.texts(annotationTexts, 0, 5, bad)
	if g.has(quirkRedirect) {
		maps.Copy(o, g.texts(redirectTexts, 1, 2, 0))
	}
	if g.custom && g.chance(0.35) {
		o["inject.istio.io/templates"] = oneOf(g, "sidecar,custom", "sidecar,custom", "custom")
	}
	// What chooses the templates, and the proxy's own settings, matter most.
	for _, t := range annotationTexts {
		switch t.key {
		case "inject.istio.io/templates", "proxy.istio.io/config", "sidecar.istio.io/nativeSidecar":
			if g.chance(0.07) {
				o[t.key] = oneOf(g, t.good...)
			}
		}
	}
	return o
}

// redirectTexts keep ports of a pod from being redirected, or the agent from
// answering probes.
var redirectTexts = []texts{
	{"traffic.sidecar.istio.io/includeInboundPorts", []string{"80", "80, 90", "", "8080"}, nil},
	{"traffic.sidecar.istio.io/excludeInboundPorts", []string{"80,81", " 8080 , 82", "3333"}, nil},
	{"sidecar.istio.io/interceptionMode", []string{"NONE"}, nil},
	{"status.sidecar.istio.io/port", []string{"0", " 15020 "}, nil},
}

func (g gen) labels() object { return g.texts(labelTexts, 0, 4, 0.1) }

// choice is one thing that a setting may change.
type choice struct {
	in     string
	path   string
	values []any
}

const own = `{{ define "x" }}{{ .ObjectMeta.Name | quote }}{{ end }}`

// customTemplates are what users add to the configuration.
var customTemplates = []any{
	"spec:\n  containers:\n  - name: helper\n    image: helper:{{ .Revision }}\n",
	"metadata:\n  labels:\n    $patch: replace\n    only: mine\n",
	"metadata:\n  annotations:\n    a: {{ .DeploymentMeta.Name | quote }}\n    b: {{ .TypeMeta.Kind | quote }}\n    c: {{ env \"AN_ENVIRONMENT_VARIABLE\" \"none\" | quote }}\nspec:\n  hostAliases:\n  - ip: 10.0.0.1\n    hostnames: [x]\n",
	"spec:\n  containers:\n  {{- range .Spec.Containers }}\n  - name: {{ .Name }}\n    env:\n    - name: ADDED\n      value: {{ .Image | quote }}\n    volumeMounts:\n    - {name: extra, mountPath: /extra}\n  {{- end }}\n  volumes:\n  - name: extra\n    emptyDir: {}\n",
	"spec:\n  containers:\n  - name: istio-proxy\n    env:\n    - name: FROM_CUSTOM\n      value: {{ toJSON .ObjectMeta.Labels | quote }}\n    lifecycle:\n      preStop:\n        exec: {command: [sleep, \"1\"]}\n",
	// Only an init container: one named istio-proxy is in needed_test.go.
	"spec:\n  initContainers:\n  - name: first\n    image: first\n",
	"spec:\n  containers:\n  - name: app\n    $patch: delete\n",
	"spec:\n  volumes:\n  - name: data\n    $retainKeys: [name, secret]\n    secret: {secretName: s}\n  - name: data2\n    emptyDir: {}\n  $setElementOrder/volumes:\n  - name: data2\n  - name: data\n",
	"spec:\n  securityContext: null\n  terminationGracePeriodSeconds: {{ len .Spec.Containers }}\n  dnsConfig:\n    searches: [custom]\n  imagePullSecrets:\n  - name: regcred\n",
	"", "# nothing\n", "{}\n", "spec: {}\n",
	own + "metadata:\n  annotations:\n    mine: {{ template \"x\" . }}\n    joined: {{ list \"a\" \"b\" | join \"-\" }}\n    yaml: {{ toYaml .ObjectMeta.Labels | b64enc }}\n    meta: {{ mergeMaps .ObjectMeta.Labels (strdict \"k\" \"v\") | toJsonMap | quote }}\n",
	"metadata:\n  annotations:\n    pc: {{ protoToJSON .ProxyConfig | quote }}\n    d: {{ formatDuration .ProxyConfig.DrainDuration }}\n    dir: {{ directory \"/a/b/c\" }}\n    low: {{ toLower \"ABC\" }}\n    ports: {{ includeInboundPorts .Spec.Containers | quote }}\n    s: {{ structToJSON .Spec.SecurityContext | quote }}\n",
	"metadata:\n  annotations:\n    prometheus.istio.io/merge-metrics: \"false\"\n    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n    sidecar.istio.io/inject: \"false\"\n",
	"spec:\n  containers:\n  - name: probed\n    image: probed\n    ports:\n    - {containerPort: 7777, protocol: TCP, name: added}\n    readinessProbe:\n      httpGet: {path: /added, port: 7777}\n",
	"spec:\n  containers:\n  - name: istio-proxy\n    image: other\n    securityContext:\n      runAsUser: 1\n  - name: two\n    image: two\n",
	"spec:\n  initContainers:\n  - name: istio-init\n    args: [\"-u\", \"1\"]\n    image: i\n  tolerations:\n  - key: t\n",
	"spec:\n  unknownField: 1\n  containers:\n  - name: app\n    unknown: {a: b}\n",
	"apiVersion: v1\nkind: Pod\nmetadata:\n  name: renamed\n  finalizers: [a/b]\nspec:\n  serviceAccountName: other\n  containers: []\n",
	"spec:\n  containers:\n  - name: istio-proxy\n    args:\n    $patch: replace\n",
	"metadata:\n  annotations:\n    seen: {{ structToJSON .Spec.Containers | quote }}\n    inits: {{ structToJSON .Spec.InitContainers | quote }}\n",
	"spec:\n  containers:\n  {{- range .Spec.Containers }}\n  {{- if ne .Name \"istio-proxy\" }}\n  - name: {{ .Name }}\n    readinessProbe:\n      tcpSocket: {port: 7777}\n    livenessProbe:\n      httpGet: {path: /mine, port: 7778}\n    startupProbe:\n      exec: {command: [true]}\n    lifecycle:\n      preStop:\n        exec: {command: [sleep, \"1\"]}\n      postStart:\n        httpGet: {port: 7779}\n  {{- end }}\n  {{- end }}\n",
	"spec:\n  containers:\n  - name: app\n    readinessProbe:\n      grpc: {port: 7777}\n    livenessProbe:\n      tcpSocket: null\n      httpGet: {port: 7778}\n",
	"metadata:\n  annotations:\n    all: {{ range $k, $v := .ObjectMeta.Annotations }}{{ $k | quote | trimAll \"\\\"\" }};{{ end }}\n    uid: \"{{ .ProxyUID }}/{{ .ProxyGID }}\"\n    native: \"{{ .NativeSidecars }}\"\n    img: {{ .ProxyImage }} {{ .ProxyInitImage }}\n    in: {{ .InboundTrafficPolicyMode }}{{ .CompliancePolicy }}\n",
}

// refusedTemplates end in an error once they run, or when they are parsed.
var refusedTemplates = []any{
	"spec: {{ fail \"no\" }}", "spec:\n  containers: 3\n", "spec:\n  containers:\n  - image: nameless\n", "- a list\n", "just text", "spec:\n\tx: 1\n",
	"spec:\n  terminationGracePeriodSeconds: abc\n", "{{ .NoSuchField }}", "{{ index .Spec.Containers 99 }}", "spec:\n  containers:\n  - name: app\n    $patch: frobnicate\n",
	"{{ required }}", "{{ if }}", "{{ noSuchFunction 1 }}", "spec:\n  $patch: bad\n", "metadata: text\n", "{{ .Values.no.such.path }}", "spec:\n  containers:\n  - name: app\n    ports: [{containerPort: http}]\n",
}

// choices is what settings are made of, beside the flags of the installer.
var choices = []choice{
	{"values", "global.hub", []any{"example.com/hub", "docker.io/istio"}},
	{"values", "global.tag", []any{"1.31.0", "1.31.0-distroless", "1.31.0-debug", 1.31, 31}},
	{"values", "global.variant", []any{"distroless", "debug", "default"}},
	{"values", "global.network", []any{"network1"}},
	{"values", "global.multiCluster.clusterName", []any{"cluster-1"}},
	{"values", "global.imagePullPolicy", []any{"Always", "Never"}},
	{"values", "global.imagePullSecrets", []any{[]any{"regcred"}, []any{"regcred", "two"}, []any{}}},
	{"values", "global.logAsJson", []any{true}},
	{"values", "global.meshID", []any{"mesh1"}},
	{"values", "global.caAddress", []any{"ca.example:15012"}},
	{"values", "global.caName", []any{"GkeWorkloadCertificate", "ca"}},
	{"values", "global.mountMtlsCerts", []any{true}},
	{"values", "global.pilotCertProvider", []any{"kubernetes", "k8s.io/x", "custom"}},
	{"values", "global.platform", []any{"openshift", "gke"}},
	{"values", "global.nativeNftables", []any{true}},
	{"values", "global.sts.servicePort", []any{8080}},
	{"values", "global.trustBundleName", []any{"bundle"}},
	{"values", "global.logging.level", []any{"default:debug"}},
	{"values", "global.podDNSSearchNamespaces", []any{[]any{"global", "{{ valueOrDefault .DeploymentMeta.Namespace \"default\" }}.global"}}},
	{"values", "global.proxy.image", []any{"proxyTest", "my/own:2", ""}},
	{"values", "global.proxy.privileged", []any{true}},
	{"values", "global.proxy.capNetBindService", []any{"true", true}},
	{"values", "global.proxy.clusterDomain", []any{"example.local"}},
	{"values", "global.proxy.componentLogLevel", []any{"", "misc:debug"}},
	{"values", "global.proxy.excludeIPRanges", []any{"10.96.0.2/24"}},
	{"values", "global.proxy.includeIPRanges", []any{"127.0.0.1/24,10.96.0.1/24", ""}},
	{"values", "global.proxy.excludeInboundPorts", []any{"4,5,6"}},
	{"values", "global.proxy.includeInboundPorts", []any{"", "80"}},
	{"values", "global.proxy.excludeOutboundPorts", []any{"7"}},
	{"values", "global.proxy.includeOutboundPorts", []any{"8"}},
	{"values", "global.proxy.holdApplicationUntilProxyStarts", []any{true}},
	{"values", "global.proxy.lifecycle", []any{map[string]any{"preStop": map[string]any{"exec": map[string]any{"command": []any{"a"}}}}}},
	{"values", "global.proxy.outlierLogPath", []any{"/log"}},
	{"values", "global.proxy.readinessFailureThreshold", []any{300}},
	{"values", "global.proxy.readinessInitialDelaySeconds", []any{100}},
	{"values", "global.proxy.readinessPeriodSeconds", []any{200}},
	{"values", "global.proxy.resources", []any{nil, map[string]any{"limits": map[string]any{"cpu": nil, "memory": "1Gi"}}, map[string]any{"requests": map[string]any{"cpu": "0"}}, map[string]any{"limits": map[string]any{"cpu": nil}}}},
	{"values", "global.proxy.seccompProfile", []any{map[string]any{"type": "RuntimeDefault"}}},
	{"values", "global.proxy.startupProbe.enabled", []any{false}},
	{"values", "global.proxy.startupProbe.failureThreshold", []any{5}},
	{"values", "global.proxy.statusPort", []any{0, 123, 16020}},
	{"values", "global.proxy.tracer", []any{"lightstep", "zipkin", "datadog", "stackdriver"}},
	{"values", "global.proxy_init.forceApplyIptables", []any{true}},
	{"values", "global.proxy_init.image", []any{"proxyInitTest", "my/init:1"}},
	{"values", "global.trustDomain", []any{"td"}},
	{"values", "global.waypoint.resources", []any{map[string]any{"limits": map[string]any{"cpu": "1"}}}},
	{"values", "pilot.cni.enabled", []any{true, true}},
	{"values", "pilot.cni.provider", []any{"multus"}},
	{"values", "pilot.env", []any{map[string]any{"ENABLE_NATIVE_SIDECARS": "true"}, map[string]any{"ISTIO_PROMETHEUS_ANNOTATIONS": "x"}}},
	{"values", "pilot.crlConfigMapName", []any{"crl"}},
	{"values", "revision", []any{"canary"}},
	{"values", "gateways.securityContext", []any{map[string]any{"runAsUser": 5}}},
	{"values", "gateways.seccompProfile", []any{map[string]any{"type": "RuntimeDefault"}}},
	{"values", "sidecarInjectorWebhook.rewriteAppHTTPProbe", []any{false, nil}},
	{"mesh", "defaultConfig.interceptionMode", []any{"TPROXY", "NONE", "REDIRECT"}},
	{"mesh", "defaultConfig.holdApplicationUntilProxyStarts", []any{true, false}},
	{"mesh", "defaultConfig.statusPort", []any{0, 16020}},
	{"mesh", "defaultConfig.concurrency", []any{0, 2, 4}},
	{"mesh", "defaultConfig.proxyMetadata", []any{map[string]any{"A": "b"}, map[string]any{"ISTIO_META_ENABLE_HBONE": "true", "B": "c d"}, map[string]any{"ENVOY_SECURE_MERGED_METRICS_PORT": "15443"}}},
	{"mesh", "defaultConfig.image", []any{map[string]any{"imageType": "debug"}, map[string]any{}}},
	{"mesh", "defaultConfig.tracing", []any{map[string]any{}, map[string]any{"zipkin": map[string]any{"address": "z:9411"}}, map[string]any{"tlsSettings": map[string]any{"mode": "SIMPLE", "caCertificates": "/a/b.pem"}, "zipkin": map[string]any{"address": "z:1"}}}},
	{"mesh", "defaultConfig.drainDuration", []any{"23s"}},
	{"mesh", "defaultConfig.discoveryAddress", []any{"istiod.x.svc:15012"}},
	{"mesh", "defaultConfig.proxyHeaders", []any{map[string]any{"server": map[string]any{"value": "s"}}}},
	{"mesh", "defaultConfig.gatewayTopology", []any{map[string]any{"numTrustedProxies": 2}}},
	{"mesh", "defaultConfig.readinessProbe", []any{map[string]any{"initialDelaySeconds": 3}}},
	{"mesh", "defaultConfig.caCertificatesPem", []any{[]any{"pem"}}},
	{"mesh", "enablePrometheusMerge", []any{false, true}},
	{"mesh", "inboundTrafficPolicy.mode", []any{"LOCALHOST", "PASSTHROUGH"}},
	{"mesh", "proxyListenPort", []any{15111}},
	{"mesh", "proxyInboundListenPort", []any{15116}},
	{"mesh", "trustDomain", []any{"example.org"}},
	{"mesh", "extensionProviders", []any{[]any{map[string]any{"name": "otel", "opentelemetry": map[string]any{"service": "o.svc", "port": 4317, "serviceAttributeEnrichment": "OTEL_SEMANTIC_CONVENTIONS"}}}}},
	{"config", "policy", []any{"enabled", "disabled", "disabled", "other"}},
	{"config", "defaultTemplates", []any{[]any{"sidecar"}, []any{"sidecar", "custom"}, []any{"custom"}, []any{"both"}, []any{"absent"}, []any{"gateway"}, []any{}}},
	{"config", "aliases", []any{map[string]any{"both": []any{"sidecar", "custom"}}, map[string]any{"both": []any{}}, map[string]any{"sidecar": []any{"sidecar", "both"}, "both": []any{"custom"}}}},
	{"config", "injectedAnnotations", []any{map[string]any{"psp": "x", "example.com/mine": "theirs"}}},
	{"config", "neverInjectSelector", []any{[]any{map[string]any{"matchLabels": map[string]any{"team": "red"}}}, []any{map[string]any{}}, []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "team", "operator": "Bad"}}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Exists"}}}}}},
	{"config", "alwaysInjectSelector", []any{[]any{map[string]any{"matchLabels": map[string]any{"team": "blue"}}}, []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "version", "operator": "In", "values": []any{"v1"}}}}}, []any{map[string]any{"matchExpressions": []any{map[string]any{"key": "version", "operator": "In"}}}}}},
	{"config", "templates.custom", customTemplates},
}

// fraction says how few of the settings are tried in a world: what differs on
// OpenShift and with a compliance policy does so in few places.
func (w world) fraction() int {
	if w.OpenShift || w.Compliance != "" {
		return 5
	}
	return 1
}

// recipe returns one of the settings: few enough that compiling them, which
// costs the peer far more than an injection, is shared.
func (g gen) recipe() recipe {
	n := g.IntN(max(*settings/g.world.fraction(), 1))
	if g.chance(0.25) {
		n = 0 // the installation that most have
	}
	return settingNumber(uint64(n))
}
