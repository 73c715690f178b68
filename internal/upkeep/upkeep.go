// Package upkeep keeps what injectors need in a cluster: a Secret with the
// certificates that they serve with, and the caBundle of their webhook
// configurations, which has to fit. All replicas read the Secret; one of them,
// the holder of a Lease, writes.
package upkeep

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ingraft/ingraft/internal/certs"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/metrics"
	"github.com/ingraft/ingraft/internal/source"
)

// The resources that are kept.
var (
	secrets  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	leases   = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
)

// Keeper keeps the objects of an injector.
type Keeper struct {
	Client *cluster.Client
	// Namespace is where Secret and Lease are.
	Namespace, Secret, Lease string
	// Webhooks names the MutatingWebhookConfigurations. One that does not exist
	// is left alone until it does.
	Webhooks []string
	// Names are DNS names and addresses of the webhook.
	Names []string
	// Identity tells this replica from the others.
	Identity string
	Policy   certs.Policy
	Now      func() time.Time
	Log      *slog.Logger
	// Apply is called with certificates that are others than before.
	Apply func(*certs.State)

	state    *certs.State
	version  string // of the Secret that state was read from
	leading  atomic.Bool
	repairs  *metrics.Counters
	failures *metrics.Counters
}

// The times of a Lease: who does not renew it for so long has lost it.
const (
	leaseTime  = 30 * time.Second
	renewEvery = 10 * time.Second
)

// Register adds the numbers of the Keeper to a registry.
func (k *Keeper) Register(m *metrics.Registry) {
	k.repairs = m.Counters("ingraft_cabundle_repairs_total", "Times that the caBundle of a webhook configuration was put right, by its name.", "configuration")
	k.failures = m.Counters("ingraft_upkeep_errors_total", "Times that Secret, Lease or webhook configurations could not be read or written.")
	m.Gauge("ingraft_leader", "1 if this replica keeps the certificates and the webhook configurations, 0 if another one does.", func() (float64, bool) {
		if k.leading.Load() {
			return 1, true
		}
		return 0, true
	})
}

// Leading reports whether this replica is the one that writes.
func (k *Keeper) Leading() bool { return k.leading.Load() }

// Run keeps the objects until the context ends: at once where one of them
// changes, and from time to time.
func (k *Keeper) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	nudge := &nudge{changed, k.Log}
	follow := func(r schema.GroupVersionResource, namespace, name string) {
		go k.Client.Follow(ctx, r, namespace, cluster.ListOptions{FieldSelector: "metadata.name=" + name}, nudge)
	}
	follow(secrets, k.Namespace, k.Secret)
	for _, name := range k.Webhooks {
		follow(webhooks, "", name)
	}
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := k.Step(ctx); err != nil && ctx.Err() == nil {
			k.failures.With().Add(1)
			k.Log.Error("keeping certificates and webhook configurations", "error", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-changed:
		}
	}
}

// nudge tells that something changed, whatever it was.
type nudge struct {
	changed chan struct{}
	log     *slog.Logger
}

func (n *nudge) poke() {
	select {
	case n.changed <- struct{}{}:
	default: // it is told already
	}
}

func (n *nudge) Listed([]*source.Node) { n.poke() }
func (n *nudge) Changed(*source.Node)  { n.poke() }
func (n *nudge) Deleted(*source.Node)  { n.poke() }
func (n *nudge) Failed(err error)      { n.log.Warn("watching the cluster", "error", err.Error()) }

// Step does what is to be done now. It is not called by two at a time.
func (k *Keeper) Step(ctx context.Context) error {
	lead, err := k.lead(ctx)
	k.leading.Store(lead)
	if err != nil {
		return err
	}
	if err := k.keepSecret(ctx, lead); err != nil {
		return err
	}
	if !lead || k.state == nil {
		return nil
	}
	bundle := base64.StdEncoding.EncodeToString(k.state.Bundle())
	for _, name := range k.Webhooks {
		if err := k.repair(ctx, name, bundle); err != nil {
			return err
		}
	}
	return nil
}

// keepSecret reads the Secret. It is made where there is none, and written by
// the leader where it is time for other certificates.
func (k *Keeper) keepSecret(ctx context.Context, lead bool) error {
	object, err := k.Client.Get(ctx, secrets, k.Namespace, k.Secret)
	missing := cluster.IsKind(err, cluster.NotFound)
	if err != nil && !missing {
		return err
	}
	var stored *certs.State
	if !missing {
		if version := object.Get("metadata", "resourceVersion").Str(); version == k.version {
			stored = k.state
		} else if stored, err = decode(object); err != nil {
			k.Log.Error("the Secret holds no certificates", "secret", k.Namespace+"/"+k.Secret, "error", err.Error())
		}
	}
	if !missing && !lead {
		k.use(stored, object)
		return nil
	}
	// Where somebody took the Secret away, or broke it, what is served goes back
	// into it: other certificates would not be trusted for a while.
	base := stored
	if base == nil {
		base = k.state
	}
	next, err := k.Policy.Next(base, k.Names, k.Now())
	if err != nil {
		return err
	}
	if next == stored {
		k.use(stored, object)
		return nil
	}
	data, err := next.Encode()
	if err != nil {
		return err
	}
	if missing {
		object, err = k.Client.Create(ctx, secrets, k.Namespace, k.secret(data))
	} else {
		object, err = k.Client.Update(ctx, secrets, k.Namespace, object.With("data", dataNode(data)))
	}
	if cluster.IsKind(err, cluster.Conflict) {
		return nil // another replica was faster; what it wrote comes as a change
	}
	if err != nil {
		return err
	}
	k.Log.Info("certificates were written", "secret", k.Namespace+"/"+k.Secret, "expires", next.Expires())
	k.use(next, object)
	return nil
}

