package controlplane

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// programs are what a control plane consists of, and kubectl, with the packages
// that they are built from.
var programs = []struct{ name, pkg string }{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
}

// Binaries is a folder with programs.
type Binaries string

// Path returns the file of a program.
func (b Binaries) Path(program string) string { return filepath.Join(string(b), program) }

// Build returns the folder with the programs of the control plane. They are
// built where they are not there yet, which takes many minutes the first time
// and is told to progress. The folder is below the user's cache and named after
// everything that the programs depend on, go.mod and the version of Go; so it
// is never stale. module is the folder of this module.
func Build(ctx context.Context, module string, progress io.Writer) (Binaries, error) {
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("reading versions: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for binaries: %w", err)
	}
	sum := sha256.Sum256(append(mod, runtime.Version()...))
	parent := filepath.Join(cache, "ingraft-e2e")
	dir := filepath.Join(parent, fmt.Sprintf("%x", sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return Binaries(dir), nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("making a folder for binaries: %w", err)
	}
	// Built elsewhere and renamed as a whole: a folder of the right name is
	// complete, also after an interruption or beside another run.
	building, err := os.MkdirTemp(parent, "building-")
	if err != nil {
		return "", fmt.Errorf("making a folder for binaries: %w", err)
	}
	defer os.RemoveAll(building)
	version, err := kubernetesVersion(string(mod))
	if err != nil {
		return "", err
	}
	for _, p := range programs {
		fmt.Fprintf(progress, "building %s\n", p.name)
		// kubectl refuses to work with the version that it has by default.
		c := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion="+version,
			"-o", filepath.Join(building, p.name), p.pkg)
		c.Dir, c.Env = module, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", p.name, err, out)
		}
	}
	if err := os.Rename(building, dir); err != nil {
		if _, other := os.Stat(dir); other != nil {
			return "", fmt.Errorf("keeping the binaries: %w", err)
		}
	}
	return Binaries(dir), nil
}

// kubernetesVersion finds the version of Kubernetes in a go.mod.
func kubernetesVersion(mod string) (string, error) {
	for line := range strings.Lines(mod) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "k8s.io/kubernetes" {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("go.mod requires no k8s.io/kubernetes")
}

// BuildIngraft builds the program under test as `make build` does, with whose
// cache it is quick, and returns its file in dir. module is the folder of the
// main module.
func BuildIngraft(ctx context.Context, module, dir string) (string, error) {
	file := filepath.Join(dir, "ingraft")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/ingraft")
	c.Dir, c.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ingraft: %w\n%s", err, out)
	}
	return file, nil
}
