package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// TestWhoIsInjected asks for all values of policy, label and annotation; the
// label has the last word, then the annotation.
func TestWhoIsInjected(t *testing.T) {
	const key = "sidecar.istio.io/inject"
	for _, policy := range []string{"enabled", "disabled"} {
		t.Run(policy, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "inject.yaml")
			write(t, config, strings.Replace(read(t, "testdata/inject.yaml"), "policy: enabled", "policy: "+policy, 1))
			i := injector(t, "--injectConfigFile", config, "--valuesFile", testdata(t, "values.json"))
			askFor(t, i, "default")
			ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
			asked := pod("asked")
			asked.Labels[key] = "true"
			eventually(t, "waiting for a pod that asks for injection", func(ctx context.Context) error {
				p, err := dryRun(ctx, ns, asked.DeepCopy())
				if err == nil && !injected(p) {
					err = fmt.Errorf("it has %s", shape(p))
				}
				return err
			})
			for _, label := range []string{"", "true", "false"} {
				for _, annotation := range []string{"", "true", "false"} {
					p := pod("web")
					want := policy == "enabled"
					if annotation != "" {
						p.Annotations = map[string]string{key: annotation}
						want = annotation == "true"
					}
					if label != "" {
						p.Labels[key] = label
						want = label == "true"
					}
					p, err := dryRun(t.Context(), ns, p)
					if err != nil {
						t.Fatal(err)
					}
					if injected(p) != want {
						t.Errorf("label %q and annotation %q: the pod has %s", label, annotation, shape(p))
					}
				}
			}
		})
	}
}

