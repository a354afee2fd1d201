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

// File collects bytes, which are read when all were written. It is used by one goroutine at a
// time, except that several may read.
type File struct {
	space    *Space
	memory   int
	buffer   []byte   // the last bytes, which are not in the file
	file     *os.File // nil while all bytes are in the buffer
	filed    int64    // bytes in the file
	reserved int64    // bytes taken from the space, at least those in the file
}

// NewFile returns an empty file, which keeps at most so many bytes in memory. Close it.
func (s *Space) NewFile(memory int) *File { return &File{space: s, memory: memory} }

// Reserve takes the room for the first n bytes, so that there is no [ErrFull] while they are
// written, unless the disk is full.
func (f *File) Reserve(n int64) error {
	if n > f.reserved {
		if !f.space.take(n - f.reserved) {
			return ErrFull
		}
		f.reserved = n
	}
	return nil
}

// Size returns the number of bytes that were written.
func (f *File) Size() int64 { return f.filed + int64(len(f.buffer)) }

// Write implements [io.Writer].
func (f *File) Write(p []byte) (int, error) {
	if len(f.buffer)+len(p) > f.memory {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) > f.memory {
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
	if err := f.Reserve(f.filed + int64(len(p))); err != nil {
		return err
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

// ReadAt implements [io.ReaderAt] for a file that keeps nothing in memory. Its end is no clean one:
// the caller knows its length.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.file.ReadAt(p, offset)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, failure(err)
}

// copyBuffer is the length of the pieces in which [File.WriteTo] copies.
const copyBuffer = 64 << 10

// WriteTo writes all bytes to w, and may be called again.
func (f *File) WriteTo(w io.Writer) (copied int64, err error) {
	if f.file != nil {
		// Without these types the copy would not be made through the buffer.
		source := struct{ io.Reader }{io.NewSectionReader(f.file, 0, f.filed)}
		copied, err = io.CopyBuffer(struct{ io.Writer }{w}, source, make([]byte, copyBuffer))
		if err == nil && copied < f.filed {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return copied, failure(err)
		}
	}
	n, err := w.Write(f.buffer)
	return copied + int64(n), err
}

// Close removes the file and releases its room. It may be called twice.
func (f *File) Close() {
	f.space.used.Add(-f.reserved)
	if f.file != nil {
		_ = f.file.Close()
		_ = os.Remove(f.file.Name()) // fails if it has no name any more
	}
	f.file, f.buffer, f.filed, f.reserved = nil, nil, 0, 0
}

// failure removes the path from an error of a file. Other errors stay as they are.
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
