package injection

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// gen makes cases from a stream of random numbers: the same seed and number
// give the same case.
type gen struct {
	*rand.Rand
	world world
	// quirks are what this case has of the kinds that make most of the
	// deliberate differences.
	quirks []quirk
	// custom tells that the configuration has a template called custom.
	custom bool
}

// quirk is something odd about a pod that ingraft and the peer see differently.
type quirk string

// The quirks. A case has at most two of them: what is explained by three
// differences at once explains nothing, and most cases should have none, so
// that both sides have to do the same.
const (
	quirkLeftovers quirk = "marks of an earlier injection"
	quirkVolumes   quirk = "volumes of the mesh's names"
	quirkProxy     quirk = "istio-proxy in the other list"
	quirkPorts     quirk = "probes on odd ports"
	quirkRedirect  quirk = "ports that are not redirected"
	quirkNamespace quirk = "system namespaces"
	quirkSecrets   quirk = "pull secrets of the mesh's names"
	quirkWindows   quirk = "Windows"
	quirkTexts     quirk = "texts that change the structure"
)

var quirks = []quirk{
	quirkLeftovers, quirkLeftovers, quirkVolumes, quirkProxy, quirkPorts, quirkRedirect, quirkRedirect,
	quirkNamespace, quirkSecrets, quirkWindows, quirkTexts,
}

func (g gen) has(q quirk) bool { return slices.Contains(g.quirks, q) }

func (g gen) chance(p float64) bool { return g.Float64() < p }

// oneOf returns one of the values.
func oneOf[T any](g gen, values ...T) T { return values[g.IntN(len(values))] }

// some returns between lo and hi of the values, in their order.
func some[T any](g gen, lo, hi int, values []T) []T {
	n := lo + g.IntN(hi-lo+1)
	if n >= len(values) {
		return values
	}
	chosen := map[int]bool{}
	for _, i := range g.Perm(len(values))[:n] {
		chosen[i] = true
	}
	out := make([]T, 0, n)
	for i, v := range values {
		if chosen[i] {
			out = append(out, v)
		}
	}
	return out
}

type object = map[string]any

// generate returns case number n of a seed.
func generate(seed, n uint64, w world) testCase {
	g := gen{Rand: rand.New(rand.NewPCG(seed, n)), world: w}
	switch x := g.Float64(); {
	case x > 0.9:
		g.quirks = some(g, 2, 2, quirks)
	case x > 0.6:
		g.quirks = some(g, 1, 1, quirks)
	}
	c := testCase{World: w, Recipe: g.recipe(), Door: doorWebhook}
	g.custom = slices.ContainsFunc(c.Recipe.Edits, func(e edit) bool { return strings.Join(e.Path, ".") == "templates.custom" })
	if g.chance(0.45) && !w.OpenShift {
		c.Door = doorCLI
	}
	if c.Door == doorCLI {
		c.Object = g.workload()
	} else {
		c.Object = g.admitted()
		c.Namespace = oneOf(g, "shop", "shop", "default", "kube-system", "test-ns")
		if w.OpenShift {
			c.Namespace = oneOf(g, "test-ns", "uids-only", "dash", "groups-only", "empty", "broken", "half", "plain", "absent")
		}
		c.Path = g.path()
	}
	if g.chance(0.25) && !g.has(quirkLeftovers) {
		then := c.Recipe
		if g.chance(0.4) {
			then = g.recipe()
		}
		c.Then = &then
	}
	return c
}

func (g gen) path() string {
	if g.chance(0.7) {
		return ""
	}
	return oneOf(g,
		"/inject/", "/inject/cluster/c2", "/inject/cluster/c2/net/n2", "/inject/net/n2/extra/value", "/inject/cluster/cluster-1/odd",
		"/inject/net/a--slash--b", "/inject/:ENV:cluster=c2:ENV:net=n2:ENV:other=x=y", "/inject/:ENV:=x:ENV:y=:ENV:z", "/inject/proxy_config/x")
}

