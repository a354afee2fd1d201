package repos

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
)

// readOnlyFS shows go-git one repository through an [os.Root], so that no
// symbolic link leads out of it and nothing can be written.
//
// Pack files are opened once and kept: go-git opens a pack again by name for
// each large object, and by then the pack may be gone. The kept descriptor is
// what lets a stream outlive `git repack -ad` and even `rm -rf`.
type readOnlyFS struct {
	root  *os.Root
	dir   string // below root
	packs map[string]*os.File
}

func newReadOnlyFS(root *os.Root, dir string) *readOnlyFS {
	return &readOnlyFS{root: root, dir: dir, packs: make(map[string]*os.File)}
}

// pin opens every pack that is there now.
func (f *readOnlyFS) pin() error {
	entries, err := readDir(f.root, f.path("objects/pack"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".pack") {
			continue
		}
		name := path.Join("objects/pack", entry.Name())
		file, err := f.root.Open(f.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		f.packs[name] = file
	}
	return nil
}

func (f *readOnlyFS) close() error {
	var errs []error
	for _, file := range f.packs {
		errs = append(errs, file.Close())
	}
	f.packs = nil
	return errors.Join(errs...)
}

func (f *readOnlyFS) path(name string) string { return path.Join(f.dir, name) }

// Open implements billy.Filesystem.
func (f *readOnlyFS) Open(name string) (billy.File, error) {
	if name = path.Clean(name); name == alternatesPath {
		// Alternates are resolved by us, within the root: go-git would look
		// for them elsewhere.
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if pack := f.packs[name]; pack != nil {
		info, err := pack.Stat()
		if err != nil {
			return nil, err
		}
		return &readOnlyFile{ReadSeeker: io.NewSectionReader(pack, 0, info.Size()), name: name, file: pack}, nil
	}
	file, err := f.root.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	return &readOnlyFile{ReadSeeker: file, name: name, file: file, owned: true}, nil
}

// OpenFile implements billy.Filesystem; only reading is possible.
func (f *readOnlyFS) OpenFile(name string, flag int, _ os.FileMode) (billy.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0 {
		return nil, billy.ErrReadOnly
	}
	return f.Open(name)
}

// Stat implements billy.Filesystem.
func (f *readOnlyFS) Stat(name string) (os.FileInfo, error) { return f.root.Stat(f.path(name)) }

// Lstat implements billy.Filesystem.
func (f *readOnlyFS) Lstat(name string) (os.FileInfo, error) { return f.root.Lstat(f.path(name)) }

// ReadDir implements billy.Filesystem.
func (f *readOnlyFS) ReadDir(name string) ([]os.FileInfo, error) {
	entries, err := readDir(f.root, f.path(name))
	if err != nil {
		return nil, err
	}
	infos := make([]os.FileInfo, 0, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return slices.Clip(infos), nil
}

// Join implements billy.Filesystem.
func (f *readOnlyFS) Join(elem ...string) string { return path.Join(elem...) }

// Root implements billy.Filesystem. The host's path stays hidden.
func (f *readOnlyFS) Root() string { return "/" }

// Chroot implements billy.Filesystem; nothing needs it.
func (f *readOnlyFS) Chroot(string) (billy.Filesystem, error) { return nil, billy.ErrNotSupported }

// Readlink implements billy.Filesystem.
func (f *readOnlyFS) Readlink(name string) (string, error) { return f.root.Readlink(f.path(name)) }

// Create implements billy.Filesystem by refusing.
func (f *readOnlyFS) Create(string) (billy.File, error) { return nil, billy.ErrReadOnly }

// TempFile implements billy.Filesystem by refusing.
func (f *readOnlyFS) TempFile(string, string) (billy.File, error) { return nil, billy.ErrReadOnly }

// Rename implements billy.Filesystem by refusing.
func (f *readOnlyFS) Rename(string, string) error { return billy.ErrReadOnly }

// Remove implements billy.Filesystem by refusing.
func (f *readOnlyFS) Remove(string) error { return billy.ErrReadOnly }

// MkdirAll implements billy.Filesystem by refusing.
func (f *readOnlyFS) MkdirAll(string, os.FileMode) error { return billy.ErrReadOnly }

// Symlink implements billy.Filesystem by refusing.
func (f *readOnlyFS) Symlink(string, string) error { return billy.ErrReadOnly }

// readOnlyFile is a handle with a position of its own. Handles of a kept pack
// share its descriptor and leave it open.
type readOnlyFile struct {
	io.ReadSeeker
	name  string // as it was opened: go-git opens it again by this name
	file  *os.File
	owned bool
}

func (f *readOnlyFile) Name() string                            { return f.name }
func (f *readOnlyFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }
func (f *readOnlyFile) Write([]byte) (int, error)               { return 0, billy.ErrReadOnly }
func (f *readOnlyFile) Truncate(int64) error                    { return billy.ErrReadOnly }
func (f *readOnlyFile) Lock() error                             { return nil }
func (f *readOnlyFile) Unlock() error                           { return nil }

func (f *readOnlyFile) Close() error {
	if !f.owned {
		return nil
	}
	return f.file.Close()
}

// changed reports whether the packs that are there now differ from the pinned.
func (f *readOnlyFS) changed() bool {
	entries, err := readDir(f.root, f.path("objects/pack"))
	if err != nil {
		return len(f.packs) > 0
	}
	count := 0
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".pack") {
			count++
			if f.packs[path.Join("objects/pack", entry.Name())] == nil {
				return true
			}
		}
	}
	return count != len(f.packs)
}
