package injection

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// injectPackage is the package of the peer whose statements are counted.
const injectPackage = peerModule + "/pkg/kube/inject"

// leastCoverage is the share of the package's statements that a whole run has
// to reach.
const leastCoverage = 0.85

// TestMain prints what a run counted and what it reached of the peer. A whole
// run (-whole) fails if it reached too little, since a comparison says nothing
// about code that never ran, and if docs/conformance.md says something else.
func TestMain(m *testing.M) {
	whole := flag.Bool("whole", false, "the run is a whole one: too little coverage of the peer fails it, and so does a stale page")
	update := flag.Bool("update", false, "write docs/conformance.md")
	flag.Parse()
	debug.SetGCPercent(300) // a third of the time went to the collector; it takes some hundred megabytes more
	code := m.Run()
	for _, t := range report.tallies {
		fmt.Print(t)
	}
	var reached *coverage
	if profile := flag.Lookup("test.coverprofile").Value.String(); profile != "" {
		var err error
		if reached, err = readCoverage(profile); err != nil {
			fmt.Fprintln(os.Stderr, "reading the coverage of the peer:", err)
			os.Exit(1)
		}
		fmt.Print(reached)
	}
	if *whole && code == 0 {
		if reached != nil && !reached.enough() {
			fmt.Println("FAIL: the run reached too little of the peer")
			code = 1
		}
		if err := report.check(reached, *update); err != nil {
			fmt.Println("FAIL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// block is a run of statements in a source file of the peer.
type block struct {
	file                       string
	line, col, endLine, endCol int
	statements, count          int
}

func (b *block) contains(line, col int) bool {
	after := line > b.line || line == b.line && col >= b.col
	before := line < b.endLine || line == b.endLine && col <= b.endCol
	return after && before
}

// waypoint is a way through the peer that matters by itself.
type waypoint struct {
	kind, function, text string
	line                 int
	hit                  bool
	// impossible says why no input leads here; "" where one must.
	impossible string
}

// coverage is what a run reached of the peer's package.
type coverage struct {
	statements, reached int
	paths               []waypoint
}

func (c *coverage) share() float64 { return float64(c.reached) / float64(max(c.statements, 1)) }

func (c *coverage) missed() []waypoint {
	return slices.DeleteFunc(slices.Clone(c.paths), func(p waypoint) bool { return p.hit || p.impossible != "" })
}

func (c *coverage) enough() bool { return c.share() >= leastCoverage && len(c.missed()) == 0 }

// paths counts those of a kind: hit, all that can be, and those that cannot.
func (c *coverage) count(kind string) (hit, all, excused int) {
	for _, p := range c.paths {
		switch {
		case p.kind != kind:
		case p.hit:
			hit, all = hit+1, all+1
		case p.impossible != "":
			excused++
		default:
			all++
		}
	}
	return hit, all, excused
}

var pathKinds = []string{"refusal", "override"}

func (c *coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coverage of %s: %.1f%% of %d statements\n", injectPackage, 100*c.share(), c.statements)
	for _, kind := range pathKinds {
		hit, all, excused := c.count(kind)
		fmt.Fprintf(&b, "%s paths: %d of %d hit, %d more that no input reaches\n", kind, hit, all, excused)
	}
	for _, p := range c.missed() {
		fmt.Fprintf(&b, "  not hit: %s in %s, line %d: %s\n", p.kind, p.function, p.line, p.text)
	}
	return b.String()
}

// markdown writes the coverage for the documentation, with every path.
func (c *coverage) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Statements of `%s`: %.1f %% of %d (at least %.0f %% are asked for).\n", injectPackage, 100*c.share(), c.statements, 100*leastCoverage)
	for _, kind := range pathKinds {
		hit, all, excused := c.count(kind)
		fmt.Fprintf(&b, "\n### %s paths: %d of %d hit, %d that no input reaches\n\n", strings.ToUpper(kind[:1])+kind[1:], hit, all, excused)
		for _, p := range c.paths {
			if p.kind != kind {
				continue
			}
			state := "hit"
			switch {
			case p.hit:
			case p.impossible != "":
				state = "not reachable: " + p.impossible
			default:
				state = "NOT HIT"
			}
			fmt.Fprintf(&b, "- `%s`, line %d: %s\n", p.function, p.line, state)
		}
	}
	return b.String()
}

// readCoverage reads a profile as go test writes it.
func readCoverage(file string) (*coverage, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	blocks := map[string]*block{}
	s := bufio.NewScanner(bytes.NewReader(data))
	for s.Scan() {
		name, rest, ok := strings.Cut(s.Text(), ":")
		if !ok || filepath.Dir(name) != injectPackage {
			continue
		}
		b := block{file: filepath.Base(name)}
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.endLine, &b.endCol, &b.statements, &b.count); err != nil {
			return nil, fmt.Errorf("line %q: %w", s.Text(), err)
		}
		key := name + rest[:strings.LastIndexByte(rest, ' ')]
		if old := blocks[key]; old != nil {
			old.count += b.count
			continue
		}
		blocks[key] = &b
	}
	c := &coverage{}
	var sorted []*block
	for _, b := range blocks {
		c.statements += b.statements
		if b.count > 0 {
			c.reached += b.statements
		}
		sorted = append(sorted, b)
	}
	if len(sorted) == 0 {
		return nil, fmt.Errorf("%s holds nothing of %s: run with -coverpkg=%s", file, injectPackage, injectPackage)
	}
	c.paths, err = pathsOf(sorted)
	return c, err
}

// injecting lists the source files of the peer that inject; the others watch
// files, count and serve.
var injecting = []string{"inject.go", "webhook.go", "app_probe.go", "validate.go", "openshift.go"}

// overriding lists the functions of the peer that keep what the user says
// about injected containers: every block of them is a path.
var overriding = []string{
	"reapplyOverwrittenContainers", "adjustInitContainerUser", "reinsertOverrides", "stripPod", "parseStatus", "injectionStatus",
	"applyContainer", "applyInitContainer", "moveContainer", "modifyContainers", "mergeOrAppendProbers", "isSidecarUserMatchingAppUser", "updateClusterEnvs",
}

// pathsOf finds in the peer's source the statements that refuse (they return
// an error that is not nil) and the blocks that override, and tells which of
// them the blocks that ran contain.
func pathsOf(blocks []*block) ([]waypoint, error) {
	var paths []waypoint
	fset := token.NewFileSet()
	for _, file := range injecting {
		parsed, err := parser.ParseFile(fset, filepath.Join(peerDir(), "pkg", "kube", "inject", file), nil, 0)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || serving(f.Name.Name) {
				continue
			}
			override := slices.Contains(overriding, f.Name.Name)
			add := func(kind string, n ast.Node) {
				pos := fset.Position(n.Pos())
				p := waypoint{kind: kind, function: f.Name.Name, line: pos.Line, text: sourceOf(fset, n)}
				p.hit = hit(blocks, file, pos)
				p.impossible = impossible[fmt.Sprintf("%s:%d", file, p.line)]
				paths = append(paths, p)
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ReturnStmt:
					if refuses(f, n) {
						add("refusal", n)
					}
				case *ast.BlockStmt:
					if override && len(n.List) > 0 {
						if _, isSwitch := n.List[0].(*ast.CaseClause); !isSwitch {
							add("override", n.List[0])
						}
					}
				case *ast.CaseClause:
					if override && len(n.Body) > 0 {
						add("override", n.Body[0])
					}
				}
				return true
			})
		}
	}
	return paths, nil
}

