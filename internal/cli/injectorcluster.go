package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/upkeep"
	"github.com/ingraft/ingraft/internal/webhook"
)

// watched is what an injector knows of its cluster, and keeps up to date.
type watched struct {
	*serve
	client *cluster.Client
	// changed is told when a ConfigMap may be another one.
	changed chan struct{}
	// following holds the ConfigMaps that are followed already.
	following map[string]bool
	nodes     atomic.Pointer[cluster.Nodes]
	// spaces are the Namespaces; nil where nobody has to know them.
	spaces *spaces
	// proxies are the ProxyConfig objects; nil where the release has none.
	proxies *proxies
}

// connect finds the cluster that the flags, or the pod, name; nil where there is
// none.
func (s *serve) connect() (*watched, error) {
	client, err := cluster.Connect(s.clusterConfig())
	if errors.Is(err, cluster.ErrNotConfigured) {
		return nil, nil
	}
	if err != nil {
		return nil, tellCluster(err)
	}
	return &watched{serve: s, client: client, changed: make(chan struct{}, 1), following: map[string]bool{}}, nil
}

// The resources that are watched.
var (
	configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// readPieces fills the pieces that no file gave from the ConfigMaps, which are
// followed from now on.
func (w *watched) readPieces(ctx context.Context, p *pieces) error {
	if w.configRevision != "" {
		own, given := w.revision, w.revisionGiven
		defer func() { w.revision, w.revisionGiven = own, given }()
		w.revision, w.revisionGiven = w.configRevision, true
		if w.revision == "default" {
			w.revision = ""
		}
	}
	if err := w.readConfigMaps(ctx, w.client, p); err != nil {
		return tellCluster(err)
	}
	for _, name := range []string{w.injectConfigMap, w.meshConfigMap} {
		if w.revision != "" && (name == cluster.InjectorConfigMap || name == cluster.MeshConfigMap) {
			name += "-" + w.revision
		}
		if !w.following[name] {
			w.following[name] = true
			go w.client.Follow(w.ctx, configMapResource, w.globals.istioNamespace,
				cluster.ListOptions{FieldSelector: "metadata.name=" + name}, (*configMapWatch)(w))
		}
	}
	return nil
}

// configMapWatch tells that a ConfigMap may have changed.
type configMapWatch watched

func (w *configMapWatch) poke() {
	select {
	case w.changed <- struct{}{}:
	default: // it is told already
	}
}

func (w *configMapWatch) Listed([]*source.Node) { w.poke() }
func (w *configMapWatch) Changed(*source.Node)  { w.poke() }
func (w *configMapWatch) Deleted(*source.Node)  { w.poke() }
func (w *configMapWatch) Failed(err error)      { w.log.Warn("watching ConfigMaps", "error", err.Error()) }

// same reports whether two configurations are made of the same texts.
func (p *pieces) same(q *pieces) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.EqualFunc([]piece{p.template, p.mesh, p.values}, []piece{q.template, q.mesh, q.values}, func(a, b piece) bool {
		return a.from == b.from && bytes.Equal(a.text.Data, b.text.Data)
	})
}

// nodesEvery is how often the versions of nodes are read, where they decide.
const nodesEvery = 30 * time.Second

