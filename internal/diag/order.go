package diag

import (
	"cmp"
	"slices"
)

// Sorted returns the findings in the order in which they are printed: the
// files in the order in which the list first names them, in each file by
// place (those without a line first), at one place the gravest first. Exact
// repetitions are left out. The list itself is not changed.
func Sorted(l List) List {
	type placed struct {
		d         *Diagnostic
		file      int
		line, col int
	}
	files := map[string]int{}
	all := make([]placed, 0, len(l))
	for _, d := range l {
		p := d.Pos()
		if _, ok := files[p.File]; !ok {
			files[p.File] = len(files)
		}
		all = append(all, placed{d, files[p.File], p.Line, p.Col})
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(
			cmp.Compare(a.file, b.file),
			cmp.Compare(a.line, b.line),
			cmp.Compare(a.d.Document, b.d.Document),
			cmp.Compare(a.col, b.col),
			cmp.Compare(b.d.Severity, a.d.Severity),
			cmp.Compare(a.d.Code, b.d.Code),
		)
	})
	sorted := make(List, 0, len(all))
	seen := map[[3]string]bool{}
	for _, p := range all {
		key := [3]string{p.d.Error(), p.d.Object, p.d.Fix}
		if !seen[key] {
			seen[key] = true
			sorted = append(sorted, p.d)
		}
	}
	return sorted
}

// Count returns how many findings have the given severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}
