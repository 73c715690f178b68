package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ingraft/ingraft/internal/admit"
	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/cluster"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
)

// systemNamespaces are those that no injector is asked about, or none should.
var systemNamespaces = [...]string{"kube-system", "kube-public", "kube-node-lease"}

// asksBy says by which label a namespace asks for injection, "" where it does not.
// A label istio-injection decides whatever istio.io/rev says; a namespace in
// ambient mode asks for its waypoints only.
func asksBy(namespace *source.Node) string {
	label := func(key string) string { return namespace.Get("metadata", "labels", key).Scalar() }
	switch injection := label(annot.NamespaceInjection); {
	case slices.Contains(systemNamespaces[:], nameOfObject(namespace)) || label(annot.DataplaneMode) == "ambient":
	case injection == "enabled":
		return annot.NamespaceInjection + "=enabled"
	case injection == "" && label(annot.Revision) != "":
		return annot.Revision + "=" + label(annot.Revision)
	}
	return ""
}

// labels looks for labels that ask for injection and that no webhook selects, of
// namespaces and of pods.
func (k *injectorCheck) labels(ctx context.Context) {
	const check = "labels"
	if k.namespaces == nil {
		return // that has been told
	}
	revisions := k.revisions()
	asking, found := 0, len(k.findings)
	byName := map[string]*source.Node{}
	for _, n := range k.namespaces {
		byName[nameOfObject(n)] = n
		by := asksBy(n)
		if by == "" {
			continue
		}
		asking++
		if len(k.askedBy(trialMeta(nil), n, admit.Perhaps)) == 0 {
			k.say("error", check, "namespace "+nameOfObject(n), "it asks for injection with "+by+", but no webhook selects that: its pods are made without a sidecar",
				fmt.Sprintf("Install that revision, or label it with one that is there (%s): kubectl label namespace %s %s- %s=%s --overwrite.",
					strings.Join(revisions, ", "), nameOfObject(n), annot.NamespaceInjection, annot.Revision, revisions[0]))
		}
	}
	for _, selector := range [...]string{annot.SidecarInject + "=true", annot.Revision} {
		var missed []string
		for p, err := range k.client.List(ctx, podResource, "", cluster.ListOptions{LabelSelector: selector, MetadataOnly: true}) {
			if err != nil {
				k.failed(ctx, check, "pods", err)
				return
			}
			namespace := byName[p.Get("metadata", "namespace").Str()]
			if namespace == nil || !p.Get("metadata", "annotations", annot.SidecarStatus).IsNull() || p.Get("metadata", "labels", annot.SidecarInject).Scalar() == "false" {
				continue
			}
			if len(k.askedBy(p, namespace, admit.Perhaps)) == 0 {
				missed = append(missed, p.Get("metadata", "namespace").Str()+"/"+nameOfObject(p))
			}
		}
		if len(missed) > 0 {
			k.say("warning", check, "pods", fmt.Sprintf("%s by label %s for injection, but no webhook selects them: %s", plural(len(missed), "pod")+" ask", selector, few(missed)),
				fmt.Sprintf("Label them with a revision that is there (%s), and see that their namespace does not opt out.", strings.Join(revisions, ", ")))
		}
	}
	if len(k.findings) == found {
		k.say("ok", check, "namespaces", fmt.Sprintf("%d of %d ask for injection, and a webhook selects each", asking, len(k.namespaces)), "")
	}
}

// few names the first of many.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// revisions are those of the webhooks, at least default.
func (k *injectorCheck) revisions() []string {
	var list []string
	for i := range k.all {
		if r := revisionOf(&k.all[i]); !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		list = []string{"default"}
	}
	slices.Sort(list)
	return list
}

// trialMeta is a pod with labels, as far as webhooks are chosen by it.
func trialMeta(labels map[string]string) *source.Node {
	l := source.NewMap()
	for _, key := range [...]string{annot.SidecarInject, annot.Revision} {
		if v, ok := labels[key]; ok {
			l = l.With(key, source.NewString(v))
		}
	}
	return source.NewMap(source.F("metadata", source.NewMap(source.F("labels", l))))
}

// askedBy returns the webhooks that are asked about a pod, with at least so much
// certainty.
func (k *injectorCheck) askedBy(pod, namespace *source.Node, least admit.Verdict) []*admit.Hook {
	var list []*admit.Hook
	for i := range k.all {
		if k.all[i].Ask(pod, namespace).Verdict >= least {
			list = append(list, &k.all[i])
		}
	}
	return list
}

// variants are the labels by which pods ask for injection, or do not.
func (k *injectorCheck) variants() []map[string]string {
	list := []map[string]string{{}, {annot.SidecarInject: "true"}}
	for _, r := range k.revisions() {
		list = append(list, map[string]string{annot.Revision: r}, map[string]string{annot.Revision: r, annot.SidecarInject: "true"})
	}
	return list
}

