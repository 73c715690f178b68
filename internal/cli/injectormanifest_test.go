package cli_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit"
)

// manifestOf returns the objects that injector manifest prints.
func manifestOf(t *testing.T, args ...string) []*source.Node {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(context.Background(), cli.Env{
		Args: append([]string{"ingraft", "injector", "manifest"}, args...), Dir: t.TempDir(),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var objects []*source.Node
	r := source.NewReader("manifest", &out)
	for {
		doc, err := r.Next()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Duplicates) > 0 || doc.Root == nil {
			t.Fatalf("document %d is empty, or has a key twice", doc.Index)
		}
		objects = append(objects, doc.Root)
	}
}

func find(t *testing.T, objects []*source.Node, kind string) *source.Node {
	t.Helper()
	for _, o := range objects {
		if o.Get("kind").Str() == kind {
			return o
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// The objects are ones that Kubernetes takes, whatever the names, and the pods
// are allowed where Pod Security is restricted.
func TestManifest(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"-n", "123", "--revision", "456", "-i", "789", "--config-revision", "default", "--image", "x:1", "--replicas", "20"},
		{"--webhook-version", "v1beta1", "--failure-policy", "Ignore", "--timeout", "30", "--path", "/inject/cluster/c1/net/n1", "--platform", "openshift", "--native-sidecars", "true"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			objects := manifestOf(t, args...)
			var kinds []string
			for _, o := range objects {
				ref := kube.RefOf(o)
				kinds = append(kinds, ref.Kind)
				list := kube.Checker{Strict: true}.Check(o.Get("metadata"), kube.TypeObjectMeta)
				if typ := kube.TypeOf(ref); typ != kube.TypeAny {
					list = append(list, kube.Checker{Strict: true}.Check(o, typ)...)
				}
				if len(list) > 0 || ref.Name == "" || ref.APIVersion == "" {
					t.Errorf("%s: %v", ref, list)
				}
			}
			want := "Namespace ServiceAccount Role RoleBinding Role RoleBinding ClusterRole ClusterRoleBinding Service Deployment PodDisruptionBudget HorizontalPodAutoscaler MutatingWebhookConfiguration"
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("objects %s", got)
			}
			var template corev1.PodTemplateSpec
			deployment := find(t, objects, "Deployment")
			if err := json.Unmarshal(source.AppendJSON(nil, deployment.Get("spec", "template")), &template); err != nil {
				t.Fatal(err)
			}
			evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range evaluator.EvaluatePod(psa.LevelVersion{Level: psa.LevelRestricted, Version: psa.LatestVersion()}, &template.ObjectMeta, &template.Spec) {
				if !r.Allowed {
					t.Errorf("the pods are not allowed: %s", r.ForbiddenDetail)
				}
			}
			for key, value := range deployment.Get("spec", "selector", "matchLabels").Any().(map[string]any) {
				if template.Labels[key] != value {
					t.Errorf("the Deployment does not select its pods by %s", key)
				}
			}
		})
	}
	if objects := manifestOf(t, "--url", "https://192.0.2.1:15017/inject"); len(objects) != 1 || objects[0].Get("kind").Str() != "MutatingWebhookConfiguration" ||
		objects[0].Get("webhooks").Items()[0].Get("clientConfig", "url").Str() != "https://192.0.2.1:15017/inject" {
		t.Errorf("%d objects for a webhook outside of the cluster", len(objects))
	}
}

// Who is injected, by the labels of namespace and pod: as the mesh's own
// webhooks have it, and never by two.
func TestManifestSelects(t *testing.T) {
	byDefault, canary, all := manifestOf(t), manifestOf(t, "--revision", "canary"), manifestOf(t, "--namespaces-by-default", "--webhook-version", "v1beta1")
	for _, tc := range []struct {
		name, namespace, pod string
		want                 [3]bool // by default, canary, namespaces by default
	}{
		{"shop", "{}", "{}", [3]bool{false, false, true}},
		{"shop", "{istio-injection: enabled}", "{}", [3]bool{true, false, true}},
		{"shop", "{istio-injection: disabled}", "{}", [3]bool{}},
		{"shop", "{istio-injection: disabled}", "{sidecar.istio.io/inject: 'true'}", [3]bool{}},
		{"shop", "{istio-injection: abc}", "{sidecar.istio.io/inject: 'true'}", [3]bool{}},
		{"shop", "{istio-injection: enabled}", "{sidecar.istio.io/inject: 'false'}", [3]bool{}},
		{"shop", "{}", "{sidecar.istio.io/inject: 'true'}", [3]bool{true, false, true}},
		{"shop", "{}", "{sidecar.istio.io/inject: 'false'}", [3]bool{}},
		{"shop", "{istio.io/rev: canary}", "{}", [3]bool{false, true, false}},
		{"shop", "{istio.io/rev: default}", "{}", [3]bool{true, false, true}},
		{"shop", "{}", "{istio.io/rev: canary}", [3]bool{false, true, false}},
		{"shop", "{}", "{istio.io/rev: canary, sidecar.istio.io/inject: 'false'}", [3]bool{}},
		{"shop", "{istio-injection: enabled, istio.io/rev: canary}", "{}", [3]bool{true, false, true}},
		{"ingraft-system", "{istio-injection: enabled}", "{}", [3]bool{}},
		{"ingraft-system", "{istio.io/rev: canary}", "{}", [3]bool{}},
		{"kube-system", "{}", "{sidecar.istio.io/inject: 'true'}", [3]bool{}},
	} {
		for i, objects := range [][]*source.Node{byDefault, canary, all} {
			hooks, bad := admit.ParseHooks(objects...)
			if len(bad) > 0 || len(hooks) != [...]int{4, 2, 5}[i] {
				t.Fatalf("%d webhooks, %v", len(hooks), bad)
			}
			asked := 0
			for _, h := range hooks {
				if h.Ask(parseYAML(t, "metadata: {labels: "+tc.pod+"}"), parseYAML(t, "metadata: {name: "+tc.name+", labels: "+tc.namespace+"}")).Verdict == admit.Asked {
					asked++
				}
			}
			if asked > 1 || (asked == 1) != tc.want[i] {
				t.Errorf("%d: namespace %s %s, pod %s: %d webhooks are asked", i, tc.name, tc.namespace, tc.pod, asked)
			}
		}
	}
	hooks, _ := admit.ParseHooks(byDefault...)
	if h := hooks[0]; !h.Fails || h.Timeout != 10 || h.Service != "ingraft-system/ingraft-injector" || h.Path != "/inject" || h.Revision != "default" {
		t.Errorf("%+v", h)
	}
}

