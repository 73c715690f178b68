package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Access is what a binding of a role allows somebody to do.
type Access struct {
	// Subject is a kind and a name: ServiceAccount istio-system/istiod.
	Subject string `json:"subject"`
	// Role is a kind and a name: ClusterRole istiod.
	Role string `json:"role"`
	// Namespace is where it holds; empty for the whole cluster.
	Namespace string `json:"namespace"`
	// May tells in words what is allowed: read secrets.
	May []string `json:"may"`
	// Care lists those of them that give power over the cluster or its secrets.
	Care []string `json:"care"`
}

// access lists what roles that are bound allow. A role that is not among the
// objects is told by its name alone.
func access(all []*source.Node) []Access {
	roles := map[string]*source.Node{}
	for _, o := range all {
		switch kind := o.Get("kind").Str(); kind {
		case "ClusterRole":
			roles[kind+" "+nameOf(o)] = o
		case "Role":
			roles[kind+" "+o.Get("metadata", "namespace").Str()+"/"+nameOf(o)] = o
		}
	}
	list := []Access{}
	for _, o := range all {
		kind, namespace := o.Get("kind").Str(), o.Get("metadata", "namespace").Str()
		if kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		if kind == "ClusterRoleBinding" {
			namespace = ""
		}
		ref := o.Get("roleRef")
		role := ref.Get("kind").Str() + " " + nameWithin(ref, namespace)
		for _, s := range o.Get("subjects").Items() {
			a := Access{Subject: s.Get("kind").Str() + " " + nameWithin(s, s.Get("namespace").Str()), Role: role, Namespace: namespace}
			a.May, a.Care = powers(roles[role])
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b Access) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Role, b.Role))
	})
	return list
}

// nameWithin returns the name of what is referred to, with the namespace that
// it lives in.
func nameWithin(ref *source.Node, namespace string) string {
	name := ref.Get("name").Scalar()
	if ref.Get("kind").Str() == "ClusterRole" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// powers tells in words what the rules of a role allow.
func powers(role *source.Node) (may, care []string) {
	may, care = []string{}, []string{}
	by := map[string][]string{} // verb to resources
	for _, r := range role.Get("rules").Items() {
		verbs := words(r.Get("verbs"))
		if urls := words(r.Get("nonResourceURLs")); len(urls) > 0 {
			by["get"] = append(by["get"], urls...)
		}
		names := words(r.Get("resourceNames"))
		for _, group := range words(r.Get("apiGroups")) {
			for _, resource := range words(r.Get("resources")) {
				what := resource
				if group != "" {
					what += "." + group
				}
				dangers := careful(group, resource, verbs)
				if len(names) > 0 {
					what += " (" + strings.Join(names, ", ") + ")"
					dangers = nil // of named objects only
				}
				for _, kind := range kindsOfVerbs(verbs) {
					by[kind] = append(by[kind], what)
				}
				care = append(care, dangers...)
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		what := by[kind]
		slices.Sort(what)
		may = append(may, kind+" "+strings.Join(slices.Compact(what), ", "))
	}
	slices.Sort(care)
	return may, slices.Compact(care)
}

// kindsOfVerbs sums verbs up: reading, changing, and each other by itself.
func kindsOfVerbs(verbs []string) []string {
	var kinds []string
	for _, v := range verbs {
		switch v {
		case "get", "list", "watch":
			v = "read"
		case "create", "update", "patch", "delete", "deletecollection":
			v = "change"
		case "*":
			v = "do everything to"
		}
		kinds = append(kinds, v)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// careful tells which of the powers over a resource are worth a second look
// (https://kubernetes.io/docs/concepts/security/rbac-good-practices/).
func careful(group, resource string, verbs []string) []string {
	var list []string
	has := func(any ...string) bool {
		return slices.ContainsFunc(verbs, func(v string) bool { return v == "*" || slices.Contains(any, v) })
	}
	changes := has("create", "update", "patch", "delete", "deletecollection")
	is := func(g string, names ...string) bool {
		return (group == g || group == "*") && (resource == "*" || slices.Contains(names, resource))
	}
	if group == "*" && resource == "*" && has() {
		return []string{"do everything"}
	}
	if is("", "secrets") && has("get", "list", "watch") {
		list = append(list, "read secrets")
	}
	if is("", "secrets") && changes {
		list = append(list, "change secrets")
	}
	if is("", "pods/exec", "pods/attach", "pods/portforward") && has("create", "get") {
		list = append(list, "enter pods")
	}
	if is("", "serviceaccounts/token") && has("create") {
		list = append(list, "make tokens of service accounts")
	}
	if is("", "users", "groups", "serviceaccounts") && has("impersonate") {
		list = append(list, "act as others")
	}
	if is("", "nodes", "nodes/proxy") && (changes || resource == "nodes/proxy") {
		list = append(list, "change nodes")
	}
	if is("", "pods") && has("create") || is("apps", "deployments", "daemonsets", "statefulsets") && has("create", "update", "patch") {
		list = append(list, "run pods")
	}
	if is("rbac.authorization.k8s.io", "clusterroles", "roles", "clusterrolebindings", "rolebindings") && (changes || has("bind", "escalate")) {
		list = append(list, "grant rights")
	}
	if is("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "validatingwebhookconfigurations") && changes {
		list = append(list, "change admission webhooks")
	}
	if is("certificates.k8s.io", "certificatesigningrequests/approval", "signers") && has("update", "patch", "approve", "sign") {
		list = append(list, "approve certificates")
	}
	if is("apiextensions.k8s.io", "customresourcedefinitions") && changes {
		list = append(list, "change CRDs")
	}
	return list
}
