package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// load makes pods, dry, from several goroutines until it is stopped.
type load struct {
	made    atomic.Int64
	refused atomic.Int64 // by the API server
	failed  sync.Map     // of errors, as texts
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// startLoad makes pods in a namespace; each must be as check says.
func startLoad(t testing.TB, namespace string, check func(*corev1.Pod) error) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{stop: cancel}
	t.Cleanup(l.end)
	for g := range 4 {
		l.ended.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				p, err := dryRun(ctx, namespace, pod(fmt.Sprintf("load-%d-%d", g, n)))
				if err == nil {
					err = check(p)
				} else if ctx.Err() == nil {
					l.refused.Add(1)
				}
				switch {
				case err == nil:
					l.made.Add(1)
				case ctx.Err() == nil:
					l.failed.Store(err.Error(), true)
				}
			}
		})
	}
	return l
}

// more waits until so many more pods were made.
func (l *load) more(t testing.TB, n int64) {
	t.Helper()
	goal := l.made.Load() + n
	eventually(t, "waiting for load", func(context.Context) error {
		if made := l.made.Load(); made < goal {
			return fmt.Errorf("%d pods of %d were made; errors: %s", made, goal, strings.Join(l.errors(), "; "))
		}
		return nil
	})
}

func (l *load) end() {
	l.stop()
	l.ended.Wait()
}

func (l *load) errors() []string {
	var list []string
	l.failed.Range(func(text, _ any) bool {
		list = append(list, text.(string))
		return true
	})
	return list
}

// TestConfigChange changes the configuration again and again, sometimes to one
// that is broken, while pods are made: all get a sidecar, of one configuration
// or the other, and within two seconds that of the new one.
func TestConfigChange(t *testing.T) {
	dir := t.TempDir()
	values, config := filepath.Join(dir, "values.json"), filepath.Join(dir, "inject.yaml")
	valuesOf(t, values, "hub-0")
	write(t, config, read(t, "testdata/inject.yaml"))
	injectWith(t, "default", nil, "--injectConfigFile", config, "--valuesFile", values)
	ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
	awaitInjection(t, ns, true)
	image := func(p *corev1.Pod) (string, error) {
		for i := range p.Spec.Containers {
			if c := &p.Spec.Containers[i]; c.Name == "istio-proxy" && strings.HasPrefix(c.Image, "registry.example.com/hub-") {
				return c.Image, nil
			}
		}
		return "", fmt.Errorf("the pod has %s", shape(p))
	}
	l := startLoad(t, ns, func(p *corev1.Pod) error {
		_, err := image(p)
		return err
	})
	l.more(t, 50)
	for change := 1; change <= 5; change++ {
		if change%2 == 0 {
			write(t, values, `{"global":{"hub":`) // refused; the one before stays
			l.more(t, 50)
		}
		hub := fmt.Sprintf("hub-%d", change)
		valuesOf(t, values, hub)
		eventually(t, "waiting for the new configuration", func(ctx context.Context) error {
			p, err := dryRun(ctx, ns, pod("probe"))
			if err != nil {
				return err
			}
			if got, err := image(p); err != nil || got != imageOf(hub) {
				return fmt.Errorf("the image is %s, error %v", got, err)
			}
			return nil
		})
	}
	l.more(t, 50)
	l.end()
	t.Logf("%d pods were made", l.made.Load())
	for _, text := range l.errors() {
		t.Error(text)
	}
}

// TestRestart restarts etcd and the API server: nobody has to tell it about the webhook
// again, no pod comes without a sidecar, and controllers go on.
func TestRestart(t *testing.T) {
	injectWith(t, "default", nil, "--kube-version", "1.33")
	ns := namespace(t, "shop", map[string]string{"istio-injection": "enabled"})
	awaitInjection(t, ns, true)
	kubectlReading(t, deployment, "-n", ns, "apply", "-f", "-")
	before := awaitPods(t, ns, "app=web", 3)
	wantShape(t, before, native)

	if err := plane.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The first pod that it takes, already.
	eventually(t, "waiting for the API server", func(ctx context.Context) error {
		_, err := plane.Client.CoreV1().Pods(ns).Create(ctx, pod("first"), metav1.CreateOptions{})
		return err
	})
	wantShape(t, pods(t, ns, "app=first"), native)
	kubectl(t, "-n", ns, "delete", "pods", "-l", "app=web")
	eventually(t, "waiting for new pods", func(context.Context) error {
		after := pods(t, ns, "app=web")
		for name := range before {
			delete(after, name)
		}
		if len(after) != 3 {
			return fmt.Errorf("there are %d", len(after))
		}
		return nil
	})
	wantShape(t, awaitPods(t, ns, "app=web", 3), native)
}
