package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const reference = "registry.example.com/ingraft"

// archive makes an archive with the image for this machine's processor, and
// returns its file and the image's version.
func archive(t *testing.T) (file, version string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "image.tar")
	name, err := run(t.Context(), options{module: "../..", out: file, repository: reference, platforms: "linux/" + runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version = strings.TrimSpace(string(data))
	if !strings.HasPrefix(name, reference+":"+version+"@sha256:") {
		t.Errorf("the image is %s", name)
	}
	return file, version
}

// unpack writes what is in an archive to a folder, but for what is not to be
// written by this user: owners.
func unpack(t *testing.T, r io.Reader, folder string) map[string]*tar.Header {
	t.Helper()
	headers := map[string]*tar.Header{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(h.Name) || headers[h.Name] != nil {
			t.Fatalf("the archive has %q, twice or outside of it", h.Name)
		}
		headers[h.Name] = h
		path := filepath.Join(folder, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err = os.Mkdir(path, 0o755); err == nil {
				err = os.Chmod(path, h.FileInfo().Mode())
			}
		} else {
			var data []byte
			if data, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, data, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestArchive opens an archive as engines do: by OCI's layout, and by docker's
// manifest. The program in it runs.
func TestArchive(t *testing.T) {
	file, version := archive(t)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder := t.TempDir()
	unpack(t, f, folder)

	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	names, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(names.Manifests) != 1 {
		t.Fatalf("the layout has %d images, want one", len(names.Manifests))
	}
	if got, want := names.Manifests[0].Annotations, map[string]string{
		"org.opencontainers.image.ref.name": version, "io.containerd.image.name": reference + ":" + version,
	}; !maps.Equal(got, want) {
		t.Errorf("the image is called %v, want %v", got, want)
	}
	index, err := top.ImageIndex(names.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms.Manifests) != 1 || !platforms.Manifests[0].Platform.Equals(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}) {
		t.Fatalf("the images are %v", platforms.Manifests)
	}
	image, err := index.Image(platforms.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkImage(t, image, version)

	docker, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := docker.ConfigName(); err != nil || theirs != ours {
		t.Errorf("docker finds %s, error %v; want %s", theirs, err, ours)
	}
}

func checkImage(t *testing.T, image v1.Image, version string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		t.Errorf("the image is for %s/%s", config.OS, config.Architecture)
	}
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/usr/local/bin/ingraft"}) || len(c.Cmd) != 0 {
		t.Errorf("it runs %q %q as %q", c.Entrypoint, c.Cmd, c.User)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, labels := range []map[string]string{c.Labels, manifest.Annotations} {
		if labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
			t.Errorf("the image says of itself: %v", labels)
		}
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("there are %d layers, error %v; want one", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	root := t.TempDir()
	files := unpack(t, content, root)
	for name, h := range files {
		if h.Uid != 0 || h.Gid != 0 || h.Uname+h.Gname != "" || h.Mode&0o022 != 0 && name != "tmp/" {
			t.Errorf("%s has owner %d:%d and mode %o", name, h.Uid, h.Gid, h.Mode)
		}
	}
	if h := files["tmp/"]; h == nil || h.Mode != 0o1777 {
		t.Errorf("the folder for temporary files is %v", h)
	}
	runs(t, filepath.Join(root, "usr/local/bin/ingraft"), version)
	confined(t, root)
}

// runs checks that a program is static, and that it is ingraft.
func runs(t *testing.T, program, version string) {
	t.Helper()
	binary, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) != 0 {
		t.Errorf("the program needs %v, error %v", libraries, err)
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs an interpreter")
		}
	}
	if runtime.GOOS != "linux" {
		t.Logf("the program is not run: it is for linux, and this is %s", runtime.GOOS)
		return
	}
	cmd := exec.Command(program, "version", "-o", "json")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ ClientVersion struct{ Version string } }
	if err := json.Unmarshal(out, &info); err != nil || info.ClientVersion.Version != version {
		t.Errorf("the program in the image says %s, error %v; want version %s", out, err, version)
	}
}

// TestSameBytes makes the archive twice, at other places, and at a time of its
// own.
func TestSameBytes(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	one, _ := archive(t)
	two, _ := archive(t)
	a, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the archives differ")
	}
	image, err := tarball.ImageFromPath(one, nil)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := image.ConfigFile(); err != nil || config.Created.Unix() != 1700000000 {
		t.Errorf("the image says %v, error %v", config, err)
	}
}

// TestRefused has what cannot be made: the archive that was there stays.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o    options
		want string
	}{
		"platform":  {options{module: "../..", out: file, repository: reference, platforms: "linux/a/b/c/d"}, `platform "linux/a/b/c/d"`},
		"processor": {options{module: "../..", out: file, repository: reference, platforms: "linux/none"}, "building for linux/none"},
		"module":    {options{module: t.TempDir(), out: file, repository: reference, platforms: "linux/amd64"}, "reading the version"},
		"folder":    {options{module: "../..", out: filepath.Join(file, "image.tar"), repository: reference, platforms: "linux/" + runtime.GOARCH}, "writing "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t.Context(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != "before" {
				t.Errorf("the archive holds %.20q, error %v", data, err)
			}
		})
	}
}
