package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ingraft/ingraft/internal/source"
)

// writing says where results go, and in which shape.
type writing struct {
	output  string
	inPlace bool
	diff    bool
	// patch is the form of patches to write instead of objects, "" for none.
	patch string
	// joined tells, once opened, that all results go into one stream.
	joined bool
}

func (w *writing) register(f *pflag.FlagSet) {
	f.StringVarP(&w.output, "output", "o", "", "file to write, or folder (which exists, or ends in /) for one file for each input; empty for standard output. The file may be the input")
	f.BoolVar(&w.inPlace, "in-place", false, "change the input files themselves, each at once; a file without changes is not touched. A changed file is a new one, as with sed -i: other hard links keep what was")
	f.BoolVar(&w.diff, "diff", false, "write the changes as a unified diff, for people and for git apply, rather than the result")
}

// results takes what became of the documents, in order.
type results interface {
	add(in *input, doc *source.Document, o *outcome) error
	// lost hears of a document of an input that is left out, and its text.
	lost(in *input, text []byte) error
	// empty reports whether there is nothing to write.
	empty() bool
	// finish writes what was taken: nothing is written before.
	finish(ctx context.Context) error
	close()
}

// open checks that results can be written, and touches nothing.
func (w *writing) open(a *app, inputs *inputSet) (results, error) {
	folder, err := w.folder(a)
	if err != nil {
		return nil, err
	}
	switch {
	case w.inPlace && w.output != "":
		return nil, usagef("--in-place and -o %s: the result goes to one place", w.output)
	case w.inPlace && w.diff:
		return nil, usagef("--in-place and --diff exclude each other").hinted("Look at the diff first, then run with --in-place.")
	case w.patch != "" && (w.inPlace || w.diff):
		return nil, usagef("--patch writes patches: it goes with neither --in-place nor --diff")
	case w.patch == "kustomize" && !folder:
		return nil, usagef("--patch kustomize writes a folder: -o names none").hinted("Write for example -o overlay/.")
	case folder && (w.diff || w.patch != "" && w.patch != "kustomize"):
		return nil, usagef("-o %s names a folder", w.output).hinted("Name a file.")
	case w.inPlace:
		return inPlaceResults(a, inputs)
	case w.patch == "kustomize":
		w.joined = true
		return kustomizeResults(a, inputs, w.output)
	case folder:
		return folderResults(a, inputs, w.output)
	}
	target, err := a.openTarget(w.output)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs.list {
		if len(inputs.list) > 1 && in.found && target.is(a.path(in.name)) {
			return nil, usagef("-o %s is also one of the %d files that -f finds: it would hold all of them, and be read again next time", target.name, len(inputs.list)).
				hinted("Write to a file that -f does not find.")
		}
	}
	w.joined = !w.diff && w.patch == ""
	s := &single{target: target, spool: newSpool()}
	switch {
	case w.diff:
		s.form = &diffWriter{to: s.spool, color: target.path == "" && a.colorful(a.Stdout)}
	case w.patch != "":
		s.form = &patchWriter{to: s.spool}
	default:
		s.form = &joiner{to: s.spool}
	}
	return s, nil
}

// folder reports whether -o names a folder.
func (w *writing) folder(a *app) (bool, error) {
	if w.output == "" || w.output == "-" {
		return false, nil
	}
	info, err := os.Stat(a.path(w.output))
	named := strings.HasSuffix(w.output, "/") || strings.HasSuffix(w.output, string(filepath.Separator))
	switch {
	case err == nil && named && !info.IsDir():
		return false, usagef("-o %s is a file, not a folder", w.output)
	case err == nil:
		return info.IsDir(), nil
	case errors.Is(err, fs.ErrNotExist):
		return named, nil
	}
	return false, nil // openTarget says what is wrong
}

// single is all results in one file or on standard output.
type single struct {
	target *target
	spool  *spool
	form   form
}

// form makes one text of results.
type form interface {
	add(in *input, doc *source.Document, o *outcome) error
	end() error
}

func (s *single) add(in *input, doc *source.Document, o *outcome) error {
	return s.form.add(in, doc, o)
}

func (s *single) lost(*input, []byte) error { return nil }

func (s *single) empty() bool { return s.spool.size == 0 }

func (s *single) finish(ctx context.Context) error {
	if err := s.form.end(); err != nil {
		return err
	}
	return s.target.write(ctx, s.spool.reader())
}

func (s *single) close() { s.spool.close() }

// files is a result for each input.
type files struct {
	app   *app
	spool *spool
	// target names the file for an input.
	target map[*input]string
	// all tells to write also files that are what their input is.
	all   bool
	parts []*filePart
}

// filePart is the result of one input: a run of bytes of the spool.
type filePart struct {
	in      *input
	from    int64
	changed bool
	// lacks tells that a document of the input is refused; sound, that another
	// one is not.
	lacks, sound bool
	joiner       joiner
}

