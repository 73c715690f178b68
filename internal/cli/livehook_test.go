package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/testkit"
)

// inCluster runs a command on a folder, with the cluster of a fake API server.
func inCluster(t *testing.T, api *testkit.API, dir, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(context.Background(), cli.Env{
		Args: append([]string{"ingraft", "--kubeconfig", api.Kubeconfig(t)}, args...), Dir: dir,
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: func() time.Time { return now },
	})
	return code, out.String(), errs.String()
}

const shopManifests = `# The shop.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}   # in flow
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web   # one
        image: nginx
---
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: night, namespace: shop}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: job, image: "busybox"}]
`

const hookPath = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"

// hookObject is a webhook configuration with one webhook.
func hookObject(name string, clientConfig testkit.Object) testkit.Object {
	return testkit.Object{
		"metadata": testkit.Object{"labels": testkit.Object{"istio.io/rev": "default"}},
		"webhooks": []any{testkit.Object{
			"name": name, "clientConfig": clientConfig, "admissionReviewVersions": []any{"v1", "v1beta1"}, "sideEffects": "None",
			"rules": []any{testkit.Object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}}},
		}},
	}
}

func bundleOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// putService makes a Service with one pod whose ports are at an address.
func putService(api *testkit.API, namespace, name, address string) {
	labels := testkit.Object{"app": name}
	api.Put("/api/v1/namespaces/"+namespace+"/services/"+name, testkit.Object{"spec": testkit.Object{
		"selector": labels, "ports": []any{testkit.Object{"port": 443, "targetPort": "webhook"}},
	}})
	api.Put("/api/v1/namespaces/"+namespace+"/pods/"+name+"-1", testkit.Object{
		"metadata": testkit.Object{"labels": labels, "namespace": namespace},
		"spec":     testkit.Object{"containers": []any{testkit.Object{"name": "injector", "ports": []any{testkit.Object{"name": "webhook", "containerPort": 15017}}}}},
		"status":   testkit.Object{"phase": "Running", "conditions": []any{testkit.Object{"type": "Ready", "status": "True"}}},
	})
	api.Forward(namespace, name+"-1", address)
}

// A webhook of the cluster, asked for the patches, gives what the engine gives
// here with its configuration; the text is kept, and taken back by uninject. It is
// reached by its URL, at a pod of its Service, and at an address.
func TestKubeInjectAsksAWebhook(t *testing.T) {
	api := controlPlane(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(shopManifests), 0o666); err != nil {
		t.Fatal(err)
	}
	s := serveInjector(t, dir, "--ca-file", "ca.crt", "--dns-name", "injector.mesh.svc", "--kube-version", "1.33")
	ca := bundleOf(t, filepath.Join(dir, "ca.crt"))
	api.Put(hookPath+"by-url", hookObject("namespace.injector.ingraft.io", testkit.Object{"url": "https://" + s.webhook + "/inject", "caBundle": ca}))
	api.Put(hookPath+"in-cluster", hookObject("namespace.sidecar-injector.istio.io", testkit.Object{
		"service": testkit.Object{"namespace": "mesh", "name": "injector", "path": "/inject"}, "caBundle": ca,
	}))
	putService(api, "mesh", "injector", s.webhook)

	var local bytes.Buffer
	if code := cli.Main(context.Background(), cli.Env{
		Args: strings.Fields("ingraft kube-inject -n shop -f shop.yaml --kube-version 1.33"), Dir: dir,
		Stdin: strings.NewReader(""), Stdout: &local, Stderr: io.Discard,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: func() time.Time { return now },
	}); code != 0 {
		t.Fatal(code)
	}
	for _, tc := range []struct {
		name, where string
		args        []string
	}{
		{"url", " at https://" + s.webhook + "/inject\n", []string{"--webhookConfig", "by-url"}},
		{"address", " at " + s.webhook + "\n", []string{"--webhookConfig", "by-url", "--xds-address", s.webhook}},
		{"address of a service", " at " + s.webhook + "\n", []string{"--webhookConfig", "in-cluster", "--xds-address", s.webhook}},
		{"host and port", " at " + s.webhook + "\n", []string{"--webhookConfig", "in-cluster", "--xds-address", "127.0.0.1", "--xds-port", s.webhook[strings.LastIndex(s.webhook, ":")+1:]}},
		{"service", " at pod mesh/injector-1 port 15017 of service mesh/injector\n", []string{"--webhookConfig", "in-cluster"}},
		{"labels", " at pod mesh/injector-1 port 15017 of service mesh/injector\n", []string{"--webhookConfig", "in-cluster", "--xds-label", "app=injector"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := inCluster(t, api, dir, "", append([]string{"kube-inject", "-n", "shop", "-f", "shop.yaml"}, tc.args...)...)
			if code != 0 || !strings.HasSuffix(strings.SplitAfter(stderr, "\n")[0], tc.where) {
				t.Errorf("exit code %d, %s", code, stderr)
			}
			if diff := cmp.Diff(local.String(), stdout); diff != "" {
				t.Error(diff)
			}
			code, back, stderr := inCluster(t, api, dir, stdout, "uninject", "-f", "-")
			if diff := cmp.Diff(shopManifests, back); diff != "" || code != 0 {
				t.Errorf("uninject: %d %s%s", code, stderr, diff)
			}
		})
	}
	code, stdout, stderr := inCluster(t, api, dir, "", "kube-inject", "-f", "shop.yaml", "--xds-address", s.webhook)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "the webhook configurations of revision default: there are by-url and in-cluster") {
		t.Errorf("which webhook is meant cannot be told: %d %s", code, stderr)
	}
	api.Delete(hookPath + "in-cluster")
	if code, stdout, stderr = inCluster(t, api, dir, "", "kube-inject", "-f", "shop.yaml", "--xds-address", s.webhook); code != 0 || !strings.Contains(stdout, "istio-proxy") {
		t.Errorf("the only one there is: %d %s", code, stderr)
	}
	if code, _, stderr = inCluster(t, api, dir, "", "kube-inject", "-f", "shop.yaml", "-r", "canary", "--xds-address", s.webhook); code != 1 ||
		!strings.Contains(stderr, "of revision canary: there are none; those that inject are by-url") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr = inCluster(t, api, dir, "", "kube-inject", "-f", "shop.yaml", "--webhookConfig", "bi-url"); code != 1 ||
		!strings.Contains(stderr, "webhook configuration bi-url does not exist; those that inject are by-url") {
		t.Errorf("%d %s", code, stderr)
	}
	// A denial is a mistake of the workload, and in its place.
	bad := strings.Replace(shopManifests, "      labels: {app: web}\n", "      labels: {app: web}\n      annotations: {traffic.sidecar.istio.io/includeInboundPorts: http}\n", 1)
	code, stdout, stderr = inCluster(t, api, dir, bad, "kube-inject", "-f", "-", "--webhookConfig", "by-url")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "-:2:1: webhook namespace.injector.ingraft.io denies the pod: ") || !strings.Contains(stderr, "includeInboundPorts") {
		t.Errorf("denied: %d %s", code, stderr)
	}
	// What the webhook leaves alone is skipped.
	out := strings.ReplaceAll(shopManifests, "labels: {app: web}", `labels: {app: web, sidecar.istio.io/inject: "false"}`)
	if code, _, stderr = inCluster(t, api, dir, out, "kube-inject", "-f", "-", "--webhookConfig", "by-url"); code != 0 ||
		!strings.Contains(stderr, `rule "webhook namespace.injector.ingraft.io": it allows the pod as it is`) {
		t.Errorf("skipped: %d %s", code, stderr)
	}
}

