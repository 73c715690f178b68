package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/ingraft/ingraft/internal/chart/builtin"
	"github.com/ingraft/ingraft/internal/cli"
	"github.com/ingraft/ingraft/internal/source"
	"github.com/ingraft/ingraft/internal/testkit/portion"
)

// FuzzKubeInject: whatever the manifest, the command ends with a result or with
// an error, never with both or neither, and injecting again changes nothing.
func FuzzKubeInject(f *testing.F) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if portion.Takes(script+file.Name, 6) {
				f.Add(file.Data)
			}
		}
	}
	flags := configFlags(f, f.TempDir())
	run := func(input []byte) (code int, stdout, stderr string) {
		var out, talk bytes.Buffer
		code = cli.Main(context.Background(), cli.Env{
			Args:  append([]string{"ingraft", "kube-inject", "-f", "-"}, flags...),
			Stdin: bytes.NewReader(input), Stdout: &out, Stderr: &talk,
			LookupEnv: func(string) (string, bool) { return "", false },
			Now:       func() time.Time { return now },
		})
		return code, out.String(), talk.String()
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		code, stdout, stderr := run(input)
		told := strings.Contains(stderr, "\nError: nothing was written: ")
		switch code {
		case 0:
			if (stdout == "") != (len(input) == 0) || told {
				t.Fatalf("success without a result, or with an error\n%s", stderr)
			}
		case 1:
			if stdout != "" || !told {
				t.Fatalf("failure with a result, or without an error\n%s\n%s", stdout, stderr)
			}
			return
		default:
			t.Fatalf("exit code %d", code)
		}
		code, again, stderr := run([]byte(stdout))
		if code != 0 {
			t.Fatalf("the result is refused\n%s\n%s", stdout, stderr)
		}
		if !sameObjects(t, stdout, again) {
			t.Fatalf("injecting again changes the result\n--- first\n%s\n--- again\n%s", stdout, again)
		}
	})
}

// sameObjects reports whether two streams hold the same values.
func sameObjects(t *testing.T, a, b string) bool {
	ra, rb := source.NewReader("a", strings.NewReader(a)), source.NewReader("b", strings.NewReader(b))
	for {
		da, errA := ra.Next()
		db, errB := rb.Next()
		if errA == io.EOF || errB == io.EOF {
			return errA == errB
		}
		if errA != nil || errB != nil {
			t.Fatalf("the result does not parse: %v, %v\n%s", errA, errB, a)
		}
		if !da.Root.Equal(db.Root) {
			return false
		}
	}
}

// configFlags writes the built-in configuration to files, and returns the flags
// that name them.
func configFlags(tb testing.TB, dir string) []string {
	tb.Helper()
	injection, mesh, values, err := builtin.DefaultInjection(builtin.Injection{})
	if err != nil {
		tb.Fatal(err)
	}
	var flags []string
	for flag, data := range map[string][]byte{"--injectConfigFile": injection, "--meshConfigFile": mesh, "--valuesFile": values} {
		file := filepath.Join(dir, strings.TrimLeft(flag, "-"))
		if err := os.WriteFile(file, data, 0o666); err != nil {
			tb.Fatal(err)
		}
		flags = append(flags, flag, file)
	}
	return flags
}
