package injection

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// A difference is deliberate if what the peer does instead is refused by the
// API server, loses what the user wrote, cannot work, or is unlike what its
// own webhook does. Each is recognised here by code of its own: the peer's
// result is mended as docs/differences.md says, or taken from the peer's
// webhook or from its first injection, and must then be equal to ours.

// situation is all that is known about two outcomes that differ.
type situation struct {
	testCase
	benches *benches
	bench   *bench
	// object is what the peer injected: the case's, or the result of its first
	// injection; own is the same of ingraft.
	object, own object
	peer, ours  outcome
	difference
}

// explain returns the names of the deliberate differences that make the peer's
// outcome ours. Where they do not, it returns the difference that is left of
// the reference that comes nearest.
func explain(s situation) (names string, left difference) {
	if name := s.whole(); name != "" {
		return name, difference{}
	}
	left = s.difference
	for r := range s.references {
		names, d := s.reached(r)
		if *oneCase != "" {
			fmt.Printf("reference %q, mended %q, left %s\n%s\n", r.names, names, d.class, d.detail)
		}
		if d.class == "" && len(names) > 0 {
			slices.Sort(names)
			return strings.Join(slices.Compact(names), " + "), difference{}
		}
		if d.class != "" && len(r.names) > 0 && (left == s.difference || len(d.detail) < len(left.detail)) {
			left = difference{d.class, "left after " + strings.Join(append(names, "nothing"), " + ") + " was mended:\n" + d.detail}
		}
	}
	return "", left
}

// whole names differences that are about a pod as a whole.
func (s situation) whole() string {
	switch {
	case s.ours.refused && !s.peer.refused && strings.Contains(s.ours.message, "[IGF0606]") && s.changesStructure():
		return "the text of an annotation changes the structure"
	case !s.ours.refused && !s.ours.injected && (s.peer.injected || s.peer.refused) && s.onWindows():
		return "Windows"
	}
	return ""
}

func (s situation) onWindows() bool {
	for _, w := range workloadsOf(s.object) {
		spec, _ := w.template["spec"].(object)
		selector, _ := spec["nodeSelector"].(object)
		os, _ := spec["os"].(object)
		if selector["kubernetes.io/os"] == "windows" || os["name"] == "windows" {
			return true
		}
	}
	return false
}

// changesStructure tells that the text of an annotation does more in the
// peer's result than to stand where it was meant to: with a plain word in its
// place the result has another shape, or the word at more places than the
// text.
func (s situation) changesStructure() bool {
	// What the text did may be hidden by what the user says in its place.
	return s.changesStructureOf(s.object) || s.changesStructureOf(withoutOverrides(s.object))
}

// withoutOverrides returns an object without the containers of the mesh's names.
func withoutOverrides(o object) object {
	o = copyTree(o).(object)
	for _, w := range workloadsOf(o) {
		spec, _ := w.template["spec"].(object)
		for _, list := range []string{"containers", "initContainers"} {
			if all, ok := spec[list].([]any); ok {
				spec[list] = slices.DeleteFunc(all, func(c any) bool {
					name, _ := c.(object)["name"].(string)
					return slices.Contains(meshContainers, name)
				})
			}
		}
	}
	return o
}

func (s situation) changesStructureOf(o object) bool {
	const word = "plainword"
	result := s.bench.byPeer(s.testCase, o)
	if result.refused {
		return false
	}
	a, _ := tree(result.object)
	for i := range workloadsOf(o) {
		meta, _ := workloadsOf(o)[i].template["metadata"].(object)
		annotations, _ := meta["annotations"].(object)
		for key, text := range annotations {
			text, _ := text.(string)
			if !strings.ContainsAny(text, "\"'\n#{}[]: \\") {
				continue
			}
			for _, plain := range plainTexts(text, word) {
				variant := copyTree(o).(object)
				workloadsOf(variant)[i].template["metadata"].(object)["annotations"].(object)[key] = plain
				other := s.bench.byPeer(s.testCase, variant)
				if other.refused {
					continue
				}
				b, _ := tree(other.object)
				if shape(a) != shape(b) || strings.Count(string(mustJSON(a)), quoteInner(text)) != strings.Count(string(mustJSON(b)), quoteInner(plain)) {
					return true
				}
			}
		}
	}
	return false
}

