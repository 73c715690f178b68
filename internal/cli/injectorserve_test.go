package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/testkit"
)

// served is a running injector.
type served struct {
	t                   *testing.T
	dir                 string
	webhook, monitoring string
	lines               chan map[string]any
	stop                context.CancelFunc
	exit                chan int
}

// serveInjector starts injector serve on free ports of the loopback, with more
// arguments.
func serveInjector(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &served{t: t, dir: dir, lines: make(chan map[string]any, 10000), stop: stop, exit: make(chan int, 1)}
	r, w := io.Pipe()
	go func() {
		defer close(s.lines)
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			line := map[string]any{}
			if json.Unmarshal(scanner.Bytes(), &line) != nil {
				line["msg"] = scanner.Text() // no log: what Main says at the end
			}
			s.lines <- line
		}
	}()
	go func() {
		code := cli.Main(ctx, cli.Env{
			Args: append([]string{"ingraft", "injector", "serve", "--listen", "127.0.0.1:0", "--monitoring-listen", "127.0.0.1:0", "--drain", "0s"}, args...),
			Dir:  dir, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: w,
			LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
		})
		w.Close()
		s.exit <- code
	}()
	t.Cleanup(func() { s.end(0) })
	line := s.await("serving")
	s.webhook, _ = line["webhook"].(string)
	s.monitoring, _ = line["monitoring"].(string)
	return s
}

// await returns the next line of the log with a message.
func (s *served) await(message string) map[string]any {
	s.t.Helper()
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("the injector ended before it said %q", message)
			}
			if line["msg"] == message {
				return line
			}
		case <-patience.C:
			s.t.Fatalf("the injector did not say %q", message)
		}
	}
}

// end tells the injector to end, and waits until it has.
func (s *served) end(want int) {
	if s.stop == nil {
		return
	}
	s.stop()
	s.stop = nil
	for range s.lines { // the log must be read for it to end
	}
	if code := <-s.exit; code != want {
		s.t.Errorf("exit code %d, want %d", code, want)
	}
}

