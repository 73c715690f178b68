package inject_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/kube"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

var update = flag.Bool("update", false, "write what the cases come to into their files")

// A case file is an archive (txtar) that begins with prose and holds
//
//	input.yaml      the workload
//	request         key: value lines: door (admission), native (true), revision,
//	                pod-security LEVEL, env NAME=VALUE, path NAME=VALUE (variables of the request path),
//	                config (default: the configuration that is built in), show
//	                (paths of the pod to compare, separated by blanks); optional
//	config.yaml, mesh.yaml, values.yaml
//	                instead of testdata/config.yaml, no mesh configuration, testdata/values.yaml
//	namespace.yaml  the Namespace; optional
//	again.yaml      values for a second injection, of what the first one made; optional
//	diff            the wanted change of the pod template, as a unified diff
//	findings        the wanted decision, where it is not to inject, and findings,
//	                of the last injection
type caseFile struct {
	path    string
	archive *txtar.Archive
}

func (c *caseFile) file(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func (c *caseFile) set(name string, data []byte) {
	for i, f := range c.archive.Files {
		if f.Name == name {
			c.archive.Files[i].Data = data
			return
		}
	}
	if len(data) > 0 {
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: data})
	}
}

// options returns the values of a key of the request.
func (c *caseFile) options(key string) []string {
	var values []string
	for line := range strings.Lines(string(c.file("request"))) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.TrimSuffix(k, ":") == key {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

func (c *caseFile) option(key string) string {
	if values := c.options(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func loadCases(t testing.TB) map[string]*caseFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no case files", err)
	}
	cases := map[string]*caseFile{}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases[strings.TrimSuffix(filepath.Base(path), ".txtar")] = &caseFile{path, a}
	}
	return cases
}

func (c *caseFile) engine(t testing.TB, opts inject.Options) *inject.Engine {
	t.Helper()
	if c.option("config") == "default" {
		return defaultEngine(t, c.file("mesh.yaml"), c.file("values.yaml"), opts)
	}
	return compile(t, c.or(t, "config.yaml"), c.file("mesh.yaml"), c.or(t, "values.yaml"), opts)
}

// or returns a file of the case, or else the one of that name in testdata.
func (c *caseFile) or(t testing.TB, name string) []byte {
	if data := c.file(name); data != nil {
		return data
	}
	return read(t, "testdata", name)
}

// defaultEngine has the configuration that is built in; values, if any, lie
// over its own.
func defaultEngine(t testing.TB, mesh, values []byte, opts inject.Options) *inject.Engine {
	t.Helper()
	texts, err := renderedOnce()
	if err != nil {
		t.Fatal(err)
	}
	cfg, m, v := texts[0], texts[1], texts[2]
	if mesh != nil {
		m = mesh
	}
	if values != nil {
		v = source.AppendJSON(nil, laidOver(parse(t, string(v)), parse(t, string(values))))
	}
	return compile(t, cfg, m, v, opts)
}

// renderedOnce renders the configuration that is built in.
var renderedOnce = sync.OnceValues(func() (texts [3][]byte, err error) {
	texts[0], texts[1], texts[2], err = builtin.DefaultInjection(builtin.Injection{})
	return texts, err
})

func laidOver(base, over *source.Node) *source.Node {
	if base.Kind() != source.Map || over.Kind() != source.Map {
		return over
	}
	for _, f := range over.Fields() {
		base = base.With(f.Key, laidOver(base.Get(f.Key), f.Value))
	}
	return base
}

func compile(t testing.TB, cfg, mesh, values []byte, opts inject.Options) *inject.Engine {
	t.Helper()
	c, d1 := config.ParseInjection(source.NewText("config.yaml", cfg))
	m, d2 := config.ParseMesh(source.NewText("mesh.yaml", mesh))
	v, d3 := config.ParseValues(source.NewText("values.yaml", values))
	for _, list := range []diag.List{d1, d2, d3} {
		if list.HasErrors() {
			t.Fatal(list[0])
		}
	}
	opts.Eager = true
	e, d := inject.Compile(c, m, v, opts)
	if d.HasErrors() {
		t.Fatal(d[0])
	}
	return e
}

// request makes the request of a case.
func (c *caseFile) request(t testing.TB) *inject.Request {
	t.Helper()
	w, ok := kube.WorkloadOf(parse(t, string(c.file("input.yaml"))), nil)
	if !ok {
		t.Fatal("input.yaml is no workload")
	}
	r := &inject.Request{
		Pod: w.Template, Owner: w.Ref, NamespaceName: w.Ref.Namespace,
		Revision: c.option("revision"), NativeSidecars: c.option("native") == "true",
		Now: time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC),
	}
	if w.Ref.Kind == "Pod" {
		r.Owner = kube.OwnerOf(w.Template)
	}
	if c.option("door") == "admission" {
		r.Door = inject.Admission
	}
	if ns := c.file("namespace.yaml"); ns != nil {
		r.Namespace = parse(t, string(ns))
		r.NamespaceName = r.Namespace.Get("metadata", "name").Str()
	}
	level, err := inject.ParsePodSecurity(c.option("pod-security"))
	if err != nil {
		t.Fatal(err)
	}
	r.PodSecurity = level
	env := pairs(c.options("env"))
	r.Getenv = func(name string) string { return env[name] }
	r.ProxyEnv = pairs(c.options("path"))
	return r
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for _, s := range list {
		k, v, _ := strings.Cut(s, "=")
		m[k] = v
	}
	return m
}

