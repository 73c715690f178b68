package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/inject"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
	"github.com/ingraft/ingraft/internal/undo"
)

// builtInTexts returns the configuration that is built in.
func builtInTexts(t testing.TB) (cfg, mesh, values []byte) {
	t.Helper()
	texts, err := renderedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return texts[0], texts[1], texts[2]
}

var renderedOnce = sync.OnceValues(func() (texts [3][]byte, err error) {
	texts[0], texts[1], texts[2], err = builtin.DefaultInjection(builtin.Injection{})
	return texts, err
})

// engineOf compiles a configuration; nil parts are those that are built in.
func engineOf(t testing.TB, cfg, mesh, values []byte) *inject.Engine {
	t.Helper()
	c, m, v := builtInTexts(t)
	for _, part := range []struct {
		given []byte
		to    *[]byte
	}{{cfg, &c}, {mesh, &m}, {values, &v}} {
		if part.given != nil {
			*part.to = part.given
		}
	}
	injection, d1 := config.ParseInjection(source.NewText("config.yaml", c))
	meshConfig, d2 := config.ParseMesh(source.NewText("mesh.yaml", m))
	valueMap, d3 := config.ParseValues(source.NewText("values.yaml", v))
	e, d4 := inject.Compile(injection, meshConfig, valueMap, inject.Options{})
	for _, list := range []diag.List{d1, d2, d3, d4} {
		if list.HasErrors() {
			t.Fatal(list[0])
		}
	}
	return e
}

// movedProxies is a workload whose last lines are what a native sidecar moves.
const movedProxies = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: app
        image: web:1
      - name: istio-proxy
        image: auto
        resources:
          limits:
            cpu: 100m
