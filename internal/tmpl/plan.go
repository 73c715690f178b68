package tmpl

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/source"
)

// Input is what a template makes an overlay of.
type Input struct {
	// Pod holds metadata and spec of the pod.
	Pod *source.Node
	// Namespace is the pod's namespace where the pod itself does not say.
	Namespace string
	// Data is what the template sees beside the pod: ObjectMeta and Spec are
	// taken from Pod, whatever they are here. Nothing that it points to may
	// ever change: plans know it again by its address.
	Data *Data
	// Env is what the template may ask of the world.
	Env Env
}

// fill returns the data of an input, complete with the parts of the pod that a
// template reads; false where the pod has values of the wrong type.
func (in *Input) fill(needs Needs) (*Data, bool) {
	d := *in.Data
	d.ObjectMeta, d.Spec = (&Data{}).ObjectMeta, (&Data{}).Spec
	if d.SetPod(in.Pod, needs) != nil {
		return nil, false
	}
	if d.ObjectMeta.Namespace == "" {
		d.ObjectMeta.Namespace = in.Namespace
	}
	return &d, true
}

// Planner makes the overlays of many pods from one template. It remembers what
// the template asked of a pod and what it wrote, so that for the next pod that
// gives the same answers nothing is rendered or parsed: the values that differ
// are put into a copy of the overlay. The overlay is always the one that
// rendering and parsing would give. A Planner may be used by several goroutines.
type Planner struct {
	template *Template
	accept   func(*source.Node) bool
	mu       sync.Mutex
	met      []installation // seen once, newest last
	sets     atomic.Pointer[[]*planSet]
}

// NewPlanner returns a planner of a template. accept tells whether an overlay
// is one that may be merged into a pod; what it refuses is not planned. It is
// asked about overlays that differ in the strings of string fields only once.
func NewPlanner(t *Template, accept func(*source.Node) bool) *Planner {
	return &Planner{template: t, accept: accept}
}

// Limits on what planners remember.
const (
	maxInstallations = 8   // per template
	maxPlans         = 256 // per installation
	maxBranches      = 64  // answers to one guard
	maxRefusals      = 64  // pods of an installation that no plan could be made of
)

// installation is all that a template sees beside pod and owner.
type installation struct {
	proxy  *meshv1alpha1.ProxyConfig
	mesh   *meshv1alpha1.MeshConfig
	values unsafe.Pointer

	revision, image, initImage, inbound, compliance string

	uid, gid    int64
	native      bool
	concurrency int
	former      config.Former
}

func installationOf(d *Data) installation {
	return installation{
		proxy: d.ProxyConfig, mesh: d.MeshConfig, values: reflect.ValueOf(d.Values).UnsafePointer(),
		revision: d.Revision, image: d.ProxyImage, initImage: d.ProxyInitImage,
		inbound: d.InboundTrafficPolicyMode, compliance: d.CompliancePolicy,
		uid: d.ProxyUID, gid: d.ProxyGID, native: d.NativeSidecars, concurrency: d.concurrency(), former: d.formerConfig(),
	}
}

// planSet holds the plans of an installation as a tree of questions.
type planSet struct {
	of   installation
	hold map[string]any // keeps the address of the values taken

	root atomic.Pointer[knot]

	// While learning:
	mu       sync.Mutex
	places   places
	plans    int
	refusals int
}

// knot is a point in the way of a template: a question with a way on for every
// answer met so far, or the end with its plans. What is published does not
// change.
type knot struct {
	guard    *guard // nil at the end
	branches atomic.Pointer[[]branch]
	plans    atomic.Pointer[[]*plan]
}

type branch struct {
	answer outcome
	next   *knot
}

func (k *knot) follow(answer outcome) *knot {
	if list := k.branches.Load(); list != nil {
		for i := range *list {
			if (*list)[i].answer == answer {
				return (*list)[i].next
			}
		}
	}
	return nil
}

var cursors = sync.Pool{New: func() any { return &cursor{} }}

// Overlay returns the overlay of a pod, or false where the caller has to
// render and parse itself: for the first pods, for values that mean something
// in YAML, for faults of any kind.
func (p *Planner) Overlay(in *Input) (*source.Node, bool) {
	prog := p.template.program
	if prog == nil || prog.mutates || in.Pod == nil {
		return nil, false
	}
	set := p.set(in.Data)
	if set == nil {
		return nil, false
	}
	c := cursors.Get().(*cursor)
	defer c.release()
	c.reset(in)
	if !p.conforms(in.Pod) {
		return nil, false
	}
	k := set.root.Load()
	for k != nil && k.guard != nil {
		answer, ok := c.ask(k.guard)
		if !ok {
			return nil, false
		}
		k = k.follow(answer)
	}
	if k != nil {
		if list := k.plans.Load(); list != nil {
			for _, plan := range *list {
				if root, ok := plan.overlay(c); ok {
					return root, true
				}
			}
		}
	}
	return p.learn(set, c, in)
}

