package cluster_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/cluster"
)

// kubeconfig writes a kubeconfig of one cluster under several contexts, the
// first of which is the current one.
func kubeconfig(t *testing.T, server string, ca []byte, contexts ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: %s\n", server)
	if ca != nil {
		fmt.Fprintf(&b, "    certificate-authority-data: %s\n", base64.StdEncoding.EncodeToString(ca))
	}
	b.WriteString("users:\n- name: u\n  user: {token: secret}\ncontexts:\n")
	for _, name := range contexts {
		fmt.Fprintf(&b, "- name: %s\n  context: {cluster: c, user: u, namespace: of-%s}\n", name, name)
	}
	if len(contexts) > 0 {
		fmt.Fprintf(&b, "current-context: %s\n", contexts[0])
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is asked under one Bounded takes no longer together than one request may;
// each of them had the whole time for itself.
func TestRequestsShareOneDeadline(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Namespace"}`)
	}))
	defer server.Close()
	c, err := cluster.Connect(cluster.Config{Kubeconfig: kubeconfig(t, server.URL, nil, "slow"), Timeout: time.Second, Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := c.Bounded(t.Context())
	defer cancel()
	if _, err := c.Namespace(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	_, err = c.Namespace(ctx, "b")
	if !cluster.IsKind(err, cluster.Unreachable) || !strings.Contains(err.Error(), "is slow: not all that is asked of it was answered within 1s") {
		t.Errorf("the second request: %v", err)
	}
	if _, err := c.Namespace(t.Context(), "c"); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestConfigured(t *testing.T) {
	one := kubeconfig(t, "https://one.example", nil, "a", "b")
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".kube"), 0o700); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(one); err != nil || os.WriteFile(filepath.Join(home, ".kube", "config"), data, 0o600) != nil {
		t.Fatal(err)
	}
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	none := filepath.Join(t.TempDir(), "none")
	list := func(files ...string) string { return strings.Join(files, string(filepath.ListSeparator)) }

	for _, tc := range []struct {
		name   string
		config cluster.Config
		want   bool
		err    string
	}{
		{"nothing", cluster.Config{Getenv: env()}, false, ""},
		{"flag", cluster.Config{Kubeconfig: one, Getenv: env()}, true, ""},
		{"flag, relative", cluster.Config{Kubeconfig: "config", Dir: filepath.Dir(one), Getenv: env()}, true, ""},
		{"flag over variable", cluster.Config{Kubeconfig: one, Getenv: env("KUBECONFIG", none)}, true, ""},
		{"variable", cluster.Config{Getenv: env("KUBECONFIG", one)}, true, ""},
		{"variable, relative", cluster.Config{Getenv: env("KUBECONFIG", "config"), Dir: filepath.Dir(one)}, true, ""},
		{"variable, some exist", cluster.Config{Getenv: env("KUBECONFIG", list(none, "", one))}, true, ""},
		{"variable, none exists", cluster.Config{Getenv: env("KUBECONFIG", list(none, none), "HOME", home)}, false, ""},
		{"variable, empty file", cluster.Config{Getenv: env("KUBECONFIG", write(""))}, false, ""},
		{"home", cluster.Config{Getenv: env("HOME", home)}, true, ""},
		{"home without one", cluster.Config{Getenv: env("HOME", t.TempDir())}, false, ""},
		{"context", cluster.Config{Kubeconfig: one, Context: "b", Getenv: env()}, true, ""},
		{"no pod after all", cluster.Config{Getenv: env("KUBERNETES_SERVICE_HOST", "10.0.0.1", "KUBERNETES_SERVICE_PORT", "443")}, false, ""},

		{"missing flag", cluster.Config{Kubeconfig: none, Getenv: env()}, false, "reading --kubeconfig " + none + ": no such file or directory"},
		{"folder", cluster.Config{Kubeconfig: home, Getenv: env()}, false, "reading --kubeconfig " + home + ": it is a folder"},
		{"list", cluster.Config{Kubeconfig: write("[]"), Getenv: env()}, false, "holds an array, not a kubeconfig"},
		{"pod", cluster.Config{Kubeconfig: write("apiVersion: v1\nkind: Pod\n"), Getenv: env()}, false, "holds an object of kind Pod, not a kubeconfig"},
		{"broken", cluster.Config{Kubeconfig: write("{"), Getenv: env()}, false, "reading the kubeconfig: "},
		{"empty file of the flag", cluster.Config{Kubeconfig: write(""), Getenv: env()}, false, ": the file is empty"},
		{"unknown context", cluster.Config{Kubeconfig: one, Context: "c", Getenv: env()}, false, `the kubeconfig has no context "c": it has a, b`},
		{"context of nothing", cluster.Config{Context: "c", Getenv: env()}, false, `there is no kubeconfig that could have the context "c"`},
		{
			"no current context",
			cluster.Config{Kubeconfig: write("contexts: [{name: x, context: {cluster: c, user: u}}]"), Getenv: env()},
			false, "the kubeconfig has no current context: it has x",
		},
		{
			"current context that is missing",
			cluster.Config{Kubeconfig: write("current-context: gone\ncontexts: [{name: x, context: {cluster: c, user: u}}]"), Getenv: env()},
			false, `the kubeconfig has no context "gone", which it names as its current one: it has x`,
		},
		{
			"context without cluster",
			cluster.Config{Kubeconfig: write("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]"), Getenv: env()},
			false, `reading context "x" of the kubeconfig: `,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := cluster.Configured(tc.config)
			if got != tc.want {
				t.Errorf("configured: %v, want %v (%v)", got, tc.want, err)
			}
			if tc.err == "" {
				if err != nil {
					t.Error(err)
				}
				_, err := cluster.Connect(tc.config)
				if tc.want != (err == nil) || !tc.want && !errors.Is(err, cluster.ErrNotConfigured) {
					t.Errorf("connecting: %v", err)
				}
				return
			}
			if !cluster.IsKind(err, cluster.BadConfig) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got  %v\nwant %s", err, tc.err)
			}
			if _, err := cluster.Connect(tc.config); !cluster.IsKind(err, cluster.BadConfig) {
				t.Errorf("connecting: %v", err)
			}
		})
	}
}