func TestCases(t *testing.T) {
	for name, c := range loadCases(t) {
		if !isReport(name) {
			t.Run(name, c.test)
		}
	}
}

// isReport tells cases that answer a public report, i30-... and o1-..., which
// are tests of their own.
func isReport(name string) bool {
	return len(name) > 1 && strings.ContainsRune("io", rune(name[0])) && name[1] >= '0' && name[1] <= '9'
}

func (c *caseFile) test(t *testing.T) {
	r := c.request(t)
	res := c.engine(t, inject.Options{}).Run(r)
	if values := c.file("again.yaml"); values != nil {
		again := *r
		again.Pod = res.Pod
		res = c.again(t, values).Run(&again)
	}
	gotDiff := c.diff(r.Pod, res.Pod)
	gotFindings := c.findings(res)
	if *update {
		c.set("diff", gotDiff)
		c.set("findings", gotFindings)
		if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, part := range []struct {
		name string
		got  []byte
	}{{"diff", gotDiff}, {"findings", gotFindings}} {
		if want := c.file(part.name); !bytes.Equal(bytes.TrimSpace(part.got), bytes.TrimSpace(want)) {
			t.Errorf("%s differs (run with -update to accept):\n%s", part.name, diff.Diff("want", want, "got", part.got))
		}
	}
}

func (c *caseFile) again(t testing.TB, values []byte) *inject.Engine {
	t.Helper()
	if c.option("config") == "default" {
		return defaultEngine(t, c.file("mesh.yaml"), values, inject.Options{})
	}
	return compile(t, c.or(t, "config.yaml"), c.file("mesh.yaml"), values, inject.Options{})
}

// diff compares the parts of two pods that the case shows.
func (c *caseFile) diff(before, after *source.Node) []byte {
	return diffOf(before, after, strings.Fields(c.option("show")))
}

func diffOf(before, after *source.Node, parts []string) []byte {
	shown := func(pod *source.Node) []byte {
		if len(parts) == 0 {
			return source.AppendYAML(nil, pod)
		}
		var b []byte
		for _, part := range parts {
			path := kube.Path(strings.Split(part, "."))
			if n := kube.At(pod, path); n != nil {
				b = source.AppendYAML(b, source.NewMap(source.F(part, n)))
			}
		}
		return b
	}
	d := diff.Diff("before", shown(before), "after", shown(after))
	if i := bytes.Index(d, []byte("@@")); i >= 0 {
		d = d[i:]
	}
	return d
}

// findings lists a decision to skip and the findings, one a line.
func (c *caseFile) findings(res *inject.Result) []byte {
	var b bytes.Buffer
	if res.Decision.Verdict == inject.Skip {
		fmt.Fprintf(&b, "skip: %s: %s\n", res.Decision.Reason, res.Decision.Message)
	}
	for _, d := range res.Diagnostics {
		fmt.Fprintf(&b, "%s %s", strings.ToLower(d.Severity.String()), d.Code)
		if p := d.Pos(); p.IsValid() {
			fmt.Fprintf(&b, " %d:%d", p.Line, p.Col)
		}
		fmt.Fprintf(&b, ": %s\n", d.Message)
		if d.Fix != "" {
			fmt.Fprintf(&b, "    %s\n", d.Fix)
		}
	}
	return b.Bytes()
}

// What holds for every pod holds for every case.
func TestInvariants(t *testing.T) {
	for name, c := range loadCases(t) {
		if !portion.Takes(name, 6) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := c.request(t)
			before := source.AppendJSON(nil, r.Pod)
			e := c.engine(t, inject.Options{})
			res := e.Run(r)
			if after := source.AppendJSON(nil, r.Pod); !bytes.Equal(before, after) {
				t.Fatal("Run changed its input")
			}
			if errors := res.Diagnostics.HasErrors(); (errors || res.Decision.Verdict == inject.Skip) != (res.Pod == r.Pod) {
				t.Errorf("errors %v, decision %s, but the pod is the input: %v", errors, res.Decision.Verdict, res.Pod == r.Pod)
			}
			if patched := applied(t, r.Pod, res.JSONPatch()); !patched.Equal(res.Pod) {
				t.Errorf("the patch makes another pod:\n%s", diffOf(res.Pod, patched, nil))
			}
			if res.Pod == r.Pod {
				return
			}
			again := *r
			again.Pod = res.Pod
			if second := e.Run(&again); !second.Pod.Equal(res.Pod) {
				t.Errorf("injecting again changes the pod: %v\n%s", second.Diagnostics, diffOf(res.Pod, second.Pod, nil))
			}
			other := *r
			other.Door = 1 - r.Door
			if through := e.Run(&other); through.Decision.Verdict == inject.Inject && !through.Pod.Equal(res.Pod) {
				t.Errorf("the doors differ:\n%s", diffOf(res.Pod, through.Pod, nil))
			}
			shuffled := *r
			shuffled.Pod = reversed(r.Pod)
			if turned := e.Run(&shuffled); !turned.Pod.Equal(res.Pod) {
				t.Errorf("the order of keys matters:\n%s", diffOf(res.Pod, turned.Pod, nil))
			}
			if slow := c.engine(t, inject.Options{Reference: true}).Run(r); !slow.Pod.Equal(res.Pod) {
				t.Errorf("the reference differs:\n%s", diffOf(res.Pod, slow.Pod, nil))
			}
			if second := e.Run(r); !second.Pod.Equal(res.Pod) {
				t.Errorf("the second result of one request differs:\n%s", diffOf(res.Pod, second.Pod, nil))
			}
		})
	}
}

