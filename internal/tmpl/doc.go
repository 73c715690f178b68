// Package tmpl renders injection templates: Go's text/template with Sprig's
// functions and those of the mesh's injector. Rendering reads no environment
// and no clock; what a template asks of either comes from the request.
//
// A template is rendered by text/template (reference.go), or by a program that
// does the same faster (syntax.go, eval.go, call.go), or, for many pods, by a
// plan that does not render at all (trace.go, guard.go, plan.go, mold.go). The
// later ones give up where they are not sure, and never differ from the first:
// docs/decisions/007-templates.md.
package tmpl