func labelWords(labels map[string]string) string {
	var words []string
	for _, key := range [...]string{annot.SidecarInject, annot.Revision} {
		if v, ok := labels[key]; ok {
			words = append(words, key+"="+v)
		}
	}
	if len(words) == 0 {
		return "without labels"
	}
	return "labelled " + strings.Join(words, ",")
}

// overlaps looks for pods that two webhooks would inject into.
func (k *injectorCheck) overlaps() {
	const check = "overlap"
	if k.namespaces == nil {
		return
	}
	type pair struct{ one, two, labels string }
	found := map[pair][]string{}
	var order []pair
	for _, n := range k.namespaces {
		for _, v := range k.variants() {
			asked := k.askedBy(trialMeta(v), n, admit.Asked)
			for i := 1; i < len(asked); i++ {
				p := pair{asked[0].Configuration + " " + asked[0].Name, asked[i].Configuration + " " + asked[i].Name, labelWords(v)}
				if found[p] == nil {
					order = append(order, p)
				}
				found[p] = append(found[p], nameOfObject(n))
			}
		}
	}
	for _, p := range order {
		k.say("error", check, p.one, fmt.Sprintf("pods %s are sent to %s, too, in %s %s", p.labels, p.two, map[bool]string{true: "namespace", false: "namespaces"}[len(found[p]) == 1], few(found[p])),
			"Delete one of the two webhook configurations, or give one injector a revision of its own.")
	}
	if len(order) == 0 {
		k.say("ok", check, "webhooks", "no pod is sent to two of them", "")
	}
}

// trial is a pod to send, and the webhook that is asked about it.
type trial struct {
	hook      *admit.Hook
	namespace *source.Node
	labels    map[string]string
}

// choose finds a namespace, and labels, with which a pod is sent to a webhook of a
// configuration and to no other that injects: one that asks for injection rather
// than one whose pods may. One where Pod Security may refuse the sidecar is the
// last choice.
func (k *injectorCheck) choose(configuration string, namespaces []*source.Node) *trial {
	var second *trial
	namespaces = slices.Clone(namespaces)
	slices.SortStableFunc(namespaces, func(a, b *source.Node) int { return boolToInt(asksBy(b) != "") - boolToInt(asksBy(a) != "") })
	for _, n := range namespaces {
		if !n.Get("metadata", "deletionTimestamp").IsNull() {
			continue
		}
		for _, v := range k.variants() {
			asked := k.askedBy(trialMeta(v), n, admit.Perhaps)
			if len(asked) != 1 || asked[0].Configuration != configuration {
				continue
			}
			t := &trial{asked[0], n, v}
			if level := n.Get("metadata", "labels", annot.PodSecurityEnforce).Scalar(); level == "" || level == "privileged" {
				return t
			}
			if second == nil {
				second = t
			}
		}
	}
	return second
}

// try sends a pod through the API server to a webhook of a configuration.
func (k *injectorCheck) try(ctx context.Context, configuration string) {
	const check = "dry run"
	namespaces := k.namespaces
	if in := k.globals.namespace; in != "" || namespaces == nil {
		if in == "" {
			in = k.client.DefaultNamespace()
		}
		n, err := k.client.Namespace(ctx, in)
		if err != nil {
			k.failed(ctx, check, configuration, err)
			return
		}
		namespaces = []*source.Node{n}
	}
	t := k.choose(configuration, namespaces)
	if t == nil {
		where := "no namespace is labelled so that a pod is sent to it, and to no other"
		if len(namespaces) == 1 {
			where = "no pod of namespace " + nameOfObject(namespaces[0]) + " is sent to it, and to no other"
		}
		k.say("warning", check, configuration, where+": no pod could be tried", "Label one: kubectl label namespace NAME istio.io/rev="+revisionOf(k.hookOf(configuration))+"; or choose one with -n.")
		return
	}
	pod := trialPod(t)
	made, err := k.client.Within(trialTime).Try(ctx, podResource, nameOfObject(t.namespace), pod)
	object := "namespace " + nameOfObject(t.namespace)
	switch {
	case err != nil:
		k.refused(ctx, object, t, err)
	case hasSidecar(made):
		k.say("ok", check, object, fmt.Sprintf("a pod %s gets its sidecar from %s", labelWords(t.labels), configuration), "")
	default:
		k.untouched(ctx, object, t, pod)
	}
}

func (k *injectorCheck) hookOf(configuration string) *admit.Hook {
	for i := range k.hooks {
		if k.hooks[i].Configuration == configuration {
			return &k.hooks[i]
		}
	}
	return &admit.Hook{}
}

