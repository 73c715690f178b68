package inject

import (
	"fmt"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// OpenShift gives every namespace ranges of user and group IDs, as annotations
// of the Namespace.

// proxyIDs returns the user and the group that the proxy runs as: the last of
// the namespace's ranges, or 1337 for both where it has none.
func proxyIDs(namespace *source.Node) (uid, gid int64) {
	uid, gid = defaultProxyID, defaultProxyID
	annotations := namespace.Get("metadata", "annotations")
	if annotations.Len() == 0 {
		return uid, gid
	}
	users := annotations.Get(annot.OpenShiftUIDRange).Scalar()
	if _, last, ok := parseIDRange(users); ok {
		uid = last
	}
	groups := users
	if n := annotations.Get(annot.OpenShiftSupplementalGroups); !n.IsNull() {
		groups = n.Scalar()
	}
	for i, part := range strings.Split(groups, ",") {
		_, last, ok := parseIDRange(part)
		if !ok {
			return uid, defaultProxyID // one bad range spoils the list
		}
		if i == 0 {
			gid = last
		}
	}
	return uid, gid
}

// checkIDRanges finds ranges of IDs of a Namespace that the control plane cannot
// read, and without a word replaces by its own user.
func checkIDRanges(namespace *source.Node) diag.List {
	var list diag.List
	annotations := namespace.Get("metadata", "annotations")
	for _, name := range [...]string{annot.OpenShiftUIDRange, annot.OpenShiftSupplementalGroups} {
		n := annotations.Get(name)
		if n.IsNull() {
			continue
		}
		ranges, who := []string{n.Scalar()}, "user"
		if name == annot.OpenShiftSupplementalGroups {
			ranges, who = strings.Split(n.Scalar(), ","), "group"
		}
		for _, part := range ranges {
			if _, _, ok := parseIDRange(part); ok {
				continue
			}
			list = append(list, &diag.Diagnostic{
				Code: CodeValueForm, Severity: diag.Warning, Span: n.Span(),
				Message: fmt.Sprintf("annotation %s: %q is no range of %ss: sidecars in the namespace run as %s %d, as where there is none", name, part, who, who, defaultProxyID),
				Fix:     "write the first and how many, or the first and the last: 1000650000/10000 or 1000650000-1000659999",
			})
			break
		}
	}
	return list
}

// parseIDRange reads "first/size" or "first-last", 32 bits wide. Like the
// control plane it does not mind what follows.
func parseIDRange(s string) (first, last int64, ok bool) {
	var a, b uint32
	if strings.Contains(s, "/") {
		if n, err := fmt.Sscanf(s, "%d/%d", &a, &b); err != nil || n != 2 {
			return 0, 0, false
		}
		return int64(a), int64(a + b - 1), true
	}
	if n, err := fmt.Sscanf(s, "%d-%d", &a, &b); err != nil || n != 2 {
		return 0, 0, false
	}
	return int64(a), int64(b), true
}

// onOpenShift tells whether the pod will live on OpenShift: the control plane
// is told so, or the namespace has a range of users.
func onOpenShift(r *Request) bool {
	return r.getenv("PLATFORM") == "openshift" ||
		!r.Namespace.Get("metadata", "annotations", annot.OpenShiftUIDRange).IsNull()
}

// dropAssignedUser removes user and group from the user's own istio-proxy
// container where its user is the one of the application. OpenShift gives all
// containers of a pod the same user, also where nobody wrote one; a proxy that
// runs as the application's user would not see the application's traffic.
func dropAssignedUser(pod *source.Node) *source.Node {
	proxy, at := findContainer(pod, proxyContainer)
	context := present(proxy.Get("securityContext"))
	if context == nil {
		return pod
	}
	var proxyUser, appUser int64
	for _, list := range [...]string{listContainers, listInitContainers} {
		for _, c := range specList(pod, list) {
			user, ok := c.Get("securityContext", "runAsUser").Int()
			switch nameOf(c) {
			case proxyContainer:
				if ok {
					proxyUser = user
				}
			case initContainer, validationContainer:
			default:
				if ok {
					appUser = user
				}
			}
		}
	}
	if proxyUser != appUser {
		return pod
	}
	rest := context.Without("runAsUser").Without("runAsGroup")
	if rest == context {
		return pod
	}
	return withContainer(pod, at, proxy.With("securityContext", rest))
}
