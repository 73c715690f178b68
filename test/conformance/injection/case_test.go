package injection

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// The doors of an injector.
const (
	doorCLI     = "kube-inject"
	doorWebhook = "webhook"
)

// testCase is one injection that both sides do. It is plain data, so that it
// can be printed, shrunk and read back.
type testCase struct {
	World  world
	Recipe recipe
	Door   string
	// Object is what goes in: any object at kube-inject, a pod at the webhook.
	Object map[string]any
	// Namespace and Path are of the request at the webhook.
	Namespace string `json:",omitempty"`
	Path      string `json:",omitempty"`
	// Then, if not nil, is the setting under which the peer's result is
	// injected once more; that second injection is what is compared.
	Then *recipe `json:",omitempty"`
}

// String returns the case as YAML, as a person reads it.
func (c testCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s", c.Door, c.World)
	if c.Namespace != "" {
		fmt.Fprintf(&b, ", namespace %s", c.Namespace)
	}
	if c.Path != "" {
		fmt.Fprintf(&b, ", path %s", c.Path)
	}
	fmt.Fprintf(&b, "\n# setting %s\n", c.Recipe)
	if c.Then != nil {
		fmt.Fprintf(&b, "# injected again under %s\n", *c.Then)
	}
	y, err := yaml.Marshal(c.Object)
	if err != nil {
		return err.Error()
	}
	b.Write(y)
	return b.String()
}

// bench holds both sides ready for one setting in one world.
type bench struct {
	setting *setting
	peer    *peer
	peerErr error
	ours    *ingraft
	oursErr error
}

// benches keeps what was compiled: settings repeat.
type benches struct {
	world   world
	cluster *fakeCluster // nil where the world looks nothing up
	mu      sync.Mutex
	made    map[string]func() (*bench, error)
}

func newBenches(t testing.TB, w world) *benches {
	b := &benches{world: w, made: map[string]func() (*bench, error){}}
	if w.OpenShift {
		b.cluster = newFakeCluster(t, openShiftNamespaces()...)
	}
	return b
}

func (b *benches) get(r recipe) (*bench, error) {
	key := r.String()
	b.mu.Lock()
	f, ok := b.made[key]
	if !ok {
		f = sync.OnceValues(func() (*bench, error) {
			s, err := r.make()
			if err != nil {
				return nil, err
			}
			n := &bench{setting: s}
			n.peer, n.peerErr = newPeer(s, b.cluster)
			n.ours, n.oursErr = newIngraft(s, b.world)
			return n, nil
		})
		b.made[key] = f
	}
	b.mu.Unlock()
	return f()
}

// verdict is what came of one case.
type verdict struct {
	difference
	// reason names the deliberate differences that explain it; left is what they
	// leave where they do not.
	reason string
	left   difference
	// broken says that the case could not be run at all (a recipe that the
	// installer refuses): the generator must not make such cases.
	broken error
	// peer is what the peer did, for the counts of what was reached.
	peer outcome
	// of is what the verdict is about.
	of situation
}

// run does both injections and compares them.
func (b *benches) run(c testCase) verdict {
	first, err := b.get(c.Recipe)
	if err != nil {
		return verdict{broken: err}
	}
	if first.peerErr != nil || first.oursErr != nil {
		return b.judge(c, first, c.Object, c.Object, refusal(first.peerErr), refusal(first.oursErr))
	}
	p := first.byPeer(c, c.Object)
	if c.Then == nil {
		return b.judge(c, first, c.Object, c.Object, p, first.byIngraft(c, c.Object))
	}
	if p.refused {
		return verdict{peer: p}
	}
	again, err := b.get(*c.Then)
	if err != nil {
		return verdict{broken: err}
	}
	if again.peerErr != nil || again.oursErr != nil {
		return b.judge(c, again, c.Object, c.Object, refusal(again.peerErr), refusal(again.oursErr))
	}
	once := c
	once.Then = nil
	o := first.byIngraft(c, c.Object)
	if v := b.judge(once, first, c.Object, c.Object, p, o); v.class != "" && v.reason == "" {
		return v // differs before anything is injected again
	}
	object, err := tree(p.object)
	if err != nil {
		return verdict{broken: err}
	}
	own := object
	differ := !o.refused && compare(p, o).class != ""
	if differ {
		// Each side goes on from what it made itself.
		if own, err = tree(o.object); err != nil {
			return verdict{broken: err}
		}
	}
	p2, o2 := again.byPeer(c, object), again.byIngraft(c, own)
	skips := func(o outcome) bool { return !o.refused && !o.injected }
	if skips(p2) && skips(o2) || differ && (skips(p2) || skips(o2)) {
		// Nothing was injected again, or of the two pods one is not to be.
		return b.judge(once, first, c.Object, c.Object, p, o)
	}
	return b.judge(c, again, object, own, p2, o2)
}

func refusal(err error) outcome {
	if err == nil {
		return outcome{}
	}
	return refuse(err)
}

func (b *benches) judge(c testCase, n *bench, object, own map[string]any, peer, ours outcome) verdict {
	v := verdict{peer: peer, difference: compare(peer, ours)}
	if v.class != "" {
		v.of = situation{c, b, n, object, own, peer, ours, v.difference}
		v.reason, v.left = explain(v.of)
	}
	return v
}

func (n *bench) byPeer(c testCase, object map[string]any) outcome {
	return n.through(n.peer.kubeInject, n.peer.admit, c, object)
}

func (n *bench) byIngraft(c testCase, object map[string]any) outcome {
	return n.through(n.ours.kubeInject, n.ours.admit, c, object)
}

// through takes an object to the door of a case. A webhook sees pods as an API
// server writes them: decoded into their type, and encoded again.
func (n *bench) through(
	kubeInject func(object []byte) outcome, admit func(pod []byte, namespace, path string) outcome, c testCase, object map[string]any,
) outcome {
	if c.Door == doorCLI {
		return kubeInject(mustJSON(object))
	}
	return guard(func() outcome { return admit(mustJSON(decodePod(mustJSON(object))), c.Namespace, c.Path) })
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // trees of plain data only
	}
	return b
}

func tree(v any) (map[string]any, error) {
	js, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = json.Unmarshal(js, &m)
	return m, err
}

// openShiftNamespaces are the namespaces that exist in worlds on OpenShift:
// with the ranges that the platform hands out, and with broken ones.
func openShiftNamespaces() []*corev1.Namespace {
	const uids, groups = "openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.supplemental-groups"
	var all []*corev1.Namespace
	for name, annotations := range map[string]map[string]string{
		"test-ns":     {uids: "1000620000/10000", groups: "1000620000/10000"},
		"uids-only":   {uids: "1000980000/10000"},
		"dash":        {uids: "1000-2000", groups: "3000-4000,7000/10"},
		"groups-only": {groups: "5000/5"},
		"empty":       {uids: "", groups: ""},
		"broken":      {uids: "many", groups: "1000/10,few"},
		"half":        {uids: "1000/", groups: "many/10"},
		"plain":       nil,
	} {
		all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}})
	}
	return all
}
