package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	admission "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// mutator serves somebody else's webhook, which changes pods, and configures
// the API server to ask it about a namespace. It returns how often it was
// asked.
func mutator(t *testing.T, name, namespace string, change func(*corev1.Pod)) *atomic.Int64 {
	t.Helper()
	calls := &atomic.Int64{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var review admission.AdmissionReview
		p := &corev1.Pod{}
		if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, p) != nil {
			http.Error(w, "no review of a pod", http.StatusBadRequest)
			return
		}
		change(p)
		// As most webhooks do: the whole of spec, as their types know it.
		type op struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			Value any    `json:"value"`
		}
		patch, err := json.Marshal([]op{{"replace", "/spec", p.Spec}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		form := admission.PatchTypeJSONPatch
		review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: patch, PatchType: &form}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // the API server that goes away gets no answer
	}))
	t.Cleanup(s.Close)
	w := podWebhook(s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), namespace)
	w.Name = name
	configure(t, w)
	t.Cleanup(func() { unconfigure(t, name) })
	return calls
}

// podWebhook is a configuration by which a webhook is asked about the new pods of
// a namespace.
func podWebhook(url string, bundle []byte, namespace string) *admissionv1.MutatingWebhookConfiguration {
	fail, none, timeout := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(10)
	return &admissionv1.MutatingWebhookConfiguration{Webhooks: []admissionv1.MutatingWebhook{{
		Name: "pods.other.example.com", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &timeout,
		ClientConfig:      admissionv1.WebhookClientConfig{URL: &url, CABundle: bundle},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}},
	}}}
}

// TestOtherWebhooks has somebody else's webhook before or after ingraft's: the
// API server asks in the order of the names of their configurations, and a
// second time those that want to see what others changed.
func TestOtherWebhooks(t *testing.T) {
	injectWith(t, "default", []string{"--reinvocation-policy", "IfNeeded"}, "--kube-version", "1.33")
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}}
	helper := corev1.Container{Name: "helper", Image: "registry.example.com/helper:1", ReadinessProbe: probe}
	addHelper := func(p *corev1.Pod) {
		if !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == helper.Name }) {
			p.Spec.Containers = append(p.Spec.Containers, *helper.DeepCopy())
		}
	}
	loseRestartPolicy := func(p *corev1.Pod) {
		for i := range p.Spec.InitContainers {
			p.Spec.InitContainers[i].RestartPolicy = nil
		}
	}
	for _, tt := range []struct {
		name, config string
		change       func(*corev1.Pod)
		want         string
	}{
		{"before", "a-other", addHelper, native + " helper"},
		{"after", "z-other", addHelper, native + " helper"},
		{"lost restartPolicy", "z-other", loseRestartPolicy, native},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
			awaitInjection(t, ns, true)
			calls := mutator(t, tt.config, ns, tt.change)
			var p *corev1.Pod
			eventually(t, "waiting for the other webhook", func(ctx context.Context) (err error) {
				if p, err = dryRun(ctx, ns, pod("web")); err == nil && calls.Load() == 0 {
					err = errors.New("it is not asked")
				}
				return err
			})
			if got := shape(p); got != tt.want {
				t.Errorf("the pod has %s, want %s", got, tt.want)
			}
			if tt.want == native {
				return
			}
			// The kubelet's probe goes to the proxy, which asks the helper.
			if got := container(t, p, "helper").ReadinessProbe.HTTPGet; got.Port.IntValue() != 15020 || got.Path != "/app-health/helper/readyz" {
				t.Errorf("the probe of the helper goes to %s%s", got.Port.String(), got.Path)
			}
		})
	}
}
