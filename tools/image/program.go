package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// build builds the program for a platform: static, and without the paths of
// this machine.
func build(ctx context.Context, module, file string, p *v1.Platform) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("building for %s: %w", p, err)
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/ingraft")
	c.Dir = module
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	if p.Architecture == "arm" {
		c.Env = append(c.Env, "GOARM="+strings.TrimPrefix(p.Variant, "v"))
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building for %s: %w\n%s", p, err, out)
	}
	return nil
}

// description is what images say of themselves, beside what they hold.
type description struct {
	version string
	license []byte
	// created is the time that SOURCE_DATE_EPOCH gives; else that of the commit
	// that was built, as far as the program knows it.
	created time.Time
}

func describe(module string) (*description, error) {
	version, err := os.ReadFile(filepath.Join(module, "VERSION"))
	if err != nil {
		return nil, fmt.Errorf("reading the version: %w", err)
	}
	license, err := os.ReadFile(filepath.Join(module, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("reading the license: %w", err)
	}
	d := &description{version: strings.TrimSpace(string(version)), license: license}
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading SOURCE_DATE_EPOCH: %w", err)
		}
		d.created = time.Unix(seconds, 0).UTC()
	}
	return d, nil
}

// commit returns revision and time of the commit that a program was built from,
// "" and the beginning of Unix' time where Go did not record them.
func commit(program string) (revision string, when time.Time, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", when, fmt.Errorf("reading what was built: %w", err)
	}
	when = time.Unix(0, 0).UTC()
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			if when, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return "", when, fmt.Errorf("reading the time of the commit: %w", err)
			}
		}
	}
	return revision, when, nil
}
