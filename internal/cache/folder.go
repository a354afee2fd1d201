package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/repomcp/repomcp/internal/base/folderlock"
)

// file is an open file of a folder.
type file interface {
	io.ReaderAt
	io.WriterAt
	Stat() (fs.FileInfo, error)
	Sync() error
	Close() error
}

// folder is the part of a file system that the disk cache needs. Tests make it fail.
type folder interface {
	// each calls do for every regular file.
	each(do func(fs.FileInfo)) error
	create(name string) (file, error)
	open(name string) (file, error)
	// rename returns once the new name is durable.
	rename(from, to string) error
	remove(name string) error
	touch(name string, when time.Time) error
	close() error
}

// rootFolder is a folder of the operating system. It is locked while it is open, because unfinished
// files of another process look like those of a crash.
type rootFolder struct {
	root *os.Root
	self *os.File
}

func openFolder(dir string) (_ *rootFolder, err error) {
	// The folder holds archives of private repositories.
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // the operator names it
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	switch err = folderlock.Lock(self); {
	case errors.Is(err, folderlock.ErrHeld):
		err = ErrInUse
	case errors.Is(err, errors.ErrUnsupported):
		err = nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), self.Close(), root.Close())
	}
	return &rootFolder{root, self}, nil
}

// listBatch bounds the names in memory.
const listBatch = 1024

func (f *rootFolder) each(do func(fs.FileInfo)) error {
	list, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }()
	for {
		entries, err := list.ReadDir(listBatch)
		for _, entry := range entries {
			// A file may vanish meanwhile.
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				do(info)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (f *rootFolder) create(name string) (file, error) {
	return f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (f *rootFolder) open(name string) (file, error) { return f.root.Open(name) }

func (f *rootFolder) rename(from, to string) error {
	if err := f.root.Rename(from, to); err != nil {
		return err
	}
	return f.self.Sync()
}

func (f *rootFolder) remove(name string) error { return f.root.Remove(name) }

func (f *rootFolder) touch(name string, when time.Time) error {
	return f.root.Chtimes(name, when, when)
}

func (f *rootFolder) close() error { return errors.Join(f.self.Close(), f.root.Close()) }
