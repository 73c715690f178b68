// Package annot is the one table of the annotations and labels that injection
// reads or writes, and of all others that the mesh knows: name, kind
// (annotation or label), where it applies, what its value may be, and what it
// means. It is the only place in ingraft where such a name is spelled.
package annot
