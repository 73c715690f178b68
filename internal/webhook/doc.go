// Package webhook is the admission webhook: an HTTP handler that reads the
// review of an API server, asks the engine of package inject, and answers with
// a JSON patch against the bytes that came in. Nothing is decoded into types of
// Kubernetes on the way, so that fields which ingraft does not know survive.
package webhook
