// Package conformance holds the tests that run ingraft and the mesh's own Go
// module side by side. It is a module of its own, so that nothing of the mesh
// but its charts is ever linked into ingraft.
package conformance
