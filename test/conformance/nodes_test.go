package conformance

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/inject"
	"istio.io/istio/pkg/kube/kclient"
	"istio.io/istio/pkg/test"

	"github.com/ingraft/ingraft/internal/cluster"
)

// TestNativeSidecarRule: which nodes make a sidecar a native one is told as
// the control plane tells it, by kubelet versions of every spelling.
func TestNativeSidecarRule(t *testing.T) {
	versions := []string{
		"v1.33.0", "v1.32.9", "1.33.1", "v1.33", "v1.34.2-gke.1245000", "v1.33.1+k3s1", "v1.32.4-eks-473151a", "v1.33.0-alpha.1",
		"v1.40.0-rc.0+rke2r1", "v2.0.0", "", "unknown", "v1", "v1.33.x", "v1.33alpha", "1.33.0.1", "v1..33",
	}
	check := func(name string, kubelets map[string]string, node string) {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			for name, version := range kubelets {
				objects = append(objects, &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: name},
					Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: version}},
				})
			}
			client := kube.NewFakeClient(objects...)
			nodes := kclient.New[*corev1.Node](client)
			client.RunAndWait(test.NewStop(t))
			want := inject.DetectNativeSidecar(nodes, node)
			if got := cluster.NewNodes(kubelets).Native(node); got != want {
				t.Errorf("%v, node %q: native is %v, want %v", kubelets, node, got, want)
			}
		})
	}
	for i, version := range versions {
		check(fmt.Sprintf("alone %q", version), map[string]string{"a": version}, "")
		other := versions[(i+1)%len(versions)]
		kubelets := map[string]string{"a": version, "b": other}
		for _, node := range []string{"", "a", "b", "none"} {
			check(fmt.Sprintf("%q, %q on %q", version, other, node), kubelets, node)
		}
	}
	check("no nodes", nil, "")
	check("no nodes, but one named", nil, "a")
}
