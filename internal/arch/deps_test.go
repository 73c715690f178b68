package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forbidden lists what must not be linked into the program, even indirectly,
// each with the reason. A path stands for the packages below it, too.
var forbidden = []struct{ path, why string }{
	{"k8s.io/client-go/kubernetes", "typed clients and their scheme cost 3 ms at every start; use internal/cluster"},
	{"helm.sh/helm", "costs 6 to 20 ms at every start; use internal/chart"},
	{"github.com/santhosh-tekuri/jsonschema", "compiles schemas for 8 ms at every start"},
	{"istio.io/istio", "only its charts and profiles are a dependency"},
}

// allowed are exceptions of the above.
var allowed = []string{"istio.io/istio/manifests"}

// belongs names the one room that may import a module.
var belongs = map[string]string{
	"k8s.io/client-go": "internal/cluster",
	"istio.io/istio":   "internal/chart",
	"github.com/spf13": "internal/cli",
}

func TestForbiddenPackages(t *testing.T) {
	for _, line := range goList(t, "-deps", "-f", "{{.ImportPath}}") {
		for _, f := range forbidden {
			if within(line, f.path) && !slices.Contains(allowed, line) {
				t.Errorf("%s is linked in: %s", line, f.why)
			}
		}
	}
}

func TestModulesBelongToRooms(t *testing.T) {
	for _, line := range goList(t, "-f", "{{.ImportPath}} {{range .Imports}}{{.}} {{end}}") {
		importer, imports, _ := strings.Cut(line, " ")
		for _, imported := range strings.Fields(imports) {
			for path, room := range belongs {
				if within(imported, path) && !within(importer, module+room) {
					t.Errorf("%s imports %s, which is for %s alone", importer, imported, room)
				}
			}
		}
	}
}

// goList runs go list over the program's packages and returns its lines.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	args = append(append([]string{"list"}, args...), module+"cmd/...", module+"internal/...")
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// Every dependency that go.mod states directly has its line of why.
func TestDependenciesAreExplained(t *testing.T) {
	root := filepath.Join("..", "..")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	why, err := os.ReadFile(filepath.Join(root, "docs", "decisions", "001-dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for line := range strings.Lines(string(mod)) {
		f := strings.Fields(line)
		if len(f) == 2 && strings.HasPrefix(f[1], "v") {
			direct++
			if !strings.Contains(string(why), f[0]) {
				t.Errorf("docs/decisions/001-dependencies.md does not say why %s is a dependency", f[0])
			}
		}
	}
	if direct == 0 {
		t.Error("no dependency was found in go.mod")
	}
}
