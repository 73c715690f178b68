package manifest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"sigs.k8s.io/yaml"
)

// generator makes up installs. What it makes is mostly right; what is wrong is
// wrong in ways that both refuse.
type generator struct{ *rand.Rand }

func generated(seed uint64) install {
	g := generator{rand.New(rand.NewPCG(seed, 6))}
	in := install{name: fmt.Sprint("seed ", seed)}
	for range g.IntN(4) {
		in.files = append(in.files, g.file())
	}
	for range g.IntN(5) {
		in.sets = append(in.sets, g.setting())
	}
	if g.IntN(10) > 0 { // the chart with the CRDs takes the installer half a second
		in.sets = append(in.sets, "components.base.enabled=false")
	}
	return in
}

func (g generator) maybe(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

type object = map[string]any

func (g generator) file() string {
	spec := object{}
	put := func(percent int, key string, value func() any) {
		if g.maybe(percent) {
			spec[key] = value()
		}
	}
	put(30, "profile", func() any { return g.profile() })
	put(20, "hub", func() any { return pick(g, "example.com/istio", "localhost:5000/mesh", "istio") })
	put(20, "tag", func() any { return pick[any](g, "1.2.3", "latest-debug", "12", "1.10", "1e3") })
	put(15, "revision", func() any { return pick(g, "canary", "r1", "1-31", "default") })
	put(8, "compatibilityVersion", func() any { return pick(g, "1.28", "1.29", "1.30") })
	put(30, "meshConfig", func() any { return g.mesh() })
	put(60, "components", func() any { return g.components() })
	put(50, "values", func() any { return g.values() })
	put(5, "unvalidatedValues", func() any { return object{"pilot": object{"anything": g.word(), "traceSampling": 3}} })
	o := object{"apiVersion": "install.istio.io/v1alpha1", "kind": "IstioOperator", "spec": spec}
	if g.maybe(30) {
		o["metadata"] = object{"name": "install", "namespace": "istio-system"}
	}
	data, err := yaml.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (g generator) profile() string {
	return pick(g, "default", "demo", "minimal", "empty", "preview", "remote", "stable", "ambient", "openshift", "openshift-ambient")
}

// word is text, often text that looks like something else.
func (g generator) word() string {
	return pick(g, "plain", "two words", "5", "0123", "1.10", "1e3", "true", "no", "null", "", "a: b", "#c", "*", "x,y", "12345678901", `back\slash`, "'q'", "ü")
}

// key is a key of annotations.
func (g generator) key() string {
	return pick(g, "plain", "example.com/team", "a.b.c", "x-y", "n0")
}

func (g generator) words() object {
	m := object{}
	for range 1 + g.IntN(2) {
		m[g.key()] = g.word()
	}
	return m
}

func (g generator) mesh() object {
	all := []func() (string, any){
		func() (string, any) { return "accessLogFile", "/dev/stdout" },
		func() (string, any) { return "enableTracing", g.maybe(50) },
		func() (string, any) { return "trustDomain", pick(g, "example.com", "td1") },
		func() (string, any) { return "trustDomainAliases", []any{"b.example", "a.example"} },
		func() (string, any) { return "ingressControllerMode", pick(g, "OFF", "STRICT") },
		func() (string, any) { return "connectTimeout", pick(g, "10s", "1.5s") },
		func() (string, any) { return "outboundTrafficPolicy", object{"mode": "REGISTRY_ONLY"} },
		func() (string, any) {
			return "extensionProviders", []any{object{"name": "otel", "opentelemetry": object{"service": "otel.svc", "port": 4317}}}
		},
		func() (string, any) {
			return "defaultConfig", object{"concurrency": g.IntN(4), "proxyMetadata": g.words()}
		},
		func() (string, any) { return "rootNamespace", "istio-config" },
		func() (string, any) { return "defaultProviders", object{"metrics": []any{"prometheus"}} },
	}
	m := object{}
	for range 1 + g.IntN(3) {
		k, v := all[g.IntN(len(all))]()
		m[k] = v
	}
	return m
}

func (g generator) resources() object {
	return object{
		pick(g, "limits", "requests"): object{"cpu": pick[any](g, "100m", 2, "0.5", 0.25, "1e3m", "0"), "memory": pick(g, "128Mi", "1Gi", "1000000000")},
	}
}

func (g generator) tolerations() []any {
	return []any{object{"key": g.key(), "operator": "Exists", "effect": pick(g, "NoSchedule", "NoExecute")}}
}

func (g generator) affinity() object {
	return object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []any{
		object{"matchExpressions": []any{object{"key": "arch", "operator": "In", "values": []any{"amd64"}}}},
	}}}}
}

