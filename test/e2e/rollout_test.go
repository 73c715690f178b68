package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/web:1"}
`

// TestRollout is the way that most people take: a namespace with workloads gets
// the label, nothing happens, the workloads are restarted, and all pods come
// back with the sidecar; so do pods that are deleted. The namespace beside it
// stays as it is. The injector has its configuration from the cluster, and what
// kind of sidecar there is depends on the oldest of the nodes.
func TestRollout(t *testing.T) {
	for _, tt := range []struct{ name, kubelet, want string }{
		{"classic", "v1.32.9", classic},
		{"native", "v1.33.4", native},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node(t, "one", tt.kubelet)
			node(t, "two", "v1.33.4")
			mesh := namespace(t, "mesh", nil)
			meshIn(t, mesh, "default")
			injectWith(t, "default", nil, "--kubeconfig", plane.Kubeconfig, "-i", mesh)
			shop, beside := namespace(t, "shop", nil), namespace(t, "beside", nil)
			for _, ns := range []string{shop, beside} {
				kubectlReading(t, deployment, "-n", ns, "apply", "-f", "-")
			}
			before := awaitPods(t, shop, "app=web", 3)
			wantShape(t, before, plain)

			kubectl(t, "label", "namespace", shop, "istio-injection=enabled")
			awaitInjection(t, shop, true)
			after := pods(t, shop, "app=web")
			wantShape(t, after, plain)
			if !maps.EqualFunc(before, after, func(a, b *corev1.Pod) bool { return a.UID == b.UID }) {
				t.Error("the label alone replaced pods")
			}

			for _, ns := range []string{shop, beside} {
				kubectl(t, "-n", ns, "rollout", "restart", "deployment")
				kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
			}
			after = awaitPods(t, shop, "app=web", 3)
			wantShape(t, after, tt.want)
			for name := range after {
				if before[name] != nil {
					t.Errorf("pod %s is still there", name)
				}
			}
			wantShape(t, awaitPods(t, beside, "app=web", 3), plain)

			gone := slices.Sorted(maps.Keys(after))[0]
			kubectl(t, "-n", shop, "delete", "pod", gone)
			eventually(t, "waiting for a pod in place of "+gone, func(context.Context) error {
				if after = pods(t, shop, "app=web"); after[gone] != nil || len(after) != 3 {
					return fmt.Errorf("there are %v", slices.Sorted(maps.Keys(after)))
				}
				return nil
			})
			wantShape(t, after, tt.want)
		})
	}
}
