package config

import (
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Detect tells which release a configuration was written for. values may be
// nil.
func Detect(inj *Injection, values *Values) release.Detected {
	return release.Detect(material(inj, values))
}

// Fit returns the releases that have everything that a configuration uses, and
// what narrows them.
func Fit(inj *Injection) (release.Span, []release.Evidence) {
	return release.Fit(material(inj, nil), release.Span{})
}

func material(inj *Injection, values *Values) release.Material {
	m := release.Material{Shape: inj.Shape, Templates: make([]*source.Text, 0, len(inj.Templates))}
	for _, k := range inj.Keys {
		if k.Name != "template" || inj.Shape == release.Spec {
			// Newer configurations carry the key to keep older releases off.
			m.Keys = append(m.Keys, k)
		}
	}
	for _, t := range inj.Templates {
		m.Templates = append(m.Templates, t.Text)
	}
	m.Tag = values.Tag()
	m.TagAt = values.at("global", "tag").Span()
	return m
}
