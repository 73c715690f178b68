package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// target is where the data of a command goes: standard output, or the file
// that -o names.
type target struct {
	app *app
	// name is the value of -o; "" or "-" for standard output.
	name string
	// path is the file to replace, links followed; "" for standard output.
	path string
	// mode is what the file has; 0 where it does not exist.
	mode fs.FileMode
	// inPlace tells that the file is not a regular one (a device, a pipe) and
	// is written to, not replaced.
	inPlace bool
}

// openTarget checks that a target can be written, and touches nothing.
func (a *app) openTarget(name string) (*target, error) {
	t := &target{app: a, name: name}
	if name == "" || name == "-" {
		return t, nil
	}
	path, err := followLinks(a.path(name))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, because(err))
	}
	t.path = path
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, err := os.Stat(filepath.Dir(path))
		if err == nil && !parent.IsDir() {
			err = errors.New("its folder is not a folder")
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, because(err))
		}
	case err != nil:
		return nil, fmt.Errorf("writing %s: %w", name, because(err))
	case info.IsDir():
		return nil, usagef("-o %s names a folder", name).hinted("Name a file.")
	default:
		t.mode, t.inPlace = info.Mode(), !info.Mode().IsRegular()
		if err := t.checkWritable(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkWritable refuses a file that may not be written: it is replaced by
// another one, which takes no right to write to it. Where nobody has the right,
// root is refused too, who could write all the same.
func (t *target) checkWritable() error {
	if t.inPlace {
		return nil
	}
	err := fs.ErrPermission
	if t.mode.Perm()&0o222 != 0 {
		var file *os.File
		if file, err = os.OpenFile(t.path, os.O_WRONLY, 0); err == nil {
			return file.Close()
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return &hintedError{
			fmt.Errorf("writing %s: the file is read-only (its mode is %s)", t.name, t.mode.Perm()),
			"Make it writable, or write to another file.",
		}
	}
	return fmt.Errorf("writing %s: %w", t.name, because(err))
}

// followLinks returns the file that a path leads to, whether or not it exists.
func followLinks(path string) (string, error) {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or not there: openTarget looks closer
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

// is reports whether the target is the file at path.
func (t *target) is(path string) bool {
	if t.path == "" {
		return false
	}
	a, errA := os.Stat(t.path)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// write sends all of from to the target. A file changes at once and as a
// whole: it holds what it held before, or all of from.
func (t *target) write(ctx context.Context, from io.Reader) error {
	if t.path == "" {
		return t.writeStdout(ctx, from)
	}
	var err error
	if t.inPlace {
		err = writeInto(t.path, from)
	} else {
		err = t.replace(from)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", t.name, because(err))
	}
	return nil
}

// cutError is an interruption after some of the result was written.
type cutError struct{ written string }

func (e *cutError) Error() string { return "interrupted: " + e.written }

// begun knows whether anything was written.
type begun struct {
	to  io.Writer
	yes atomic.Bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes.Store(true)
	return b.to.Write(p)
}

// writeStdout copies to standard output until ctx ends: a reader that does not
// read must not keep the program from ending.
func (t *target) writeStdout(ctx context.Context, from io.Reader) error {
	done := make(chan error, 1)
	out := &begun{to: t.app.Stdout}
	go func() {
		_, err := io.Copy(out, from)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return &writeError{because(err)}
		}
		return nil
	case <-ctx.Done():
		if out.yes.Load() {
			return &cutError{"standard output holds a part of the result only"}
		}
		return ctx.Err()
	}
}

func writeInto(path string, from io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// replace writes a file beside the target, and gives it the target's name
// once it is safely on the disk.
func (t *target) replace(from io.Reader) (err error) {
	file, err := createBeside(t.path)
	if _, missing := os.Stat(filepath.Dir(t.path)); err != nil && missing == nil {
		return &hintedError{
			fmt.Errorf("no file can be created in its folder %s: %w", filepath.Dir(t.path), because(err)),
			"A result is written beside the file that it replaces, which thus is never half written. Make the folder writable, or write to another one.",
		}
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	if t.mode != 0 {
		if err := file.Chmod(t.mode.Perm()); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), t.path); err != nil {
		return err
	}
	// That the name is on the disk too is worth asking for, but not every
	// system lets a folder be synced.
	if dir, err := os.Open(filepath.Dir(t.path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// createBeside creates a hidden file in the folder of path, with the mode that
// a new file gets. (os.CreateTemp would keep it from everyone else.)
func createBeside(path string) (*os.File, error) {
	prefix := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".")
	for range 100 {
		file, err := os.OpenFile(prefix+strconv.FormatUint(uint64(rand.Uint32()), 36), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
	return nil, errors.New("no name is free for a temporary file")
}