// workloadKinds are the kinds that hold a pod template, with their apiVersion.
var workloadKinds = [][2]string{
	{"apps/v1", "Deployment"},
	{"apps/v1", "Deployment"},
	{"apps/v1", "StatefulSet"},
	{"apps/v1", "DaemonSet"},
	{"apps/v1", "ReplicaSet"},
	{"v1", "ReplicationController"},
	{"batch/v1", "Job"},
	{"batch/v1", "CronJob"},
	{"apps.openshift.io/v1", "DeploymentConfig"},
	{"v1", "Pod"},
}

func (g gen) workload() object {
	if g.chance(0.04) {
		var items []any
		for range 1 + g.IntN(3) {
			if g.chance(0.3) {
				items = append(items, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c"}, "data": object{"a": "1"}})
				continue
			}
			items = append(items, g.single())
		}
		return object{"apiVersion": "v1", "kind": "List", "items": items}
	}
	return g.single()
}

func (g gen) single() object {
	kind := oneOf(g, workloadKinds...)
	if g.chance(0.02) {
		kind = oneOf(g,
			[2]string{"argoproj.io/v1alpha1", "Rollout"}, [2]string{"apps.kruise.io/v1alpha1", "CloneSet"},
			[2]string{"v1", "PodTemplate"}, [2]string{"extensions/v1beta1", "Deployment"}, [2]string{"batch/v1beta1", "CronJob"})
	}
	o := object{"apiVersion": kind[0], "kind": kind[1]}
	meta := object{"name": oneOf(g, "web", "shop-cart", "a", strings.Repeat("long-", 13)+"end", strings.Repeat("a", 62)+".bbb")}
	if g.chance(0.6) {
		meta["namespace"] = oneOf(g, "shop", "shop", "default")
	}
	if g.has(quirkNamespace) {
		meta["namespace"] = "kube-system"
	}
	if g.chance(0.2) {
		meta["labels"] = g.labels()
	}
	if g.chance(0.1) {
		meta["annotations"] = g.annotations()
	}
	if kind[1] == "Pod" {
		pod := g.pod()
		pod["apiVersion"], pod["kind"] = kind[0], kind[1]
		if m := pod["metadata"].(object); m["name"] == nil && m["generateName"] == nil {
			m["name"] = meta["name"]
		}
		return pod
	}
	o["metadata"] = meta
	template := g.pod()
	if m := template["metadata"].(object); g.chance(0.9) {
		for _, key := range []string{"name", "generateName", "namespace", "ownerReferences"} {
			delete(m, key)
		}
	}
	switch kind[1] {
	case "CronJob":
		job := object{"template": template}
		jobTemplate := object{"spec": job}
		if g.chance(0.3) {
			jobTemplate["metadata"] = object{"labels": g.labels(), "annotations": g.annotations()}
		}
		o["spec"] = object{"schedule": "* * * * *", "jobTemplate": jobTemplate}
	case "PodTemplate":
		o["template"] = template
	default:
		spec := object{"template": template}
		if g.chance(0.5) && kind[1] != "DaemonSet" && kind[1] != "Job" {
			spec["replicas"] = g.IntN(3)
		}
		o["spec"] = spec
	}
	return o
}

// admitted is a pod as an API server hands it to a webhook: owned by what
// made it, with the defaults filled in, and with the token volume.
func (g gen) admitted() object {
	pod := g.pod()
	meta, spec := pod["metadata"].(object), pod["spec"].(object)
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	if g.chance(0.7) {
		delete(meta, "name")
		name := oneOf(g, "web-5d4f", "shop-cart-77", "j-12345678", "j-1234567", "r-abc", strings.Repeat("x", 70)+"-5d4f")
		meta["generateName"] = name + "-"
		owner := object{"name": name, "uid": "1", "controller": true}
		labels, _ := meta["labels"].(object)
		if labels == nil {
			labels = object{}
			meta["labels"] = labels
		}
		kind := oneOf(g, "ReplicaSet", "ReplicaSet", "Rollout", "Job", "StatefulSet", "DaemonSet", "ReplicationController")
		owner["kind"], owner["apiVersion"] = kind, "apps/v1"
		hash := name[strings.LastIndex(name, "-")+1:]
		switch kind {
		case "ReplicaSet":
			if g.chance(0.9) {
				labels["pod-template-hash"] = hash
			}
		case "Rollout":
			owner["kind"], owner["apiVersion"] = "ReplicaSet", "argoproj.io/v1alpha1"
			labels["rollouts-pod-template-hash"] = hash
		case "Job":
			owner["apiVersion"] = "batch/v1"
			labels["job-name"] = name
		case "ReplicationController":
			owner["apiVersion"] = "v1"
			if g.chance(0.5) {
				labels["deploymentconfig"] = "dc"
			}
		}
		owners := []any{owner}
		if g.chance(0.1) {
			owners = append([]any{object{"name": "other", "uid": "2", "kind": "Other", "apiVersion": "o/v1"}}, owners...)
		}
		if g.chance(0.05) {
			owner["controller"] = false
		}
		meta["ownerReferences"] = owners
	} else if meta["name"] == nil {
		meta["name"] = "p"
	}
	if g.chance(0.5) {
		g.apiServerDefaults(spec)
	}
	return pod
}

func (g gen) apiServerDefaults(spec object) {
	fill := func(m object, key string, value any) {
		if m[key] == nil {
			m[key] = value
		}
	}
	fill(spec, "dnsPolicy", "ClusterFirst")
	fill(spec, "restartPolicy", "Always")
	fill(spec, "schedulerName", "default-scheduler")
	fill(spec, "securityContext", object{})
	fill(spec, "serviceAccountName", "default")
	fill(spec, "serviceAccount", spec["serviceAccountName"])
	fill(spec, "terminationGracePeriodSeconds", 30)
	fill(spec, "enableServiceLinks", true)
	fill(spec, "priority", 0)
	token := fmt.Sprintf("kube-api-access-%05x", g.IntN(1<<20))
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, object{"name": token, "projected": object{"defaultMode": 420, "sources": []any{
		object{"serviceAccountToken": object{"expirationSeconds": 3607, "path": "token"}},
		object{"configMap": object{"name": "kube-root-ca.crt", "items": []any{object{"key": "ca.crt", "path": "ca.crt"}}}},
		object{"downwardAPI": object{"items": []any{object{"path": "namespace", "fieldRef": object{"apiVersion": "v1", "fieldPath": "metadata.namespace"}}}}},
	}}})
	for _, list := range []string{"containers", "initContainers"} {
		all, _ := spec[list].([]any)
		for _, c := range all {
			c := c.(object)
			fill(c, "imagePullPolicy", "IfNotPresent")
			fill(c, "resources", object{})
			fill(c, "terminationMessagePath", "/dev/termination-log")
			fill(c, "terminationMessagePolicy", "File")
			mounts, _ := c["volumeMounts"].([]any)
			c["volumeMounts"] = append(mounts, object{"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true})
			ports, _ := c["ports"].([]any)
			for _, p := range ports {
				fill(p.(object), "protocol", "TCP")
			}
			for _, name := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
				p, ok := c[name].(object)
				if !ok {
					continue
				}
				fill(p, "timeoutSeconds", 1)
				fill(p, "periodSeconds", 10)
				fill(p, "successThreshold", 1)
				fill(p, "failureThreshold", 3)
				if h, ok := p["httpGet"].(object); ok {
					fill(h, "path", "/")
					fill(h, "scheme", "HTTP")
				}
			}
		}
	}
	spec["tolerations"] = []any{object{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}}
}

func (g gen) pod() object {
	meta := object{}
	if g.chance(0.2) {
		meta["name"] = oneOf(g, "p", "web", strings.Repeat("n", 70))
	}
	if g.chance(0.1) {
		meta["namespace"] = oneOf(g, "shop", "other")
	}
	if g.has(quirkNamespace) && g.chance(0.5) {
		meta["namespace"] = oneOf(g, "kube-system", "local-path-storage")
	}
	if g.chance(0.7) {
		meta["labels"] = g.labels()
	}
	if g.chance(0.75) {
		meta["annotations"] = g.annotations()
	}
	spec := g.spec()
	if g.has(quirkLeftovers) {
		g.leftovers(meta, spec)
	}
	return object{"metadata": meta, "spec": spec}
}

// leftovers are the marks of an earlier injection: those of a sound one, or
// such as somebody broke. They are one story each: a status and saved
// containers that contradict each other say nothing about either side.
func (g gen) leftovers(meta, spec object) {
	annotations, _ := meta["annotations"].(object)
	if annotations == nil {
		annotations = object{}
		meta["annotations"] = annotations
	}
	const status, saved = statusAnnotation, "proxy.istio.io/overrides"
	switch g.IntN(8) {
	case 0: // a status that cannot be read
		annotations[status] = oneOf(g, `garbage`, `""`, `[]`, `{"containers":"istio-proxy"}`, `{"containers":[1]}`, `{"initContainers":[null]}`, ``)
	case 1: // one that says nothing
		annotations[status] = oneOf(g, `{}`, `null`, `{"containers":null,"volumes":[]}`)
	case 2: // one that claims what is the user's
		annotations[status] = `{"version":"old","containers":["istio-proxy","app"]}`
	case 3: // saved containers alone
		annotations[saved] = oneOf(g,
			`{"containers":[{"name":"istio-proxy","image":"mine","args":["x"],"resources":{}}]}`,
			`{"initContainers":[{"name":"istio-init","resources":{"limits":{"cpu":"1"}}}]}`,
			`{"containers":[{"name":"app","image":"other","resources":{}}]}`, `{}`, `null`)
	case 4: // none that could be read
		annotations[saved] = oneOf(g, `bad`, `{"containers":{}}`, `{"initContainers":[{"name":1}]}`)
	default: // an older injection, with or without the user's own
		g.olderInjection(annotations, spec, status, saved)
	}
}

// olderInjection is what an injector of an older release left in a pod.
func (g gen) olderInjection(annotations, spec object, status, saved string) {
	isNative := g.world.Native != g.chance(0.2)
	list := "containers"
	annotations[status] = `{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":["istio-envoy"],"imagePullSecrets":null,"revision":"default"}`
	if isNative {
		list = "initContainers"
		annotations[status] = `{"initContainers":["istio-init","istio-proxy"],"containers":null,"volumes":["istio-envoy"],"revision":"default"}`
	}
	for _, list := range []string{"containers", "initContainers"} {
		all, _ := spec[list].([]any)
		spec[list] = slices.DeleteFunc(all, func(c any) bool { name := c.(object)["name"]; return name == "istio-proxy" || name == "istio-init" })
	}
	env := []any{object{"name": "ISTIO_META_CLUSTER_ID", "value": "old"}}
	if g.chance(0.5) {
		env = append(env, object{"name": "ISTIO_KUBE_APP_PROBERS", "value": oneOf(g, `{"/app-health/app/readyz":{"httpGet":{"path":"/old","port":81}}}`, `{}`, `bad`)})
	}
	proxy := object{"name": "istio-proxy", "image": "old/proxyv2:1.20", "env": env}
	inits, _ := spec["initContainers"].([]any)
	spec["initContainers"] = append([]any{object{"name": "istio-init", "image": "old/proxyv2:1.20"}}, inits...)
	if isNative {
		proxy["restartPolicy"] = "Always"
	}
	all, _ := spec[list].([]any)
	spec[list] = append(all, proxy)
	if g.chance(0.4) {
		annotations[saved] = `{"` + list + `":[{"name":"istio-proxy","env":[{"name":"A","value":"b"}],"resources":{}}]}`
		proxy["env"] = append([]any{object{"name": "A", "value": "b"}}, env...)
	}
}

func (g gen) spec() object {
	spec := object{}
	names := some(g, 1, 3, []string{"app", "web", "c3", "istio", "metrics"})
	if g.chance(0.01) {
		names = nil
	}
	var containers []any
	for _, n := range names {
		containers = append(containers, g.container(n, false))
	}
	if g.chance(0.22) {
		at := g.IntN(len(containers) + 1)
		proxy := g.proxyOverride()
		containers = append(containers[:at], append([]any{proxy}, containers[at:]...)...)
	}
	if containers != nil {
		spec["containers"] = containers
	}
	var inits []any
	if g.chance(0.3) {
		for _, n := range some(g, 1, 3, []string{"migrate", "fetch", "mysidecar"}) {
			inits = append(inits, g.container(n, true))
		}
	}
	if odd := g.has(quirkProxy); (odd || g.world.Native && g.chance(0.07)) && !hasProxy(containers) {
		inits = append(inits, g.proxyOverride())
	}
	if g.chance(0.07) {
		c := g.container(oneOf(g, "istio-init", "istio-validation", "enable-core-dump"), true)
		if g.chance(0.5) {
			c["image"] = "auto"
		}
		inits = append(inits, c)
	}
	if inits != nil {
		spec["initContainers"] = inits
	}
	if g.chance(0.35) || g.has(quirkVolumes) {
		spec["volumes"] = g.volumes()
	}
	if g.chance(0.2) {
		spec["imagePullSecrets"] = some(g, 0, 2, []any{object{"name": "mine"}, object{"name": "own"}, object{}})
	}
	if g.has(quirkSecrets) {
		spec["imagePullSecrets"] = some(g, 1, 2, []any{object{"name": "regcred"}, object{"name": "barSecret"}, object{"name": "mine"}})
	}
	optional := func(p float64, key string, values ...any) {
		if g.chance(p) {
			spec[key] = oneOf(g, values...)
		}
	}
	optional(0.03, "hostNetwork", true, true, false)
	optional(0.1, "dnsPolicy", "ClusterFirst", "Default", "None")
	optional(0.1, "dnsConfig", object{"searches": []any{"mine.example"}}, object{"options": []any{object{"name": "ndots", "value": "4"}}}, object{"nameservers": []any{"1.1.1.1"}, "searches": []any{"global", "a"}})
	optional(0.2, "securityContext", object{"runAsUser": 1000}, object{"fsGroup": 1338}, object{"runAsNonRoot": true, "runAsUser": 1337}, object{"fsGroup": 0}, object{"sysctls": []any{object{"name": "net.ipv4.ip_unprivileged_port_start", "value": "1"}}}, object{"supplementalGroups": []any{1, 2}}, object{})
	optional(0.15, "serviceAccountName", "sa", "default")
	optional(0.05, "nodeSelector", object{"disk": "ssd"}, object{"kubernetes.io/arch": "arm64"})
	if g.has(quirkWindows) && g.chance(0.4) {
		if g.chance(0.5) {
			spec["nodeSelector"] = object{"kubernetes.io/os": "windows"}
		} else {
			spec["os"] = object{"name": "windows"}
		}
	}
	optional(0.1, "terminationGracePeriodSeconds", 0, 5, 60)
	optional(0.05, "hostAliases", []any{object{"ip": "10.0.0.1", "hostnames": []any{"a", "b"}}})
	optional(0.05, "shareProcessNamespace", true)
	optional(0.05, "automountServiceAccountToken", false, true)
	optional(0.05, "nodeName", "node-1")
	optional(0.05, "restartPolicy", "Never", "OnFailure")
	optional(0.05, "tolerations", []any{object{"key": "a", "operator": "Exists"}, object{"key": "a", "operator": "Equal", "value": "b"}})
	optional(0.03, "affinity", object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []any{object{"matchExpressions": []any{object{"key": "k", "operator": "In", "values": []any{"v"}}}}}}}})
	optional(0.03, "topologySpreadConstraints", []any{object{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}})
	optional(0.03, "ephemeralContainers", []any{object{"name": "debug", "image": "busybox"}})
	optional(0.03, "readinessGates", []any{object{"conditionType": "a/b"}})
	optional(0.02, "overhead", object{"cpu": "10m"})
	optional(0.02, "resourceClaims", []any{object{"name": "gpu", "resourceClaimName": "g"}})
	optional(0.02, "schedulingGates", []any{object{"name": "a/b"}})
	optional(0.02, "priorityClassName", "high")
	return spec
}

