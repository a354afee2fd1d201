// Package files opens and reads the files of a repository below the root of all repositories. Every
// file is opened through an [os.Root], so no symbolic link leads out, and errors are those of
// package object.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var errNotRegular = errors.New("not a regular file")

// Open opens a regular file. A missing file is [object.ErrNotFound]; a file of another type is a
// [*object.CorruptError], which is detected at once even for a named pipe.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	// Opening a named pipe would wait for a writer without O_NONBLOCK.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, OpenError(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, object.Corrupt(name, err)
	}
	return file, info, nil
}

// Read reads a small regular file.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	file, info, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info.Size() > limit {
		return nil, object.Corrupt(name, object.ErrTooLarge)
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = object.ErrTooLarge
	}
	return text, object.Corrupt(name, err)
}

// namesAtOnce is how many names of a directory are read at a time.
const namesAtOnce = 1024

// Names calls use with the names in a directory. A missing directory has none.
func Names(root *os.Root, dir string, use func(name string)) error {
	folder, err := root.Open(dir)
	if err != nil {
		if err = OpenError(dir, err); errors.Is(err, object.ErrNotFound) {
			err = nil
		}
		return err
	}
	defer func() { _ = folder.Close() }()
	for {
		names, err := folder.Readdirnames(namesAtOnce)
		for _, name := range names {
			use(name)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return object.Corrupt(dir, err)
		}
	}
}

// Seen is a file or a folder at the moment before it was read.
type Seen struct {
	Info fs.FileInfo // nil if there was none
	At   time.Time
}

// TimestampGrain is the coarsest resolution of a file system's times (FAT has two seconds). What was
// read within that time of its last change may have changed again invisibly: git calls such entries
// racy.
const TimestampGrain = 2 * time.Second

// IsStill reports whether nothing has changed since. It may be false although nothing has.
func (s Seen) IsStill(now fs.FileInfo) bool {
	return Same(s.Info, now) && (now == nil || s.At.Sub(now.ModTime()) > TimestampGrain)
}

// Same reports whether a file is unchanged, as far as its times tell. Nil is a missing file.
func Same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// OpenError translates the error of opening a file or directory.
func OpenError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return object.ErrNotFound
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return object.ErrBusy
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w", name, object.ErrDenied)
	case errors.Is(err, fs.ErrClosed):
		return object.ErrClosed
	}
	return object.Corrupt(name, err)
}

// RefusesLink reports whether a path was refused for its symbolic links: an [os.Root] refuses those that lead out, and
// [filepath.EvalSymlinks] those that lead to themselves. Go has no names for these errors; all others are the system's.
func RefusesLink(err error) bool {
	var system syscall.Errno
	return err != nil && !errors.As(err, &system) && !errors.Is(err, fs.ErrClosed)
}
