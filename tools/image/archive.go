package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeArchive writes images to a folder as OCI's image layout, and then all of
// it to a file. The names by which engines know an image are annotations of the
// index.
func writeArchive(file, folder, reference string, index v1.ImageIndex, images []platformImage) error {
	_, tag, _ := cutLast(reference, ':')
	top := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": reference},
	}})
	if _, err := layout.Write(folder, top); err != nil {
		return err
	}
	manifest, err := dockerManifest(images[0].image, reference)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), manifest, 0o644); err != nil {
		return err
	}
	next, err := os.Create(file + ".next")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // in vain once it has its name
	if err := errors.Join(pack(tar.NewWriter(next), folder), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// dockerManifest is the file by which engines find an image that do not read
// OCI's layout, as docker load without containerd's store.
func dockerManifest(image v1.Image, reference string) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	entry := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: blob(manifest.Config.Digest), RepoTags: []string{reference}}
	for _, l := range manifest.Layers {
		entry.Layers = append(entry.Layers, blob(l.Digest))
	}
	return json.Marshal([]any{entry})
}

// pack writes the files of a folder, in the order of their names, and without
// what differs from one machine or time to another.
func pack(w *tar.Writer, folder string) error {
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			return add(w, name+"/", 0o755, nil, time.Unix(0, 0))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		return add(w, name, 0o644, data, time.Unix(0, 0))
	})
	if err != nil {
		return err
	}
	return w.Close()
}