// refuses tells that a return statement of a function that ends in an error
// (or makes an answer of one) returns one.
func refuses(f *ast.FuncDecl, r *ast.ReturnStmt) bool {
	results := f.Type.Results
	if results == nil || len(r.Results) == 0 {
		return false
	}
	last := r.Results[len(r.Results)-1]
	if call, ok := last.(*ast.CallExpr); ok {
		if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "toAdmissionResponse" {
			return true
		}
	}
	kind, ok := results.List[len(results.List)-1].Type.(*ast.Ident)
	if !ok || kind.Name != "error" {
		return false
	}
	name, ok := last.(*ast.Ident)
	return !ok || name.Name != "nil"
}

func sourceOf(fset *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, fset, n); err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(b.String(), "\n")
	return line
}

// hit tells whether the innermost block at a place ran.
func hit(blocks []*block, file string, pos token.Position) bool {
	var inner *block
	for _, b := range blocks {
		if b.file == file && b.contains(pos.Line, pos.Column) && (inner == nil || inner.line < b.line || inner.line == b.line && inner.col < b.col) {
			inner = b
		}
	}
	return inner != nil && inner.count > 0
}

// serving tells the functions that load, watch and serve rather than inject.
func serving(name string) bool {
	switch name {
	case "loadConfig", "NewWebhook", "updateConfig", "unmarshalConfig", "serveInject", "NewFileWatcher":
		return true
	}
	return false
}

// impossible names the paths of the pinned release that no input reaches, by
// file and line, with the reason. Where the module moves on, they have to be
// looked at again.
var impossible = map[string]string{
	"inject.go:498":    "values that are no map are refused when they are read",
	"inject.go:658":    reading,
	"inject.go:673":    encoding,
	"inject.go:680":    writing,
	"inject.go:683":    writing,
	"inject.go:834":    "asks a webhook of the cluster, which is the work of --webhookConfig and no cluster is here for",
	"inject.go:888":    ownPatch,
	"inject.go:892":    ownPatch,
	"inject.go:903":    encoding,
	"inject.go:908":    ownPatch,
	"inject.go:913":    ownPatch,
	"webhook.go:312":   "no caller asks for another order",
	"webhook.go:384":   "what is no map was refused a few lines before",
	"webhook.go:471":   encoding,
	"webhook.go:482":   "none of the errors that it hands on can come",
	"webhook.go:492":   encoding,
	"webhook.go:518":   "the same text was read before, by reinsertOverrides",
	"webhook.go:548":   typed,
	"webhook.go:571":   typed,
	"webhook.go:580":   encoding,
	"webhook.go:731":   encoding,
	"webhook.go:735":   encoding,
	"webhook.go:759":   "the function that is called never returns an error",
	"webhook.go:765":   "the annotation was validated before",
	"webhook.go:792":   "the annotation was validated before",
	"webhook.go:866":   "the text was made by the injector itself",
	"webhook.go:875":   encoding,
	"webhook.go:968":   encoding,
	"webhook.go:1075":  encoding,
	"webhook.go:1091":  encoding,
	"webhook.go:1115":  "a pod is a struct",
	"webhook.go:1120":  "the text was made by the injector itself",
	"webhook.go:1141":  encoding,
	"webhook.go:1161":  encoding,
	"webhook.go:1168":  typed,
	"webhook.go:1172":  typed,
	"openshift.go:109": "splitting a text gives at least one part",
	"openshift.go:137": scanned,
	"openshift.go:148": scanned,
}

// Why there are errors that do not come.
const (
	reading  = "reading fails: no matter of what is read"
	writing  = "writing fails: no matter of what is written"
	encoding = "a value of a Kubernetes type can always be encoded"
	ownPatch = "the patch was made of that very pod"
	typed    = "both sides of the merge were encoded from Kubernetes types, so that each item has its key"
	scanned  = "scanning fewer values is an error, which was looked at before"
)