// hasProxy tells that one of the containers is called istio-proxy: of two the
// API server would refuse the pod, whatever an injector does.
func hasProxy(containers []any) bool {
	for _, c := range containers {
		if c.(object)["name"] == "istio-proxy" {
			return true
		}
	}
	return false
}

func (g gen) container(name string, init bool) object {
	c := object{"name": name, "image": oneOf(g, "docker.io/app:1.0", "app", "app@sha256:abcd", "reg:5000/app:v2@sha256:ff", "app:${VERSION}")}
	if g.chance(0.6) {
		c["ports"] = g.ports()
	}
	if g.chance(0.3) {
		c["env"] = some(g, 1, 3, []any{
			object{"name": "A", "value": "b"},
			object{"name": "EMPTY"},
			object{"name": "REF", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}},
			object{"name": "ISTIO_META_X", "value": "y"},
			object{"name": "QUOTED", "value": "a \"b\" 'c' {{ d }} \n é"},
		})
	}
	if g.chance(0.2) {
		c["args"] = oneOf(g, []any{}, []any{"--flag", "x"}, []any{"a: b", "- c", "#d"})
	}
	if g.chance(0.1) {
		c["command"] = []any{"/bin/sh", "-c", "exit 0"}
	}
	if g.chance(0.25) {
		c["resources"] = g.resources()
	}
	if g.chance(0.2) {
		c["volumeMounts"] = some(g, 1, 3, []any{
			object{"name": "data", "mountPath": "/data"},
			object{"name": "istio-envoy", "mountPath": "/etc/istio/proxy"},
			object{"name": "cfg", "mountPath": "/cfg", "readOnly": true, "subPath": "a"},
			object{"name": "data", "mountPath": "/data2"},
		})
	}
	if g.chance(0.25) {
		c["securityContext"] = g.securityContext()
	}
	if init {
		if g.chance(0.35) {
			c["restartPolicy"] = oneOf(g, "Always", "Always", "Never")
		}
	}
	if !init || g.chance(0.3) {
		for _, name := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			if g.chance(0.3) {
				c[name] = g.probe()
			}
		}
		if g.chance(0.15) {
			c["lifecycle"] = g.lifecycle()
		}
	}
	g.namePorts(c)
	if g.chance(0.05) {
		c["envFrom"] = []any{object{"configMapRef": object{"name": "c"}}}
	}
	if g.chance(0.03) {
		c["workingDir"] = "/w"
	}
	if g.chance(0.05) {
		c["imagePullPolicy"] = oneOf(g, "Always", "Never")
	}
	return c
}

