package diag

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the word of among that a writer of word most likely meant:
// the one that the fewest edits (letters added, dropped, changed or swapped
// with their neighbour; upper and lower case count as equal) lead to, and the
// first of them where several are as near. It returns "" where nothing is
// near: more than a third of the letters would have to change.
func Nearest(word string, among []string) string {
	if len(word) > 256 {
		return "" // not a misspelt name, and the cost is quadratic
	}
	folded := []rune(strings.ToLower(word))
	best, least := "", len(folded)/3+1
	for _, candidate := range among {
		if d := utf8.RuneCountInString(candidate) - len(folded); d >= least || -d >= least {
			continue
		}
		if d := edits(folded, []rune(strings.ToLower(candidate))); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Distance returns the number of edits, as Nearest counts them, that lead from
// one word to another. The cost is the product of their lengths.
func Distance(a, b string) int {
	return edits([]rune(strings.ToLower(a)), []rune(strings.ToLower(b)))
}

// edits returns the number of edits between two words (the optimal string
// alignment distance).
func edits(a, b []rune) int {
	var before, last, row []int
	last = make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
