// Package tmpl renders injection templates: Go text/template with Sprig's
// functions and those of the mesh's injector. Rendering reads no environment
// and no clock; what a template asks of either comes from the request.
package tmpl
