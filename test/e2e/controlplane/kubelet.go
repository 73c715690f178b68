package controlplane

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Kubelet says of every pod that a controller made that it runs and is ready:
// without that no rollout goes on. It runs nothing, and binds pods to no node,
// so that a pod that is deleted is gone at once.
type Kubelet struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// readyStatus is the patch of a pod's status.
var readyStatus = func() []byte {
	var status corev1.PodStatus
	status.Phase = corev1.PodRunning
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
		})
	}
	data, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		panic(err) // the types of Kubernetes can be encoded
	}
	return data
}

func startKubelet(client kubernetes.Interface) *Kubelet {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Kubelet{cancel: cancel}
	status := readyStatus()
	k.ended.Go(func() {
		for ctx.Err() == nil {
			k.run(ctx, client, status)
		}
	})
	return k
}

// run looks after pods until the API server ends the watch, which it does from
// time to time.
func (k *Kubelet) run(ctx context.Context, client kubernetes.Interface, status []byte) {
	w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		pause(ctx) // the API server may be starting
		return
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		if !ok || e.Type == watch.Deleted || p.Status.Phase != corev1.PodPending || metav1.GetControllerOf(p) == nil {
			continue
		}
		// A pod that is gone meanwhile needs nothing; one that could not be
		// patched for another reason comes again with the next watch.
		_, _ = client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	}
}

// pause waits for as long as Poll does between two questions.
func pause(ctx context.Context) {
	t := time.NewTimer(pollInterval)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (k *Kubelet) stop() {
	if k == nil {
		return
	}
	k.cancel()
	k.ended.Wait()
}
