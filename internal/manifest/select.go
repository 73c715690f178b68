package manifest

import (
	"slices"
	"strings"

	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// partCRDs is the word for all CustomResourceDefinitions.
const partCRDs = "crds"

// Select returns the objects that a list of words names: crds, a kind, or a
// component (in either spelling: ingress-gateway, ingressGateways). The word
// that names nothing at all, if there is one, comes with the nearest that
// does.
func Select(objects []Object, words []string) (selected func(Object) bool, unknown, near string) {
	known := Parts(objects)
	for _, word := range words {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, word) }) {
			return nil, word, diag.Nearest(word, known)
		}
	}
	return func(o Object) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return strings.EqualFold(word, o.Kind) || o.Kind == kindCRD && strings.EqualFold(word, partCRDs) ||
				slices.ContainsFunc(namesOf(o.Component), func(name string) bool { return strings.EqualFold(name, word) })
		})
	}, "", ""
}

// namesOf returns the names that a component goes by.
func namesOf(name string) []string {
	for _, c := range components {
		if c.name == name {
			return []string{c.name, c.key}
		}
	}
	return []string{name}
}

// Parts lists the words that Select knows: all components, crds, and the kinds
// among the objects.
func Parts(objects []Object) []string {
	parts := []string{partCRDs, kindCRD, "Namespace"}
	for _, c := range components {
		parts = append(parts, c.name, c.key)
	}
	for _, o := range objects {
		parts = append(parts, o.Kind)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// ComponentNames lists the components in the order in which they are rendered.
func ComponentNames() []string {
	var names []string
	for _, c := range components {
		names = append(names, c.name)
	}
	return names
}

// WithNamespaces returns the objects, and before them a Namespace for each
// namespace that they are in, but for those that a cluster has anyway.
func WithNamespaces(objects []Object) []Object {
	var names []string
	for _, o := range objects {
		if o.Namespace != "" && o.Namespace != "default" && !strings.HasPrefix(o.Namespace, "kube-") {
			names = append(names, o.Namespace)
		}
	}
	slices.Sort(names)
	var out []Object
	for _, name := range slices.Compact(names) {
		o := Object{Component: "base", Root: source.NewMap(
			source.F("apiVersion", source.NewString("v1")),
			source.F("kind", source.NewString("Namespace")),
			source.F("metadata", source.NewMap(source.F("name", source.NewString(name)))),
		)}
		o.APIVersion, o.Kind, o.Name = "v1", "Namespace", name
		out = append(out, o)
	}
	return append(out, objects...)
}
