package manifest

import (
	"cmp"
	"slices"

	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
)

// rank tells when an object is to be applied: what others need comes first.
func rank(ref kube.Ref) int {
	if ref.Kind == kindCRD {
		return -1000
	}
	switch kube.Group(ref.APIVersion) + "/" + ref.Kind {
	case "/Namespace":
		return -2000
	case "/ServiceAccount", "rbac.authorization.k8s.io/ClusterRole":
		return 1
	case "rbac.authorization.k8s.io/ClusterRoleBinding":
		return 2
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration":
		return 3
	case "/ConfigMap":
		return 100
	case "autoscaling/HorizontalPodAutoscaler":
		return 1001
	case "/Service":
		return 10000
	}
	return 1000
}

// inOrder sorts objects into the order in which they are to be applied. Where
// the rank is the same, names decide, so that the order is always the same.
func inOrder(objects []Object) {
	slices.SortStableFunc(objects, func(a, b Object) int {
		return cmp.Or(
			cmp.Compare(rank(a.Ref), rank(b.Ref)),
			cmp.Compare(kube.Group(a.APIVersion), kube.Group(b.APIVersion)),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Namespace, b.Namespace),
		)
	})
}

// Append appends objects as a YAML stream: keys sorted, and behind every
// object, also the last, an empty line and three dashes, as istioctl writes
// them.
func Append(dst []byte, objects []Object) []byte {
	for _, o := range objects {
		if o.made != nil && o.made == o.Root {
			dst = append(append(dst, o.text...), '\n')
		} else {
			dst = source.AppendYAML(dst, o.Root)
		}
		dst = append(dst, "\n---\n"...)
	}
	return dst
}
