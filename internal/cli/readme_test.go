package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
)

// The commands of the README do what it says. What follows a pipe is another
// program's affair.
func TestReadme(t *testing.T) {
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	injected := 0
	for _, command := range shellLines(string(readme)) {
		switch words := strings.Fields(command); {
		case words[0] == "make":
			if out, err := exec.Command("make", "-C", root, "--dry-run", words[1]).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		case words[0] == "kubectl" || command == "ingraft injector manifest":
			// Tried on a real control plane: TestReplicas of test/e2e.
		case strings.HasPrefix(command, "go run ./cmd/ingraft "):
			words = words[2:]
			fallthrough
		case words[0] == "ingraft":
			injected++
			var stdout, stderr bytes.Buffer
			code := cli.Main(context.Background(), cli.Env{
				Args: words, Dir: dir, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
				LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
			})
			out := stdout.Bytes()
			if file := filepath.Join(dir, "injected.yaml"); len(out) == 0 {
				if out, err = os.ReadFile(file); err != nil {
					t.Errorf("%s: no output: %v", command, err)
				}
				_ = os.Remove(file)
			}
			if code != 0 || !bytes.Contains(out, []byte("name: istio-proxy")) {
				t.Errorf("%s: exit code %d\n%s", command, code, stderr.String())
			}
		default:
			t.Errorf("%s: nobody tries this command", command)
		}
	}
	if injected < 3 {
		t.Errorf("only %d commands inject something", injected)
	}
}

// The changes that the README shows are those that the command makes; it leaves
// out lines, and the ends of lines, at dots.
func TestReadmeDiff(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := cli.Main(context.Background(), cli.Env{
		Args: []string{"ingraft", "kube-inject", "-f", "examples/payments.yaml", "--diff"}, Dir: filepath.Join("..", ".."),
		Stdout: &stdout, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
	})
	if code != 0 {
		t.Fatal(stderr.String())
	}
	_, block, _ := strings.Cut(string(readme), "\n```diff\n")
	block, _, ok := strings.Cut(block, "```\n")
	if !ok {
		t.Fatal("the README shows no diff")
	}
	rest := strings.Split(stdout.String(), "\n")
	for line := range strings.Lines(block) {
		if line == "...\n" {
			continue
		}
		begin, cut := strings.CutSuffix(strings.TrimSuffix(line, "\n"), "...")
		for len(rest) > 0 && rest[0] != begin && !(cut && strings.HasPrefix(rest[0], begin)) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Fatalf("the command does not print, or not in this order: %s", line)
		}
	}
}

// shellLines returns the commands in a text's blocks of shell, up to a pipe.
func shellLines(markdown string) []string {
	var lines []string
	shell := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			shell = line == "```sh"
		case shell && line != "" && !strings.HasPrefix(line, "#"):
			command, _, _ := strings.Cut(line, " | ")
			lines = append(lines, command)
		}
	}
	return lines
}

func TestVersionIsThatOfTheFile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(data)); cli.Version != want {
		t.Errorf("version %s, the file VERSION says %s", cli.Version, want)
	}
}

// Every command shows how it is used.
func TestEveryCommandHasExamples(t *testing.T) {
	commands := [][]string{
		{},
		{"kube-inject"},
		{"uninject"},
		{"version"},
		{"options"},
		{"help"},
		{"completion"},
		{"completion", "bash"},
		{"completion", "zsh"},
		{"completion", "fish"},
		{"completion", "powershell"},
	}
	for _, command := range commands {
		var stdout, stderr bytes.Buffer
		code := cli.Main(context.Background(), cli.Env{
			Args: append(append([]string{"ingraft"}, command...), "--help"), Stdout: &stdout, Stderr: &stderr,
			LookupEnv: func(string) (string, bool) { return "", false },
		})
		if code != 0 || !strings.Contains(stdout.String(), "Examples:\n  ") || stderr.Len() > 0 {
			t.Errorf("%v: exit code %d\n%s%s", command, code, stdout.String(), stderr.String())
		}
	}
}
