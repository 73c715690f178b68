// Package arch holds the rules of the house as ordinary tests.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ingraft/ingraft/"

// layers lists the rooms bottom up, one slice a layer. A room may import rooms
// of the layers below it, and rooms that stand before it in its own layer.
var layers = [][]string{
	{"internal/source", "internal/diag", "internal/release", "deploy"},
	{"internal/kube", "internal/annot", "internal/config", "internal/tmpl"},
	{"internal/inject", "internal/admit", "internal/chart", "internal/undo", "internal/manifest"},
	{"internal/metrics", "internal/certs", "internal/cluster"},
	{"internal/upkeep", "internal/webhook"},
	{"internal/cli"},
	{"cmd/ingraft"},
}

// pure lists what the rooms of the first three layers do not import: they do
// no I/O of their own and read neither clock nor environment.
var pure = []string{
	"os", "os/exec", "os/signal", "log", "log/slog", "net/http", "net",
	"github.com/spf13/cobra", "k8s.io/client-go",
}

// testOnly lists rooms that hold nothing but tests and what serves them.
var testOnly = []string{"internal/arch", "internal/testkit"}

func TestImportsFollowLayers(t *testing.T) {
	rank := map[string]int{}
	pureRoom := map[string]bool{}
	for l, rooms := range layers {
		for _, room := range rooms {
			rank[room] = len(rank)
			pureRoom[room] = l < 3
		}
	}
	for _, room := range testOnly {
		rank[room] = -1
	}
	root := filepath.Join("..", "..")
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || file == "test" || file == "tools" || (file != "." && strings.HasPrefix(d.Name(), "."))) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if len(f.Comments) > 0 && strings.HasPrefix(f.Comments[0].List[0].Text, "//go:build ignore") {
			return nil // a generator: run by go generate, linked into nothing
		}
		room := roomOf(path.Dir(file), rank)
		if room == "" {
			t.Errorf("%s: its folder is in no layer; add it to the table", file)
			return nil
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if local, ok := strings.CutPrefix(imported, module); ok {
				target := roomOf(local, rank)
				if target != room && rank[target] >= rank[room] && rank[room] >= 0 {
					t.Errorf("%s imports %s, which is not below it", file, local)
				}
				continue
			}
			for _, p := range pure {
				if pureRoom[room] && (imported == p || strings.HasPrefix(imported, p+"/") && strings.Contains(p, ".")) {
					t.Errorf("%s imports %s: %s does no I/O of its own", file, imported, room)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roomOf returns the room that a folder belongs to: itself, or the nearest
// folder above it that the table names.
func roomOf(dir string, rank map[string]int) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := rank[dir]; ok {
			return dir
		}
	}
	return ""
}
