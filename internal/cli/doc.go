// Package cli holds the commands: one file a command, each of which parses its
// flags, calls one verb and prints what it returns.
//
// The process is a value, [Env], and the outcome an exit code, so that every
// command can be run in a test as users run it.
package cli