func (f *files) add(in *input, doc *source.Document, o *outcome) error {
	part := f.part(in)
	part.sound = true
	part.changed = part.changed || o.data != nil && string(o.data) != string(doc.Text.Data)
	return part.joiner.add(in, doc, o)
}

// lost puts a refused document into the file of its input as it is, where there
// is to be a file for every input: a folder that lacks a part of what it was
// made of is mistaken for all of it.
func (f *files) lost(in *input, text []byte) error {
	part := f.part(in)
	part.lacks = true
	if !f.all {
		return nil
	}
	return part.joiner.put(in, text, source.YAML)
}

// empty reports whether no file is to be written: nothing is sound.
func (f *files) empty() bool {
	for _, part := range f.parts {
		if f.wants(part) && (part.sound || !part.lacks) {
			return false
		}
	}
	return true
}

// copies tells whether refused documents are written as they are.
func copies(r results) bool {
	f, ok := r.(*files)
	return ok && f.all
}

// wants tells whether a file is to be written. One that would lose a document
// of its own is not.
func (f *files) wants(part *filePart) bool { return f.all || part.changed && !part.lacks }

// part returns the result of an input, the last one or a new one.
func (f *files) part(in *input) *filePart {
	if n := len(f.parts); n == 0 || f.parts[n-1].in != in {
		f.parts = append(f.parts, &filePart{in: in, from: f.spool.size, joiner: joiner{to: f.spool}})
	}
	return f.parts[len(f.parts)-1]
}

func (f *files) finish(ctx context.Context) error {
	written := 0
	for i, part := range f.parts {
		if err := ctx.Err(); err != nil && written > 0 {
			return &cutError{plural(written, "file") + " of those to write were written, each as a whole"}
		} else if err != nil {
			return err
		}
		end := f.spool.size
		if i+1 < len(f.parts) {
			end = f.parts[i+1].from
		}
		if !f.wants(part) {
			continue
		}
		name := f.target[part.in]
		if f.all {
			if err := os.MkdirAll(filepath.Dir(f.app.path(name)), 0o777); err != nil {
				return fmt.Errorf("creating folder %s: %w", filepath.Dir(name), because(err))
			}
		}
		target, err := f.app.openTarget(name)
		if err != nil {
			return err
		}
		if err := target.write(ctx, f.spool.section(part.from, end)); err != nil {
			return err
		}
		written++
	}
	return nil
}

func (f *files) close() { f.spool.close() }

// inPlaceResults replaces the inputs.
func inPlaceResults(a *app, inputs *inputSet) (results, error) {
	f := &files{app: a, spool: newSpool(), target: map[*input]string{}}
	for _, in := range inputs.list {
		if in.name == "-" {
			return nil, usagef("--in-place: standard input is no file")
		}
		target, err := a.openTarget(in.name)
		if err != nil {
			return nil, err
		}
		if target.inPlace {
			return nil, usagef("--in-place: %s is no regular file", in.name)
		}
		f.target[in] = in.name
	}
	return f, nil
}

// folderResults writes files of the inputs' names, with the folders that they
// are in below those that -f names.
func folderResults(a *app, inputs *inputSet, folder string) (*files, error) {
	f := &files{app: a, spool: newSpool(), target: map[*input]string{}, all: true}
	taken := map[string]string{}
	for _, in := range inputs.list {
		if in.name == "-" {
			return nil, usagef("-o %s is a folder: what comes from standard input has no name for a file in it", folder)
		}
		name := filepath.Join(folder, in.within())
		if other, ok := taken[name]; ok && other != in.name {
			return nil, usagef("-o %s: both %s and %s would become %s", folder, other, in.name, name)
		}
		taken[name] = in.name
		f.target[in] = name
		if in.folder != "" && isWithin(a.path(in.folder), a.path(folder)) {
			return nil, usagef("-o %s lies in %s: its files would be read again next time", folder, in.folder).
				hinted("Write to a folder beside it, or into the files with --in-place.")
		}
		switch info, err := os.Stat(a.path(name)); {
		case err == nil && info.IsDir():
			return nil, usagef("-o %s: %s is a folder there, and a file in the input", folder, name)
		case err == nil:
			if _, err := a.openTarget(name); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// isWithin reports whether a folder is another one or lies in it.
func isWithin(outer, inner string) bool {
	for _, p := range [...]*string{&outer, &inner} {
		if abs, err := filepath.Abs(*p); err == nil {
			*p = abs
		}
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// section returns a reader of the bytes from:to of what was written.
func (s *spool) section(from, to int64) io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, from, to-from)
	}
	r := s.reader()
	_, _ = io.CopyN(io.Discard, r, from) // memory: neither slow nor failing
	return io.LimitReader(r, to-from)
}