// plainTexts are texts without anything special that could stand for another:
// the word, and for JSON the same with the word for each string in it.
func plainTexts(text, word string) []string {
	list := []string{word}
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		list = append(list, string(mustJSON(plainLeaves(v, word))))
	}
	return list
}

func plainLeaves(v any, word string) any {
	switch v := v.(type) {
	case string:
		return word
	case object:
		for k, e := range v {
			v[k] = plainLeaves(e, word)
		}
	case []any:
		for i, e := range v {
			v[i] = plainLeaves(e, word)
		}
	}
	return v
}

func quoteInner(s string) string {
	q := string(mustJSON(s))
	return q[1 : len(q)-1]
}

// shape writes a tree without its values.
func shape(v any) string {
	switch v := v.(type) {
	case object:
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(k + "{" + shape(v[k]) + "}")
		}
		return b.String()
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString("[" + shape(e) + "]")
		}
		return b.String()
	}
	return ""
}

// reference is what the peer does in another way.
type reference struct {
	names []string
	outcome
	// before is what was injected.
	before object
}

// references yields the ways in which the peer could have injected the same,
// the plainest first.
func (s situation) references(yield func(reference) bool) {
	var list []reference
	add := func(names []string, o outcome, before object) bool {
		r := reference{names, o, before}
		list = append(list, r)
		return yield(r)
	}
	again := func(o object) bool {
		first := s.bench.byPeer(s.testCase, o)
		var names []string
		if compare(first, s.peer).class != "" {
			names = append(names, nameAgain)
		}
		return add(names, first, o)
	}
	if !add(nil, s.peer, s.object) || s.Then != nil && !again(s.Object) {
		return
	}
	if o, ok := stripped(s.own, false, nil); ok {
		if !again(o) {
			return
		}
		for _, still := range [][][]string{nil, claimed(s.ours)} {
			if o, _ := stripped(s.own, true, still); !again(o) {
				return
			}
		}
	}
	for _, r := range list {
		if o, ok := s.withProxyMoved(r); ok && !add(append(slices.Clone(r.names), nameProxies), s.bench.byPeer(s.testCase, o), o) {
			return
		}
	}
	if s.World.OpenShift && s.Door == doorWebhook {
		for _, r := range list {
			if o, ok := withoutAssignedUser(r.before); ok && !add(append(slices.Clone(r.names), "user assigned by OpenShift"), s.bench.byPeer(s.testCase, o), o) {
				return
			}
		}
	}
	if s.Door == doorCLI {
		for _, r := range list {
			if o, ok := s.byWebhook(r.before); ok && !add(append(slices.Clone(r.names), s.unlikeWebhook()), o, r.before) {
				return
			}
		}
	}
}

// withProxyMoved returns what was injected with the user's own istio-proxy among
// the containers instead of the init containers, where the peer made a second
// one of it.
func (s situation) withProxyMoved(r reference) (object, bool) {
	// Of two sidecars the peer looks for one where the other is, and crashes.
	crashed := r.refused && strings.HasPrefix(r.message, "panic: ") && strings.Contains(r.message, "adjustInitContainerUser")
	if r.refused && !crashed {
		return nil, false
	}
	o := copyTree(r.before).(object)
	moved := false
	after := o
	if !crashed {
		var err error
		if after, err = tree(r.object); err != nil {
			return nil, false
		}
	}
	results := workloadsOf(after)
	for i, w := range workloadsOf(o) {
		if i >= len(results) {
			return nil, false
		}
		made, _ := results[i].template["spec"].(object)
		spec, _ := w.template["spec"].(object)
		containers, _ := spec["containers"].([]any)
		inits, _ := spec["initContainers"].([]any)
		twice, _ := made["containers"].([]any)
		again, _ := made["initContainers"].([]any)
		at := slices.IndexFunc(inits, func(c any) bool { return c.(object)["name"] == "istio-proxy" })
		if at < 0 || !crashed && (!hasProxy(twice) || !hasProxy(again)) {
			continue
		}
		spec["containers"] = append(slices.Clone(containers), without(inits[at].(object), "restartPolicy"))
		spec["initContainers"] = slices.Delete(slices.Clone(inits), at, at+1)
		moved = true
	}
	return o, moved
}