func (g gen) ports() []any {
	var ports []any
	for range g.IntN(4) {
		p := object{"containerPort": oneOf(g, 80, 8080, 443, 9090, 53, 15021, 15020, 15090, 3306)}
		if g.chance(0.5) {
			p["name"] = oneOf(g, "http", "https", "grpc", "metrics", "http-envoy-prom", "dns")
		}
		if g.chance(0.3) {
			p["protocol"] = oneOf(g, "TCP", "TCP", "UDP", "SCTP")
		}
		if g.chance(0.1) {
			p["hostPort"] = 8080
		}
		if g.chance(0.03) {
			p["hostIP"] = "127.0.0.1"
		}
		ports = append(ports, p)
	}
	return ports
}

func (g gen) resources() object {
	amounts := func() object {
		o := object{}
		for _, name := range some(g, 0, 3, []string{"cpu", "memory", "ephemeral-storage", "example.com/gpu"}) {
			o[name] = oneOf[any](g, "100m", "0.1", "1", "128Mi", "1Gi", "0", 1, 2)
		}
		return o
	}
	o := object{}
	if g.chance(0.8) {
		o["requests"] = amounts()
	}
	if g.chance(0.8) {
		o["limits"] = amounts()
	}
	return o
}

func (g gen) securityContext() object {
	o := object{}
	optional := func(key string, values ...any) {
		if g.chance(0.35) {
			o[key] = oneOf(g, values...)
		}
	}
	optional("runAsUser", 1000, 1337, 0, 1000620000, 2000)
	optional("runAsGroup", 1000, 1337, 0, 3000)
	optional("runAsNonRoot", true, false)
	optional("privileged", true, false)
	optional("readOnlyRootFilesystem", true, false)
	optional("allowPrivilegeEscalation", true, false)
	optional("capabilities", object{"add": []any{"NET_ADMIN"}}, object{"drop": []any{"ALL"}}, object{"add": []any{"A"}, "drop": []any{"B"}})
	optional("seccompProfile", object{"type": "RuntimeDefault"}, object{"type": "Localhost", "localhostProfile": "p"})
	return o
}

