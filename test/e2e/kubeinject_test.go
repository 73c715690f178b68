package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ingraft runs ingraft on the control plane, which must work.
func ingraft(t testing.TB, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := plane.Ingraft(t.Context(), program, plane.Kubeconfig, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}

// refusedIngraft runs ingraft, which must exit 1 and write nothing to standard
// output, and returns what it wrote to standard error.
func refusedIngraft(t testing.TB, kubeconfig, stdin string, args ...string) string {
	t.Helper()
	out, talk, err := plane.Ingraft(t.Context(), program, kubeconfig, stdin, args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || out != "" {
		t.Fatalf("ingraft %s: error %v, standard output %q; want exit code 1 and nothing", strings.Join(args, " "), err, out)
	}
	return talk
}

// wantWords checks that a message has some words.
func wantWords(t testing.TB, message string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("the message lacks %q: %s", w, message)
		}
	}
}

// meshIn makes the ConfigMaps of a control plane in a namespace, with a
// configuration for each revision that tells itself by the proxy's image and
// the trust domain.
func meshIn(t testing.TB, namespace string, revisions ...string) {
	t.Helper()
	for _, r := range revisions {
		suffix := "-" + r
		if r == "default" {
			suffix = ""
		}
		for _, m := range []*corev1.ConfigMap{
			{ObjectMeta: metav1.ObjectMeta{Name: "istio-sidecar-injector" + suffix}, Data: map[string]string{
				"config": read(t, "testdata/inject.yaml"), "values": fmt.Sprintf(`{"global":{"hub":"registry.example.com/%s","tag":"1"}}`, r),
			}},
			{ObjectMeta: metav1.ObjectMeta{Name: "istio" + suffix}, Data: map[string]string{"mesh": "trustDomain: " + r + ".example.com\n"}},
		} {
			if _, err := plane.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// templateOf returns the pod of a Deployment's template.
func templateOf(t testing.TB, data string) *corev1.Pod {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := json.Unmarshal([]byte(kubectlReading(t, data, "create", "--dry-run=client", "-o", "json", "-f", "-")), d); err != nil {
		t.Fatal(err)
	}
	return &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
}

// TestKubeInjectFromCluster takes the configuration out of the cluster's
// ConfigMaps.
func TestKubeInjectFromCluster(t *testing.T) {
	mesh := namespace(t, "mesh", nil)
	meshIn(t, mesh, "default", "blue")
	for _, tt := range []struct {
		revision string
		args     []string
	}{
		{"default", nil},
		{"blue", []string{"-r", "blue"}},
	} {
		out, talk := ingraft(t, deployment, append([]string{"kube-inject", "-i", mesh, "-f", "-"}, tt.args...)...)
		wantWords(t, talk, "using ", mesh+"/")
		p := templateOf(t, out)
		if err := injectedBy(p, tt.revision); err != nil {
			t.Error(err)
		}
		if env := container(t, p, "istio-proxy").Env; len(env) != 1 || env[0].Value != tt.revision+".example.com" {
			t.Errorf("the mesh config of %s does not arrive: %v", tt.revision, env)
		}
	}

	t.Run("revision that is none", func(t *testing.T) {
		talk := refusedIngraft(t, plane.Kubeconfig, deployment, "kube-inject", "-i", mesh, "-r", "red", "-f", "-")
		wantWords(t, talk, mesh+"/istio", "-red", "does not exist", "blue, default", "--revision", "--injectConfigFile")
	})
	t.Run("no mesh", func(t *testing.T) {
		empty := namespace(t, "empty", nil)
		talk := refusedIngraft(t, plane.Kubeconfig, deployment, "kube-inject", "-i", empty, "-f", "-")
		wantWords(t, talk, empty+"/istio", "does not exist", "no control plane was found", "--injectConfigFile")
	})
	t.Run("missing key", func(t *testing.T) {
		broken := namespace(t, "broken", nil)
		meshIn(t, broken, "default")
		kubectl(t, "-n", broken, "patch", "configmap", "istio-sidecar-injector", "--type=json", "-p", `[{"op":"remove","path":"/data/config"}]`)
		talk := refusedIngraft(t, plane.Kubeconfig, deployment, "kube-inject", "-i", broken, "-f", "-")
		wantWords(t, talk, broken+"/istio-sidecar-injector", `"config"`, "values", "revisions found", "default")
	})
}

// TestKubeInjectUnreachable has an API server that takes connections and says
// nothing, and one that is not there.
func TestKubeInjectUnreachable(t *testing.T) {
	t.Parallel() // it waits most of the time
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	server := kubectl(t, "config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}")
	for name, address := range map[string]string{"silent": silent.Addr().String(), "gone": gone.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			write(t, file, strings.ReplaceAll(read(t, plane.Kubeconfig), server, "https://"+address))
			begin := time.Now()
			talk := refusedIngraft(t, file, deployment, "kube-inject", "-f", "-")
			// Five seconds, and some for a machine that has other things to do.
			if took := time.Since(begin); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}
			wantWords(t, talk, address, "cannot be reached", "--injectConfigFile", "--kubeclient-timeout")
		})
	}
}

