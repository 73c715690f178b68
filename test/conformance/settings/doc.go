// Package settings compares what ingraft makes of mesh configurations, values,
// injection configurations and annotations with what the mesh makes of them:
// on documents that are generated from the mesh's own types, sound and broken.
package settings
