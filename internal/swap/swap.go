// Package swap has what a program needs besides package os to change a folder that other
// programs change at the same time: renames that replace nothing unseen, and what tells
// that a file is about to be changed.
package swap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Folder is an open one. Several goroutines may use it at the same time.
type Folder struct {
	root   *os.Root
	handle *os.File // the same; nil where renames are all that there is
}

// Open opens a folder by its root, which stays the caller's to close. If plain, nothing
// is used that some systems or file systems lack.
func Open(root *os.Root, plain bool) (*Folder, error) {
	f := &Folder{root: root}
	if plain {
		return f, nil
	}
	var err error
	f.handle, err = root.Open(".")
	return f, err
}

// Close ends the use of the folder.
func (f *Folder) Close() error {
	if f.handle == nil {
		return nil
	}
	return f.handle.Close()
}

// Exchange gives two entries each other's names, in one step. It is
// [errors.ErrUnsupported] where the system or the file system lacks that.
func (f *Folder) Exchange(a, b string) error {
	if f.handle == nil {
		return errors.ErrUnsupported
	}
	return renamed(exchange(f.handle, a, b))
}

// Move renames an entry, by paths below the folder. Where the new one is taken it fails
// with fs.ErrExist.
//
// On a system without such a rename a file gets a second name for a moment, which is
// refused where there is one. Folders, and files of some file systems, cannot have two
// names: what appears between a look and the rename is replaced there.
func (f *Folder) Move(from, to string) error {
	if f.handle != nil {
		if err := renamed(move(f.handle, from, to)); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	err := f.root.Link(from, to)
	if err == nil {
		return f.root.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := f.root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return f.root.Rename(from, to)
}

// HasWriter reports whether some program has a regular file open for writing. It is not
// known of every file system, nor of other users' files.
func (f *Folder) HasWriter(name string) (has, known bool) {
	file, err := f.root.Open(name)
	if err != nil { // it may not be read
		return false, false
	}
	defer func() { _ = file.Close() }() // only read from
	return hasWriter(file)
}

func renamed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoFlag), errors.Is(err, errNoCall), errors.Is(err, errors.ErrUnsupported):
		return errors.ErrUnsupported
	default:
		return fmt.Errorf("rename: %w", err)
	}
}

// IsSame reports whether a file is the one that it was, with what it had.
func IsSame(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
