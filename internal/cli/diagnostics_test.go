package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/diag"
)

var updateDocs = flag.Bool("update", false, "write docs/diagnostics and what the examples print, instead of comparing")

// Every code has an example, testdata/diagnostics/CODE.txtar, which holds some
// prose, the command, its input, and what it prints on standard error; and a
// page in docs/diagnostics that is made of the table of codes and the example.
// The example proves that the code can be met, and the page that it is not
// made up.
func TestDiagnosticsDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "docs", "diagnostics")
	pages := map[string][]byte{"README.md": diagnosticsIndex()}
	for _, c := range diag.Codes() {
		t.Run(c.ID, func(t *testing.T) {
			file := filepath.Join("testdata", "diagnostics", c.ID+".txtar")
			example, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code, stderr := runExample(t, example)
			if !strings.Contains(stderr, "["+c.ID+"]") && !strings.Contains(stderr, `"code": "`+c.ID+`"`) {
				t.Errorf("the example does not come to %s, but to\n%s", c.ID, stderr)
			}
			setFile(example, "exit", fmt.Sprintln(code))
			want := getFile(example, "stderr")
			setFile(example, "stderr", stderr)
			pages[c.ID+".md"] = diagnosticsPage(c, example)
			if *updateDocs {
				if err := os.WriteFile(file, txtar.Format(example), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want != stderr {
				t.Errorf("it prints something else (run with -update to accept):\n%s", diff.Diff("want", []byte(want), "got", []byte(stderr)))
			}
		})
	}
	if t.Failed() {
		return
	}
	if *updateDocs {
		if err := os.MkdirAll(docs, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(docs, name), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, page := range pages {
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || !bytes.Equal(got, page) {
			t.Errorf("docs/diagnostics/%s is not fresh (%v); run with -update", name, err)
		}
	}
	files, err := os.ReadDir(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if pages[f.Name()] == nil {
			t.Errorf("docs/diagnostics/%s is about no code", f.Name())
		}
	}
	examples, err := filepath.Glob(filepath.Join("testdata", "diagnostics", "*.txtar"))
	if err != nil || len(examples) != len(diag.Codes()) {
		t.Errorf("%d examples for %d codes (%v)", len(examples), len(diag.Codes()), err)
	}
}

// runExample executes the command of an example in a folder of its own.
func runExample(t *testing.T, example *txtar.Archive) (code int, stderr string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range example.Files {
		if isInput(f.Name) {
			if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	var errors bytes.Buffer
	code = cli.Main(context.Background(), cli.Env{
		Args: strings.Fields(getFile(example, "command")), Dir: dir,
		Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: &errors,
		LookupEnv: func(string) (string, bool) { return "", false }, Now: func() time.Time { return now },
	})
	return code, errors.String()
}

// isInput tells the files that the command reads.
func isInput(name string) bool { return path.Ext(name) != "" }

func getFile(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setFile(a *txtar.Archive, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
}

func diagnosticsPage(c diag.Code, example *txtar.Archive) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n\nSeverity: %s.\n\n%s\n", c.ID, c.Title, c.Severity, c.Explanation)
	if prose := strings.TrimSpace(string(example.Comment)); prose != "" {
		fmt.Fprintf(&b, "%s\n", prose)
	}
	b.WriteString("\n## Example\n")
	for _, f := range example.Files {
		if isInput(f.Name) {
			fmt.Fprintf(&b, "\n`%s`:\n```%s\n%s```\n", f.Name, strings.TrimPrefix(path.Ext(f.Name), "."), f.Data)
		}
	}
	fmt.Fprintf(&b, "\n```console\n$ %s\n%s```\n", strings.TrimSpace(getFile(example, "command")), getFile(example, "stderr"))
	if exit := strings.TrimSpace(getFile(example, "exit")); exit == "0" {
		what := "The result is written to standard output, and the exit code is 0"
		if strings.Contains(getFile(example, "command"), " lint ") {
			what = "The exit code is 0"
		}
		b.WriteString("\n" + what + "; with `--warnings error` the finding counts as an error.\n")
		if c.Severity == diag.Info {
			b.Truncate(bytes.LastIndexByte(b.Bytes(), ';'))
			b.WriteString(".\n")
		}
	} else if strings.Contains(getFile(example, "command"), " lint ") {
		fmt.Fprintf(&b, "\nThe exit code is %s.\n", exit)
	} else {
		fmt.Fprintf(&b, "\nNothing is written, and the exit code is %s.\n", exit)
	}
	b.WriteString("\n[All codes](README.md)\n")
	return b.Bytes()
}

func diagnosticsIndex() []byte {
	var b bytes.Buffer
	b.WriteString(`# Diagnostics

What ingraft may find in manifests and configuration, one page a code with an example. The pages are made from the
table of codes and from the examples in internal/cli/testdata/diagnostics, which are executed:
` + "`go test ./internal/cli -run TestDiagnosticsDocs -update`" + ` writes them.

An error keeps everything from being written, or with ` + "`--keep-going`" + ` its document. A warning does not, unless
` + "`--warnings error`" + ` makes it an error; ` + "`--warnings off`" + ` hides warnings and remarks.
` + "`--diagnostics json`" + ` and ` + "`sarif`" + ` write the findings for programs, on standard error.

| code | severity | what it is |
| --- | --- | --- |
`)
	for _, c := range diag.Codes() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", c.ID, c.ID, strings.ToLower(c.Severity.String()), c.Title)
	}
	return b.Bytes()
}

// Each public report about reading manifests, injecting again, probes and what
// gets injected, and each finding of our own about the mesh's injector, has a
// test of its name: a script here, or a case of the engine.
func TestReportsHaveTests(t *testing.T) {
	var reports []string
	add := func(from, to int, letter string) {
		for i := from; i <= to; i++ {
			reports = append(reports, fmt.Sprintf("%s%d", letter, i))
		}
	}
	add(4, 5, "i") // reading and writing manifests
	add(8, 18, "i")
	add(22, 28, "i") // running it again, taking it out
	add(30, 38, "i") // probes, and what gets injected
	add(41, 58, "i")
	add(1, 11, "o")
	reports = append(reports, "i20", "i63", "i69", "i70", "o13", "c7", "x22")
	var names []string
	for _, pattern := range []string{"testdata/script/*.txtar", "../inject/testdata/*.txtar"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			letter, number, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "-")
			if ok && len(letter) == 1 { // I-58, O-04
				names = append(names, strings.ToLower(letter)+strings.TrimLeft(number, "0"))
			} else {
				names = append(names, letter) // i58-what-about-it
			}
		}
	}
	for _, report := range reports {
		if !slices.Contains(names, report) {
			t.Errorf("no test is named after %s", report)
		}
	}
}