// port is what a probe asks: mostly a port that a container could have, seldom
// one that no container has, or the mesh's own.
func (g gen) port() any {
	if g.has(quirkPorts) && g.chance(0.5) {
		return oneOf[any](g, 15020, 15021, "missing", "metrics", 0)
	}
	return oneOf[any](g, 80, 8080, 9000, 3333)
}

// namePorts makes some of a container's probes ask a port by its name.
func (g gen) namePorts(c object) {
	var names []any
	ports, _ := c["ports"].([]any)
	for _, p := range ports {
		if name := p.(object)["name"]; name != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		p, _ := c[key].(object)
		for _, kind := range []string{"httpGet", "tcpSocket"} {
			if h, ok := p[kind].(object); ok && g.chance(0.4) {
				h["port"] = oneOf(g, names...)
			}
		}
	}
}

func (g gen) httpGet() object {
	h := object{"port": g.port()}
	if g.chance(0.8) {
		h["path"] = oneOf(g, "/", "/ready?x=1&y=2", "ready", "/app-health/app/readyz", "")
	}
	if g.chance(0.3) {
		h["scheme"] = oneOf(g, "HTTP", "HTTPS", "HTTPS")
	}
	if g.chance(0.2) {
		h["host"] = oneOf(g, "localhost", "10.1.2.3")
	}
	if g.chance(0.2) {
		h["httpHeaders"] = []any{object{"name": "Host", "value": "foo.com"}, object{"name": "X", "value": "<a>&b"}}
	}
	return h
}

