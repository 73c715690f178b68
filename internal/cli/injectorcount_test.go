package cli_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/testkit"
)

// eventually waits for something to come about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// The replica that leads counts the pods without their sidecar, by namespace, and
// only it; pods that have one are not even looked at.
func TestServeCountsMissedPods(t *testing.T) {
	api := controlPlane(t)
	hooks := find(t, manifestOf(t), "MutatingWebhookConfiguration").Any().(testkit.Object)
	api.Put(hooksPath, hooks)
	for name, label := range map[string]string{"shop": "enabled", "free": "disabled"} {
		api.Put("/api/v1/namespaces/"+name, testkit.Object{"metadata": testkit.Object{"labels": testkit.Object{"istio-injection": label}}})
	}
	pod := func(namespace, name string, annotations testkit.Object, spec testkit.Object) {
		api.Put("/api/v1/namespaces/"+namespace+"/pods/"+name, testkit.Object{"metadata": testkit.Object{"namespace": namespace, "annotations": annotations}, "spec": spec})
	}
	app := testkit.Object{"containers": []any{testkit.Object{"name": "app"}}}
	pod("shop", "one", nil, app)
	pod("shop", "two", nil, app)
	pod("shop", "injected", testkit.Object{"sidecar.istio.io/status": "{}"}, app)
	pod("shop", "host", nil, testkit.Object{"hostNetwork": true})
	pod("free", "web", nil, app)
	api.Answer(func(r *http.Request, _ testkit.Object) (testkit.Object, int) {
		if strings.HasSuffix(r.URL.Path, "/pods/injected") || strings.HasSuffix(r.URL.Path, "/pods/web") {
			t.Errorf("%s was looked at", r.URL.Path)
		}
		return nil, 0
	})
	args := []string{"--kubeconfig", api.Kubeconfig(t), "-n", "mesh", "--secret", "certs", "--webhook-config", "hooks", "--missed-every", "10s"}
	one := serveInjector(t, t.TempDir(), args...)
	one.await("serving with a new certificate")
	two := serveInjector(t, t.TempDir(), args...)
	eventually(t, "the pods are not counted", func() bool {
		_, numbers := one.get("/metrics")
		return strings.Contains(numbers, "\ningraft_missed_pods{namespace=\"shop\"} 2\n")
	})
	if _, numbers := one.get("/metrics"); strings.Contains(numbers, `ingraft_missed_pods{namespace="free"}`) {
		t.Error(numbers)
	}
	if _, numbers := two.get("/metrics"); strings.Contains(numbers, "ingraft_missed_pods{") || !strings.Contains(numbers, "\ningraft_leader 0\n") {
		t.Error("a replica that does not lead counts")
	}
	one.end(0)
	eventually(t, "the other replica does not count", func() bool {
		_, numbers := two.get("/metrics")
		return strings.Contains(numbers, "\ningraft_missed_pods{namespace=\"shop\"} 2\n")
	})
}

// Without the right to list pods nothing is counted, and the log says so.
func TestServeDoesNotCountWithoutTheRight(t *testing.T) {
	api := controlPlane(t)
	api.Deny(func(_, path string) bool { return strings.HasSuffix(path, "/pods") })
	s := serveInjector(t, t.TempDir(), "--kubeconfig", api.Kubeconfig(t), "--missed-every", "10s")
	if line := s.await("pods that were missed are not counted"); !strings.Contains(line["error"].(string), "listing pods: you may not list") {
		t.Errorf("logged %v", line)
	}
}

// deniedReview is that of a pod with a bad annotation.
const deniedReview = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1","namespace":"shop","operation":"CREATE","object":{"metadata":{
	"generateName":"web-","annotations":{"traffic.sidecar.istio.io/includeInboundPorts":"http"},
	"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"NAME","uid":"r1","controller":true}]},"spec":{"containers":[{"name":"web","image":"nginx"}]}}}}`

// A pod that is denied is told as an Event of its controller; a flood of them is
// bounded, and admission does not wait for it.
func TestServeWritesEvents(t *testing.T) {
	api := controlPlane(t)
	dir := t.TempDir()
	s := serveInjector(t, dir, "--kubeconfig", api.Kubeconfig(t), "--ca-file", "ca.crt", "--events")
	client := s.client("ca.crt")
	for i := range 300 {
		resp, err := client.Post("https://"+s.webhook+"/inject", "application/json", strings.NewReader(strings.Replace(deniedReview, "NAME", "web-"+strings.Repeat("x", i%60+1), 1)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var events []testkit.Object
	eventually(t, "no Event is written", func() bool {
		events = api.All("/api/v1/namespaces/shop/events")
		return len(events) >= 20
	})
	if len(events) > 40 {
		t.Errorf("%d Events were written at once", len(events))
	}
	e := events[0]
	if involved := e["involvedObject"].(testkit.Object); involved["kind"] != "ReplicaSet" || e["reason"] != "InjectionDenied" || !strings.Contains(e["message"].(string), "traffic.sidecar.istio.io/includeInboundPorts") {
		t.Errorf("%v", e)
	}
	if _, numbers := s.get("/metrics"); !strings.Contains(numbers, `ingraft_events_total{result="written"} `) {
		t.Error(numbers)
	}
}
