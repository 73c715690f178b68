package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingraft/ingraft/internal/cli"
)

// BenchmarkKubeInject is the whole command but for the start of the process.
func BenchmarkKubeInject(b *testing.B) {
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "payments.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	files := configFlags(b, dir)
	for _, c := range []struct {
		name  string
		input []byte
		flags []string
	}{
		{"one, built-in configuration", example, nil},
		{"one, files", example, files},
		{"1000, files", bytes.Repeat(append(example, "---\n"...), 1000), files},
	} {
		b.Run(c.name, func(b *testing.B) {
			file := filepath.Join(dir, "in.yaml")
			if err := os.WriteFile(file, c.input, 0o666); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.input)))
			b.ReportAllocs()
			for b.Loop() {
				code := cli.Main(context.Background(), cli.Env{
					Args: append([]string{"ingraft", "kube-inject", "-f", file}, c.flags...), Stdout: io.Discard, Stderr: io.Discard,
					LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now,
				})
				if code != 0 {
					b.Fatalf("exit code %d", code)
				}
			}
		})
	}
}