// reversed turns the order of the keys of all maps around.
func reversed(n *source.Node) *source.Node {
	switch n.Kind() {
	case source.Map:
		fields := make([]source.Field, 0, n.Len())
		for _, f := range n.Fields() {
			f.Value = reversed(f.Value)
			fields = append(fields, f)
		}
		slices.Reverse(fields)
		return n.WithFields(fields...)
	case source.List:
		items := make([]*source.Node, 0, n.Len())
		for _, item := range n.Items() {
			items = append(items, reversed(item))
		}
		return n.WithItems(items...)
	}
	return n
}

// applied applies a patch as the API server does.
func applied(t testing.TB, n *source.Node, patch []byte) *source.Node {
	t.Helper()
	if patch == nil {
		return n
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("decoding %s: %v", patch, err)
	}
	out, err := p.Apply(source.AppendJSON(nil, n))
	if err != nil {
		t.Fatalf("applying %s: %v", patch, err)
	}
	return parse(t, string(out))
}

// What came from a template can be told: its nodes point into the rendering.
func TestExplainKeepsRenderings(t *testing.T) {
	c := loadCases(t)["plain"]
	r := c.request(t)
	e := c.engine(t, inject.Options{})
	if res := e.Run(r); res.Renderings != nil {
		t.Error("renderings are kept although nobody asked")
	}
	r.Explain = true
	res := e.Run(r)
	if len(res.Renderings) != 1 || res.Renderings[0].Template != "sidecar" || res.Renderings[0].Recorder == nil {
		t.Fatalf("renderings: %+v", res.Renderings)
	}
	containers := res.Pod.Get("spec", "containers").Items()
	text := res.Renderings[0].Text
	if got := containers[1].Get("image").Span().Text; got != text {
		t.Error("the sidecar's image does not come from the rendering")
	}
	if got := containers[0].Get("image").Span().Text; got == text || got == nil {
		t.Error("the application's image does not come from the input")
	}
}
