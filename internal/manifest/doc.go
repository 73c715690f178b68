// Package manifest knows what an install puts into a cluster: profiles,
// IstioOperator files and settings become one specification, of which every
// value knows its place; the specification becomes components, and these the
// objects that their charts make of them, patched and in the order in which
// they are to be applied.
//
// What comes out equals, object for object, what the installer of the mesh
// makes (release 1.31; test/conformance/manifest holds it to that), but for
// what docs/differences.md lists.
package manifest
