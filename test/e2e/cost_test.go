package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

var costFile = flag.String("cost", "", "file to write what admission costs to, for docs/performance.md; that takes more pods")

// allower serves a webhook that allows every pod of a namespace at once, with a
// patch that it was given, if any.
func allower(t *testing.T, name, namespace string, patch []byte) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admission.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if form := admission.PatchTypeJSONPatch; patch != nil {
			review.Response.Patch, review.Response.PatchType = patch, &form
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // the API server that goes away gets no answer
	}))
	t.Cleanup(s.Close)
	w := podWebhook(s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), namespace)
	w.Name = name
	configure(t, w)
	t.Cleanup(func() { unconfigure(t, name) })
}

// TestAdmissionCost measures what admission adds to making a pod through the
// API server. Times are printed, or written, and not judged.
func TestAdmissionCost(t *testing.T) {
	rounds := 25
	if *costFile != "" {
		rounds = 300
	}
	i := injectWith(t, "default", nil)
	labels := map[string]string{"istio-injection": "enabled"}
	open, asked, known, shop := namespace(t, "open", nil), namespace(t, "asked", nil), namespace(t, "known", nil), namespace(t, "shop", labels)
	awaitInjection(t, shop, true)
	allower(t, "allower", asked, nil)
	allower(t, "knower", known, patchTo(t, shop))
	awaitInjection(t, known, true)
	replica := func(int) *corev1.Pod {
		p := pod("replica")
		p.Name, p.GenerateName = "", "replica-"
		return p
	}
	distinct := func(n int) *corev1.Pod { return pod(fmt.Sprintf("pod-%d", n)) }
	kinds := []*struct {
		name, namespace string
		pod             func(n int) *corev1.Pod
		injected        bool
		took            []time.Duration
	}{
		{name: "no webhook is asked", namespace: open, pod: distinct},
		{name: "a webhook that only says yes", namespace: asked, pod: distinct},
		{name: "a webhook that has a patch of ingraft's ready", namespace: known, pod: distinct, injected: true},
		{name: "ingraft, distinct pods", namespace: shop, pod: distinct, injected: true},
		{name: "ingraft, replicas", namespace: shop, pod: replica, injected: true},
	}
	client, now := plane.Client.CoreV1(), int64(0)
	hits := cacheHits(t, i)
	for n := range rounds + 1 {
		for k := range kinds {
			kind := kinds[(n+k)%len(kinds)] // none is always behind the same one
			p := kind.pod(n)
			begin := time.Now()
			p, err := client.Pods(kind.namespace).Create(t.Context(), p, metav1.CreateOptions{})
			took := time.Since(begin)
			if err != nil {
				t.Fatal(err)
			}
			if injected(p) != kind.injected {
				t.Fatalf("%s: the pod has %s", kind.name, shape(p))
			}
			if n > 0 { // the first one makes connections
				kind.took = append(kind.took, took)
			}
			if err := client.Pods(kind.namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := cacheHits(t, i) - hits; n < rounds {
		t.Errorf("of %d replicas, %d had the patch of another", rounds+1, n)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `## What admission adds

A pod is made through the API server, and stored, by one client that makes one after the other: %d of each kind, in turns.
etcd, API server and webhooks are processes of this machine. What a webhook costs that has its answer ready is what the
API server takes for asking, and for a pod that has grown; the rest is ingraft's.

| pod | median | p99 | added, median |
| --- | --- | --- | --- |
`, rounds)
	base := time.Duration(0)
	for _, kind := range kinds {
		slices.Sort(kind.took)
		median, added := kind.took[rounds/2], "-"
		if base == 0 {
			base = median
		} else {
			added = milliseconds(median - base)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", kind.name, milliseconds(median), milliseconds(kind.took[rounds*99/100]), added)
	}
	t.Logf("\n%s", b.String())
	if *costFile != "" {
		if err := os.WriteFile(*costFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// patchTo returns a patch that makes of a pod what ingraft makes of one in a
// namespace.
func patchTo(t *testing.T, namespace string) []byte {
	t.Helper()
	p, err := dryRun(t.Context(), namespace, pod("pod"))
	if err != nil {
		t.Fatal(err)
	}
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]op{{"add", "/metadata/annotations", p.Annotations}, {"add", "/metadata/labels", p.Labels}, {"replace", "/spec", p.Spec}})
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// cacheHits returns how many pods got the patch that another one had.
func cacheHits(t *testing.T, i *controlplane.Injector) int {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, i.Monitoring+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, `ingraft_replica_cache_lookups_total{result="hit"} `); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}
