// Package portion says how much of an exhaustive test runs. Under the race
// detector, which takes seven times as long and finds nothing more in work
// that is done in one goroutine, it is a portion, always the same; without it
// everything. make test does both.
package portion

import "hash/fnv"

// Whole says that everything runs.
const Whole = !race

// Takes reports whether a case runs, by its name: each, or one in so many.
func Takes(name string, oneIn uint32) bool {
	if Whole {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32()%oneIn == 0
}

// Of returns how many of n cases run, or how large something of size n is.
func Of(n, oneIn int) int {
	if Whole {
		return n
	}
	return n / oneIn
}