// learn begins to watch what a configuration makes necessary to know: nodes,
// where their versions decide about native sidecars; namespaces, where OpenShift
// gives them users; ProxyConfig objects, where the release knows these.
func (w *watched) learn(ctx context.Context, set *config.Set) error {
	if _, decided := w.nativeWithoutNodes(); !decided && w.nodes.Load() == nil && !set.Detected.Release.Before(release.V(1, 27)) {
		nodes, err := w.client.Nodes(ctx)
		switch {
		case cluster.IsKind(err, cluster.Forbidden):
			w.log.Warn("whether the cluster runs native sidecars is not known, so none are made; decide with --native-sidecars", "error", err.Error())
			nodes = cluster.NewNodes(map[string]string{"": ""})
		case err != nil:
			return tellCluster(err)
		default:
			go w.readNodesFromTimeToTime()
		}
		w.nodes.Store(nodes)
	}
	if w.proxies == nil && !set.Detected.Release.Before(release.V(1, 13)) {
		w.proxies = w.followProxyConfigs()
	}
	openshift := w.getenv("PLATFORM") == "openshift" || set.Values.Root.Get("global", "platform").Str() == "openshift"
	if openshift && w.spaces == nil {
		w.spaces = &spaces{watched: w, listed: make(chan struct{})}
		go w.client.Follow(w.ctx, namespaceResource, "", cluster.ListOptions{MetadataOnly: true}, w.spaces)
		select {
		case <-w.spaces.listed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *watched) readNodesFromTimeToTime() {
	tick := time.NewTicker(nodesEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
		nodes, err := w.client.Nodes(w.ctx)
		if err != nil {
			w.log.Warn("reading the versions of nodes", "error", err.Error())
			continue
		}
		w.nodes.Store(nodes)
	}
}

// spaces holds the metadata of Namespaces.
type spaces struct {
	*watched
	listed chan struct{} // closed once all are known
	once   sync.Once
	mu     sync.RWMutex
	byName map[string]*source.Node
}

func (s *spaces) get(name string) *source.Node {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name]
}

// kept returns what is kept of a Namespace: the injection reads its labels and
// annotations.
func kept(n *source.Node) (name string, namespace *source.Node) {
	metadata := n.Get("metadata")
	name = metadata.Get("name").Str()
	return name, source.NewMap(source.F("metadata", source.NewMap(
		source.F("name", source.NewString(name)), source.F("labels", metadata.Get("labels")), source.F("annotations", metadata.Get("annotations")))))
}

// Listed takes all namespaces over.
func (s *spaces) Listed(all []*source.Node) {
	byName := make(map[string]*source.Node, len(all))
	for _, n := range all {
		name, namespace := kept(n)
		byName[name] = namespace
	}
	s.mu.Lock()
	s.byName = byName
	s.mu.Unlock()
	s.once.Do(func() { close(s.listed) })
}

// Changed takes a namespace over.
func (s *spaces) Changed(n *source.Node) {
	name, namespace := kept(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[name] = namespace
}

// Deleted forgets a namespace.
func (s *spaces) Deleted(n *source.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, n.Get("metadata", "name").Str())
}

// Failed logs.
func (s *spaces) Failed(err error) { s.log.Warn("watching namespaces", "error", err.Error()) }

// newKeeper returns who keeps the certificates in a Secret, and the caBundle of the webhook
// configurations.
func (w *watched) newKeeper(names []string) *upkeep.Keeper {
	namespace := w.globals.namespace
	if namespace == "" {
		namespace = w.client.DefaultNamespace()
	}
	k := &upkeep.Keeper{
		Client: w.client, Namespace: namespace, Secret: w.secret, Lease: w.secret, Webhooks: w.webhookConfigs, Names: names,
		Identity: fmt.Sprintf("%s_%s", w.host(), rand.Text()[:8]), Policy: certs.DefaultPolicy, Now: w.Now, Log: w.log,
		Apply: func(s *certs.State) { w.serve.serve(s.Serving()) },
	}
	k.Register(&w.registry)
	return k
}

// host is the name of this replica for people.
func (w *watched) host() string {
	if host := w.getenv("POD_NAME"); host != "" {
		return host
	}
	host, _ := os.Hostname()
	return host
}

// notices writes Events of what happens to pods.
func (w *watched) notices() func(webhook.Notice) {
	events := cluster.NewEvents(w.client, "ingraft-injector", w.host(), w.Now, w.log, &w.registry)
	go events.Run(w.ctx)
	return func(n webhook.Notice) {
		events.Tell(cluster.Event{
			Namespace: n.Namespace, APIVersion: n.About.APIVersion, Kind: n.About.Kind, Name: n.About.Name, UID: n.UID,
			Reason: n.Reason, Message: n.Message,
		})
	}
}