// A webhook that fails, or does not answer, is told with its cause, within the
// time that it is given, and nothing is written.
func TestAWebhookThatFails(t *testing.T) {
	api := controlPlane(t)
	type answering = func(w http.ResponseWriter, uid string)
	var answer atomic.Pointer[answering]
	setAnswer := func(a answering) { answer.Store(&a) }
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		(*answer.Load())(w, review.Request.UID)
	}))
	ended := make(chan struct{})
	t.Cleanup(func() {
		close(ended)
		hook.Close()
	})
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))
	put := func(url, ca string) {
		api.Put(hookPath+"istio-sidecar-injector", hookObject("namespace.sidecar-injector.istio.io", testkit.Object{"url": url, "caBundle": ca}))
	}
	respond := func(response string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, uid string) {
			fmt.Fprint(w, strings.ReplaceAll(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":`+response+`}`, "UID", uid))
		}
	}
	patch := func(ops string) string {
		return `{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(ops)) + `"}`
	}
	dir := t.TempDir()
	inject := func(args ...string) (int, string, string) {
		return inCluster(t, api, dir, shopManifests, append([]string{"kube-inject", "-f", "-", "-n", "shop", "--webhookConfig", "istio-sidecar-injector"}, args...)...)
	}
	put(hook.URL+"/inject", ca)

	// As the mesh's injectors do: the pod went through types, which write what is
	// empty, and releases before 1.5 do not repeat the uid. All that the patch adds
	// is the container.
	setAnswer(respond(strings.Replace(patch(`[{"op":"add","path":"/metadata/creationTimestamp","value":null},{"op":"add","path":"/status","value":{}},
		{"op":"add","path":"/spec/containers/0/resources","value":{}},{"op":"add","path":"/spec/containers/1","value":{"name":"istio-proxy","resources":{}}}]`), `"uid":"UID",`, "", 1)))
	code, stdout, stderr := inject("--no-undo-record")
	if code != 0 || strings.Count(stdout, "name: istio-proxy") != 2 || strings.Contains(stdout, "resources") || strings.Contains(stdout, "status") ||
		strings.Contains(stdout, "creationTimestamp") || strings.Contains(stdout, "ownerReferences") || strings.Count(stdout, "namespace: shop") != 2 {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	setAnswer(respond(`{"uid":"UID","allowed":true,"warnings":["mind the gap"]}`))
	if code, _, stderr = inject(); code != 0 || !strings.Contains(stderr, "webhook namespace.sidecar-injector.istio.io: mind the gap") {
		t.Errorf("exit code %d, %s", code, stderr)
	}

	for _, tc := range []struct {
		name   string
		answer func(http.ResponseWriter, string)
		want   string
	}{
		{"error", func(w http.ResponseWriter, _ string) { http.Error(w, "on fire", http.StatusInternalServerError) }, "it answers 500 Internal Server Error: on fire"},
		{"elsewhere", func(w http.ResponseWriter, _ string) { w.Header().Set("Location", "/b"); w.WriteHeader(302) }, "it answers 302 Found"},
		{"garbage", func(w http.ResponseWriter, _ string) { fmt.Fprint(w, "<html>") }, "its answer is no AdmissionReview: <html>"},
		{"another", respond(`{"uid":"x","allowed":true}`), "its answer is to another review"},
		{"type", respond(strings.Replace(patch(`[]`), "JSONPatch", "MergePatch", 1)), `its patch is of type "MergePatch"`},
		{"base64", respond(`{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"!"}`), "its patch is no base64"},
		{"patch", respond(patch(`[{"op":"remove","path":"/spec/volumes"}]`)), "applying the patch of webhook namespace.sidecar-injector.istio.io: operation 1, remove /spec/volumes: "},
		{"silence", func(http.ResponseWriter, string) { <-ended }, "no answer within 300ms"},
	} {
		setAnswer(tc.answer)
		if code, stdout, stderr = inject("--timeout", "300ms"); code != 1 || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\nError: ") != 1 {
			t.Errorf("%s: exit code %d, %s", tc.name, code, stderr)
		}
	}

	// Whom to trust is what the webhook configuration says.
	setAnswer(respond(`{"uid":"UID","allowed":true}`))
	other := bundleOf(t, otherAuthority(t))
	put(hook.URL, other)
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "signed by unknown authority") || !strings.Contains(stderr, "Let the injector keep caBundle right") {
		t.Errorf("another authority: %d %s", code, stderr)
	}
	if code, _, stderr = inject("--insecure"); code != 0 {
		t.Errorf("--insecure: %d %s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "root-cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr = inject("--cert-dir", "."); code != 0 {
		t.Errorf("--cert-dir: %d %s", code, stderr)
	}
	if code, _, stderr = inject("--cert-dir", ".", "--authority", "elsewhere"); code != 1 || !strings.Contains(stderr, "elsewhere") {
		t.Errorf("--authority: %d %s", code, stderr)
	}
	if code, _, stderr = inject("--cert-dir", t.TempDir()); code != 1 || !strings.Contains(stderr, "it holds neither root-cert.pem nor") {
		t.Errorf("an empty --cert-dir: %d %s", code, stderr)
	}
	put(hook.URL, "bm9uZQ==")
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "caBundle of webhook namespace.sidecar-injector.istio.io: it holds no certificate") {
		t.Errorf("no bundle: %d %s", code, stderr)
	}
	plain := httptest.NewServer(hook.Config.Handler)
	t.Cleanup(plain.Close)
	put(plain.URL, ca)
	if code, _, stderr = inject("--plaintext"); code != 0 {
		t.Errorf("--plaintext: %d %s", code, stderr)
	}
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "Error: asking webhook namespace.sidecar-injector.istio.io at http://127.0.0.1") {
		t.Errorf("plain HTTP: %d %s", code, stderr)
	}

	// Services that lead nowhere.
	service := hookObject("namespace.sidecar-injector.istio.io", testkit.Object{"service": testkit.Object{"namespace": "mesh", "name": "istiod"}, "caBundle": ca})
	api.Put(hookPath+"istio-sidecar-injector", service)
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "services/istiod not found") {
		t.Errorf("no service: %d %s", code, stderr)
	}
	api.Put("/api/v1/namespaces/mesh/services/istiod", testkit.Object{"spec": testkit.Object{}})
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "service mesh/istiod selects no pods") || !strings.Contains(stderr, "--xds-address") {
		t.Errorf("no selector: %d %s", code, stderr)
	}
	if code, _, stderr = inject("--xds-label", "app=istiod"); code != 1 || !strings.Contains(stderr, "no pod of service mesh/istiod runs: none with labels app=istiod") {
		t.Errorf("no pods: %d %s", code, stderr)
	}
	putService(api, "mesh", "istiod", hook.Listener.Addr().String())
	if code, _, stderr = inject("--authority", "example.com"); code != 0 {
		t.Errorf("a service: %d %s", code, stderr)
	}
	api.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/portforward") })
	if code, _, stderr = inject(); code != 1 || !strings.Contains(stderr, "connecting to port 15017 of pod mesh/istiod-1: ") || !strings.Contains(stderr, "you may not create") {
		t.Errorf("no right: %d %s", code, stderr)
	}
}

// otherAuthority writes the certificate of an authority that signed nothing.
func otherAuthority(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := serveInjector(t, dir, "--ca-file", "ca.crt")
	s.end(0)
	return filepath.Join(dir, "ca.crt")
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
