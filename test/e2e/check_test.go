package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// report is what injector check -o json prints, by check.
type report map[string]struct{ Status, Message, Fix string }

// check runs injector check on a webhook configuration, with a pod in a namespace.
func check(t *testing.T, configuration, namespace string) report {
	t.Helper()
	out, talk, err := plane.Ingraft(t.Context(), program, plane.Kubeconfig, "", "injector", "check", "-o", "json", "--webhook-config", configuration, "-n", namespace)
	var printed struct {
		Checks []struct{ Check, Status, Message, Fix string }
	}
	if json.Unmarshal([]byte(out), &printed) != nil {
		t.Fatalf("%v: %s%s", err, out, talk)
	}
	r := report{}
	for _, c := range printed.Checks {
		// The labels of other walks are none of this one's business; of several
		// findings the gravest counts.
		if old, ok := r[c.Check]; !ok || old.Status == "ok" {
			r[c.Check] = struct{ Status, Message, Fix string }{c.Status, c.Message, c.Fix}
		}
	}
	return r
}

// want looks at one check.
func (r report) want(t *testing.T, check, status string, words ...string) {
	t.Helper()
	c := r[check]
	if c.Status != status {
		t.Errorf("%s: %s %q, want %s", check, c.Status, c.Message, status)
	}
	for _, w := range words {
		if !strings.Contains(c.Message+" "+c.Fix, w) {
			t.Errorf("%s: %q is not in %q. %s", check, w, c.Message, c.Fix)
		}
	}
}

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE} # kept
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/web:1"}
`

// TestCheck is an injector that works, one whose caBundle somebody took away, and
// one that is down: injector check says which, with the cause as the API server
// has it. What works is asked for a patch, and listed.
func TestCheck(t *testing.T) {
	i := injectWith(t, "blue", nil)
	ns := namespace(t, "shop", map[string]string{"istio.io/rev": "blue"})
	awaitInjection(t, ns, true)
	name := webhookOf("blue")
	r := check(t, name, ns)
	r.want(t, "webhooks", "ok")
	r.want(t, "caBundle", "ok")
	r.want(t, "certificate", "ok", "127.0.0.1")
	r.want(t, "dry run", "ok", "gets its sidecar from "+name)

	manifest := strings.Replace(webDeployment, "NAMESPACE", ns, 1)
	out, talk := ingraft(t, manifest, "kube-inject", "-f", "-", "--webhookConfig", name)
	if !strings.Contains(out, "name: istio-proxy") || !strings.Contains(out, "# kept") || !strings.Contains(talk, "asking webhook ") {
		t.Errorf("%s%s", out, talk)
	}
	kubectlReading(t, out, "apply", "--dry-run=server", "-f", "-")
	back, _ := ingraft(t, out, "uninject", "-f", "-")
	if back != manifest {
		t.Errorf("uninject makes %s", back)
	}
	out, _ = ingraft(t, "", "x", "injector", "list", "-n", ns)
	wantWords(t, strings.Join(strings.Fields(out), " "), ns+" blue <no pods>", ns+" "+name+" blue")

	bundle := read(t, i.CAFile)
	reconfigure(t, name, func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = nil })
	eventually(t, "waiting for the API server to trust nobody", func(ctx context.Context) error {
		if err := injects(ctx, ns, true); err == nil || !strings.Contains(err.Error(), "x509") {
			return fmt.Errorf("the pod: %v", err)
		}
		return nil
	})
	r = check(t, name, ns)
	r.want(t, "caBundle", "warning", "caBundle is empty")
	r.want(t, "dry run", "error", "x509", "Usual cause: caBundle is empty or another's")
	reconfigure(t, name, func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = []byte(bundle) })
	awaitInjection(t, ns, true)

	i.Kill()
	r = check(t, name, ns)
	r.want(t, "certificate", "warning", "it cannot be reached from here")
	r.want(t, "dry run", "error", "failed calling webhook", "connection refused", "See that the injector runs")
	if talk := refusedIngraft(t, plane.Kubeconfig, manifest, "kube-inject", "-f", "-", "--webhookConfig", name); !strings.Contains(talk, "connection refused") {
		t.Error(talk)
	}
}

// TestAskAWebhookInTheCluster reaches a webhook at a pod of its Service, through
// the API server and a kubelet, as port-forward does.
func TestAskAWebhookInTheCluster(t *testing.T) {
	ns := namespace(t, "mesh", nil)
	i := injector(t, "--dns-name", "injector."+ns+".svc", "--kube-version", "1.33")
	kubeletPort := startPorts(t, strings.TrimSuffix(strings.TrimPrefix(i.URL, "https://"), "/inject"))
	ctx := t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	node, err := plane.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Client.CoreV1().Nodes().Delete(context.Background(), ns, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	node.Status.NodeInfo.KubeletVersion = "v1.33.0"
	if _, err := plane.Client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "injector"}
	if _, err := plane.Client.CoreV1().Services(ns).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "injector"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(15017)}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := pod("injector")
	p.Spec.NodeName = ns
	p, err = plane.Client.CoreV1().Pods(ns).Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // no kubelet ends it
		none := int64(0)
		_ = plane.Client.CoreV1().Pods(ns).Delete(context.Background(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
	})
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if _, err := plane.Client.CoreV1().Pods(ns).UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The webhook of nobody's pods: only the command asks it.
	none, path := admissionv1.SideEffectClassNone, "/inject"
	configure(t, &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{"istio.io/rev": ns}},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "rev.namespace.sidecar-injector.istio.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: ns, Name: "injector", Path: &path}, CABundle: []byte(read(t, i.CAFile)),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-it"}},
		}},
	})
	out, talk := ingraft(t, strings.Replace(webDeployment, "NAMESPACE", ns, 1), "kube-inject", "-f", "-", "--webhookConfig", ns)
	if !strings.Contains(out, "name: istio-proxy") || !strings.Contains(talk, "at pod "+ns+"/injector port 15017 of service "+ns+"/injector") {
		t.Errorf("%s%s", out, talk)
	}
	r := check(t, ns, ns)
	r.want(t, "service", "ok")
	r.want(t, "certificate", "ok", "for injector."+ns+".svc")
	r.want(t, "rights", "error", "patch mutatingwebhookconfigurations")
}

// startPorts is what a kubelet does for port-forward: all ports lead to one
// address. It returns its port.
func startPorts(t *testing.T, address string) int32 {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/portForward/") {
			http.NotFound(w, r)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
			return // it has been told
		}
		streams := make(chan httpstream.Stream, 8)
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if conn == nil {
			return
		}
		defer conn.Close()
		for {
			select {
			case <-conn.CloseChan():
				return
			case s := <-streams:
				if s.Headers().Get("streamType") == "data" {
					go join(s, address)
				}
			}
		}
	}))
	s.StartTLS()
	t.Cleanup(s.CloseClientConnections) // Close would wait for streams
	return int32(s.Listener.Addr().(*net.TCPAddr).Port)
}

func join(data httpstream.Stream, address string) {
	defer data.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(conn, data)
		conn.Close()
	}()
	_, _ = io.Copy(data, conn)
}