func (g gen) probe() object {
	p := object{}
	for _, key := range []string{"timeoutSeconds", "periodSeconds", "initialDelaySeconds", "failureThreshold", "successThreshold", "terminationGracePeriodSeconds"} {
		if g.chance(0.25) {
			p[key] = 1 + g.IntN(9)
		}
	}
	switch g.IntN(10) {
	case 0, 1, 2, 3, 4:
		p["httpGet"] = g.httpGet()
	case 5, 6:
		p["tcpSocket"] = object{"port": g.port()}
		if g.chance(0.2) {
			p["tcpSocket"].(object)["host"] = "db"
		}
	case 7, 8:
		p["grpc"] = object{"port": oneOf(g, 9000, 80)}
		if g.has(quirkPorts) {
			p["grpc"] = object{"port": 15020}
		}
		if g.chance(0.5) {
			p["grpc"].(object)["service"] = oneOf(g, "foo", "")
		}
	default:
		p["exec"] = object{"command": []any{"true"}}
	}
	if g.chance(0.01) {
		p["tcpSocket"] = object{"port": 1}
	}
	return p
}

func (g gen) lifecycle() object {
	handler := func() object {
		switch g.IntN(4) {
		case 0:
			return object{"httpGet": g.httpGet()}
		case 1:
			return object{"tcpSocket": object{"port": g.port()}}
		case 2:
			return object{"sleep": object{"seconds": 3}}
		}
		return object{"exec": object{"command": []any{"sleep", "5"}}}
	}
	o := object{}
	if g.chance(0.7) {
		o["preStop"] = handler()
	}
	if g.chance(0.5) {
		o["postStart"] = handler()
	}
	if g.chance(0.1) {
		o["stopSignal"] = "SIGTERM"
	}
	return o
}

