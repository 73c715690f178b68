// Package kube knows the objects of Kubernetes that matter to injection: which
// kinds hold a pod template and where, the types and merge keys of a pod's
// fields, and how a pod's owner is told from the pod.
package kube

import (
	"strings"

	"github.com/ingraft/ingraft/internal/source"
)

// Ref names an object.
type Ref struct {
	APIVersion, Kind, Namespace, Name string
}

// String returns "Kind namespace/name", without what is empty.
func (r Ref) String() string {
	s := r.Name
	if r.Namespace != "" {
		s = r.Namespace + "/" + s
	}
	if r.Kind != "" {
		s = strings.TrimSuffix(r.Kind+" "+s, " ")
	}
	return s
}

// RefOf reads apiVersion, kind and metadata of an object.
func RefOf(root *source.Node) Ref {
	return Ref{
		APIVersion: root.Get("apiVersion").Str(),
		Kind:       root.Get("kind").Str(),
		Namespace:  root.Get("metadata", "namespace").Str(),
		Name:       root.Get("metadata", "name").Str(),
	}
}