// client trusts what is in a file.
func (s *served) client(caFile string) *http.Client {
	s.t.Helper()
	pool := x509.NewCertPool()
	if data, err := os.ReadFile(filepath.Join(s.dir, caFile)); err != nil || !pool.AppendCertsFromPEM(data) {
		s.t.Fatal("no certificates in ", caFile, err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const reviewOfWeb = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1","namespace":"shop","operation":"CREATE",
	"kind":{"version":"v1","kind":"Pod"},"object":{"metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"nginx"}]}}}}`

// patch asks the webhook about a pod, and returns the patch.
func (s *served) patch(client *http.Client) string {
	s.t.Helper()
	resp, err := client.Post("https://"+s.webhook+"/inject", "application/json", strings.NewReader(reviewOfWeb))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var review struct {
		Response struct {
			UID     string
			Allowed bool
			Patch   []byte
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil || review.Response.UID != "u1" || !review.Response.Allowed {
		s.t.Fatalf("%v, %+v", err, review)
	}
	return string(review.Response.Patch)
}

// get reads a page of the monitoring port.
func (s *served) get(path string) (status int, body string) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.monitoring + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// mount makes files as Kubernetes mounts them: links to links, of which one is
// swapped.
func mount(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, version), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, version, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

func configOf(image string) map[string]string {
	return map[string]string{
		"config": "policy: enabled\ntemplates:\n  sidecar: |\n    spec:\n      containers:\n      - {name: istio-proxy, image: '" + image + "'}\n",
		"values": "{}", "mesh": "{}",
	}
}

// A mounted configuration is served; another one takes its place within two
// seconds of the swap; a broken one is refused, and told by log and metrics.
func TestServeFollowsItsConfiguration(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "1", configOf("one"))
	s := serveInjector(t, dir, "--injectConfigFile", "config", "--valuesFile", "values", "--meshConfigFile", "mesh", "--ca-file", "ca.crt")
	if code, body := s.get("/readyz"); code != 200 {
		t.Errorf("ready: %d %s", code, body)
	}
	client := s.client("ca.crt")
	if p := s.patch(client); !strings.Contains(p, `"image":"one"`) {
		t.Errorf("patch %s", p)
	}
	if line := s.await("admission"); line["verdict"] != "inject" || line["namespace"] != "shop" || line["uid"] != "u1" {
		t.Errorf("logged %v", line)
	}

	began := time.Now()
	mount(t, dir, "2", configOf("two"))
	s.await("configuration applied")
	if took := time.Since(began); took > 10*time.Second { // 2 s are promised; the rest is for busy machines
		t.Errorf("applied after %s", took)
	}
	if p := s.patch(client); !strings.Contains(p, `"image":"two"`) {
		t.Errorf("patch %s", p)
	}

	broken := configOf("three")
	broken["config"] += "  other: |\n    {{ if }}\n"
	mount(t, dir, "3", broken)
	line := s.await("the configuration is refused; the one before stays")
	if e, _ := line["error"].(string); !strings.Contains(e, "config:8:") {
		t.Errorf("logged %v", line)
	}
	if p := s.patch(client); !strings.Contains(p, `"image":"two"`) {
		t.Errorf("patch %s", p)
	}
	_, numbers := s.get("/metrics")
	for _, want := range []string{
		"ingraft_config_generation 2\n", "ingraft_config_last_reload_success 0\n", `ingraft_config_reloads_total{result="refused"} 1` + "\n",
		`ingraft_admissions_total{verdict="inject",reason="policy",namespace="shop"} 3` + "\n", "ingraft_certificate_expiry_timestamp_seconds ",
		`ingraft_replica_cache_lookups_total{result="hit"} 1` + "\n",
	} {
		if !strings.Contains(numbers, want) {
			t.Errorf("the numbers lack %s:\n%s", want, numbers)
		}
	}
	if code, _ := s.get("/readyz"); code != 200 {
		t.Error("a broken configuration made it unready")
	}

	mount(t, dir, "4", configOf("four"))
	s.await("configuration applied")
	if p := s.patch(client); !strings.Contains(p, `"image":"four"`) {
		t.Errorf("patch %s", p)
	}
	s.end(0)
}

// Certificates of files are reloaded, and a broken one is refused.
func TestServeFollowsItsCertificate(t *testing.T) {
	dir := t.TempDir()
	write := func(version string, data map[string][]byte) {
		files := map[string]string{}
		for name, text := range data {
			files[name] = string(text)
		}
		mount(t, dir, version, files)
	}
	secret := func() map[string][]byte {
		state, err := certs.DefaultPolicy.Next(nil, []string{"127.0.0.1"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		data, err := state.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := secret()
	write("1", first)
	s := serveInjector(t, dir, "--tls-cert-file", "tls.crt", "--tls-key-file", "tls.key")
	if p := s.patch(s.client("ca.crt")); !strings.Contains(p, "istio-proxy") {
		t.Errorf("patch %s", p)
	}
	second := secret()
	write("2", second)
	s.await("serving with a new certificate")
	if p := s.patch(s.client("ca.crt")); !strings.Contains(p, "istio-proxy") {
		t.Errorf("patch %s", p)
	}
	write("3", map[string][]byte{"tls.crt": first["tls.crt"], "tls.key": second["tls.key"], "ca.crt": second["ca.crt"]})
	s.await("the certificate is refused; the one before stays")
	s.patch(s.client("ca.crt"))
	if _, numbers := s.get("/metrics"); !strings.Contains(numbers, `ingraft_certificate_reloads_total{result="refused"} 1`) {
		t.Error(numbers)
	}
	// Old protocols are not spoken.
	conn, err := tls.Dial("tcp", s.webhook, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11})
	if err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

const (
	configMapPath = "/api/v1/namespaces/istio-system/configmaps/istio-sidecar-injector"
	meshPath      = "/api/v1/namespaces/istio-system/configmaps/istio"
	secretPath    = "/api/v1/namespaces/mesh/secrets/certs"
	hooksPath     = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks"
	nodePath      = "/api/v1/nodes/node"
)

// controlPlane is a cluster with the ConfigMaps of a control plane.
func controlPlane(t *testing.T) *testkit.API {
	t.Helper()
	api := testkit.NewAPI(t)
	api.Put(meshPath, testkit.Object{"kind": "ConfigMap", "data": testkit.Object{"mesh": "{}"}})
	api.Put(nodePath, testkit.Object{"kind": "Node", "status": testkit.Object{"nodeInfo": testkit.Object{"kubeletVersion": "v1.33.1"}}})
	putConfig(api, "one", "{}")
	return api
}

func putConfig(api *testkit.API, image, values string) {
	config := "policy: enabled\ntemplates:\n  sidecar: |\n    metadata: {annotations: {native: '{{ .NativeSidecars }}', uid: '{{ .ProxyUID }}'}}\n" +
		"    spec:\n      containers:\n      - {name: istio-proxy, image: '" + image + "'}\n"
	api.Put(configMapPath, testkit.Object{"kind": "ConfigMap", "data": testkit.Object{"config": config, "values": values}})
}

// The ConfigMaps of the control plane are served and followed; what is broken is
// refused.
func TestServeFollowsConfigMaps(t *testing.T) {
	api := controlPlane(t)
	dir := t.TempDir()
	s := serveInjector(t, dir, "--kubeconfig", api.Kubeconfig(t), "--ca-file", "ca.crt")
	client := s.client("ca.crt")
	if p := s.patch(client); !strings.Contains(p, `"image":"one"`) || !strings.Contains(p, `"native":"true"`) {
		t.Errorf("patch %s", p)
	}
	began := time.Now()
	putConfig(api, "two", "{}")
	s.await("configuration applied")
	if took := time.Since(began); took > 10*time.Second { // 2 s are promised; the rest is for busy machines
		t.Errorf("applied after %s", took)
	}
	if p := s.patch(client); !strings.Contains(p, `"image":"two"`) {
		t.Errorf("patch %s", p)
	}
	putConfig(api, "three", "global: [")
	s.await("the configuration is refused; the one before stays")
	api.Delete(configMapPath)
	s.await("the configuration is refused; the one before stays")
	if p := s.patch(client); !strings.Contains(p, `"image":"two"`) {
		t.Errorf("patch %s", p)
	}
	putConfig(api, "four", "{}")
	s.await("configuration applied")
	// Touched, but the same: nothing is done.
	putConfig(api, "four", "{}")
	if p := s.patch(client); !strings.Contains(p, `"image":"four"`) {
		t.Errorf("patch %s", p)
	}
	if _, numbers := s.get("/metrics"); !strings.Contains(numbers, "ingraft_config_generation 3\n") {
		t.Error(numbers)
	}
}

// Namespaces are known where OpenShift gives them users.
func TestServeKnowsNamespacesOfOpenShift(t *testing.T) {
	api := controlPlane(t)
	putConfig(api, "one", `{"global":{"platform":"openshift"}}`)
	annotated := func(users string) testkit.Object {
		return testkit.Object{"metadata": testkit.Object{"annotations": testkit.Object{"openshift.io/sa.scc.uid-range": users}}}
	}
	api.Put("/api/v1/namespaces/shop", annotated("5000/10"))
	s := serveInjector(t, t.TempDir(), "--kubeconfig", api.Kubeconfig(t), "--ca-file", "ca.crt")
	client := s.client("ca.crt")
	if p := s.patch(client); !strings.Contains(p, `"uid":"5009"`) {
		t.Errorf("patch %s", p)
	}
	api.Put("/api/v1/namespaces/shop", annotated("7000/10"))
	for end := time.Now().Add(time.Minute); !strings.Contains(s.patch(client), `"uid":"7009"`); {
		if time.Now().After(end) {
			t.Fatal("the change is not seen")
		}
	}
}

// ProxyConfig objects of the cluster count as for the control plane's webhook:
// those that are there at the start, and later ones; a replica that is asked
// for again gets what counts then.
func TestServeAppliesProxyConfigs(t *testing.T) {
	api := controlPlane(t)
	api.Put(configMapPath, testkit.Object{"kind": "ConfigMap", "data": testkit.Object{"values": "{}", "config": `policy: enabled
templates:
  sidecar: |
    spec:
      containers:
      - name: istio-proxy
        image: proxy
        args: ["concurrency={{ .ProxyConfig.Concurrency.GetValue }}"]
`}})
	const object = "/apis/networking.istio.io/v1beta1/namespaces/shop/proxyconfigs/all"
	threads := func(n int) testkit.Object {
		return testkit.Object{"apiVersion": "networking.istio.io/v1beta1", "kind": "ProxyConfig", "metadata": testkit.Object{"name": "all", "namespace": "shop"}, "spec": testkit.Object{"concurrency": n}}
	}
	api.Put(object, threads(3))
	s := serveInjector(t, t.TempDir(), "--kubeconfig", api.Kubeconfig(t), "--ca-file", "ca.crt")
	client := s.client("ca.crt")
	if p := s.patch(client); !strings.Contains(p, `"concurrency=3"`) {
		t.Fatalf("patch %s", p)
	}
	await := func(want string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !strings.Contains(s.patch(client), want); {
			if time.Now().After(end) {
				t.Fatalf("%s is not seen in %s", want, s.patch(client))
			}
		}
	}
	api.Put(object, threads(5))
	await(`"concurrency=5"`)
	api.Delete(object)
	await(`"concurrency=0"`)
}

// Two replicas share a certificate in a Secret, and the webhook configuration
// trusts it, also after somebody has applied it again. When the one that keeps
// it ends, the other one does.
func TestServeKeepsItsCertificateInTheCluster(t *testing.T) {
	api := controlPlane(t)
	hooks := testkit.Object{"webhooks": []any{testkit.Object{"name": "a", "clientConfig": testkit.Object{"url": "https://x/inject"}}}}
	api.Put(hooksPath, hooks)
	dir := t.TempDir()
	args := []string{"--kubeconfig", api.Kubeconfig(t), "-n", "mesh", "--secret", "certs", "--webhook-config", "hooks", "--dns-name", "injector.mesh.svc"}
	one := serveInjector(t, dir, args...)
	one.await("serving with a new certificate")
	two := serveInjector(t, dir, args...)
	two.await("serving with a new certificate")
	bundle := func() string {
		list := api.Get(hooksPath)["webhooks"].([]any)
		b, _ := list[0].(testkit.Object)["clientConfig"].(testkit.Object)["caBundle"].(string)
		return b
	}
	eventually := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	eventually("the bundle is not written", func() bool { return bundle() != "" })
	ca, _ := base64.StdEncoding.DecodeString(bundle())
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*served{one, two} {
		if p := s.patch(s.client("ca.crt")); !strings.Contains(p, `"image":"one"`) {
			t.Errorf("patch %s", p)
		}
		eventually("not ready", func() bool { code, _ := s.get("/readyz"); return code == 200 })
	}
	api.Put(hooksPath, hooks)
	eventually("the bundle is not repaired", func() bool { return bundle() != "" })
	one.end(0)
	api.Put(hooksPath, hooks)
	eventually("the other replica does not take over", func() bool { return bundle() != "" })
	if _, numbers := two.get("/metrics"); !strings.Contains(numbers, "\ningraft_leader 1\n") {
		t.Error(numbers)
	}
}

// The pod that kube-inject makes of a file is the one that the webhook makes.
func TestServeInjectsAsKubeInject(t *testing.T) {
	dir := t.TempDir()
	pod := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  containers:\n  - name: web\n    image: nginx\n"
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), []byte(pod), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := cli.Main(context.Background(), cli.Env{
		Args: strings.Fields("ingraft kube-inject -f pod.yaml --patch json --kube-version 1.33"), Dir: dir,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: func() time.Time { return now },
	}); code != 0 {
		t.Fatal(code)
	}
	s := serveInjector(t, dir, "--ca-file", "ca.crt", "--kube-version", "1.33")
	var fromFile, fromHook any
	if err := json.Unmarshal(out.Bytes(), &fromFile); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if err := json.Unmarshal([]byte(s.patch(s.client("ca.crt"))), &fromHook); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(fromFile), fmt.Sprint(fromHook); !strings.Contains(b, "restartPolicy:Always") || a != b {
		t.Errorf("kube-inject %s\nwebhook     %s", a, b)
	}
}
