// Package cluster talks to an API server. It is the only package that knows
// client-go.
package cluster
