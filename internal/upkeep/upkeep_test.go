package upkeep_test

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/testkit"
	"github.com/ingraft/ingraft/internal/upkeep"
)

const (
	secretPath = "/api/v1/namespaces/mesh/secrets/certs"
	leasePath  = "/apis/coordination.k8s.io/v1/namespaces/mesh/leases/lead"
	hookPath   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks"
)

// replica is a Keeper with a clock, and the bundles that it applied.
type replica struct {
	*upkeep.Keeper
	now      time.Time
	applied  chan *certs.State
	registry metrics.Registry
}

func newReplica(t *testing.T, api *testkit.API, name string) *replica {
	t.Helper()
	client, err := cluster.Connect(cluster.Config{Kubeconfig: api.Kubeconfig(t), Getenv: func(string) string { return "" }, QPS: 1e6, Burst: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{now: time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC), applied: make(chan *certs.State, 100)}
	r.Keeper = &upkeep.Keeper{
		Client: client, Namespace: "mesh", Secret: "certs", Lease: "lead", Webhooks: []string{"hooks", "none"},
		Names: []string{"injector.mesh.svc"}, Identity: name, Policy: certs.DefaultPolicy,
		Now: func() time.Time { return r.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Apply: func(s *certs.State) { r.applied <- s },
	}
	r.Register(&r.registry)
	return r
}

func (r *replica) step(t *testing.T) {
	t.Helper()
	if err := r.Step(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// bundle returns the bundle that was applied last, "" if none was since the
// last call.
func (r *replica) bundle() string {
	last := ""
	for {
		select {
		case s := <-r.applied:
			last = string(s.Bundle())
		default:
			return last
		}
	}
}

func (r *replica) numbers(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := r.registry.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func hooks(bundles ...string) testkit.Object {
	var list []any
	for i, b := range bundles {
		config := testkit.Object{"url": "https://injector/inject", "unknown": true}
		if b != "" {
			config["caBundle"] = b
		}
		list = append(list, testkit.Object{"name": string(rune('a' + i)), "clientConfig": config})
	}
	return testkit.Object{"webhooks": list}
}

// bundlesOf returns the bundles of the webhooks.
func bundlesOf(api *testkit.API) (list []string) {
	for _, h := range api.Get(hookPath)["webhooks"].([]any) {
		b, _ := h.(testkit.Object)["clientConfig"].(testkit.Object)["caBundle"].(string)
		text, _ := base64.StdEncoding.DecodeString(b)
		list = append(list, string(text))
	}
	return list
}

// Two replicas start; one makes the certificates, both serve with them, and one
// keeps the webhooks.
// I-65 is part of it: a bundle that somebody reset is repaired.
func TestI65TwoReplicas(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(hookPath, hooks("", "QQ=="))
	a, b := newReplica(t, api, "a"), newReplica(t, api, "b")
	a.step(t)
	b.step(t)
	first := a.bundle()
	if first == "" || first != b.bundle() {
		t.Fatal("the replicas have different certificates")
	}
	if got := bundlesOf(api); got[0] != first || got[1] != first {
		t.Errorf("bundles %q", got)
	}
	if !strings.Contains(a.numbers(t), "\ningraft_leader 1\n") || !strings.Contains(b.numbers(t), "\ningraft_leader 0\n") ||
		!strings.Contains(a.numbers(t), `ingraft_cabundle_repairs_total{configuration="hooks"} 1`) {
		t.Errorf("%s\n%s", a.numbers(t), b.numbers(t))
	}
	if api.Get(secretPath)["type"] != "kubernetes.io/tls" {
		t.Error("the Secret is of another type")
	}
	version := api.Get(hookPath)["metadata"].(testkit.Object)["resourceVersion"]
	a.step(t)
	b.step(t)
	if a.bundle() != "" || b.bundle() != "" || api.Get(hookPath)["metadata"].(testkit.Object)["resourceVersion"] != version {
		t.Error("something was done although nothing was to do")
	}

	// I-65: somebody applies the webhooks again, without a bundle.
	api.Put(hookPath, hooks("", "", ""))
	b.step(t)
	if got := bundlesOf(api); got[0] != "" {
		t.Error("a replica that does not lead has written")
	}
	a.step(t)
	if got := bundlesOf(api); got[0] != first || got[2] != first {
		t.Errorf("bundles %q", got)
	}
	if api.Get(hookPath)["webhooks"].([]any)[0].(testkit.Object)["clientConfig"].(testkit.Object)["unknown"] != true {
		t.Error("a field was lost")
	}

	// The leader is gone without a word: the other one takes over in time.
	for _, r := range []*replica{a, b} {
		r.now = r.now.Add(29 * time.Second)
	}
	b.step(t)
	if strings.Contains(b.numbers(t), "\ningraft_leader 1\n") {
		t.Error("it leads too early")
	}
	b.now = b.now.Add(2 * time.Second)
	b.step(t)
	if !strings.Contains(b.numbers(t), "\ningraft_leader 1\n") {
		t.Error("nobody leads")
	}
	// ... and the first one sees it, when it is back.
	a.step(t)
	if strings.Contains(a.numbers(t), "\ningraft_leader 1\n") {
		t.Error("both lead")
	}
	// One that ends gives the Lease back.
	if err := b.Resign(context.Background()); err != nil {
		t.Fatal(err)
	}
	a.step(t)
	if !strings.Contains(a.numbers(t), "\ningraft_leader 1\n") {
		t.Error("nobody leads after one has resigned")
	}
}

// Years pass: whatever is served is trusted by what the webhooks say, at every
// moment between two replicas' steps.
func TestRotation(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(hookPath, hooks(""))
	a, b := newReplica(t, api, "a"), newReplica(t, api, "b")
	bundles := map[string]bool{}
	serving := map[*replica]*certs.State{}
	check := func() {
		t.Helper()
		trusted := bundlesOf(api)[0]
		bundles[trusted] = true
		for r, s := range serving {
			ca := string(s.Bundle())
			if s.Expires().Before(r.now) {
				t.Fatalf("%s: it serves with a certificate that ended", r.now)
			}
			// The authority that signed is in what the webhooks trust.
			if !certs.Trusts([]byte(trusted), s, r.now) {
				t.Fatalf("%s: what is served is not trusted\n%s\n%s", r.now, trusted, ca)
			}
		}
	}
	for range 2 * 365 {
		for _, r := range []*replica{a, b} {
			r.now = r.now.Add(24 * time.Hour)
			r.step(t)
			for len(r.applied) > 0 {
				serving[r] = <-r.applied
			}
			check()
		}
	}
	if len(bundles) < 4 {
		t.Errorf("only %d bundles in two years", len(bundles))
	}
}

// A Secret that somebody broke, or took away, gets back what is served. One that
// is broken from the start is made anew.
func TestBrokenSecret(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(hookPath, hooks(""))
	api.Put(secretPath, testkit.Object{"data": testkit.Object{"tls.crt": "!"}})
	a, b := newReplica(t, api, "a"), newReplica(t, api, "b")
	a.step(t)
	b.step(t)
	first := a.bundle()
	if first == "" || b.bundle() != first || bundlesOf(api)[0] != first {
		t.Fatal("no certificates, or different ones")
	}
	stored := func() string {
		data, _ := api.Get(secretPath)["data"].(testkit.Object)
		text, _ := data["ca.crt"].(string)
		bundle, _ := base64.StdEncoding.DecodeString(text)
		return string(bundle)
	}
	api.Put(secretPath, testkit.Object{"data": testkit.Object{"tls.crt": "QQ=="}})
	b.step(t)
	if stored() == first {
		t.Error("a replica that does not lead has written")
	}
	a.step(t)
	if stored() != first {
		t.Error("the Secret is not restored")
	}
	api.Delete(secretPath)
	b.step(t)
	a.step(t)
	if stored() != first {
		t.Error("a Secret that was deleted is not restored")
	}
	if a.bundle() != "" || b.bundle() != "" {
		t.Error("something else is served")
	}
}

// What the cluster refuses is an error, and is tried again.
func TestErrors(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(hookPath, hooks(""))
	a := newReplica(t, api, "a")
	for _, denied := range []string{"leases", "secrets", "mutatingwebhookconfigurations"} {
		api.Deny(func(_, path string) bool { return strings.Contains(path, denied) })
		if err := a.Step(context.Background()); !cluster.IsKind(err, cluster.Forbidden) || !strings.Contains(err.Error(), denied) {
			t.Errorf("%s: %v", denied, err)
		}
	}
	api.Deny(nil)
	a.step(t)
	if bundlesOf(api)[0] == "" {
		t.Error("no bundle")
	}
}

// Run repairs as soon as it is told.
func TestRunRepairsAtOnce(t *testing.T) {
	api := testkit.NewAPI(t)
	api.Put(hookPath, hooks(""))
	a := newReplica(t, api, "a")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() {
		a.Run(ctx)
		close(ended)
	}()
	<-a.applied
	wait := func() {
		t.Helper()
		for end := time.Now().Add(time.Minute); bundlesOf(api)[0] == ""; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the bundle is not repaired")
			}
		}
	}
	wait()
	api.Put(hookPath, hooks(""))
	wait()
	cancel()
	<-ended
}
