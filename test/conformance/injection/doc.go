// Package injection holds the tests that inject with ingraft and with the
// mesh's own injector, side by side in one process, and compare the results.
package injection
