package diag_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/diag"
)

// Every code that the program can print is in the table, and the table holds
// nothing else.
func TestTableHoldsTheCodesInUse(t *testing.T) {
	code := regexp.MustCompile(`"(IGF[0-9]+)"`)
	used := map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		if filepath.Base(file) == "codes.go" && filepath.Base(filepath.Dir(file)) == "diag" {
			return nil
		}
		src, err := os.ReadFile(file)
		for _, m := range code.FindAllSubmatch(src, -1) {
			used[string(m[1])] = file
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		diag.CodeSyntax, diag.CodeNotObject, diag.CodeNoKind, diag.CodeDuplicateKey, diag.CodeSkipped, diag.CodeWord, diag.CodeNumber, diag.CodeTag,
		diag.CodeNoRecord, diag.CodeStaleRecord, diag.CodeGuess, diag.CodeNoPatch,
	} {
		used[id] = "diag"
	}
	for id, file := range used {
		if _, ok := diag.LookupCode(id); !ok {
			t.Errorf("%s uses %s, which the table of codes lacks", file, id)
		}
	}
	for _, c := range diag.Codes() {
		if _, ok := used[c.ID]; !ok {
			t.Errorf("%s is in the table, but nothing uses it", c.ID)
		}
	}
}

func TestTableIsWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^IGF[0-9]{4}$`)
	if !slices.IsSortedFunc(diag.Codes(), func(a, b diag.Code) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the table is not sorted by ID, so that codes are not found")
	}
	titles := map[string]string{}
	for i, c := range diag.Codes() {
		if !id.MatchString(c.ID) || c.Title == "" || c.Explanation == "" {
			t.Errorf("incomplete: %+v", c)
		}
		if i > 0 && diag.Codes()[i-1].ID == c.ID {
			t.Errorf("%s is in the table twice", c.ID)
		}
		if c.Title != strings.ToLower(c.Title[:1])+c.Title[1:] || strings.HasSuffix(c.Title, ".") {
			t.Errorf("%s: title %q: want lower case, no full stop", c.ID, c.Title)
		}
		if !strings.HasSuffix(c.Explanation, ".") {
			t.Errorf("%s: explanation %q: want whole sentences", c.ID, c.Explanation)
		}
		if other, ok := titles[c.Title]; ok {
			t.Errorf("%s and %s have one title", c.ID, other)
		}
		titles[c.Title] = c.ID
	}
	if _, ok := diag.LookupCode("IST0101"); ok {
		t.Error("a code of the mesh was found in the table of ingraft's own")
	}
}