func (g generator) values() object {
	all := []func() (string, any){
		func() (string, any) { return "pilot.autoscaleEnabled", g.maybe(50) },
		func() (string, any) { return "pilot.autoscaleMin", 1 + g.IntN(3) },
		func() (string, any) { return "pilot.replicaCount", 1 + g.IntN(3) },
		func() (string, any) { return "pilot.traceSampling", pick[any](g, 1, 0.5, 100) },
		func() (string, any) { return "pilot.env", object{"PILOT_X": g.word(), "A": g.word()} },
		func() (string, any) { return "pilot.podAnnotations", g.words() },
		func() (string, any) { return "pilot.nodeSelector", g.words() },
		func() (string, any) { return "pilot.tolerations", g.tolerations() },
		func() (string, any) { return "pilot.affinity", g.affinity() },
		func() (string, any) { return "pilot.resources", g.resources() },
		func() (string, any) { return "pilot.rollingMaxSurge", pick[any](g, "100%", 1) },
		func() (string, any) { return "pilot.extraContainerArgs", []any{} },
		func() (string, any) { return "pilot.env", nil },
		func() (string, any) { return "global.proxy.resources", g.resources() },
		func() (string, any) { return "global.proxy.logLevel", "debug" },
		func() (string, any) { return "global.proxy.includeIPRanges", pick(g, "*", "10.0.0.0/8,192.168.0.0/16") },
		func() (string, any) { return "global.proxy.excludeInboundPorts", pick(g, "80", "80,443", "") },
		func() (string, any) { return "global.proxy.holdApplicationUntilProxyStarts", true },
		func() (string, any) { return "global.imagePullSecrets", []any{"a", "b"} },
		func() (string, any) { return "global.istioNamespace", pick(g, "istio-system", "mesh") },
		func() (string, any) { return "global.logging.level", "default:debug,ads:info" },
		func() (string, any) { return "global.multiCluster.clusterName", "c1" },
		func() (string, any) { return "global.network", "n1" },
		func() (string, any) { return "global.meshID", "m1" },
		func() (string, any) { return "global.platform", pick(g, "gke", "k3s", "openshift") },
		func() (string, any) { return "global.networkPolicy.enabled", true },
		func() (string, any) { return "global.variant", "distroless" },
		func() (string, any) { return "global.priorityClassName", "high" },
		func() (string, any) { return "global.configValidation", nil },
		func() (string, any) { return "gateways.istio-ingressgateway.autoscaleMin", 1 + g.IntN(3) },
		func() (string, any) { return "gateways.istio-ingressgateway.serviceAnnotations", g.words() },
		func() (string, any) { return "gateways.istio-ingressgateway.env", object{"X": g.word()} },
		func() (string, any) { return "gateways.istio-ingressgateway.type", "NodePort" },
		func() (string, any) { return "gateways.istio-ingressgateway.tolerations", g.tolerations() },
		func() (string, any) { return "gateways.istio-egressgateway.enabled", true },
		func() (string, any) { return "gateways.istio-egressgateway.runAsRoot", true },
		func() (string, any) { return "cni.cniBinDir", "/opt/cni" },
		func() (string, any) { return "cni.excludeNamespaces", []any{"kube-system", g.key()} },
		func() (string, any) { return "cni.ambient.dnsCapture", true },
		func() (string, any) { return "ztunnel.podAnnotations", g.words() },
		func() (string, any) { return "ztunnel.env", object{"Z": g.word()} },
		func() (string, any) { return "ztunnel.terminationGracePeriodSeconds", 30 },
		func() (string, any) { return "sidecarInjectorWebhook.rewriteAppHTTPProbe", false },
		func() (string, any) { return "sidecarInjectorWebhook.injectedAnnotations", g.words() },
		func() (string, any) {
			return "sidecarInjectorWebhook.neverInjectSelector", []any{object{"matchLabels": object{"a": "b"}}}
		},
		func() (string, any) { return "meshConfig", g.mesh() },
		func() (string, any) { return "defaultRevision", pick(g, "default", "canary") },
		func() (string, any) { return "base.excludedCRDs", []any{"gateways.networking.istio.io"} },
		func() (string, any) { return "profile", pick(g, "ambient", "demo", "preview") },
		func() (string, any) { return "telemetry.enabled", g.maybe(50) },
		func() (string, any) { return "revisionTags", []any{"prod"} },
		func() (string, any) { return "experimental.stableValidationPolicy", true },
	}
	m := object{}
	for range 1 + g.IntN(4) {
		path, v := all[g.IntN(len(all))]()
		put(m, strings.Split(path, "."), v)
	}
	return m
}