// use takes certificates over, and applies them if they are others.
func (k *Keeper) use(s *certs.State, object *source.Node) {
	k.version = object.Get("metadata", "resourceVersion").Str()
	if s == nil || s.Equal(k.state) {
		return
	}
	k.state = s
	k.Apply(s)
}

func (k *Keeper) secret(data map[string][]byte) *source.Node {
	return source.NewMap(
		source.F("apiVersion", source.NewString("v1")), source.F("kind", source.NewString("Secret")),
		source.F("metadata", source.NewMap(source.F("name", source.NewString(k.Secret)), source.F("namespace", source.NewString(k.Namespace)))),
		source.F("type", source.NewString(string(corev1.SecretTypeTLS))),
		source.F("data", dataNode(data)),
	)
}

func dataNode(data map[string][]byte) *source.Node {
	n := source.NewMap()
	for _, key := range [...]string{certs.KeyBundle, certs.KeyAuthorities, certs.KeyServing, certs.KeyServingKey} {
		n = n.With(key, source.NewString(base64.StdEncoding.EncodeToString(data[key])))
	}
	return n
}

func decode(secret *source.Node) (*certs.State, error) {
	data := map[string][]byte{}
	for _, f := range secret.Get("data").Fields() {
		value, err := base64.StdEncoding.DecodeString(f.Value.Str())
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Key, err)
		}
		data[f.Key] = value
	}
	return certs.Decode(data)
}

// repair gives all webhooks of a configuration the bundle. The patch is refused
// where the list of webhooks has become another one.
func (k *Keeper) repair(ctx context.Context, name, bundle string) error {
	object, err := k.Client.Get(ctx, webhooks, "", name)
	if cluster.IsKind(err, cluster.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var ops []*source.Node
	op := func(kind, path, value string) {
		s := source.NewString
		ops = append(ops, source.NewMap(source.F("op", s(kind)), source.F("path", s(path)), source.F("value", s(value))))
	}
	for i, h := range object.Get("webhooks").Items() {
		if h.Get("clientConfig", "caBundle").Str() == bundle {
			continue
		}
		at := "/webhooks/" + strconv.Itoa(i)
		op("test", at+"/name", h.Get("name").Str())
		op("add", at+"/clientConfig/caBundle", bundle)
	}
	if len(ops) == 0 {
		return nil
	}
	if _, err := k.Client.Patch(ctx, webhooks, "", name, source.AppendJSON(nil, source.NewList(ops...))); err != nil {
		return err
	}
	k.repairs.With(name).Add(1)
	k.Log.Info("caBundle was put right", "configuration", name, "webhooks", len(ops)/2)
	return nil
}

// lead tries to get, or keep, the Lease. It reports false where another replica
// has it.
func (k *Keeper) lead(ctx context.Context) (bool, error) {
	now := k.Now()
	object, err := k.Client.Get(ctx, leases, k.Namespace, k.Lease)
	missing := cluster.IsKind(err, cluster.NotFound)
	if err != nil && !missing {
		return false, err
	}
	spec := object.Get("spec")
	holder := spec.Get("holderIdentity").Str()
	renewed, err := time.Parse(time.RFC3339Nano, spec.Get("renewTime").Str())
	if !missing && holder != "" && holder != k.Identity && err == nil && now.Before(renewed.Add(leaseTime)) {
		return false, nil
	}
	if holder == k.Identity && err == nil && now.Before(renewed.Add(renewEvery/2)) {
		return true, nil // renewed just now
	}
	s := source.NewString
	const micro = "2006-01-02T15:04:05.000000Z07:00"
	spec = spec.With("holderIdentity", s(k.Identity)).With("leaseDurationSeconds", source.NewInt(int64(leaseTime.Seconds()))).With("renewTime", s(now.UTC().Format(micro)))
	if holder != k.Identity {
		transitions, _ := spec.Get("leaseTransitions").Int()
		spec = spec.With("acquireTime", s(now.UTC().Format(micro))).With("leaseTransitions", source.NewInt(transitions+1))
	}
	if missing {
		_, err = k.Client.Create(ctx, leases, k.Namespace, source.NewMap(
			source.F("apiVersion", s("coordination.k8s.io/v1")), source.F("kind", s("Lease")),
			source.F("metadata", source.NewMap(source.F("name", s(k.Lease)), source.F("namespace", s(k.Namespace)))),
			source.F("spec", spec)))
	} else {
		_, err = k.Client.Update(ctx, leases, k.Namespace, object.With("spec", spec))
	}
	if cluster.IsKind(err, cluster.Conflict) {
		return false, nil
	}
	return err == nil, err
}

// Resign gives the Lease back, so that the next replica need not wait.
func (k *Keeper) Resign(ctx context.Context) error {
	if !k.leading.Swap(false) {
		return nil
	}
	object, err := k.Client.Get(ctx, leases, k.Namespace, k.Lease)
	if err != nil || object.Get("spec", "holderIdentity").Str() != k.Identity {
		return err
	}
	_, err = k.Client.Update(ctx, leases, k.Namespace, object.With("spec", object.Get("spec").With("holderIdentity", source.NewString(""))))
	return err
}
