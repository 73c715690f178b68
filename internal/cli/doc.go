// Package cli holds the commands: one file a command, each of which parses its
// flags, calls one verb and prints what it returns.
package cli