func put(m object, path []string, v any) {
	for len(path) > 1 {
		below, ok := m[path[0]].(object)
		if !ok {
			below = object{}
			m[path[0]] = below
		}
		m, path = below, path[1:]
	}
	m[path[0]] = v
}

func (g generator) components() object {
	m := object{}
	if g.maybe(50) {
		m["pilot"] = g.component("istiod", "discovery", "Deployment")
	}
	if g.maybe(25) {
		m["cni"] = g.component("istio-cni-node", "install-cni", "DaemonSet")
	}
	if g.maybe(25) {
		m["ztunnel"] = g.component("ztunnel", "istio-proxy", "DaemonSet")
	}
	if g.maybe(10) {
		m["base"] = object{"enabled": g.maybe(50)}
	}
	if g.maybe(50) {
		m["ingressGateways"] = g.gateways("istio-ingressgateway")
	}
	if g.maybe(25) {
		m["egressGateways"] = g.gateways("istio-egressgateway")
	}
	return m
}

func (g generator) gateways(name string) []any {
	var list []any
	for i, n := range []string{name, "gw-a", "gw-b"} {
		if i > 0 && !g.maybe(30) || i == 0 && !g.maybe(80) {
			continue
		}
		c := g.component(n, "istio-proxy", "Deployment")
		c["name"] = n
		if g.maybe(30) {
			c["label"] = object{"istio": n, "x": g.key()}
		}
		list = append(list, c)
	}
	if list == nil {
		list = []any{}
	}
	return list
}

func (g generator) component(name, container, kind string) object {
	c := object{}
	if g.maybe(70) {
		c["enabled"] = g.maybe(85)
	}
	if g.maybe(20) {
		c["namespace"] = pick(g, "edge", "istio-system", "kube-system")
	}
	if g.maybe(15) {
		c["hub"] = "example.com/one"
	}
	if g.maybe(15) {
		c["tag"] = pick[any](g, "2.0", "v3", 7)
	}
	if g.maybe(60) {
		c["k8s"] = g.k8s(name, container, kind)
	}
	return c
}

