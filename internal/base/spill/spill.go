// Package spill keeps bytes that do not belong into memory in temporary files.
//
// A process makes one [Space] for each purpose. Its limit counts the bytes of all files together,
// so that one client cannot fill a disk. A [File] keeps its first bytes in memory, and makes a
// file only for more. The file has no name: it disappears with its descriptor, even if the process
// is killed. A system that cannot remove an open file keeps it until [File.Close].
package spill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

// ErrFull means that there is no room for more bytes now: the space is used up, the disk is full,
// or the process has no free descriptor. A later attempt may succeed.
var ErrFull = errors.New("no room for a temporary file")

// Space is where temporary files are, and how much they may take together. It is safe for
// concurrent use.
type Space struct {
	dir   string
	limit int64
	used  atomic.Int64
}

// NewSpace returns an unused space of limit bytes in a folder.
func NewSpace(dir string, limit int64) *Space { return &Space{dir: dir, limit: limit} }

// Limit returns the number of bytes that all files together may have.
func (s *Space) Limit() int64 { return s.limit }

// Used returns the number of bytes that are taken.
func (s *Space) Used() int64 { return s.used.Load() }

// take claims n bytes, or nothing if they do not fit.
func (s *Space) take(n int64) bool {
	if s.used.Add(n) <= s.limit {
		return true
	}
	s.used.Add(-n)
	return false
}

// MemoryBytes is the memory of a [File].
const MemoryBytes = 128 << 10

// File collects bytes, which are read when all were written. It is used by one goroutine at a
// time.
type File struct {
	space  *Space
	buffer []byte   // the last bytes, which are not in the file
	file   *os.File // nil while all bytes are in the buffer
	filed  int64    // bytes in the file, which are taken from the space
}

// NewFile returns an empty file. Close it.
func (s *Space) NewFile() *File { return &File{space: s} }

// Size returns the number of bytes that were written.
func (f *File) Size() int64 { return f.filed + int64(len(f.buffer)) }

// Write appends bytes.
func (f *File) Write(p []byte) (int, error) {
	if len(f.buffer)+len(p) > MemoryBytes {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) > MemoryBytes {
		return len(p), f.store(p)
	}
	f.buffer = append(f.buffer, p...)
	return len(p), nil
}

// flush moves the buffer to the file.
func (f *File) flush() error {
	if len(f.buffer) == 0 {
		return nil
	}
	err := f.store(f.buffer)
	f.buffer = f.buffer[:0]
	return err
}

// store appends bytes to the file.
func (f *File) store(p []byte) error {
	if f.file == nil {
		if err := f.create(); err != nil {
			return err
		}
	}
	if !f.space.take(int64(len(p))) {
		return ErrFull
	}
	f.filed += int64(len(p))
	_, err := f.file.Write(p)
	return failure(err)
}

func (f *File) create() (err error) {
	if f.file, err = os.CreateTemp(f.space.dir, "repomcp-*"); err != nil {
		return failure(err)
	}
	_ = os.Remove(f.file.Name()) // Close removes it where the system refuses that
	return nil
}

// WriteTo writes all bytes to w.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	var copied int64
	if f.file != nil {
		var err error
		// The reader hides other methods of the file, so that the copy is made through the buffer.
		source := struct{ io.Reader }{io.NewSectionReader(f.file, 0, f.filed)}
		if copied, err = io.CopyBuffer(struct{ io.Writer }{w}, source, make([]byte, MemoryBytes)); err != nil {
			return copied, failure(err)
		}
		if copied < f.filed {
			return copied, fmt.Errorf("temporary file: %w", io.ErrUnexpectedEOF)
		}
	}
	n, err := w.Write(f.buffer)
	return copied + int64(n), err
}

// Close removes the file and releases its space. It may be called twice.
func (f *File) Close() {
	f.space.used.Add(-f.filed)
	if f.file != nil {
		_ = f.file.Close()
		_ = os.Remove(f.file.Name()) // fails if it has no name any more
	}
	f.file, f.filed, f.buffer = nil, 0, nil
}

// failure removes the path from an error of a file. Errors of a writer stay as they are.
func failure(err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EMFILE),
		errors.Is(err, syscall.ENFILE):
		return ErrFull
	case errors.As(err, &at):
		return fmt.Errorf("temporary file (TMPDIR names the folder): %w", at.Err)
	}
	return err
}
