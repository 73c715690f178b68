// Package cluster talks to an API server. It is the only package that knows
// client-go, and of that only what costs little at start: rest and clientcmd,
// neither the typed clients nor their scheme. Objects come as nodes of package
// source, read straight from the answer.
package cluster
