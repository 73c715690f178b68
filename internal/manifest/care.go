package manifest

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// careRemoved tells what is lost with an object.
func careRemoved(o *source.Node) []string {
	switch o.Get("kind").Str() {
	case "CustomResourceDefinition":
		return []string{"all objects of kind " + o.Get("spec", "names", "kind").Str() + " are deleted with it"}
	case "Namespace":
		return []string{"everything in it is deleted with it"}
	case "PersistentVolumeClaim":
		return []string{"its data may be deleted with it"}
	}
	return nil
}

// careAdded tells what power comes with an object.
func careAdded(n *source.Node) []string {
	var care []string
	switch n.Get("kind").Str() {
	case "ClusterRole", "Role":
		if _, powers := powers(n); len(powers) > 0 {
			care = append(care, "rights: whoever has it may "+strings.Join(powers, ", "))
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, h := range webhooks([]*source.Node{n}) {
			if h.FailurePolicy == "Fail" {
				care = append(care, "webhook "+h.Name+": while it does not answer, "+strings.Join(h.Rules, ", ")+" fails, of "+h.Selects)
			}
		}
	}
	return care
}

// immutable lists what the API server does not let change, by kind
// (pkg/apis/*/validation of Kubernetes).
var immutable = map[string][]string{
	"Deployment":            {"spec.selector"},
	"DaemonSet":             {"spec.selector"},
	"ReplicaSet":            {"spec.selector"},
	"StatefulSet":           {"spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy"},
	"Job":                   {"spec.selector", "spec.template", "spec.completionMode"},
	"ClusterRoleBinding":    {"roleRef"},
	"RoleBinding":           {"roleRef"},
	"Secret":                {"type"},
	"PersistentVolumeClaim": {"spec.accessModes", "spec.storageClassName", "spec.selector", "spec.volumeName"},
	"StorageClass":          {"provisioner", "parameters", "reclaimPolicy"},
	"PriorityClass":         {"value"},
}

// care tells what needs care in the changes of an object.
func care(o, n *source.Node, changes []Change) []string {
	var list []string
	kind := o.Get("kind").Str()
	for _, path := range immutable[kind] {
		if slices.ContainsFunc(changes, func(c Change) bool {
			return c.Path == path || strings.HasPrefix(c.Path, path+".") || strings.HasPrefix(c.Path, path+"[")
		}) {
			list = append(list, path+" cannot be changed: delete the object and make it anew")
		}
	}
	switch kind {
	case "CustomResourceDefinition":
		list = append(list, careVersions(o, n)...)
	case "ClusterRole", "Role":
		_, before := powers(o)
		_, now := powers(n)
		if gained := without(now, before); len(gained) > 0 {
			list = append(list, "more rights: whoever has it may also "+strings.Join(gained, ", "))
		} else if widened(o, n) {
			list = append(list, "more rights: see its rules")
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		list = append(list, careWebhooks(o, n)...)
	}
	return list
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// right is one thing that a role allows.
type right struct{ verb, group, resource, name string }

func rights(role *source.Node) map[right]bool {
	m := map[right]bool{}
	for _, r := range role.Get("rules").Items() {
		names := words(r.Get("resourceNames"))
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range words(r.Get("verbs")) {
			for _, url := range words(r.Get("nonResourceURLs")) {
				m[right{verb, "url", url, ""}] = true
			}
			for _, group := range words(r.Get("apiGroups")) {
				for _, resource := range words(r.Get("resources")) {
					for _, name := range names {
						m[right{verb, group, resource, name}] = true
					}
				}
			}
		}
	}
	return m
}

// widened tells whether a role allows what it did not allow before.
func widened(o, n *source.Node) bool {
	before := rights(o)
	for r := range rights(n) {
		allowed := false
		for _, verb := range [...]string{r.verb, "*"} {
			for _, group := range [...]string{r.group, "*"} {
				for _, resource := range [...]string{r.resource, "*"} {
					allowed = allowed || before[right{verb, group, resource, r.name}] || before[right{verb, group, resource, ""}]
				}
			}
		}
		if !allowed {
			return true
		}
	}
	return false
}

// careVersions tells what happens to objects of versions that a CRD loses.
func careVersions(o, n *source.Node) []string {
	var list []string
	stored := ""
	for _, v := range n.Get("spec", "versions").Items() {
		if v.Get("storage").IsTrue() {
			stored = v.Get("name").Str()
		}
	}
	for _, v := range o.Get("spec", "versions").Items() {
		name := v.Get("name").Str()
		now := versionOf(n, name)
		wasStored := v.Get("storage").IsTrue()
		switch {
		case now == nil && wasStored:
			list = append(list, "version "+name+" is gone, in which objects are stored: migrate them to "+stored+" first, or the API server refuses the change")
			continue
		case now == nil:
			list = append(list, "version "+name+" is gone: who asks for it gets an error")
		case v.Get("served").IsTrue() && !now.Get("served").IsTrue():
			list = append(list, "version "+name+" is not served any more: who asks for it gets an error")
		}
		if wasStored && stored != name {
			list = append(list, "objects are stored in version "+stored+" from now on, not in "+name)
		}
	}
	if o.Get("spec", "scope").Scalar() != n.Get("spec", "scope").Scalar() {
		list = append(list, "spec.scope cannot be changed: delete the object and make it anew")
	}
	return list
}

func versionOf(crd *source.Node, name string) *source.Node {
	for _, v := range crd.Get("spec", "versions").Items() {
		if v.Get("name").Str() == name {
			return v
		}
	}
	return nil
}

// careWebhooks tells which webhooks are asked about more than before, or fail
// where they were passed over.
func careWebhooks(o, n *source.Node) []string {
	var list []string
	before := webhooks([]*source.Node{o})
	for i, now := range webhooks([]*source.Node{n}) {
		j := slices.IndexFunc(before, func(w Webhook) bool { return w.Name == now.Name })
		if j < 0 {
			list = append(list, "webhook "+now.Name+" is new: asked about "+strings.Join(now.Rules, ", ")+", of "+now.Selects)
			continue
		}
		was := before[j]
		if was.FailurePolicy == "Ignore" && now.FailurePolicy == "Fail" {
			list = append(list, "webhook "+now.Name+": what it is asked about fails now while it does not answer")
		}
		if gained := without(now.Rules, was.Rules); len(gained) > 0 {
			list = append(list, "webhook "+now.Name+" is asked about more: "+strings.Join(gained, ", "))
		}
		if looser(o.Get("webhooks").Items()[j], n.Get("webhooks").Items()[i]) {
			list = append(list, "webhook "+now.Name+" selects more: "+now.Selects+"; before: "+was.Selects)
		}
	}
	return list
}

// looser tells whether a webhook lost one of the conditions on what it is asked
// about, or a value that a condition excludes.
func looser(o, n *source.Node) bool {
	for _, key := range [...]string{"namespaceSelector", "objectSelector"} {
		now := conditions(n.Get(key))
		for _, c := range conditions(o.Get(key)) {
			if !slices.Contains(now, c) {
				return true
			}
		}
	}
	return len(without(fieldOf(o.Get("matchConditions"), "expression"), fieldOf(n.Get("matchConditions"), "expression"))) > 0
}

// conditions returns the conditions of a selector, each as text.
func conditions(s *source.Node) []string {
	var list []string
	for _, f := range s.Get("matchLabels").Fields() {
		list = append(list, f.Key+"="+f.Value.Scalar())
	}
	for _, e := range s.Get("matchExpressions").Items() {
		values := words(e.Get("values"))
		slices.Sort(values)
		list = append(list, e.Get("key").Scalar()+" "+e.Get("operator").Str()+" "+strings.Join(values, ","))
	}
	return list
}

// fieldOf returns one field of all items of a list.
func fieldOf(list *source.Node, key string) []string {
	var out []string
	for _, n := range list.Items() {
		out = append(out, n.Get(key).Scalar())
	}
	return out
}