func (g generator) k8s(name, container, kind string) object {
	all := []func() (string, any){
		func() (string, any) { return "affinity", g.affinity() },
		func() (string, any) {
			return "env", []any{object{"name": "GODEBUG", "value": g.word()}, object{"name": "POD_NAME", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}}
		},
		func() (string, any) { return "hpaSpec", g.hpa(name, kind) },
		func() (string, any) { return "imagePullPolicy", pick(g, "Always", "IfNotPresent") },
		func() (string, any) { return "nodeSelector", g.words() },
		func() (string, any) {
			return "podDisruptionBudget", pick(g, object{"minAvailable": 2}, object{"maxUnavailable": "30%"}, object{"minAvailable": 1, "selector": object{"matchLabels": object{"a": "b"}}})
		},
		func() (string, any) { return "podAnnotations", g.words() },
		func() (string, any) { return "priorityClassName", "system-cluster-critical" },
		func() (string, any) {
			return "readinessProbe", object{"initialDelaySeconds": 1 + g.IntN(5), "httpGet": object{"path": "/r", "port": pick[any](g, 15021, "http")}}
		},
		func() (string, any) { return "replicaCount", g.IntN(4) },
		func() (string, any) { return "resources", g.resources() },
		func() (string, any) {
			return "strategy", pick(g, object{"type": "Recreate"}, object{"rollingUpdate": object{"maxSurge": "50%", "maxUnavailable": 0}})
		},
		func() (string, any) { return "tolerations", g.tolerations() },
		func() (string, any) { return "serviceAnnotations", g.words() },
		func() (string, any) { return "service", g.service() },
		func() (string, any) {
			return "securityContext", object{"runAsUser": 1000, "sysctls": []any{object{"name": "net.ipv4.ip_local_port_range", "value": "80 65535"}}}
		},
		func() (string, any) { return "overlays", g.overlays(name, container, kind) },
		func() (string, any) { return "overlays", g.overlays(name, container, kind) },
	}
	m := object{}
	for range 1 + g.IntN(4) {
		k, v := all[g.IntN(len(all))]()
		m[k] = v
	}
	return m
}

func (g generator) hpa(name, kind string) object {
	h := object{"maxReplicas": 3 + g.IntN(4), "minReplicas": 1 + g.IntN(3)}
	if g.maybe(30) {
		h["scaleTargetRef"] = object{"apiVersion": "apps/v1", "kind": kind, "name": name}
	}
	if g.maybe(30) {
		h["metrics"] = []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 60}}}}
	}
	return h
}

func (g generator) service() object {
	s := object{}
	if g.maybe(50) {
		s["type"] = pick(g, "ClusterIP", "NodePort", "LoadBalancer")
	}
	if g.maybe(30) {
		s["externalTrafficPolicy"] = "Local"
	}
	if g.maybe(50) {
		s["ports"] = []any{object{"name": "http2", "port": 80, "targetPort": pick[any](g, 8080, "http")}, object{"name": "tcp", "port": 31400, "protocol": "TCP"}}
	}
	if g.maybe(20) {
		s["loadBalancerSourceRanges"] = []any{"10.0.0.0/8"}
	}
	return s
}

func (g generator) overlays(name, container, kind string) []any {
	at := "spec.template.spec.containers.[name:" + container + "]"
	all := []func() (string, any){
		func() (string, any) { return "spec.replicas", 1 + g.IntN(5) },
		func() (string, any) { return "spec.template.spec.hostNetwork", true },
		func() (string, any) { return "spec.template.spec.containers[0].image", "example.com/x:1" },
		func() (string, any) { return at + ".imagePullPolicy", "Never" },
		func() (string, any) { return at + ".args[-1]", "--extra" },
		func() (string, any) { return at + ".args[100]", g.key() },
		func() (string, any) { return at + ".env[-1]", object{"name": "NEW", "value": g.word()} },
		func() (string, any) { return at + ".resources", g.resources() },
		func() (string, any) { return at + ".ports", []any{object{"containerPort": 1234}} },
		func() (string, any) { return at + ".resources.limits.memory", "2Gi" },
		func() (string, any) { return at + ".volumeMounts[0]", nil },
		func() (string, any) { return at + ".securityContext", nil },
		func() (string, any) { return "spec.template.metadata.annotations.example\\.com/x", "v" },
		func() (string, any) { return "metadata.labels.extra", "l" },
		func() (string, any) { return "spec.template.spec.volumes", nil },
		func() (string, any) { return "spec.template.spec.serviceAccountName", "other" },
		func() (string, any) { return "spec.template.spec.affinity.podAntiAffinity", object{} },
	}
	var patches []any
	for range 1 + g.IntN(3) {
		path, value := all[g.IntN(len(all))]()
		p := object{"path": path}
		if value != nil {
			p["value"] = value
		}
		patches = append(patches, p)
	}
	o := object{"kind": kind, "name": name, "patches": patches}
	if g.maybe(50) {
		o["apiVersion"] = "apps/v1"
	}
	list := []any{o}
	if g.maybe(20) {
		list = append(list, object{"kind": "Deployment", "name": "elsewhere", "patches": []any{object{"path": "spec.replicas", "value": 1}}})
	}
	if g.maybe(30) && kind == "Deployment" {
		list = append(list, object{"kind": "Service", "name": name, "patches": []any{
			object{"path": "spec.ports.[name:" + pick(g, "http2", "https", "grpc-xds", "https-webhook") + "].nodePort", "value": 30000 + g.IntN(1000)},
		}})
	}
	return list
}

