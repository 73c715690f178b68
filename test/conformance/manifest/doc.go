// Package manifest runs ingraft's manifest generate beside the mesh's own
// installer, in one process, and compares what they make object for object.
package manifest
