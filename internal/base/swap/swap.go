// Package swap complements package os for changes in a folder that other programs change at the
// same time: renames that never replace anything unseen, and the detection of writers.
package swap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Folder is an open folder. It is safe for concurrent use.
type Folder struct {
	root   *os.Root
	handle *os.File // the same; nil if only plain renames are available
}

// Open opens a folder by its root, which the caller closes. plain restricts it to features that
// every system and file system has.
func Open(root *os.Root, plain bool) (*Folder, error) {
	f := &Folder{root: root}
	if plain {
		return f, nil
	}
	var err error
	f.handle, err = root.Open(".")
	return f, err
}

// Close releases the folder.
func (f *Folder) Close() error {
	if f.handle == nil {
		return nil
	}
	return f.handle.Close()
}

// Exchange atomically swaps the names of two entries. It returns [errors.ErrUnsupported] if the
// system or the file system cannot do that.
func (f *Folder) Exchange(a, b string) error {
	if f.handle == nil {
		return errors.ErrUnsupported
	}
	return renamed(exchange(f.handle, a, b))
}

// Move renames an entry, by paths below the folder. If the new path exists, it fails with
// fs.ErrExist.
//
// Systems without such a rename first link a file to its new name, which fails if that exists.
// Folders, and files of some file systems, cannot have two names: there, an entry that appears
// between the check and the rename is replaced.
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

// HasWriter reports whether a program has a regular file open for writing. That is unknown for some
// file systems, and for other users' files.
func (f *Folder) HasWriter(name string) (has, known bool) {
	file, err := f.root.Open(name)
	if err != nil { // the file may be unreadable
		return false, false
	}
	defer func() { _ = file.Close() }() // only read
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

// Identify prepares the info of a path for a comparison after the file was renamed: Windows finds out at the first one,
// by the path, which file it is.
func Identify(info fs.FileInfo) { _ = os.SameFile(info, info) }

// IsSame reports whether a file is unchanged.
func IsSame(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
