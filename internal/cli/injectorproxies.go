package cli

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

var proxyConfigResource = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1beta1", Resource: "proxyconfigs"}

// proxies holds the ProxyConfig objects of the cluster.
type proxies struct {
	*watched
	answered chan struct{} // closed once they are known, or cannot be
	once     sync.Once
	current  atomic.Pointer[inject.ProxyConfigs]
	// byName is used by the one goroutine that follows them.
	byName map[string]*source.Node
	// silent tells that their absence was told.
	silent bool
}

// followProxyConfigs begins to follow the ProxyConfig objects, and returns when
// those that there are are known.
func (w *watched) followProxyConfigs() *proxies {
	p := &proxies{watched: w, answered: make(chan struct{}), byName: map[string]*source.Node{}}
	go w.client.Follow(w.ctx, proxyConfigResource, "", cluster.ListOptions{}, p)
	select {
	case <-p.answered:
	case <-w.ctx.Done():
	}
	return p
}

func nameOfProxyConfig(n *source.Node) string {
	return n.Get("metadata", "namespace").Str() + "/" + n.Get("metadata", "name").Str()
}

// publish makes the objects those that pods are injected with from now on.
func (p *proxies) publish() {
	objects := make([]*source.Node, 0, len(p.byName))
	for _, n := range p.byName {
		objects = append(objects, n)
	}
	if len(objects) == 0 {
		p.current.Store(nil)
	} else {
		p.current.Store(inject.NewProxyConfigs(objects, ""))
	}
	p.once.Do(func() { close(p.answered) })
}

// Listed takes all objects over.
func (p *proxies) Listed(all []*source.Node) {
	clear(p.byName)
	for _, n := range all {
		p.byName[nameOfProxyConfig(n)] = n
	}
	p.silent = false
	p.publish()
}

// Changed takes an object over.
func (p *proxies) Changed(n *source.Node) {
	p.byName[nameOfProxyConfig(n)] = n
	p.publish()
}

// Deleted forgets an object.
func (p *proxies) Deleted(n *source.Node) {
	delete(p.byName, nameOfProxyConfig(n))
	p.publish()
}

// Failed logs. Where the kind is not known there are none, which is no
// failure; it is looked for again from time to time.
func (p *proxies) Failed(err error) {
	defer p.once.Do(func() { close(p.answered) })
	if p.silent {
		return
	}
	if cluster.IsKind(err, cluster.NotFound) {
		p.log.Info("the cluster has no ProxyConfig objects: the kind is not installed")
		clear(p.byName)
		p.current.Store(nil)
		p.silent = true
		return
	}
	p.log.Warn("watching ProxyConfig objects: those that are not known have no effect", "error", err.Error())
	p.silent = cluster.IsKind(err, cluster.Forbidden)
}
