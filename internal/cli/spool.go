package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// spoolLimit is how many bytes are kept in memory before the rest goes to a
// temporary file.
const spoolLimit = 8 << 20

// spool holds bytes that are written first and read later: in memory up to
// its limit, and all of them in a temporary file beyond.
type spool struct {
	limit  int
	memory []byte
	file   *os.File
	size   int64
}

func newSpool() *spool { return &spool{limit: spoolLimit} }

// Write appends to the spool.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) > s.limit {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	if s.file == nil {
		s.memory = append(s.memory, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	if err != nil {
		err = fmt.Errorf("writing temporary file %s: %w", s.file.Name(), because(err))
	}
	return n, err
}

// spill moves what is in memory to a temporary file.
func (s *spool) spill() error {
	file, err := os.CreateTemp("", "ingraft-*")
	if err != nil {
		return fmt.Errorf("creating a temporary file in %s: %w", os.TempDir(), because(err))
	}
	// Where the system allows it, the file loses its name at once: then nothing
	// is left behind however the process ends.
	_ = os.Remove(file.Name())
	s.file = file
	if _, err := file.Write(s.memory); err != nil {
		return fmt.Errorf("writing temporary file %s: %w", file.Name(), because(err))
	}
	s.memory = nil
	return nil
}

// reader returns a reader of all that was written.
func (s *spool) reader() io.Reader {
	if s.file == nil {
		return bytes.NewReader(s.memory)
	}
	return io.NewSectionReader(s.file, 0, s.size)
}

// close gives the space back. It may be called more than once.
func (s *spool) close() {
	s.memory = nil
	if s.file != nil {
		_ = s.file.Close()
		if err := os.Remove(s.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return // it is gone with the system's next cleaning of its folder
		}
		s.file = nil
	}
}
