package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is where ingraft is in the image.
const program = "usr/local/bin/ingraft"

// user is the one that the program runs as. Kubernetes takes only numbers for
// one that is not root.
const user = 65532

// platformImage is the image for a platform.
type platformImage struct {
	image    v1.Image
	platform *v1.Platform
}

// newImage makes the image with a program: one layer, with nothing that the
// program does not need.
func newImage(file string, p *v1.Platform, about *description) (v1.Image, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the program: %w", err)
	}
	revision, created, err := commit(file)
	if err != nil {
		return nil, err
	}
	if !about.created.IsZero() {
		created = about.created
	}
	content, err := tree(data, about.license, created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make image"},
	})
	if err != nil {
		return nil, err
	}
	labels := about.annotations()
	if revision != "" {
		labels["org.opencontainers.image.revision"] = revision
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = p.OS, p.Architecture, p.Variant, v1.Time{Time: created}
	config.Config = v1.Config{
		User: fmt.Sprintf("%[1]d:%[1]d", user), Entrypoint: []string{"/" + program}, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/bin"}, Labels: labels,
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels).(v1.Image), nil
}

// annotations are those that OCI has names for.
func (d *description) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "ingraft",
		"org.opencontainers.image.description":   "Grafts a service mesh's sidecar onto Kubernetes workloads: command and admission webhook",
		"org.opencontainers.image.version":       d.version,
		"org.opencontainers.image.source":        "https://github.com/ingraft/ingraft",
		"org.opencontainers.image.documentation": "https://github.com/ingraft/ingraft/blob/main/docs/injector.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
	}
}

// tree is the file system, as a tar archive: the program, its license, the name
// of its user, and a folder for what kube-inject does not keep in memory.
func tree(ingraft, license []byte, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		mode int64
		data []byte // nil for a folder
	}{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", user)},
		{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/\nnonroot:x:%[1]d:%[1]d:nonroot:/tmp:/\n", user)},
		{"tmp/", 0o1777, nil},
		{"usr/", 0o755, nil},
		{"usr/local/", 0o755, nil},
		{"usr/local/bin/", 0o755, nil},
		{program, 0o755, ingraft},
		{"usr/share/", 0o755, nil},
		{"usr/share/doc/", 0o755, nil},
		{"usr/share/doc/ingraft/", 0o755, nil},
		{"usr/share/doc/ingraft/LICENSE", 0o644, license},
	} {
		if err := add(w, f.name, f.mode, f.data, created); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("making the layer: %w", err)
	}
	return b.Bytes(), nil
}

// add adds a file to an archive, or a folder where its name ends with a slash.
func add(w *tar.Writer, name string, mode int64, data []byte, modified time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: modified, Format: tar.FormatPAX}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	err := w.WriteHeader(h)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("adding %s: %w", name, err)
	}
	return nil
}

// newIndex is the list of the images, of which each machine takes its own.
func newIndex(images []platformImage, about *description) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.image, Descriptor: v1.Descriptor{Platform: i.platform}})
	}
	return mutate.Annotations(index, maps.Clone(about.annotations())).(v1.ImageIndex)
}
