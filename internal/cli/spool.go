package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// How many bytes are kept in memory before all of them go to a temporary file,
// which costs no more time than memory that was never used, and how many where
// no such file can be made.
const (
	spoolLimit = 2 << 20
	spoolMost  = 8 << 20
)

// spool holds bytes that are written first and read later: in memory up to
// its limit, and all of them in a temporary file beyond.
type spool struct {
	limit int64
	// most is the limit where no temporary file can be made, if it is higher.
	most int64
	// memory holds the bytes in blocks, so that none are copied as they grow.
	memory [][]byte
	file   *os.File
	size   int64
}

// The size of blocks: small at first, as most results are.
const (
	firstBlock = 16 << 10
	nextBlock  = 256 << 10
)

// spoolOf returns a spool that holds data.
func spoolOf(data []byte) *spool {
	return &spool{memory: [][]byte{data}, size: int64(len(data))}
}

func newSpool() *spool { return &spool{limit: spoolLimit, most: spoolMost} }

// Write appends to the spool.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil {
		size := s.size + int64(len(p))
		if size > s.limit {
			if err := s.spill(); err != nil && (s.file != nil || size > s.most) {
				return 0, err
			} else if err != nil {
				s.limit = s.most
			}
		}
		if s.file == nil {
			s.keep(p)
			s.size = size
			return len(p), nil
		}
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	if err != nil {
		err = fmt.Errorf("writing temporary file %s: %w", s.file.Name(), because(err))
	}
	return n, err
}

// keep appends to the blocks in memory.
func (s *spool) keep(p []byte) {
	if last := len(s.memory) - 1; last >= 0 {
		block := s.memory[last]
		n := copy(block[len(block):cap(block)], p)
		s.memory[last], p = block[:len(block)+n], p[n:]
	}
	if len(p) > 0 {
		size := nextBlock
		if len(s.memory) == 0 {
			size = firstBlock
		}
		s.memory = append(s.memory, append(make([]byte, 0, max(size, len(p))), p...))
	}
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
	for _, block := range s.memory {
		if _, err := file.Write(block); err != nil {
			return fmt.Errorf("writing temporary file %s: %w", file.Name(), because(err))
		}
	}
	s.memory = nil
	return nil
}

// reader returns a reader of all that was written.
func (s *spool) reader() io.Reader {
	if s.file == nil {
		blocks := make([]io.Reader, len(s.memory))
		for i, block := range s.memory {
			blocks[i] = bytes.NewReader(block)
		}
		return io.MultiReader(blocks...)
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
