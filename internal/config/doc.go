// Package config reads what a control plane is configured with: the injection
// configuration (policy, selectors, templates), the mesh configuration and the
// values of the install, each with the place of every value and the defaults
// that the control plane applies.
package config
