package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A run over few inputs comes to a document with every row. No time is
// asserted.
func TestTinyRun(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "ingraft")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/ingraft")
	build.Dir = filepath.Join("..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the programs that measure it
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Chdir("..") // as make bench runs it
	admission := filepath.Join(dir, "admission.md")
	if err := os.WriteFile(admission, []byte("## What admission adds\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{ingraft: binary, rounds: 1, workloads: 2, batch: 2, profile: true, turn: 50 * time.Millisecond, admission: admission}
	out := filepath.Join(dir, "performance.md")
	if err := run(o, out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| process: one Deployment, files given | 1 | - |",
		"| process: 2 Deployments and 2 Services |",
		"| webhook handler: distinct pods | allocations |",
		"| binary | size | - |",
		"| distinct pods | requests/s |",
		"| replicas of one application | p99.9 |",
		"## What admission adds\n",
		"| `ingraft version` |",
		"| injecting, with parsing the template and rendering it |",
		"| writing the YAML |",
		"| 0.8 | square, ",
		"| 1.31 | overlay, ",
		"binary: less than 40 MB wanted",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

func TestParseInit(t *testing.T) {
	c, ok := parseInit("init unicode @0.5 ms, 0.34 ms clock, 567 bytes, 8 allocs\n")
	if want := (initCost{"unicode", 340_000, 8, 567}); !ok || c != want {
		t.Errorf("got %v, %v; want %v", c, ok, want)
	}
	if _, ok := parseInit("version: 1\n"); ok {
		t.Error("a line that is no init was taken for one")
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{340_000: "340 µs", 1_234_567: "1.23 ms", 98_760_000: "98.8 ms", 7_400_000_000: "7.40 s", 200: "0.20 µs"} {
		if got := duration(d); got != want {
			t.Errorf("%d ns: got %q, want %q", d, got, want)
		}
	}
}
