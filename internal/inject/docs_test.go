package inject_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/inject"
)

// docs/precedence.md is printed from the list of rules.
func TestPrecedenceDocIsFresh(t *testing.T) {
	const path = "../../docs/precedence.md"
	var b bytes.Buffer
	b.WriteString("# Who is injected\n\nThe first rule that decides ends the decision. This table is printed from the rules\nthemselves (`go test ./internal/inject -run TestPrecedenceDocIsFresh -update`).\n\n")
	b.WriteString("| | rule | what it does | asked |\n|---|---|---|---|\n")
	for i, r := range inject.Newest().Precedence() {
		asked := "always"
		if r.AdmissionOnly {
			asked = "at admission"
		} else if r.CommandLineOnly {
			asked = "on the command line"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", i+1, r.Name, r.Effect, asked)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what the rules say (%v); write it with -update", path, err)
	}
}

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
