//go:build !race

package portion

const race = false