// withoutAssignedUser returns the pod without the user and the group of its
// own istio-proxy container where they are those that OpenShift assigned, which
// is told by the application's user being the same.
func withoutAssignedUser(o object) (object, bool) {
	o = copyTree(o).(object)
	changed := false
	for _, w := range workloadsOf(o) {
		spec, _ := w.template["spec"].(object)
		var proxy object
		var mine, theirs any = 0.0, 0.0
		for _, c := range append(items(spec, "containers"), items(spec, "initContainers")...) {
			context, _ := c["securityContext"].(object)
			user := context["runAsUser"]
			switch name := c["name"]; {
			case name == "istio-proxy" && proxy == nil:
				if proxy = context; user != nil {
					mine = user
				}
			case user != nil && name != "istio-proxy" && name != "istio-init" && name != "istio-validation":
				theirs = user
			}
		}
		if proxy != nil && fmt.Sprint(mine) == fmt.Sprint(theirs) {
			delete(proxy, "runAsUser")
			delete(proxy, "runAsGroup")
			changed = true
		}
	}
	return o, changed
}

// unlikeWebhook names what makes the peer's kube-inject do otherwise than its
// webhook.
func (s situation) unlikeWebhook() string {
	var config struct {
		DefaultTemplates    []string
		Aliases             map[string][]string
		InjectedAnnotations map[string]string
	}
	head, _, _ := strings.Cut(s.bench.setting.config, "\ntemplates:\n")
	if err := yaml.Unmarshal([]byte(head), &config); err != nil {
		panic(err) // the peer read it
	}
	kind, _ := s.Object["kind"].(string)
	switch js := string(mustJSON(s.object)); {
	case kind == "CronJob" || strings.Contains(js, `"kind":"CronJob"`):
		return "kube-inject: metadata of a CronJob"
	case runtime.IsNotRegisteredError(errOf(inject.FromRawToObject(mustJSON(s.object)))):
		return "kube-inject: kinds that it does not know"
	case strings.Contains(js, `"proxy.istio.io/config"`):
		return "kube-inject: proxy configuration of a pod"
	case strings.Contains(js, `"namespace":"kube-system"`) || strings.Contains(js, `"namespace":"local-path-storage"`):
		return "kube-inject: system namespaces"
	case !slices.Equal(config.DefaultTemplates, []string{"sidecar"}) || len(config.Aliases) > 0:
		return "kube-inject: default templates and aliases"
	case len(config.InjectedAnnotations) > 0:
		return "kube-inject: injected annotations"
	default:
		return "kube-inject: namespace that templates see"
	}
}

func errOf(_ runtime.Object, err error) error { return err }

