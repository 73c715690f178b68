package injection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// neededCases has for each deliberate difference one case that differs in that
// way alone, and tells what is wrong with the peer's result: that the API
// server refuses it, that it loses what the user wrote, that it cannot work,
// or that the peer's own webhook does otherwise.
var neededCases = []struct {
	name   string
	world  world
	door   string // by default the webhook
	edits  []edit
	then   []edit // injected once more, under these
	again  bool
	object string
	wrong  func(s situation, before, after *corev1.Pod) string
}{
	{
		name: nameBypassed, object: probed("8080", "traffic.sidecar.istio.io/excludeInboundPorts: '8080'"),
		wrong: func(_ situation, before, after *corev1.Pod) string {
			asked := after.Spec.Containers[0].ReadinessProbe.HTTPGet.Port
			args := fmt.Sprint(container(after, "istio-init").Args)
			if was := before.Spec.Containers[0].ReadinessProbe.HTTPGet.Port; asked != was && strings.Contains(args, "-d 15090,15021,8080") {
				return "the kubelet asks port " + asked.String() + ", where port " + was.String() + " is not redirected: it needs the agent for nothing"
			}
			return ""
		},
	},
	{name: nameUnknownPort, object: probed("missing", ""), wrong: agentDoesNotKnow},
	{name: nameAgentPort, object: probed("15020", ""), wrong: agentDoesNotKnow},
	{
		name: nameNoStatusPort, object: probed("8080", "status.sidecar.istio.io/port: '0'"),
		wrong: func(_ situation, _, after *corev1.Pod) string {
			if after.Spec.Containers[0].ReadinessProbe.HTTPGet.Port == intstr.FromInt32(0) {
				return "the API server refuses port 0"
			}
			return ""
		},
	},
	{
		name: nameAgain, object: plainPod, again: true,
		edits: []edit{{In: "config", Path: []string{"templates", "custom"}, Value: "spec:\n  volumes:\n  - name: former\n    emptyDir: {}\n"}, {In: "config", Path: []string{"defaultTemplates"}, Value: []any{"sidecar", "custom"}}},
		wrong: func(s situation, _, after *corev1.Pod) string {
			once := s.bench.byPeer(s.testCase, s.Object)
			for _, v := range after.Spec.Volumes {
				if v.Name == "former" && !strings.Contains(string(mustJSON(once.object)), "former") {
					return "a volume of the former configuration stays"
				}
			}
			return ""
		},
	},
	{
		name: nameSaved,
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {sidecar.istio.io/status: '{}'}}
spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: auto, args: [mine]}]}
`,
		wrong: func(s situation, _, after *corev1.Pod) string {
			next := s.bench.byPeer(s.testCase, mustTree(s.peer.object))
			if lost := fmt.Sprint(container(podIn(next), "istio-proxy").Args); slices.Contains(container(after, "istio-proxy").Args, "mine") && !strings.Contains(lost, "mine") {
				return "the next injection loses the user's arguments: " + lost
			}
			return ""
		},
	},
	{
		name: nameVolume,
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: app, image: app}], volumes: [{name: istio-envoy, hostPath: {path: /x}}]}
`,
		wrong: func(_ situation, _, after *corev1.Pod) string {
			for _, v := range after.Spec.Volumes {
				if sources(v) > 1 {
					return "the API server refuses a volume with two sources"
				}
			}
			return ""
		},
	},
	{
		name: nameHandlers, edits: []edit{
			{In: "config", Path: []string{"templates", "custom"}, Value: "spec:\n  containers:\n  - name: app\n    livenessProbe:\n      httpGet: {path: /theirs, port: 8080}\n"},
			{In: "config", Path: []string{"defaultTemplates"}, Value: []any{"sidecar", "custom"}},
		},
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: app, image: app, livenessProbe: {tcpSocket: {port: 8080}}}]}
`,
		wrong: func(_ situation, before, after *corev1.Pod) string {
			if was, p := before.Spec.Containers[0].LivenessProbe, after.Spec.Containers[0].LivenessProbe; was.HTTPGet == nil && p.HTTPGet != nil && p.TCPSocket != nil {
				return "the API server refuses a probe with two handlers"
			}
			return ""
		},
	},
	{
		name: nameProxies,
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: app, image: app}], initContainers: [{name: istio-proxy, image: auto}]}
`,
		wrong: func(_ situation, _, after *corev1.Pod) string {
			if slices.ContainsFunc(after.Spec.Containers, isProxy) && slices.ContainsFunc(after.Spec.InitContainers, isProxy) {
				return "the API server refuses two containers of one name"
			}
			return ""
		},
	},
	{
		name: nameStatus, edits: []edit{{In: "values", Path: []string{"global", "imagePullSecrets"}, Value: []any{"regcred"}}},
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: app, image: app}], imagePullSecrets: [{name: regcred}]}
`,
		wrong: func(_ situation, before, after *corev1.Pod) string {
			if secret := before.Spec.ImagePullSecrets[0].Name; strings.Contains(after.Annotations[statusAnnotation], `"`+secret+`"`) && !strings.Contains(after.Annotations[statusAnnotation], "kept") {
				return "who takes the injection out by its status takes the user's pull secret with it"
			}
			return ""
		},
	},
	{
		name: "the text of an annotation changes the structure", edits: customTemplate("spec:\n  containers:\n  - name: istio-proxy\n    image: proxy\n    args:\n    - --log={{ annotation .ObjectMeta `example.com/tag` `warning` }}\n"),
		object: annotated("inject.istio.io/templates: custom\n    example.com/tag: 'debug # loud'"),
		wrong: func(_ situation, before, after *corev1.Pod) string {
			text := before.Annotations["example.com/tag"]
			if args := container(after, "istio-proxy").Args; !strings.Contains(fmt.Sprint(args), text) {
				return fmt.Sprintf("of %q the argument is %q", text, args)
			}
			return ""
		},
	},
	{
		name: "Windows",
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {os: {name: windows}, containers: [{name: app, image: app}]}
`,
		wrong: func(_ situation, _, after *corev1.Pod) string {
			if proxy := container(after, "istio-proxy"); after.Spec.OS.Name == corev1.Windows && proxy.SecurityContext != nil && proxy.SecurityContext.RunAsUser != nil {
				return "the API server refuses runAsUser in a pod for Windows, and the image is one for Linux"
			}
			return ""
		},
	},
	{
		name: "user assigned by OpenShift", world: ocp, edits: customTemplate("spec:\n  containers:\n  - name: istio-proxy\n    image: proxy\n"),
		object: `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: test-ns, annotations: {inject.istio.io/templates: custom}}
spec: {containers: [{name: app, image: app, securityContext: {runAsUser: 1000620000}}, {name: istio-proxy, image: auto, securityContext: {runAsUser: 1000620000}}]}
`,
		wrong: func(_ situation, before, after *corev1.Pod) string {
			app, proxy := container(after, "app"), container(after, "istio-proxy")
			if user := proxy.SecurityContext.RunAsUser; user != nil && *user == *app.SecurityContext.RunAsUser {
				return fmt.Sprintf("the sidecar runs as the application's user %d, which it was to be taken from", *user)
			}
			return ""
		},
	},
	{name: "kube-inject: system namespaces", door: doorCLI, object: workloadIn("Deployment", "apps/v1", "kube-system", ""), wrong: unlikeItsWebhook},
	{name: "kube-inject: metadata of a CronJob", door: doorCLI, object: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {metadata: {annotations: {prometheus.io/port: '90'}}, spec: {containers: [{name: app, image: app}]}}}}}\n", wrong: unlikeItsWebhook},
	{name: "kube-inject: default templates and aliases", door: doorCLI, edits: append(customTemplate("spec: {dnsConfig: {searches: [custom]}}\n"), edit{In: "config", Path: []string{"defaultTemplates"}, Value: []any{"sidecar", "custom"}}), object: workloadIn("Deployment", "apps/v1", "shop", ""), wrong: unlikeItsWebhook},
	{name: "kube-inject: injected annotations", door: doorCLI, edits: []edit{{In: "config", Path: []string{"injectedAnnotations"}, Value: object{"example.com/mine": "theirs"}}}, object: workloadIn("Deployment", "apps/v1", "shop", ""), wrong: unlikeItsWebhook},
	{name: "kube-inject: proxy configuration of a pod", door: doorCLI, object: workloadIn("Deployment", "apps/v1", "shop", "proxy.istio.io/config: 'statusPort: 16020'"), wrong: unlikeItsWebhook},
	{name: "kube-inject: namespace that templates see", door: doorCLI, edits: customTemplate("metadata:\n  annotations:\n    lives: {{ .ObjectMeta.Namespace | quote }}\n"), object: workloadIn("Deployment", "apps/v1", "shop", "inject.istio.io/templates: custom"), wrong: unlikeItsWebhook},
	{name: "kube-inject: kinds that it does not know", door: doorCLI, object: workloadIn("Rollout", "argoproj.io/v1alpha1", "shop", ""), wrong: unlikeItsWebhook},
}

