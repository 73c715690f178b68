// Package release knows the releases of the mesh as far as their injection
// configurations differ: which functions, fields and keys each of them had, and
// how to tell from a configuration which release it was written for.
package release