// untouched says why a pod that the webhook is asked about comes back without a
// sidecar.
func (k *injectorCheck) untouched(ctx context.Context, object string, t *trial, pod *source.Node) {
	const check = "dry run"
	what := fmt.Sprintf("a pod %s is sent to %s, but comes back without a sidecar: ", labelWords(t.labels), t.hook.Configuration)
	if d := k.decides(ctx, t.hook, pod, t.namespace); d != nil && d.Verdict == inject.Skip {
		k.say("warning", check, object, what+"its configuration says so: "+d.Message, "Change policy or selectors of the configuration if that is not meant.")
		return
	}
	if t.hook.Ask(pod, t.namespace).Verdict == admit.Perhaps {
		k.say("warning", check, object, what+"its matchConditions may keep the API server from asking", "See what the conditions say: 'ingraft injector config show --webhookFile' lists them.")
		return
	}
	if !t.hook.Fails {
		k.say("error", check, object, what+"either the API server cannot reach it, which failurePolicy Ignore hides, or does not ask at all",
			"Set failurePolicy to Fail for a moment: the error says more. See that the API server reaches port 15017 of the pods (firewall, network policy), and that MutatingAdmissionWebhook is not among its --disable-admission-plugins.")
		return
	}
	k.say("error", check, object, what+"the API server did not ask it. Usual cause: the admission plugin MutatingAdmissionWebhook is off",
		"Take it out of the API server's --disable-admission-plugins. After a change of webhook configurations it may also take a few seconds until the API server knows it: check again.")
}

var (
	failedCall = regexp.MustCompile(`failed calling webhook "([^"]*)"`)
	deniedBy   = regexp.MustCompile(`admission webhook "([^"]*)" denied the request: (?s:(.*))`)
	noDryRun   = regexp.MustCompile(`admission webhook "([^"]*)" does not support dry run`)
)

// refused says why the API server refuses a pod.
func (k *injectorCheck) refused(ctx context.Context, object string, t *trial, err error) {
	const check = "dry run"
	message := err.Error()
	ours := func(name string) bool {
		return slices.ContainsFunc(k.all, func(h admit.Hook) bool { return h.Name == name })
	}
	const elsewhere = "Choose another namespace with -n."
	if m := failedCall.FindStringSubmatch(message); m != nil {
		if !ours(m[1]) {
			k.say("warning", check, object, fmt.Sprintf("another webhook, %s, cannot be called, so that no pod is made there: %s", m[1], message), "Mend that webhook, or choose another namespace with -n.")
			return
		}
		cause, fix := causeOfCall(message, t.hook)
		if cause == "" {
			cause, fix = "not known", "See what the message says, and the log of the injector."
		}
		k.say("error", check, object, fmt.Sprintf("the API server cannot call the injector: %s. Usual cause: %s", message, cause), fix)
		return
	}
	if m := noDryRun.FindStringSubmatch(message); m != nil {
		k.say("unknown", check, object, "not possible: webhook "+m[1]+" does not support a dry run", elsewhere)
		return
	}
	if m := deniedBy.FindStringSubmatch(message); m != nil {
		if ours(m[1]) {
			k.say("error", check, object, "the injector denies the pod: "+m[2], "Mend what it says; 'ingraft injector config lint' judges the configuration.")
			return
		}
		k.say("unknown", check, object, fmt.Sprintf("another webhook, %s, denies the pod of this check: %s", m[1], m[2]), elsewhere)
		return
	}
	switch {
	case strings.Contains(message, "violates PodSecurity"):
		// It is judged after the webhooks were asked.
		k.say("warning", check, object, "the injector is called, but Pod Security refuses the pod with its sidecar: "+message,
			"Use the mesh's CNI plugin, whose pods need no rights, or another level for the namespace.")
	case strings.Contains(message, "cannot create resource \"pods\""), cluster.IsKind(err, cluster.Forbidden) && !strings.Contains(message, "quota"):
		k.say("unknown", check, object, "not possible: "+message, "Ask for the right to create pods there, or choose another namespace with -n.")
	case cluster.IsKind(err, cluster.Unreachable) || ctx.Err() != nil:
		k.failed(ctx, check, object, err)
	default:
		k.say("unknown", check, object, "the pod of this check cannot be made there: "+message, elsewhere)
	}
}

// trialTime bounds the wait for the answer about a pod: API servers wait 30 seconds
// for a webhook at most, and may ask several.
const trialTime = 45 * time.Second

// trialPod is a pod that runs nothing, and that Pod Security has nothing against.
func trialPod(t *trial) *source.Node {
	s, f, m := source.NewString, source.F, source.NewMap
	no := source.NewBool(false)
	meta := trialMeta(t.labels).Get("metadata").With("name", s("ingraft-check-"+strings.ToLower(rand.Text()[:8])))
	container := m(
		f("name", s("check")), f("image", s("registry.k8s.io/pause:3.10")),
		f("securityContext", m(f("allowPrivilegeEscalation", no), f("capabilities", m(f("drop", source.NewList(s("ALL"))))))),
	)
	security := m(
		f("runAsNonRoot", source.NewBool(true)), f("runAsUser", source.NewInt(65532)),
		f("seccompProfile", m(f("type", s("RuntimeDefault")))),
	)
	spec := m(
		f("restartPolicy", s("Never")), f("automountServiceAccountToken", no),
		f("securityContext", security), f("containers", source.NewList(container)),
	)
	return m(f("apiVersion", s("v1")), f("kind", s("Pod")), f("metadata", meta), f("spec", spec))
}
