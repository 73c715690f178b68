package cli

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

// The bounds on counting pods that were missed.
const (
	// leastMissedEvery bounds how often all pods are read.
	leastMissedEvery = 10 * time.Second
	// maxLookedAt is how many pods are read whole each time. Most are told by their
	// metadata; where more are left, those count as missed without a look.
	maxLookedAt = 500
	// leadCheck is how often a replica that does not lead sees whether it does now.
	leadCheck = time.Second
)

// missedCount holds how many pods were missed, by namespace.
type missedCount struct {
	mu sync.Mutex
	by map[string]float64
}

func (c *missedCount) set(by map[string]float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = by
}

func (c *missedCount) read() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}

// countMissed counts from time to time the pods that the webhooks of this injector
// would give a sidecar and that have none. Of several replicas the one that has the
// Lease counts. Where pods may not be listed, it is off.
func (w *watched) countMissed(ctx context.Context) {
	count := &missedCount{}
	w.registry.Gauges("ingraft_missed_pods", "Pods that should have a sidecar and do not, by namespace; told by the replica that keeps the certificates.", "namespace", count.read)
	go func() {
		next := time.NewTimer(leadCheck)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			if w.keeper != nil && !w.keeper.Leading() {
				count.set(nil)
				next.Reset(leadCheck)
				continue
			}
			next.Reset(w.missedEvery)
			by, err := w.missedPods(ctx)
			switch {
			case cluster.IsKind(err, cluster.Forbidden):
				count.set(nil)
				w.log.Warn("pods that were missed are not counted", "error", err.Error())
				return
			case err != nil && ctx.Err() == nil:
				w.log.Warn("counting pods that were missed", "error", err.Error())
			case err == nil:
				count.set(by)
			}
		}
	}()
}

// missedPods counts the pods that were missed.
func (w *watched) missedPods(ctx context.Context) (map[string]float64, error) {
	hooks, err := w.ownHooks(ctx)
	if err != nil {
		return nil, err
	}
	f := finder{client: w.client, hooks: hooks, engine: func(context.Context, string) (*inject.Engine, error) { return w.engine.Load(), nil }}
	namespaces := map[string]*source.Node{}
	for n, err := range w.client.List(ctx, namespaceResource, "", cluster.ListOptions{MetadataOnly: true}) {
		if err != nil {
			return nil, err
		}
		namespaces[nameOfObject(n)] = n
	}
	by, looked := map[string]float64{}, 0
	for pod, err := range w.client.List(ctx, podResource, "", cluster.ListOptions{MetadataOnly: true}) {
		if err != nil {
			return nil, err
		}
		in := pod.Get("metadata", "namespace").Str()
		if !pod.Get("metadata", "annotations", annot.SidecarStatus).IsNull() || namespaces[in] == nil || !f.asked(pod, namespaces[in]) {
			continue
		}
		if looked++; looked <= maxLookedAt {
			whole, err := w.client.Get(ctx, podResource, in, nameOfObject(pod))
			if cluster.IsKind(err, cluster.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			missed, err := f.judge(ctx, whole, namespaces[in])
			if err != nil {
				return nil, err
			}
			if missed == nil {
				continue
			}
		}
		by[in]++
	}
	return by, nil
}

// asked tells whether one of the webhooks is asked about pods like this one.
func (m *finder) asked(pod, namespace *source.Node) bool {
	return slices.ContainsFunc(m.hooks, func(h admit.Hook) bool { return h.Ask(pod, namespace).Verdict == admit.Asked })
}

// ownHooks reads the webhooks of this injector: those whose caBundle it keeps, or
// else those of its revision.
func (w *watched) ownHooks(ctx context.Context) ([]admit.Hook, error) {
	if len(w.webhookConfigs) == 0 {
		all, _, err := readHooks(ctx, w.client)
		own := admit.Hook{Revision: w.revision}
		return slices.DeleteFunc(all, func(h admit.Hook) bool { return !isInjection(&h) || revisionOf(&h) != revisionOf(&own) }), err
	}
	var objects []*source.Node
	for _, name := range w.webhookConfigs {
		object, err := w.client.Get(ctx, webhooks, "", name)
		if cluster.IsKind(err, cluster.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	hooks, _ := hooksOf(objects...)
	return hooks, nil
}
