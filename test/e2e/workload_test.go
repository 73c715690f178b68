package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node makes a Node, for DaemonSets and for what asks for versions of kubelets.
func node(t testing.TB, name, kubelet string) {
	t.Helper()
	nodes := plane.Client.CoreV1().Nodes()
	n, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// Every node begins with a taint, which nobody takes away here.
	n.Spec.Taints = nil
	if n, err = nodes.Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.Status.NodeInfo.KubeletVersion = kubelet
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestWorkloads has a workload of every kind that makes pods: all of their pods
// have the sidecar.
func TestWorkloads(t *testing.T) {
	injectWith(t, "default", nil, "--kube-version", "1.33")
	node(t, "one", "v1.33.1")
	node(t, "two", "v1.33.1")
	ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
	awaitInjection(t, ns, true)
	kubectlReading(t, read(t, "testdata/workloads.yaml"), "-n", ns, "apply", "-f", "-")
	for _, tt := range []struct {
		app  string
		pods int
	}{
		{"pod", 1}, {"replicaset", 2}, {"replicationcontroller", 2}, {"statefulset", 2}, {"daemonset", 2}, {"job", 2},
	} {
		selector := "app=" + tt.app
		if tt.app == "pod" { // no controller: it stays pending
			wantShape(t, pods(t, ns, selector), native)
			continue
		}
		wantShape(t, awaitPods(t, ns, selector, tt.pods), native)
	}
	eventually(t, "waiting for the CronJob", func(context.Context) error {
		m := pods(t, ns, "app=cronjob")
		if len(m) == 0 {
			return fmt.Errorf("it has made no pod yet")
		}
		wantShape(t, m, native)
		return nil
	})
}