// probed is a pod whose application is probed on a port, with an annotation.
func probed(port, annotation string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    example.com/a: b\n    " + annotation +
		"\nspec:\n  containers:\n  - name: app\n    image: app\n    ports: [{containerPort: 8080}]\n    readinessProbe: {httpGet: {path: /mine, port: " + port + "}}\n"
}

// workloadIn is a workload in a namespace whose pods have an annotation.
func workloadIn(kind, apiVersion, namespace, annotation string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: w, namespace: " + namespace + "}\nspec:\n  template:\n    metadata:\n      annotations:\n        example.com/a: b\n        " + annotation +
		"\n    spec: {containers: [{name: app, image: app}]}\n"
}

// container returns a pod's container of that name, an empty one for none.
func container(pod *corev1.Pod, name string) corev1.Container {
	for _, c := range append(slices.Clone(pod.Spec.Containers), pod.Spec.InitContainers...) {
		if c.Name == name {
			return c
		}
	}
	return corev1.Container{}
}

// podIn returns the pod of an outcome, or its first pod template.
func podIn(o outcome) *corev1.Pod { return podOf(workloadsOf(mustTree(o.object))[0].template) }

func mustTree(v any) object {
	t, err := tree(v)
	if err != nil {
		panic(err) // plain data always has one
	}
	return t
}

