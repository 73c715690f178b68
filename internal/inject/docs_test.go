package inject_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/differences.md names exists.
func TestDifferencesNameTests(t *testing.T) {
	doc := string(read(t, "../../docs", "differences.md"))
	var sources strings.Builder
	err := filepath.WalkDir("../..", func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, "_test.go") {
			sources.Write(read(t, ".", file))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(doc, -1) {
		if !strings.Contains(sources.String(), "func "+m[1]+"(") {
			t.Errorf("there is no %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`TestScripts/([\\w-]+)`").FindAllStringSubmatch(doc, -1) {
		read(t, "../cli/testdata/script", m[1]+".txtar")
	}
	cases := loadCases(t)
	for _, m := range regexp.MustCompile("`(?:TestCases/)?([a-z]+(?:-[a-z]+)+)`").FindAllStringSubmatch(doc, -1) {
		if _, ok := cases[m[1]]; !ok && !notCases[m[1]] {
			t.Errorf("there is no case %s", m[1])
		}
	}
}

// notCases are words of the document that look like the name of a case.
var notCases = map[string]bool{"istio-proxy": true, "istio-iptables": true, "kube-inject": true}