// conforms reports whether the parts of a pod that the template reads have the
// right types.
func (p *Planner) conforms(pod *source.Node) bool {
	return conforms(objectMetaType, pod.Get("metadata"), p.template.needs.meta) &&
		conforms(podSpecType, pod.Get("spec"), p.template.needs.spec)
}

// set returns the plans of an installation, nil until it is met a second time.
func (p *Planner) set(d *Data) *planSet {
	of := installationOf(d)
	if sets := p.sets.Load(); sets != nil {
		for _, s := range *sets {
			if s.of == of {
				return s
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var sets []*planSet
	if known := p.sets.Load(); known != nil {
		sets = *known
	}
	for _, s := range sets {
		if s.of == of {
			return s
		}
	}
	for i, met := range p.met {
		if met == of {
			p.met = append(p.met[:i:i], p.met[i+1:]...)
			set := &planSet{of: of, hold: d.Values}
			if len(sets) >= maxInstallations {
				sets = sets[1:]
			}
			sets = append(sets[:len(sets):len(sets)], set)
			p.sets.Store(&sets)
			return set
		}
	}
	if len(p.met) >= maxInstallations {
		p.met = p.met[1:]
	}
	p.met = append(p.met[:len(p.met):len(p.met)], of)
	return nil
}

// learn renders and parses for a pod that no plan serves, and makes a plan of
// that.
func (p *Planner) learn(set *planSet, c *cursor, in *Input) (*source.Node, bool) {
	if !set.mu.TryLock() {
		return nil, false // another goroutine is learning
	}
	defer set.mu.Unlock()
	if set.plans >= maxPlans || set.refusals >= maxRefusals {
		return nil, false
	}
	data, ok := in.fill(p.template.needs)
	if !ok {
		return nil, false
	}
	if p.template.program.renders {
		data = data.clone()
	}
	t := &tracer{dialect: p.template.dialect, places: &set.places, cursor: c, asked: map[string]bool{}}
	out, ok := p.template.program.execute(&run{template: p.template, data: data, env: in.Env}, t)
	if !ok {
		set.refusals++
		return nil, false
	}
	doc, err := source.Parse(source.NewText("", out))
	if err != nil || len(doc.Duplicates) > 0 || doc.Root.Kind() != source.Map || !p.accept(doc.Root) {
		set.refusals++
		return nil, false
	}
	if len(t.holes) <= maxHoles && set.insert(t.steps, newPlan(c, &t.trace, out, doc.Root)) {
		set.plans++
	} else {
		set.refusals++
	}
	return doc.Root, true
}

// maxHoles bounds how much of its pod a plan holds open: a pod of thousands of
// containers is the only one of its shape, and a plan of it not worth making.
const maxHoles = 256

// insert puts a plan at the end of the way that its run took.
func (s *planSet) insert(steps []step, plan *plan) bool {
	k := s.root.Load()
	if k == nil {
		s.root.Store(newWay(steps, plan))
		return true
	}
	for i, st := range steps {
		if k.guard == nil || k.guard.key() != st.guard.key() {
			return false // not a function of the answers: never so, but never rely on it
		}
		next := k.follow(st.answer)
		if next == nil {
			var list []branch
			if known := k.branches.Load(); known != nil {
				list = *known
			}
			if len(list) >= maxBranches {
				return false
			}
			next = newWay(steps[i+1:], plan)
			list = append(list[:len(list):len(list)], branch{st.answer, next})
			k.branches.Store(&list)
			return true
		}
		k = next
	}
	if k.guard != nil {
		return false
	}
	list := *k.plans.Load()
	if len(list) >= maxBranches {
		return false
	}
	list = append(list[:len(list):len(list)], plan)
	k.plans.Store(&list)
	return true
}

// newWay returns the first knot of a way that leads to a plan.
func newWay(steps []step, last *plan) *knot {
	end, plans := &knot{}, []*plan{last}
	end.plans.Store(&plans)
	for i := len(steps) - 1; i >= 0; i-- {
		k := &knot{guard: steps[i].guard}
		k.branches.Store(&[]branch{{steps[i].answer, end}})
		end = k
	}
	return end
}