// TestDenied is a pod with a bad annotation: kubectl tells its user which, and
// how it is mended; with --on-error allow the pod is made as it is, and kubectl
// warns.
func TestDenied(t *testing.T) {
	const manifest = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {traffic.sidecar.istio.io/includeInboundPorts: "80,http"}
spec:
  containers:
  - {name: web, image: "registry.example.com/web:1"}
`
	t.Run("deny", func(t *testing.T) {
		injectWith(t, "default", nil)
		ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
		awaitInjection(t, ns, true)
		talk := refusedKubectl(t, manifest, "-n", ns, "create", "-f", "-")
		if !strings.Contains(talk, "traffic.sidecar.istio.io/includeInboundPorts") || !strings.Contains(talk, "http") {
			t.Errorf("kubectl says: %s", talk)
		}
	})
	t.Run("allow", func(t *testing.T) {
		injectWith(t, "default", nil, "--on-error", "allow")
		ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
		awaitInjection(t, ns, true)
		_, talk, err := plane.Kubectl(t.Context(), plane.Kubeconfig, manifest, "-n", ns, "create", "-f", "-")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(talk, "Warning: ") || !strings.Contains(talk, "traffic.sidecar.istio.io/includeInboundPorts") {
			t.Errorf("kubectl says: %s", talk)
		}
		wantShape(t, pods(t, ns, ""), plain)
	})
}

// TestInjectorDown is what the failure policy says about pods while nobody
// answers.
func TestInjectorDown(t *testing.T) {
	for _, policy := range []string{"Fail", "Ignore"} {
		t.Run(policy, func(t *testing.T) {
			i := injectWith(t, "default", []string{"--failure-policy", policy})
			ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
			awaitInjection(t, ns, true)
			i.Kill()
			p, err := dryRun(t.Context(), ns, pod("web"))
			switch {
			case policy == "Fail" && (err == nil || !strings.Contains(err.Error(), "ingraft.io")):
				t.Errorf("the pod is %v, error %v; want a refusal that names the webhook", p, err)
			case policy == "Ignore" && err != nil:
				t.Error(err)
			case policy == "Ignore" && shape(p) != plain:
				t.Errorf("the pod has %s", shape(p))
			}
			// Back on the same address, with an authority of its own.
			address := strings.TrimSuffix(strings.TrimPrefix(i.URL, "https://"), "/inject")
			again := startInjector(t, controlplane.InjectorOptions{Address: address})
			bundle := read(t, again.CAFile)
			reconfigure(t, webhookOf("default"), func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = []byte(bundle) })
			awaitInjection(t, ns, true)
		})
	}
}

// big is a pod whose JSON has about so many bytes.
func big(size int) *corev1.Pod {
	p := pod("big")
	const each = 4096
	for n := 0; n < size; n += each + 64 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("FILLING_%d", n), Value: strings.Repeat("x", each)})
	}
	return p
}

// TestLarge is a pod as large as etcd takes it, through the API server, and
// more than any API server sends, by hand.
func TestLarge(t *testing.T) {
	i := injectWith(t, "default", nil, "--kube-version", "1.32")
	ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
	awaitInjection(t, ns, true)
	if _, err := plane.Client.CoreV1().Pods(ns).Create(t.Context(), big(1<<20), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wantShape(t, pods(t, ns, ""), classic)

	object, err := json.Marshal(big(5 << 20))
	if err != nil {
		t.Fatal(err)
	}
	got := admit(t, i, "admission.k8s.io/v1", object)
	if shape(got) != classic || len(container(t, got, "web").Env) < 1200 {
		t.Errorf("the pod has %s", shape(got))
	}
}

// TestReviewVersions posts a review of either version, which is answered in
// kind.
func TestReviewVersions(t *testing.T) {
	i := injector(t, "--kube-version", "1.33")
	object, err := json.Marshal(pod("web"))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1"} {
		if got := shape(admit(t, i, version, object)); got != native {
			t.Errorf("%s: the pod has %s", version, got)
		}
	}
}

// caller is a client that trusts an injector.
func caller(t testing.TB, i *controlplane.Injector) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(read(t, i.CAFile))) {
		t.Fatal("the injector's authority is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// admit posts a review of a pod and returns the pod with the patch applied.
func admit(t testing.TB, i *controlplane.Injector, version string, object []byte) *corev1.Pod {
	t.Helper()
	const uid = "705ab4f5-6393-11e8-b7cc-42010a800002"
	body := fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":%q,"request":{"uid":%q,"kind":{"group":"","version":"v1","kind":"Pod"},
		"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"shop","operation":"CREATE","object":%s}}`, version, uid, object)
	answer, err := caller(t, i).Post(i.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var review struct {
		APIVersion string
		Response   struct {
			UID              string
			Allowed          bool
			Patch            []byte
			PatchType        string
			Status           struct{ Message string }
			AuditAnnotations map[string]string
		}
	}
	if err := json.Unmarshal(data, &review); err != nil {
		t.Fatalf("the answer, %s, is no review: %v", answer.Status, err)
	}
	r := &review.Response
	if review.APIVersion != version || r.UID != uid || !r.Allowed || r.PatchType != "JSONPatch" {
		t.Fatalf("the answer is %s of %s, allowed %v, %s: %s", review.APIVersion, r.UID, r.Allowed, r.PatchType, r.Status.Message)
	}
	patch, err := jsonpatch.DecodePatch(r.Patch)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(object)
	if err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{}
	if err := json.Unmarshal(patched, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGarbage sends 10,000 bodies that are no reviews: each gets an answer,
// none an injection, and the injector works on.
func TestGarbage(t *testing.T) {
	i := injector(t)
	example := read(t, "../../examples/review.json")
	random := rand.New(rand.NewPCG(5, 5))
	client := caller(t, i)
	counts := map[int]int{}
	for n := range 10_000 {
		body := garbage(random, example)
		answer, err := client.Post(i.URL, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatalf("body %d, %.200q: %v", n, body, err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatalf("body %d, %.200q: %v", n, body, err)
		}
		counts[answer.StatusCode]++
	}
	t.Logf("answers by status: %v", counts)
	for status := range counts {
		if status >= http.StatusInternalServerError {
			t.Errorf("there are answers with status %d", status)
		}
	}
	if counts[http.StatusBadRequest] < 5000 {
		t.Error("most bodies are none that can be read, but few were refused")
	}
	if bytes.Contains(i.Log(), []byte("panic")) {
		t.Error("the injector panicked")
	}
	object, err := json.Marshal(pod("web"))
	if err != nil {
		t.Fatal(err)
	}
	admit(t, i, "admission.k8s.io/v1", object)
}

// garbage is noise, or a review with some bytes changed, lost or doubled.
func garbage(random *rand.Rand, example string) []byte {
	if random.IntN(4) == 0 {
		b := make([]byte, random.IntN(300))
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		return b
	}
	b := []byte(example)
	for range 1 + random.IntN(8) {
		at := random.IntN(len(b))
		switch random.IntN(4) {
		case 0:
			b[at] = byte(random.IntN(256))
		case 1:
			b = b[:at+1]
		case 2:
			b = append(b[:at:at], b[min(at+random.IntN(40), len(b)):]...)
		default:
			b = append(b[:at:at], append(bytes.Repeat([]byte{`{["`[random.IntN(3)]}, random.IntN(200)), b[at:]...)...)
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

// testdata returns the path of a file of testdata, for a program that runs in
// another folder.
func testdata(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write replaces a file as a whole.
func write(t testing.TB, file, text string) {
	t.Helper()
	next := file + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}
