package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

// replica is a pod of the injector's Deployment, and the process that is its
// container, on a host with the pod's address.
type replica struct {
	*controlplane.Injector
	pod  *corev1.Pod
	host *controlplane.Host
	// options start another process in its place.
	options controlplane.InjectorOptions
}

// start does what a kubelet does that starts a container: it runs what the pod
// says, and tells the address once that is ready.
func (r *replica) start(t *testing.T) {
	t.Helper()
	r.Injector = startInjector(t, r.options)
	r.report(t, corev1.ConditionTrue)
}

// report tells whether the pod is ready.
func (r *replica) report(t *testing.T, ready corev1.ConditionStatus) {
	t.Helper()
	status := corev1.PodStatus{
		PodIP: r.host.Address, PodIPs: []corev1.PodIP{{IP: r.host.Address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plane.Client.CoreV1().Pods(r.pod.Namespace).Patch(t.Context(), r.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// startReplicas runs the pods of a Deployment of the injector, each on a node
// and a host of its own, with the arguments and the rights that the manifest gives them.
func startReplicas(t *testing.T, system, name string, n int, flags ...string) []*replica {
	t.Helper()
	var list []*replica
	running := awaitPods(t, system, "app.kubernetes.io/instance="+name, n)
	account, err := plane.ServiceAccount(t.Context(), system, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Sorted(maps.Keys(running)) {
		r := &replica{pod: running[p]}
		// A Service leads to no pod that is nowhere.
		node(t, p, "v1.33.2")
		if err := plane.Client.CoreV1().Pods(system).Bind(t.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p}, Target: corev1.ObjectReference{Kind: "Node", Name: p},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if r.host, err = controlplane.NewHost(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.host.Remove(); err != nil {
				t.Error(err)
			}
		})
		kubeconfig, err := plane.Reach(r.host, account)
		if err != nil {
			t.Fatal(err)
		}
		args := append(slices.Clone(r.pod.Spec.Containers[0].Args[2:]), flags...)
		r.options = controlplane.InjectorOptions{Host: r.host, Kubeconfig: kubeconfig, Env: []string{"POD_NAME=" + p}, Args: args}
		r.start(t)
		list = append(list, r)
	}
	return list
}

// awaitEndpoints waits until a Service leads to some replicas, and to no others.
func awaitEndpoints(t *testing.T, system, name string, want ...*replica) {
	t.Helper()
	var addresses []string
	for _, r := range want {
		addresses = append(addresses, r.host.Address)
	}
	slices.Sort(addresses)
	eventually(t, "waiting for endpoints", func(ctx context.Context) error {
		list, err := plane.Client.DiscoveryV1().EndpointSlices(system).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})
		if err != nil {
			return err
		}
		var ready []string
		for i := range list.Items {
			for _, e := range list.Items[i].Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					ready = append(ready, e.Addresses...)
				}
			}
		}
		if slices.Sort(ready); !slices.Equal(ready, addresses) {
			return fmt.Errorf("they are %v, want %v", ready, addresses)
		}
		return nil
	})
}

// readmeLines returns what runs one of the three lines by which the README has
// injection at admission.
func readmeLines(t *testing.T) (run func(line int)) {
	t.Helper()
	const first = "ingraft injector manifest | kubectl apply -f -\n"
	_, rest, found := strings.Cut(read(t, "../../README.md"), "\n"+first)
	block, _, ended := strings.Cut(rest, "```")
	lines := strings.Split(first+strings.TrimSpace(block), "\n")
	if !found || !ended || len(lines) != 3 {
		t.Fatalf("the README has %d lines for it: %q", len(lines), lines)
	}
	return func(line int) {
		t.Helper()
		if err := plane.Shell(t.Context(), program, lines[line]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplicas has the injector as it is in a cluster, by the three commands
// that the README has for it: the manifest as it is, two replicas on addresses
// of their own, and a Service whose endpoints the control plane finds by the
// pods. Under load, one replica after the other is
// killed, and one is told to end: no pod is made without a sidecar, controllers
// get all of theirs, and after a while, or at once where a replica could say
// that it ends, no pod is refused.
func TestReplicas(t *testing.T) {
	t.Parallel() // it waits most of the time; no other walk at that time has its revision
	// Found out first: nothing else is needed to say why there is no walk.
	switch h, err := controlplane.NewHost(t.Context()); {
	case errors.Is(err, controlplane.ErrNoHosts):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	default:
		if err := h.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	const mesh, system, name, ns = "istio-system", "ingraft-system", "ingraft-injector", "shop"
	awaitGone(t, mesh, system, ns)
	if err := makeNamespace(t.Context(), mesh, nil); err != nil {
		t.Fatal(err)
	}
	removeNamespace(t, mesh)
	meshIn(t, mesh, "default")
	if err := makeNamespace(t.Context(), ns, nil); err != nil {
		t.Fatal(err)
	}
	removeNamespace(t, ns)
	kubectlReading(t, deployment, "-n", ns, "apply", "-f", "-")
	wantShape(t, awaitPods(t, ns, "app=web", 3), plain)

	shell := readmeLines(t)
	shell(0)
	t.Cleanup(func() {
		if err := plane.Shell(context.Background(), program, "ingraft injector manifest | kubectl delete --wait=false -f - && "+
			// No kubelet says that they have ended.
			"kubectl -n "+system+" delete pods --all --force --wait=false"); err != nil {
			t.Error(err)
		}
	})
	replicas := startReplicas(t, system, name, 2, "--drain=5s")
	awaitEndpoints(t, system, name, replicas...)
	shell(1)
	awaitInjection(t, ns, true)
	shell(2)
	kubectl(t, "-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
	wantShape(t, awaitPods(t, ns, "app=web", 3), native)

	var bare atomic.Int64
	l := startLoad(t, ns, func(p *corev1.Pod) error {
		if shape(p) != native {
			bare.Add(1)
		}
		return nil
	})
	l.more(t, 40)
	if l.refused.Load() > 0 {
		t.Errorf("before anything happened: %s", strings.Join(l.errors(), "; "))
	}
	workloads := 0
	workload := func() { // its pods are made by a controller, which tries again
		workloads++
		kubectlReading(t, strings.ReplaceAll(deployment, "web}", fmt.Sprintf("web-%d}", workloads)), "-n", ns, "apply", "-f", "-")
	}
	for i, victim := range replicas {
		before := l.refused.Load()
		victim.Kill()
		workload()
		victim.report(t, corev1.ConditionFalse)
		awaitEndpoints(t, system, name, replicas[1-i])
		// The API server learns of endpoints after they have changed.
		made, refused := l.made.Load(), l.refused.Load()
		eventually(t, "waiting until no pod is refused", func(context.Context) error {
			if n := l.refused.Load(); n != refused {
				made, refused = l.made.Load(), n
			}
			if n := l.made.Load() - made; n < 40 {
				return fmt.Errorf("%d pods were made since the last was: %s", n, strings.Join(l.errors(), "; "))
			}
			return nil
		})
		t.Logf("%d pods were refused when a replica was killed", l.refused.Load()-before)
		victim.start(t)
		awaitEndpoints(t, system, name, replicas...)
	}
	for _, text := range l.errors() {
		if !strings.Contains(text, "failed calling webhook") {
			t.Errorf("a pod was refused for another reason: %s", text)
		}
	}

	// One that is told to end says so, and answers until nobody comes.
	before := l.refused.Load()
	ended := make(chan error, 1)
	leaving := replicas[0]
	go func() { ended <- leaving.Stop() }()
	eventually(t, "waiting until the replica is not ready", func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, leaving.Monitoring+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable {
			return errors.New(answer.Status)
		}
		return nil
	})
	leaving.report(t, corev1.ConditionFalse)
	workload()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.more(t, 40)
	l.end()
	if n := l.refused.Load() - before; n > 0 {
		t.Errorf("%d pods were refused when a replica was told to end: %s", n, strings.Join(l.errors(), "; "))
	}
	t.Logf("%d pods were made, %d refused", l.made.Load(), l.refused.Load())
	if n := bare.Load(); n > 0 {
		t.Errorf("%d pods were made without a sidecar", n)
	}
	for n := range workloads {
		app := fmt.Sprintf("web-%d", n+1)
		kubectl(t, "-n", ns, "rollout", "status", "deployment/"+app, "--timeout=60s")
		wantShape(t, awaitPods(t, ns, "app="+app, 3), native)
	}
}