`

func injectorOf(engine *inject.Engine, native bool) *injector {
	return &injector{
		engine: engine, native: func(*source.Node) bool { return native },
		getenv: func(string) string { return "" }, now: time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC),
	}
}

// sample is an input, and the injector for it.
type sample struct {
	name string
	data []byte
	work *injector
	// again, where it is not nil, has another configuration.
	again *injector
}

// samples returns the inputs of the engine's cases, of the scripts and the
// examples.
func samples(t testing.TB) []sample {
	t.Helper()
	dir := filepath.Join("..", "inject", "testdata")
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no case files", err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	builtIn := engineOf(t, nil, nil, nil)
	list := []sample{{name: "the last container is moved", data: []byte(movedProxies), work: injectorOf(builtIn, true)}}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := map[string][]byte{}
		for _, f := range a.Files {
			file[f.Name] = f.Data
		}
		request := string(file["request"])
		compile := func(values []byte) *inject.Engine {
			switch {
			case strings.Contains(request, "config default") || strings.Contains(request, "config: default"):
				if values == nil && file["mesh.yaml"] == nil {
					return builtIn
				}
				// Values that lie over the built-in ones are the engine's tests'
				// affair; here any configuration will do.
				return engineOf(t, nil, file["mesh.yaml"], nil)
			case file["config.yaml"] == nil:
				file["config.yaml"] = read("config.yaml")
			}
			if values == nil {
				values = read("values.yaml")
			}
			mesh := file["mesh.yaml"]
			if mesh == nil {
				mesh = []byte{}
			}
			return engineOf(t, file["config.yaml"], mesh, values)
		}
		s := sample{
			name: strings.TrimSuffix(filepath.Base(path), ".txtar"), data: file["input.yaml"],
			work: injectorOf(compile(file["values.yaml"]), strings.Contains(request, "native true") || strings.Contains(request, "native: true")),
		}
		if again := file["again.yaml"]; again != nil {
			s.again = injectorOf(compile(again), false)
		}
		list = append(list, s)
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if ext := filepath.Ext(f.Name); ext == ".yaml" || ext == ".json" {
				list = append(list, sample{name: filepath.Base(path) + "/" + f.Name, data: f.Data, work: injectorOf(builtIn, false)})
			}
		}
	}
	err = fs.WalkDir(os.DirFS(filepath.Join("..", "..", "examples")), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", path))
		list = append(list, sample{name: "examples/" + path, data: data, work: injectorOf(builtIn, true)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// through sends a stream through a command; the findings are those of all
// documents.
func through(data []byte, work func(*source.Document, error) outcome) ([]byte, diag.List) {
	r := source.NewReader("f", bytes.NewReader(data))
	var out bytes.Buffer
	var findings diag.List
	j := joiner{to: &out}
	in := &input{name: "f"}
	for {
		doc, err := r.Next()
		if err == io.EOF {
			return out.Bytes(), findings
		}
		o := work(doc, err)
		findings = append(findings, o.findings...)
		if doc == nil {
			return nil, findings
		}
		if err := j.add(in, doc, &o); err != nil {
			panic(err)
		}
	}
}

// checkRound checks that injection can be taken back. It reports whether
// anything was injected.
func checkRound(t *testing.T, s sample) bool {
	t.Helper()
	injected, findings := through(s.data, s.work.document)
	if findings.HasErrors() || bytes.Equal(injected, s.data) {
		return false
	}
	for _, d := range findings {
		if d.Code == diag.CodeNoRecord {
			t.Fatalf("%s\n%s", d.Message, s.data)
		}
	}
	checkRecords(t, injected)
	careful := *s.work
	careful.reference = true
	if slow, _ := through(s.data, careful.document); !bytes.Equal(slow, injected) {
		t.Fatalf("the careful way gives\n%s\nthe quick one\n%s", slow, injected)
	}
	un := &uninjector{}
	back, findings := through(injected, un.document)
	if len(findings) > 0 {
		t.Fatalf("taking it out: %v\n%s", findings[0].Message, injected)
	}
	if !bytes.Equal(back, s.data) {
		t.Fatalf("comes back as\n%s\nwas\n%s\n%q\n%q\ninjected:\n%s", back, s.data, back, s.data, injected)
	}
	again, _ := through(injected, s.work.document)
	if !bytes.Equal(again, injected) {
		t.Fatalf("injecting again gives\n%s\nnot\n%s", again, injected)
	}
	if s.again != nil {
		other, _ := through(injected, s.again.document)
		fresh, _ := through(s.data, s.again.document)
		if !bytes.Equal(other, fresh) {
			t.Fatalf("injecting again with another configuration gives\n%s\nfresh injection gives\n%s", other, fresh)
		}
		if back, _ := through(other, un.document); !bytes.Equal(back, s.data) {
			t.Fatalf("injected twice, it comes back as\n%s", back)
		}
	}
	return true
}

// checkRecords checks the size of the undo records in a stream: no more than
// undo.MaxOverhead beyond the text that they hold, and never all of it.
func checkRecords(t *testing.T, data []byte) {
	t.Helper()
	r := source.NewReader("f", bytes.NewReader(data))
	for {
		doc, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		eachRecord(doc.Root, func(text string) {
			record, err := undo.Parse(text)
			if err != nil {
				t.Fatalf("%v: %q", err, text)
			}
			if over := record.Overhead(); over > undo.MaxOverhead {
				t.Errorf("the record is %d bytes longer than its text: %q", over, text)
			}
		})
	}
}

func eachRecord(n *source.Node, f func(string)) {
	if r := n.Get("annotations", annot.UndoRecord); r != nil {
		f(r.Str())
	}
	for _, field := range n.Fields() {
		eachRecord(field.Value, f)
	}
	for _, item := range n.Items() {
		eachRecord(item, f)
	}
}

// I-05, I-24: injecting and taking it out again is the identity, on bytes, for
// every input of every test, under every template, in many notations.
func TestI05InjectUninjectIsTheIdentity(t *testing.T) {
	var injected atomic.Int32
	t.Run("samples", func(t *testing.T) {
		for _, s := range samples(t) {
			if !portion.Takes(s.name, 10) {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if checkRound(t, s) {
					injected.Add(1)
				}
				for _, v := range variants(s.data) {
					t.Run(v.name, func(t *testing.T) {
						s.data = v.data
						checkRound(t, s)
					})
				}
			})
		}
	})
	if injected.Load() < int32(portion.Of(80, 20)) {
		t.Errorf("only %d inputs were injected", injected.Load())
	}
}

type variant struct {
	name string
	data []byte
}

// variants writes a document in other notations.
func variants(data []byte) []variant {
	list := []variant{
		{"CRLF", bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))},
		{"BOM", append([]byte("\ufeff"), data...)},
		{"no line break at the end", bytes.TrimRight(data, "\r\n")},
		{"comment at the end", append(bytes.TrimRight(data, "\n"), "\n# the end\n"...)},
		{"document end", append(bytes.TrimRight(data, "\n"), "\n...\n# the end"...)},
	}
	r := source.NewReader("f", bytes.NewReader(data))
	doc, err := r.Next()
	if err != nil || doc.Root == nil {
		return list
	}
	if _, err := r.Next(); err != io.EOF {
		return list
	}
	compact := source.AppendJSON(nil, doc.Root)
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, compact, "", "   ")
	item := strings.ReplaceAll("\n"+strings.TrimSpace(string(source.AppendYAML(nil, doc.Root))), "\n", "\n  ")
	list = append(list,
		variant{"JSON", compact},
		variant{"JSON on lines", append(pretty.Bytes(), '\n')},
		variant{"JSON in YAML", []byte("a: b\n--- # note\n" + string(compact) + " # end\n")},
		variant{"two of JSON", append(append([]byte{}, pretty.Bytes()...), compact...)},
		variant{"canonical", source.AppendYAML(nil, doc.Root)},
		variant{"list", []byte("kind: List\napiVersion: v1\nitems:" + strings.Replace(item, "\n  ", "\n- ", 1) + strings.Replace(item, "\n  ", "\n# two\n- ", 1) + "\n")},
		variant{"list of JSON", []byte(fmt.Sprintf(`{"kind":"List", "apiVersion":"v1", "items":[%s, %s]}`, compact, pretty.String()))},
	)
	rnd := rand.New(rand.NewPCG(uint64(len(data)), 5))
	for i := range 6 {
		list = append(list, variant{fmt.Sprintf("restyled %d", i), restyled(rnd, doc.Root)})
	}
	return list
}