// TestUserWithoutRights is told what right is missing; what reads no cluster
// works.
func TestUserWithoutRights(t *testing.T) {
	mesh := namespace(t, "mesh", nil)
	meshIn(t, mesh, "default")
	nobody, err := plane.User("nobody")
	if err != nil {
		t.Fatal(err)
	}
	talk := refusedIngraft(t, nobody, deployment, "kube-inject", "-i", mesh, "-f", "-")
	wantWords(t, talk, "nobody", "cannot get", "configmaps", mesh, "--injectConfigFile")
	out, _, err := plane.Ingraft(t.Context(), program, nobody, deployment, "kube-inject", "-f", "-", "--native-sidecars=false",
		"--injectConfigFile", "testdata/inject.yaml", "--valuesFile", "testdata/values.json", "--meshConfigFile", "../../examples/mesh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p := templateOf(t, out); shape(p) != "istio-init | istio-proxy web" { // as that mesh has it
		t.Errorf("the pod has %s", shape(p))
	}

	// One who may read the ConfigMaps, but no nodes, which choose the kind of
	// the sidecar.
	reader, err := plane.User("reader")
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, "-n", mesh, "create", "role", "reader", "--verb=get,list", "--resource=configmaps")
	kubectl(t, "-n", mesh, "create", "rolebinding", "reader", "--role=reader", "--user=reader")
	eventually(t, "waiting for rights", func(ctx context.Context) error {
		_, _, err := plane.Kubectl(ctx, reader, "", "-n", mesh, "auth", "can-i", "get", "configmaps")
		return err
	})
	out, talk, err = plane.Ingraft(t.Context(), program, reader, deployment, "kube-inject", "-i", mesh, "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(talk, "nodes") {
		t.Errorf("it does not say that nodes cannot be read: %s", talk)
	}
	if p := templateOf(t, out); !injected(p) {
		t.Errorf("the pod has %s", shape(p))
	}
}

// TestNodesChooseTheSidecar reads the versions of kubelets: where one is too old
// for native sidecars, there are none.
func TestNodesChooseTheSidecar(t *testing.T) {
	mesh := namespace(t, "mesh", nil)
	meshIn(t, mesh, "default")
	inject := func() string {
		out, _ := ingraft(t, deployment, "kube-inject", "-i", mesh, "-f", "-")
		return shape(templateOf(t, out))
	}
	node(t, "new", "v1.33.4")
	if got := inject(); got != native {
		t.Errorf("nodes of 1.33: the pod has %s", got)
	}
	node(t, "old", "v1.32.9")
	if got := inject(); got != classic {
		t.Errorf("a node of 1.32, too: the pod has %s", got)
	}
}

// TestApplyInjected pipes workloads through ingraft, from a file and out of the
// cluster: the pods have one sidecar each, in a namespace whose pods the
// webhook injects into, too.
func TestApplyInjected(t *testing.T) {
	mesh := namespace(t, "mesh", nil)
	meshIn(t, mesh, "default")
	injectWith(t, "default", nil, "--kube-version", "1.33")
	for _, labelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("labelled %v", labelled), func(t *testing.T) {
			ns := namespace(t, "shop", nil)
			kubectlReading(t, deployment, "-n", ns, "apply", "-f", "-")
			kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
			if labelled {
				kubectl(t, "label", "namespace", ns, "istio-injection=enabled")
				awaitInjection(t, ns, true)
			}

			// kubectl get deployment -o yaml | ingraft kube-inject -f - | kubectl apply -f -
			out, _ := ingraft(t, kubectl(t, "-n", ns, "get", "deployment", "-o", "yaml"), "kube-inject", "-i", mesh, "-f", "-")
			kubectlReading(t, out, "-n", ns, "apply", "-f", "-")
			kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
			wantShape(t, awaitPods(t, ns, "app=web", 3), native)

			// Again changes no pod. (The generation of the Deployment goes up, as
			// it does with kubectl's own annotation.)
			template := func() string {
				return kubectl(t, "-n", ns, "get", "deployment", "web", "-o", "jsonpath={.spec.template}")
			}
			before := template()
			out, _ = ingraft(t, kubectl(t, "-n", ns, "get", "deployment", "-o", "yaml"), "kube-inject", "-i", mesh, "-f", "-")
			kubectlReading(t, out, "-n", ns, "apply", "-f", "-")
			if after := template(); after != before {
				t.Errorf("injecting again changes the pod template from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestPatches applies every form of --patch with kubectl, which gives the same
// object as kube-inject without it.
func TestPatches(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "web.yaml")
	write(t, input, deployment)
	args := []string{
		"kube-inject", "-f", input, "--no-undo-record", "--kube-version", "1.33",
		"--injectConfigFile", testdata(t, "inject.yaml"), "--valuesFile", testdata(t, "values.json"), "--meshConfigFile", testdata(t, "../../../examples/mesh.yaml"),
	}
	// Compared as Deployments: kubectl patch writes empty fields, too.
	decode := func(data string) *appsv1.Deployment {
		t.Helper()
		d := &appsv1.Deployment{}
		if err := json.Unmarshal([]byte(kubectlReading(t, data, "create", "--dry-run=client", "-o", "json", "-f", "-")), d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	text, _ := ingraft(t, "", args...)
	want := decode(text)
	check := func(t *testing.T, got string) {
		t.Helper()
		if g := decode(got); !equality.Semantic.DeepEqual(g, want) {
			t.Errorf("got %v\nwant %v", g, want)
		}
	}
	for _, form := range []string{"json", "strategic"} {
		t.Run(form, func(t *testing.T) {
			patch, _ := ingraft(t, "", append(args, "--patch", form)...)
			check(t, kubectl(t, "patch", "--local", "-f", input, "--type", form, "-p", patch, "-o", "json"))

			// And on the object in the cluster.
			ns := namespace(t, form, nil)
			kubectl(t, "-n", ns, "apply", "-f", input)
			kubectl(t, "-n", ns, "patch", "deployment", "web", "--type", form, "-p", patch)
			kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
			wantShape(t, awaitPods(t, ns, "app=web", 3), native)
		})
	}
	t.Run("kustomize", func(t *testing.T) {
		overlay := filepath.Join(dir, "overlay")
		ingraft(t, "", append(args, "--patch", "kustomize", "-o", overlay+string(os.PathSeparator))...)
		check(t, kubectl(t, "kustomize", overlay))
	})
}