func parseYAML(t *testing.T, text string) *source.Node {
	t.Helper()
	doc, err := source.Parse(source.NewText("test", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root
}

// rights are what the rules of a manifest grant, and which of them were used.
type rights struct {
	rules []rule
	mu    sync.Mutex
	used  map[string]bool
	// refused lists what was asked for in vain.
	refused []string
}

type rule struct {
	namespace, group, resource string // namespace "" for all
	names                      []string
	verb                       string
}

func rightsOf(objects []*source.Node) *rights {
	r := &rights{used: map[string]bool{}}
	texts := func(n *source.Node) (list []string) {
		for _, item := range n.Items() {
			list = append(list, item.Str())
		}
		return list
	}
	for _, o := range objects {
		for _, n := range o.Get("rules").Items() {
			for _, verb := range texts(n.Get("verbs")) {
				r.rules = append(r.rules, rule{
					o.Get("metadata", "namespace").Str(), n.Get("apiGroups").Items()[0].Str(), n.Get("resources").Items()[0].Str(), texts(n.Get("resourceNames")), verb,
				})
			}
		}
	}
	return r
}

// await waits until a right was used, trying again and again.
func (r *rights) await(t *testing.T, right string, try func()) {
	t.Helper()
	eventually(t, "nobody uses the right to "+right, func() bool {
		if try != nil {
			try()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.used[right+" []"]
	})
}

func (r rule) String() string { return fmt.Sprint(r.verb, " ", r.resource, " ", r.names) }

// denied tells what the rules do not grant.
func (r *rights) denied(verb, path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	group, rest := "", parts[2:]
	if parts[0] == "apis" {
		group, rest = parts[1], parts[3:]
	}
	namespace := ""
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	name := strings.Join(rest[1:], "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.rules {
		if g.verb == verb && g.group == group && g.resource == rest[0] && (g.namespace == "" || g.namespace == namespace) &&
			(len(g.names) == 0 || slices.Contains(g.names, name)) {
			r.used[g.String()] = true
			return false
		}
	}
	r.refused = append(r.refused, verb+" "+path)
	return true
}

// The Deployment of the manifest runs with the rights of the manifest, needs
// every one of them, and asks for no other.
func TestManifestGrantsWhatIsNeeded(t *testing.T) {
	objects := manifestOf(t, "-n", "mesh", "--platform", "openshift")
	granted := rightsOf(objects)
	api := controlPlane(t)
	putConfig(api, "one", `{"global":{"platform":"openshift"}}`)
	api.Put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/ingraft-injector", find(t, objects, "MutatingWebhookConfiguration").Any().(testkit.Object))
	api.Deny(granted.denied)
	var args []string
	for _, a := range find(t, objects, "Deployment").Get("spec", "template", "spec", "containers").Items()[0].Get("args").Items()[2:] {
		args = append(args, a.Str())
	}
	args = append(args, "--kubeconfig", api.Kubeconfig(t))
	// A pod that was missed is looked at.
	api.Put("/api/v1/namespaces/shop", testkit.Object{"metadata": testkit.Object{"labels": testkit.Object{"istio-injection": "enabled"}}})
	api.Put("/api/v1/namespaces/shop/pods/web", testkit.Object{"metadata": testkit.Object{"namespace": "shop"}, "spec": testkit.Object{"containers": []any{testkit.Object{"name": "web"}}}})
	one := serveInjector(t, t.TempDir(), args...)
	one.await("caBundle was put right")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	deny := func() {
		resp, err := client.Post("https://"+one.webhook+"/inject", "application/json", strings.NewReader(deniedReview))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	granted.await(t, "get pods", nil)
	deny()
	granted.await(t, "create events", nil)
	granted.await(t, "patch events", deny) // counted up, a while later
	two := serveInjector(t, t.TempDir(), args...)
	two.await("serving with a new certificate")
	// The Secret is broken: the one that leads writes it again.
	api.Put("/api/v1/namespaces/mesh/secrets/ingraft-injector", testkit.Object{"data": testkit.Object{}})
	one.await("certificates were written")
	one.end(0) // gives the Lease back, which is an update
	two.end(0)
	granted.mu.Lock()
	defer granted.mu.Unlock()
	if len(granted.refused) > 0 {
		t.Errorf("refused: %q", granted.refused)
	}
	for _, g := range granted.rules {
		if !granted.used[g.String()] {
			t.Errorf("nobody needs the right to %s", g)
		}
	}
}