func (g gen) proxyOverride() object {
	c := object{"name": "istio-proxy"}
	if g.chance(0.9) {
		c["image"] = oneOf(g, "auto", "auto", "auto", "my/own:1")
	}
	parts := object{
		"args":            []any{"proxy", "router"},
		"env":             []any{object{"name": "MINE", "value": "1"}, object{"name": "PILOT_CERT_PROVIDER", "value": "mine"}, object{"name": "ISTIO_META_CLUSTER_ID", "value": "mine"}},
		"resources":       g.resources(),
		"securityContext": g.securityContext(),
		"volumeMounts":    []any{object{"name": "data", "mountPath": "/data"}, object{"name": "x", "mountPath": "/etc/istio/proxy"}},
		"ports":           []any{object{"containerPort": 15090, "name": "mine"}, object{"containerPort": 80, "protocol": "TCP"}},
		"lifecycle":       g.lifecycle(),
		"readinessProbe":  g.probe(),
		"livenessProbe":   g.probe(),
		"restartPolicy":   "Always",
		"command":         []any{"/run"},
		"imagePullPolicy": "Always",
		"tty":             true,
		"envFrom":         []any{object{"secretRef": object{"name": "s"}}},
	}
	for _, key := range some(g, 0, 5, []string{
		"args", "env", "resources", "securityContext", "volumeMounts", "ports", "lifecycle", "readinessProbe",
		"livenessProbe", "restartPolicy", "command", "imagePullPolicy", "tty", "envFrom",
	}) {
		c[key] = parts[key]
	}
	if g.chance(0.3) {
		c["securityContext"] = g.securityContext()
	}
	if g.chance(0.02) {
		c["env"] = append([]any{}, object{"name": "ENVOY_SECURE_MERGED_METRICS_PORT", "value": oneOf(g, "15443", "0", "")})
	}
	return c
}

func (g gen) volumes() []any {
	all := []any{
		object{"name": "data", "emptyDir": object{}},
		object{"name": "cfg", "configMap": object{"name": "c"}},
		object{"name": "user-volume", "persistentVolumeClaim": object{"claimName": "p"}},
		object{"name": "nothing"},
		// Of the mesh's names, with the kind of source that the mesh gives them.
		object{"name": "istio-data", "emptyDir": object{"medium": "Memory"}},
		object{"name": "istio-token", "projected": object{"sources": []any{}}},
		object{"name": "istiod-ca-cert", "configMap": object{"name": "mine"}},
		object{"name": "credential-socket", "emptyDir": object{"sizeLimit": "0.5Gi"}},
		object{"name": "istio-podinfo", "downwardAPI": object{"items": []any{object{"path": "mine", "fieldRef": object{"fieldPath": "metadata.name"}}}}},
	}
	if g.has(quirkVolumes) {
		all = append(all[:2],
			object{"name": "istio-envoy", "hostPath": object{"path": "/x"}}, object{"name": "workload-certs", "secret": object{"secretName": "s"}},
			object{"name": "workload-socket", "csi": object{"driver": "csi.spiffe.io", "readOnly": true}})
	}
	return some(g, 1, 4, all)
}
