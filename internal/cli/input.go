package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// input is one file, or standard input, that -f names.
type input struct {
	// name is what the user calls it: a path, "-" for standard input.
	name string
	// found tells that a folder or a pattern was named, not the file itself.
	found bool
	// folder is the one that was named, "" where the file itself was.
	folder string
	// content is what was read ahead; nil where the file is read when it is
	// its turn.
	content *spool
}

// findInputs returns the inputs that the values of -f name, in their order;
// what a folder or a pattern finds is sorted.
func (a *app) findInputs(names []string) ([]*input, error) {
	var inputs []*input
	for _, name := range names {
		more, err := a.findInput(name)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more...)
	}
	stdin := 0
	for _, in := range inputs {
		if in.name == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return nil, usagef("-f - is given %d times: standard input can be read once", stdin)
	}
	if len(inputs) == 0 {
		return nil, usagef("no input: -f is missing").hinted("Name files, folders or patterns with -f, or - for standard input.")
	}
	return inputs, nil
}

func (a *app) findInput(name string) ([]*input, error) {
	if name == "-" {
		return []*input{{name: name}}, nil
	}
	info, err := os.Stat(a.path(name))
	switch {
	case name == "":
		return nil, usagef("-f names no file: its value is empty")
	case err == nil && info.IsDir():
		return a.walk(name)
	case err == nil:
		return []*input{{name: name}}, nil
	case strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://"):
		return nil, usagef("-f %s: addresses are not read", name).hinted("Fetch it first: curl -fsSL %s | %s kube-inject -f -", name, a.name)
	case strings.ContainsAny(name, "*?["):
		return a.glob(name)
	case strings.Contains(name, ","):
		var inputs []*input
		for part := range strings.SplitSeq(name, ",") {
			more, err := a.findInput(part)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, more...)
		}
		return inputs, nil
	}
	return nil, fmt.Errorf("reading %s: %w", name, because(err))
}

// walk returns the manifests in a folder and the folders below it. What is
// hidden (its name begins with a dot) is left out, as are links to folders.
func (a *app) walk(folder string) ([]*input, error) {
	var inputs []*input
	err := filepath.WalkDir(a.path(folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(a.path(folder), path)
		if err != nil {
			return err
		}
		if rest != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !isManifest(path) {
			return nil
		}
		info, err := os.Stat(path) // a link counts as what it leads to
		if err != nil {
			return err
		}
		if !info.IsDir() {
			inputs = append(inputs, &input{name: filepath.Join(folder, rest), found: true, folder: folder})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading folder %s: %w", folder, err)
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("reading folder %s: it holds no .yaml, .yml or .json file", folder)
	}
	return inputs, nil
}

// glob returns the files that match a pattern, and the manifests in the
// folders that do.
func (a *app) glob(pattern string) ([]*input, error) {
	matches, err := filepath.Glob(a.path(pattern))
	if err != nil {
		return nil, usagef("-f %s: %v", pattern, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("reading %s: no file matches", pattern)
	}
	slices.Sort(matches)
	var inputs []*input
	for _, match := range matches {
		name := match
		if a.Dir != "" && !filepath.IsAbs(pattern) {
			if name, err = filepath.Rel(a.Dir, match); err != nil {
				return nil, fmt.Errorf("reading %s: %w", pattern, err)
			}
		}
		more, err := a.findInput(name)
		if err != nil {
			return nil, err
		}
		for _, in := range more {
			in.found = true
		}
		inputs = append(inputs, more...)
	}
	return inputs, nil
}

func isManifest(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// inputSet is the inputs of one command, which can be read more than once.
type inputSet struct {
	app  *app
	list []*input
	// room is how many more bytes of the inputs may be kept in memory.
	room int64
}

// keepAll makes every input readable more than once.
func (s *inputSet) keepAll(ctx context.Context) error {
	for _, in := range s.list {
		if err := s.keep(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// keep makes an input readable more than once: what cannot be opened again
// (standard input, pipes) is read to its end, and small files are kept, so
// that they are read from the disk once only.
func (s *inputSet) keep(ctx context.Context, in *input) error {
	if in.name == "-" {
		return s.drain(ctx, in, s.app.Stdin)
	}
	path := s.app.path(in.name)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", in.name, because(err))
	}
	if info.Mode().IsRegular() && info.Size() > s.room {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", in.name, because(err))
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return s.drain(ctx, in, file)
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead) // else it is copied as it grows
	if _, err := data.ReadFrom(io.LimitReader(file, s.room)); err != nil {
		return fmt.Errorf("reading %s: %w", in.name, because(err))
	}
	in.content = spoolOf(data.Bytes())
	s.room -= int64(data.Len())
	return nil
}

// drain reads a stream to its end.
func (s *inputSet) drain(ctx context.Context, in *input, from io.Reader) error {
	in.content = &spool{limit: s.room, most: s.room + spoolMost - spoolLimit}
	if err := copyWhile(ctx, in.content, from); err != nil {
		return fmt.Errorf("reading %s: %w", in.name, because(err))
	}
	if in.content.file == nil {
		s.room -= in.content.size
	}
	return nil
}

// open returns a reader of the whole input.
func (s *inputSet) open(in *input) (io.Reader, func(), error) {
	if in.content != nil {
		return in.content.reader(), func() {}, nil
	}
	file, err := os.Open(s.app.path(in.name))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", in.name, because(err))
	}
	return file, func() { _ = file.Close() }, nil
}

// close gives back what the inputs hold.
func (s *inputSet) close() {
	for _, in := range s.list {
		if in.content != nil {
			in.content.close()
			in.content = nil
		}
	}
}

// copyWhile copies until the end of from or of ctx. A read that blocks, as on
// a terminal, does not keep it from returning.
func copyWhile(ctx context.Context, to io.Writer, from io.Reader) error {
	type chunk struct {
		data []byte
		err  error
	}
	// The reading side owns its buffers and stops by itself once nobody
	// listens; it never touches the destination.
	chunks, free := make(chan chunk), make(chan []byte, 2)
	free <- make([]byte, 256<<10)
	free <- make([]byte, 256<<10)
	go func() {
		for {
			var buffer []byte
			select {
			case buffer = <-free:
			case <-ctx.Done():
				return
			}
			n, err := from.Read(buffer[:cap(buffer)])
			select {
			case chunks <- chunk{buffer[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-chunks:
			if _, err := to.Write(c.data); err != nil {
				return err
			}
			if errors.Is(c.err, io.EOF) {
				return nil
			}
			if c.err != nil {
				return c.err
			}
			free <- c.data
		}
	}
}

// containsWord reports whether a stream holds one of some words, reading it through a
// window of bounded size.
func containsWord(r io.Reader, words ...string) (bool, error) {
	longest := 0
	for _, word := range words {
		longest = max(longest, len(word))
	}
	window := make([]byte, 64<<10)
	kept := 0
	for {
		n, err := r.Read(window[kept:])
		for _, word := range words {
			if bytes.Contains(window[:kept+n], []byte(word)) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		tail := min(kept+n, longest-1)
		copy(window, window[kept+n-tail:kept+n])
		kept = tail
	}
}

// within returns the name of the file in the folder that was named.
func (in *input) within() string {
	if in.folder == "" {
		return filepath.Base(in.name)
	}
	rel, err := filepath.Rel(in.folder, in.name)
	if err != nil {
		return filepath.Base(in.name)
	}
	return rel
}