// byWebhook injects the pod template of each workload as the webhook of the
// peer injects the pods that come of it, with every pod wanted.
func (s situation) byWebhook(o object) (outcome, bool) {
	o = copyTree(o).(object)
	for _, w := range workloadsOf(o) {
		meta, _ := w.template["metadata"].(object)
		if meta == nil {
			meta = object{}
		}
		generateName, owners, namespace := meta["generateName"], meta["ownerReferences"], meta["namespace"]
		if w.kind != "Pod" {
			delete(meta, "namespace") // pods are made where their workload is
			meta["generateName"] = "g-"
			meta["ownerReferences"] = []any{object{"apiVersion": w.apiVersion, "kind": w.kind, "name": w.name, "uid": "u", "controller": true}}
		}
		pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": w.template["spec"]}
		out := ask(s.bench.peer.willing, mustJSON(pod), w.namespace, "")
		if out.refused {
			return out, true
		}
		after, err := tree(out.object)
		if err != nil {
			return outcome{}, false
		}
		meta, _ = after["metadata"].(object)
		if w.kind != "Pod" {
			meta["generateName"], meta["ownerReferences"], meta["namespace"] = generateName, owners, namespace
		}
		w.template["metadata"], w.template["spec"] = meta, after["spec"]
	}
	return outcome{object: decodeObject(mustJSON(o)), injected: true}, true
}

// workload is a pod template within an object.
type workload struct {
	kind, apiVersion, name, namespace string
	// template holds metadata and spec; the object itself for a bare pod.
	template object
}

// workloadsOf finds the pod templates of an object, where the kinds that the
// generator makes keep them.
func workloadsOf(o object) []workload {
	kind, _ := o["kind"].(string)
	apiVersion, _ := o["apiVersion"].(string)
	meta, _ := o["metadata"].(object)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	w := workload{kind: kind, apiVersion: apiVersion, name: name, namespace: namespace}
	at := o
	switch kind {
	case "List":
		items, _ := o["items"].([]any)
		var all []workload
		for _, item := range items {
			if item, ok := item.(object); ok {
				all = append(all, workloadsOf(item)...)
			}
		}
		return all
	case "Pod":
		w.template = o
		return []workload{w}
	case "PodTemplate":
	case "CronJob":
		spec, _ := o["spec"].(object)
		jobTemplate, _ := spec["jobTemplate"].(object)
		at, _ = jobTemplate["spec"].(object)
	default:
		at, _ = o["spec"].(object)
	}
	var ok bool
	if w.template, ok = at["template"].(object); !ok {
		return nil
	}
	return []workload{w}
}

// reached returns what differs between our outcome and a reference's that is
// mended, and by which deliberate differences it was.
func (s situation) reached(r reference) ([]string, difference) {
	if r.refused || s.ours.refused {
		return r.names, compare(r.outcome, s.ours)
	}
	want, err := tree(r.object)
	if err != nil {
		return nil, s.difference
	}
	got, err := tree(s.ours.object)
	if err != nil {
		return nil, s.difference
	}
	names := map[string]bool{}
	before, after, ours, own := workloadsOf(r.before), workloadsOf(want), workloadsOf(got), workloadsOf(s.own)
	if len(before) != len(after) || len(after) != len(ours) || len(own) != len(ours) {
		return nil, s.difference
	}
	for i := range after {
		m := mending{s: s, own: podOf(own[i].template), before: podOf(before[i].template), pod: podOf(after[i].template), names: names}
		for _, mend := range mends {
			mend.do(&m)
		}
		made := podOf(ours[i].template)
		if names[nameProxies] || slices.Contains(r.names, nameProxies) {
			inAnyOrder(m.pod)
			inAnyOrder(made)
		}
		for pod, template := range map[*corev1.Pod]object{m.pod: after[i].template, made: ours[i].template} {
			t, err := tree(pod)
			if err != nil {
				return nil, s.difference
			}
			template["metadata"], template["spec"] = t["metadata"], t["spec"]
		}
	}
	d := compare(outcome{object: decodeObject(mustJSON(want))}, outcome{object: decodeObject(mustJSON(got))})
	return append(slices.Clone(r.names), slices.Sorted(maps.Keys(names))...), d
}

func podOf(template object) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(mustJSON(object{"metadata": template["metadata"], "spec": template["spec"]}), pod); err != nil {
		return &corev1.Pod{}
	}
	return pod
}