func (g generator) setting() string {
	return pick(g,
		func() string { return "profile=" + g.profile() },
		func() string { return "hub=" + pick(g, "example.com/set", "quay.io/mesh") },
		func() string { return "tag=" + pick(g, "1.2", "1.10", "7", "v1", "1e3") },
		func() string { return "revision=" + pick(g, "canary", "blue") },
		func() string { return "meshConfig.enableTracing=" + pick(g, "true", "false") },
		func() string { return "meshConfig.accessLogFile=/dev/" + pick(g, "stdout", "null") },
		func() string { return "meshConfig.defaultConfig.concurrency=" + fmt.Sprint(g.IntN(4)) },
		func() string { return "meshConfig.defaultConfig.proxyMetadata.X=" + g.word() },
		func() string { return `meshConfig.defaultConfig.proxyMetadata.A\.B=` + g.word() },
		func() string { return "values.global.imagePullSecrets[0]=secret" },
		func() string {
			return "values.global.proxy.includeIPRanges=" + pick(g, "10.0.0.0/8,192.168.0.0/16", `10.0.0.0/8\,192.168.0.0/16`)
		},
		func() string { return "values.global.istioNamespace=" + pick(g, "mesh", "istio-system") },
		func() string { return "values.global.proxy.autoInject=disabled" },
		func() string { return "values.pilot.env.X=" + pick(g, "plain", "a b", "x=y", "a,b") },
		func() string {
			return "values.pilot.env.N=" + pick(g, "1", "0123", "1.10", "1e3", "12345678901", "t", "true", "0x1F", "-5", "1000000")
		},
		func() string { return `values.pilot.podAnnotations.example\.com/x=` + pick(g, "v", "5", "true") },
		func() string { return "values.pilot.traceSampling=" + pick(g, "1", "0.5") },
		func() string { return "values.pilot.replicaCount=" + fmt.Sprint(1+g.IntN(3)) },
		func() string { return "values.gateways.istio-egressgateway.enabled=true" },
		func() string {
			return "values.gateways.istio-ingressgateway.serviceAnnotations.acct=" + pick(g, "x", "123456789012")
		},
		func() string { return "values.base.excludedCRDs[0]=gateways.networking.istio.io" },
		func() string { return "values.cni.excludeNamespaces[0]=a" },
		func() string { return "values.ztunnel.env.R=" + pick(g, "a", "5") },
		func() string { return "components.pilot.enabled=" + pick(g, "true", "false") },
		func() string { return "components.cni.enabled=" + pick(g, "true", "false") },
		func() string { return "components.ztunnel.enabled=" + pick(g, "true", "false") },
		func() string { return "components.pilot.k8s.replicaCount=" + fmt.Sprint(g.IntN(4)) },
		func() string { return "components.pilot.k8s.hpaSpec.minReplicas=" + fmt.Sprint(1+g.IntN(3)) },
		func() string { return "components.pilot.k8s.resources.requests.cpu=" + pick(g, "100m", "1", "0.5") },
		func() string { return "components.pilot.k8s.env[0].name=E" },
		func() string { return "components.pilot.tag=" + pick(g, "1.10", "v2", "3") },
		func() string { return "values.nosuch.x=1" },
		func() string { return "values.pilot.nosuch=1" },
		func() string { return "nosuch=1" },
		func() string { return "values.pilot.autoscaleMin=two" },
	)()
}
