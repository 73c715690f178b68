package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// annotationName is what the name of an annotation or label with a prefix looks
// like, or the prefix: a domain, a slash, and what is neither a version (then it
// is an API) nor a kind.
var annotationName = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}/([a-z][A-Za-z0-9._-]*)?$`)

var apiVersion = regexp.MustCompile(`/v[0-9]+((alpha|beta)[0-9]+)?$`)

// notAnnotations are texts of that form that mean something else.
var notAnnotations = map[string]string{
	"registry.istio.io/release": "the registry of images",
	"kustomize.config.k8s.io/":  "the API group of kustomization files",
}

// Names of annotations and labels are written in one place, internal/annot.
func TestAnnotationNamesStandInTheTable(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, folder := range []string{"cmd", "internal"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || file == "internal/annot"):
				return fs.SkipDir
			case d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			for at, text := range literals(t, filepath.Join(root, file)) {
				if notAnnotations[text] != "" {
					seen[text] = true
				} else if annotationName.MatchString(text) && !apiVersion.MatchString(text) {
					t.Errorf("%s: %q is written out; its name belongs into internal/annot", at, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for text := range notAnnotations {
		if !seen[text] {
			t.Errorf("%q is an exception, but is nowhere", text)
		}
	}
	for _, text := range []string{"istio.io/rev", "a.b.example.com/x-y.z", "install.operator.istio.io/"} {
		if !annotationName.MatchString(text) || apiVersion.MatchString(text) {
			t.Errorf("%q is not taken for a name", text)
		}
	}
}

// literals returns the strings of a file, imports aside, by their places.
func literals(t *testing.T, file string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[files.Position(lit.Pos()).String()] = text
		}
		return true
	})
	return found
}