// fake is an API server: path to what it answers there.
type fake struct {
	*httptest.Server
	objects map[string]any
	mu      sync.Mutex
	asked   []*http.Request
}

type status struct {
	code    int
	message string
}

func serve(t *testing.T, objects map[string]any) *fake {
	t.Helper()
	f := &fake{objects: objects}
	f.Server = httptest.NewTLSServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	path := r.URL.Path
	if c := r.URL.Query().Get("continue"); c != "" {
		path += "?" + c
	}
	answer, ok := f.objects[path]
	if !ok {
		answer = status{http.StatusNotFound, path + " not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Warning", `299 - "this must not be printed"`)
	switch answer := answer.(type) {
	case string:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, answer)
	case status:
		w.WriteHeader(answer.code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": answer.message, "code": answer.code})
	default:
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// request returns the i-th request that came; -1 is the last.
func (f *fake) request(i int) *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < 0 {
		i += len(f.asked)
	}
	return f.asked[i]
}

func (f *fake) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

func (f *fake) connect(t *testing.T, change ...func(*cluster.Config)) *cluster.Client {
	t.Helper()
	cfg := cluster.Config{Kubeconfig: kubeconfig(t, f.URL, f.ca(), "test"), Getenv: env()}
	for _, c := range change {
		c(&cfg)
	}
	c, err := cluster.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type object = map[string]any

func named(name string) object { return object{"metadata": object{"name": name}} }

func TestConfigMap(t *testing.T) {
	f := serve(t, map[string]any{
		"/api/v1/namespaces/istio-system/configmaps/istio-sidecar-injector": object{"kind": "ConfigMap", "data": object{"config": "policy: enabled\n", "values": "{}"}},
		"/api/v1/namespaces/istio-system/configmaps/istio":                  object{"kind": "ConfigMap", "data": object{"meshNetworks": "networks: {}"}},
		"/api/v1/namespaces/istio-system/configmaps/empty":                  object{"kind": "ConfigMap"},
		"/api/v1/namespaces/istio-system/configmaps": object{"items": []any{
			named("istio-sidecar-injector"), named("istio-sidecar-injector-canary"), named("istio-sidecar-injector-1-30"), named("istio"),
		}},
		"/api/v1/namespaces/other/configmaps":          object{"items": []any{named("kube-root-ca.crt")}},
		"/api/v1/namespaces/closed/configmaps":         status{http.StatusForbidden, "you cannot list"},
		"/api/v1/namespaces/closed/configmaps/secrets": status{http.StatusForbidden, `configmaps "secrets" is forbidden: no`},
	})
	c := f.connect(t)
	ctx := context.Background()

	m, err := c.ConfigMap(ctx, "istio-system", cluster.InjectorConfigMap)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Text("config")
	if err != nil || string(text.Data) != "policy: enabled\n" {
		t.Fatalf("%v, %v", text, err)
	}
	if pos := text.Pos(0).String(); pos != "ConfigMap istio-system/istio-sidecar-injector key config:1:1" {
		t.Errorf("the text is called %s", pos)
	}

	const found = "; revisions found in namespace istio-system: 1-30, canary, default"
	for _, tc := range []struct {
		namespace, name, key string
		kind                 cluster.Kind
		want                 string
	}{
		{"istio-system", "istio-sidecar-injector-prod", "", cluster.NotFound, "ConfigMap istio-system/istio-sidecar-injector-prod does not exist" + found},
		{"istio-system", "istio", "mesh", cluster.NotFound, `ConfigMap istio-system/istio has no key "mesh": it has meshNetworks` + found},
		{"istio-system", "empty", "mesh", cluster.NotFound, `ConfigMap istio-system/empty has no key "mesh": it has no keys at all` + found},
		{"other", "istio", "", cluster.NotFound, "ConfigMap other/istio does not exist; no control plane was found in namespace other"},
		{
			"closed", "istio", "", cluster.NotFound,
			"ConfigMap closed/istio does not exist; which revisions there are cannot be told: listing configmaps of namespace closed: you cannot list",
		},
		{"closed", "secrets", "", cluster.Forbidden, `reading configmaps closed/secrets: configmaps "secrets" is forbidden: no`},
	} {
		m, err := c.ConfigMap(ctx, tc.namespace, tc.name)
		if tc.key != "" && err == nil {
			_, err = m.Text(tc.key)
		}
		var e *cluster.Error
		if !errors.As(err, &e) || e.Kind != tc.kind || e.Error() != tc.want {
			t.Errorf("got  %v\nwant %s", err, tc.want)
			continue
		}
		if tc.kind == cluster.NotFound && (!strings.Contains(e.Fix, "--revision (-r)") || !strings.Contains(e.Fix, "--istioNamespace (-i)")) {
			t.Errorf("the fix names neither -r nor -i: %s", e.Fix)
		}
		if !strings.Contains(e.Fix, "--injectConfigFile, --meshConfigFile and --valuesFile") {
			t.Errorf("the fix does not say how to do without: %s", e.Fix)
		}
	}
}

func TestRequests(t *testing.T) {
	f := serve(t, map[string]any{
		"/version":                            object{"major": "1", "minor": "33+", "gitVersion": "v1.33.4-gke.1"},
		"/api/v1/namespaces/shop":             object{"metadata": object{"name": "shop", "labels": object{"istio-injection": "enabled"}}},
		"/apis/apps/v1/namespaces/n/things":   object{"metadata": object{"continue": "2"}, "items": []any{named("a"), named("b")}},
		"/apis/apps/v1/namespaces/n/things?2": object{"items": []any{named("c")}},
	})
	c := f.connect(t, func(cfg *cluster.Config) { cfg.As, cfg.AsUID, cfg.AsGroups = "me", "42", []string{"g", "h"} })
	ctx := context.Background()

	v, err := c.ServerVersion(ctx)
	if err != nil || v != (cluster.ServerVersion{GitVersion: "v1.33.4-gke.1", Major: "1", Minor: "33+"}) {
		t.Errorf("version %+v, %v", v, err)
	}
	h := f.request(0).Header
	got := []string{h.Get("Authorization"), h.Get("Impersonate-User"), h.Get("Impersonate-Uid"), strings.Join(h["Impersonate-Group"], " "), h.Get("User-Agent")}
	if diff := cmp.Diff([]string{"Bearer secret", "me", "42", "g h", "ingraft"}, got); diff != "" {
		t.Error(diff)
	}

	n, err := c.Namespace(ctx, "shop")
	if err != nil || n.Get("metadata", "labels", "istio-injection").Str() != "enabled" {
		t.Errorf("namespace %v, %v", n, err)
	}
	if _, err := c.Namespace(ctx, "none"); !cluster.IsKind(err, cluster.NotFound) || err.Error() != "reading namespaces none: /api/v1/namespaces/none not found" {
		t.Errorf("missing namespace: %v", err)
	}

	things := c.List(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "things"}, "n",
		cluster.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", MetadataOnly: true})
	for range 2 { // it may be gone through again
		var names []string
		for n, err := range things {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, n.Get("metadata", "name").Str())
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
			t.Error(diff)
		}
	}
	last := f.request(-1)
	if q := last.URL.RawQuery; q != "continue=2&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=500" {
		t.Errorf("asked %s", q)
	}
	if a := last.Header.Get("Accept"); !strings.Contains(a, "as=PartialObjectMetadataList") {
		t.Errorf("accepts %s", a)
	}
	for n := range things {
		if n.Get("metadata", "name").Str() != "a" {
			t.Error("the list does not begin with a")
		}
		break // must not ask for the second page
	}
	if f.request(-1).URL.Query().Has("continue") {
		t.Error("a page was asked for that nobody wanted")
	}
	if c.DefaultNamespace() != "of-test" {
		t.Errorf("namespace %s", c.DefaultNamespace())
	}
	if want := `context "test" (` + f.URL + ")"; c.String() != want {
		t.Errorf("client is %s, want %s", c, want)
	}
}

func TestNodes(t *testing.T) {
	table := func(rows ...any) object {
		return object{
			"kind":              "Table",
			"columnDefinitions": []any{object{"name": "Name"}, object{"name": "Status"}, object{"name": "Version"}},
			"rows":              rows,
		}
	}
	row := func(cells ...any) object { return object{"cells": cells} }
	for _, tc := range []struct {
		name   string
		answer any
		node   string
		want   bool
	}{
		{"all new", table(row("a", "Ready", "v1.33.0"), row("b", "Ready", "v1.34.1+k3s1")), "", true},
		{"one old", table(row("a", "Ready", "v1.33.0"), row("b", "Ready", "v1.32.9-eks-1")), "", false},
		{"one old, but not the pod's", table(row("a", "Ready", "v1.33.0"), row("b", "Ready", "v1.32.9")), "a", true},
		{"the pod's is old", table(row("a", "Ready", "v1.33.0"), row("b", "Ready", "v1.32.9")), "b", false},
		{"the pod's is not known", table(row("a", "Ready", "v1.33.0")), "c", true},
		{"no nodes", table(), "", true},
		{"no version column", object{"kind": "Table", "columnDefinitions": []any{object{"name": "Name"}}, "rows": []any{row("a")}}, "", false},
		{"a row too short", table(row("a")), "", false},
		{"odd version", table(row("a", "Ready", "v1.33.x")), "", false},
		{"no version", table(row("a", "Ready", "")), "", false},
		{"a list", object{"kind": "NodeList", "items": []any{object{
			"metadata": object{"name": "a"}, "status": object{"nodeInfo": object{"kubeletVersion": "v1.33.1"}},
		}}}, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serve(t, map[string]any{"/api/v1/nodes": tc.answer})
			nodes, err := f.connect(t).Nodes(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := nodes.Native(tc.node); got != tc.want {
				t.Errorf("native: %v, want %v", got, tc.want)
			}
		})
	}
	f := serve(t, map[string]any{"/api/v1/nodes": status{http.StatusForbidden, "nodes is forbidden"}})
	if _, err := f.connect(t).Nodes(context.Background()); !cluster.IsKind(err, cluster.Forbidden) {
		t.Errorf("without the right: %v", err)
	}
	if cluster.NewNodes(map[string]string{"a": "v1.33"}).Native("") != true {
		t.Error("v1.33 is not native")
	}
}

func TestOtherAnswers(t *testing.T) {
	f := serve(t, map[string]any{
		"/api/v1/namespaces/a": status{http.StatusUnauthorized, "Unauthorized"},
		"/api/v1/namespaces/b": "<html>log in</html>",
		"/api/v1/namespaces/c": status{http.StatusInternalServerError, "etcd is gone"},
		"/api/v1/namespaces/d": []any{},
	})
	c := f.connect(t)
	for _, tc := range []struct {
		name string
		kind cluster.Kind
		want string
	}{
		{"a", cluster.Unauthorized, "refuses the credentials: Unauthorized"},
		{"b", cluster.Failed, "does not answer like an API server"},
		{"c", cluster.Failed, "reading namespaces c: etcd is gone"},
		{"d", cluster.Failed, "the answer is no object"},
	} {
		_, err := c.Namespace(context.Background(), tc.name)
		if !cluster.IsKind(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
}

// A cluster that cannot be reached is an error that names the cluster and the
// flags that do without, within the time allowed.
func TestUnreachable(t *testing.T) {
	hang := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hang.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	halfway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(halfway.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0) // the failed handshake is meant
	stranger.StartTLS()
	t.Cleanup(stranger.Close)

	for _, tc := range []struct {
		name, server string
		ca           []byte
		want         string
	}{
		{"does not answer", hang.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hang.Certificate().Raw}), "no answer within 30ms"},
		{"does not shake hands", "https://" + silent.Addr().String(), nil, "no answer within 30ms"},
		{"stops in the middle", halfway.URL, nil, "no answer within 30ms"},
		{"refuses connections", "https://" + closed.Addr().String(), nil, "connection refused"},
		{"unknown certificate", stranger.URL, nil, "certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			timeout := 30 * time.Millisecond
			if !strings.Contains(tc.want, "30ms") {
				timeout = 0 // the default: these fail at once
			}
			c, err := cluster.Connect(cluster.Config{Kubeconfig: kubeconfig(t, tc.server, tc.ca, "far"), Getenv: env(), Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.ConfigMap(context.Background(), "istio-system", "istio")
			var e *cluster.Error
			if !errors.As(err, &e) || e.Kind != cluster.Unreachable {
				t.Fatalf("got %v", err)
			}
			if want := `reading configmaps istio-system/istio: the cluster of context "far" (` + tc.server + ") cannot be reached: "; !strings.HasPrefix(e.Error(), want) {
				t.Errorf("got  %s\nwant %s", e, want)
			}
			if !strings.Contains(e.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s", e, tc.want)
			}
			if !strings.Contains(e.Fix, "--injectConfigFile, --meshConfigFile and --valuesFile") || !strings.Contains(e.Fix, "--kubeclient-timeout") {
				t.Errorf("fix %q", e.Fix)
			}
			if strings.Contains(tc.want, "30ms") != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is a deadline: %v", err, errors.Is(err, context.DeadlineExceeded))
			}
		})
	}

	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c, err := cluster.Connect(cluster.Config{Kubeconfig: kubeconfig(t, hang.URL, nil, "far"), Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.ServerVersion(ctx); !errors.Is(err, context.Canceled) || cluster.IsKind(err, cluster.Unreachable) {
			t.Errorf("got %v", err)
		}
	})
}
