// Package source reads streams of YAML and JSON documents into nodes that know
// which bytes spell them.
//
// What a document means is what Kubernetes makes of it: YAML goes through the
// rules of sigs.k8s.io/yaml (YAML 1.1 scalars, string keys, numbers as JSON
// spells them). What a document looks like is kept: every node has a byte
// range, so that an edit can insert, replace or remove just those bytes.
package source
