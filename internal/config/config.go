package config

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Policies of an injection configuration (key policy).
const (
	PolicyEnabled  = "enabled"
	PolicyDisabled = "disabled"
)

// Template is the text of one injection template.
type Template struct {
	Name string
	// Text holds the template's text; its places map to the line of the file
	// or of the ConfigMap that it came from.
	Text *source.Text
}

// Injection is an injection configuration: key "config" of the ConfigMap
// istio-sidecar-injector (see the mesh's pkg/kube/inject.Config).
type Injection struct {
	Text *source.Text
	// Bare tells that the text was no configuration but a template; all else
	// is then the default.
	Bare bool
	// Shape tells how the templates are applied. With release.Spec there is one
	// template, named OldTemplate.
	Shape            release.Shape
	Policy           string
	Templates        []Template // sorted by name
	DefaultTemplates []string   // never empty
	Aliases          map[string][]string
	NeverInject      []Selector
	AlwaysInject     []Selector
	// InjectedAnnotations are added to every injected pod.
	InjectedAnnotations map[string]string
	// Keys are the keys of the document, where the injector knows them.
	Keys []release.Use
}

// Values is the values document of an install: key "values" of the same
// ConfigMap.
type Values struct {
	Text *source.Text
	Root *source.Node
	// Map is what templates see as .Values: numbers are float64, as after
	// sigs.k8s.io/yaml.
	Map map[string]any
}

// Mesh is a mesh configuration with the control plane's defaults applied.
type Mesh struct {
	Text *source.Text
	Root *source.Node
	// Config is never nil, nor is its DefaultConfig. It must not be changed.
	Config *meshv1alpha1.MeshConfig
	// Release is the one that it was read as; the zero one is the newest.
	Release release.Release
	// Former holds what older releases had besides.
	Former Former
}
