// Package undo takes edits of a document back, to the byte, also after other
// edits. What an edit did within a pod template, or within any other part of a
// document, is written down in a Record: which entries it added, and how the
// nodes were spelled that it changed. A record is small, since it names places
// by hashes, or by the caller's handles where there are many, and holds no text
// but that of the nodes that were changed.
//
// The package knows nothing of injection; docs/undo.md describes the format.
package undo
