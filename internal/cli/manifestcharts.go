package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// maxRelease bounds what an archive may unpack to. A release of the mesh has
// 2 MB of charts beside a program of 100 MB, which is not kept.
const maxRelease = 64 << 20

// unpack reads the charts and profiles of an archive of a release: its YAML
// files, templates and notes.
func unpack(data []byte) (fs.FS, error) {
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is neither a folder nor a .tgz archive")
	}
	files := archive{}
	total := int64(0)
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking it: %w", err)
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || !fs.ValidPath(name) || !ofCharts(name) {
			continue
		}
		if total += h.Size; total > maxRelease {
			return nil, errors.New("unpacking it: its charts are more than 64 MB")
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("unpacking it: %w", err)
		}
		files.add(name, content)
	}
}

// ofCharts tells the files of charts and profiles.
func ofCharts(name string) bool {
	return strings.Contains("/"+name, "/charts/") || strings.Contains("/"+name, "/profiles/")
}

// archive is a file system in memory: files by name, and the entries of
// folders, which have no content.
type archive map[string]*archived

type archived struct {
	name    string
	content []byte
	entries []fs.DirEntry // of a folder
	folder  bool
}

// add puts a file in, and the folders above it.
func (a archive) add(name string, content []byte) {
	entry := &archived{name: path.Base(name), content: content}
	if _, ok := a[name]; ok {
		return
	}
	a[name] = entry
	for name != "." {
		name = path.Dir(name)
		dir, known := a[name]
		if !known {
			dir = &archived{name: path.Base(name), folder: true}
			a[name] = dir
		}
		dir.entries = append(dir.entries, fs.FileInfoToDirEntry(entry))
		slices.SortFunc(dir.entries, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
		if known {
			return
		}
		entry = dir
	}
}

// Open opens a file or a folder.
func (a archive) Open(name string) (fs.File, error) {
	f, ok := a[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &opened{archived: f, Reader: bytes.NewReader(f.content)}, nil
}

// opened is a file or folder being read.
type opened struct {
	*archived
	*bytes.Reader
	at int
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.archived, nil }
func (o *opened) Close() error               { return nil }
func (o *opened) Size() int64                { return o.archived.Size() }

// ReadDir returns the next entries of a folder.
func (o *opened) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := o.entries[o.at:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(rest) {
		rest = rest[:n]
	}
	o.at += len(rest)
	return slices.Clone(rest), nil
}

func (f *archived) Name() string       { return f.name }
func (f *archived) Size() int64        { return int64(len(f.content)) }
func (f *archived) ModTime() time.Time { return time.Time{} }
func (f *archived) IsDir() bool        { return f.folder }
func (f *archived) Sys() any           { return nil }

func (f *archived) Mode() fs.FileMode {
	if f.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
