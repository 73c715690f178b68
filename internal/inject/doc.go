// Package inject is the engine: Compile turns configuration into an Engine,
// and Engine.Run turns a Request into a Result that holds the injected pod and
// the reasons for everything in it. It does no I/O and reads no clock.
package inject