// agentDoesNotKnow tells that the kubelet asks the agent by a path that is not
// in the map that the agent was given.
func agentDoesNotKnow(_ situation, _, after *corev1.Pod) string {
	path := after.Spec.Containers[0].ReadinessProbe.HTTPGet.Path
	for _, e := range container(after, "istio-proxy").Env {
		if e.Name == "ISTIO_KUBE_APP_PROBERS" && strings.Contains(e.Value, path) {
			return ""
		}
	}
	if !strings.HasPrefix(path, "/app-health/") {
		return ""
	}
	return "the agent is asked for " + path + ", of which it does not know"
}

// unlikeItsWebhook tells that the peer's webhook makes something else of the
// pods, and what it makes is what ingraft does.
func unlikeItsWebhook(s situation, _, _ *corev1.Pod) string {
	o, ok := s.byWebhook(s.object)
	if !ok {
		return ""
	}
	ours := s.ours
	ours.injected, o.injected = true, true
	if strings.Contains(string(mustJSON(s.object)), "kube-system") {
		// That webhook was one that injects everywhere; the policy of the peer's
		// leaves these namespaces alone.
		pod := podsOf(s.Object)[0]
		if real := ask(s.bench.peer.handler, mustJSON(pod.object), pod.namespace, ""); !real.injected && !s.ours.injected {
			return "its webhook does not inject there"
		}
		return ""
	}
	if compare(o, s.peer).class != "" && compare(o, ours).class == "" {
		return "its webhook makes something else of the pods"
	}
	return ""
}

// TestDifferencesAreNeeded shows for each deliberate difference what is wrong
// with what the peer does instead.
func TestDifferencesAreNeeded(t *testing.T) {
	silencePeer()
	seen := map[string]bool{}
	for _, w := range []world{classic, ocp} {
		w.enter(t)
		all := newBenches(t, w)
		for _, n := range neededCases {
			if n.world != w {
				continue
			}
			seen[n.name] = true
			t.Run(n.name, func(t *testing.T) {
				c := testCase{World: w, Recipe: recipe{Edits: n.edits}, Door: n.door, Namespace: "shop"}
				if c.Door == "" {
					c.Door = doorWebhook
				}
				if n.again {
					c.Then = &recipe{Edits: n.then}
				}
				if err := yaml.Unmarshal([]byte(n.object), &c.Object); err != nil {
					t.Fatal(err)
				}
				v := all.run(c)
				if v.broken != nil || v.reason != n.name {
					t.Fatalf("explained by %q, %v: %s\n%s", v.reason, v.broken, v.left.class, v.left.detail)
				}
				wrong := n.wrong(v.of, podOf(workloadsOf(v.of.object)[0].template), podIn(v.peer))
				if wrong == "" {
					t.Errorf("nothing is wrong with what the peer does:\n%s", mustJSON(v.peer.object))
				}
				t.Log(wrong)
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !seen[name] {
			t.Errorf("nothing shows that the difference %q is needed", name)
		}
	}
}
