// Package annot is the one table of the annotations and labels that injection
// reads or writes: name, kind (annotation or label), where it applies, how its
// value is parsed, and what it means. It is the only place in ingraft where
// such a name is spelled.
package annot
