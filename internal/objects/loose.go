package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/repomcp/repomcp/internal/inflate"
)

// Loose objects, gitrepository-layout(5): objects/xx/y..., a zlib stream of
// the header that is hashed too ("blob 12" and a NUL) and the content.

// longestLooseHeader is how many bytes git reads for the header.
const longestLooseHeader = 32

func loosePath(dir string, id ID) string {
	digits := id.String()
	return path.Join(dir, digits[:2], digits[2:])
}

// openLoose opens a loose object in the first directory that has a sound one.
func (v *view) openLoose(id ID) (*Object, error) {
	verdict := ErrNotFound
	for _, dir := range v.dirs {
		object, err := v.store.openLooseFile(loosePath(dir, id), id)
		if err == nil {
			return object, nil
		}
		if !errors.Is(err, ErrNotFound) {
			verdict = err
		}
	}
	return nil, verdict
}

func (s *Store) openLooseFile(name string, id ID) (*Object, error) {
	file, info, err := s.openFile(name)
	if err != nil {
		return nil, err
	}
	inflater := s.takeInflater()
	source := &stream{inflater: inflater, store: s, last: noMore, closing: func() { _ = file.Close() }}
	damage := func(err error) error { return corrupt(name, err) }
	err = inflater.Reset(file, 0, info.Size())
	var kind Type
	var size int64
	if err == nil {
		kind, size, err = readLooseHeader(inflater)
	}
	if err == nil && size/largestRatio > info.Size() {
		err = errWrongSize
	}
	if err != nil {
		source.close()
		return nil, about(id, damage(err))
	}
	object := &Object{kind: kind, size: size, id: id, left: size, source: source, damage: damage, store: s}
	object.Verify()
	return object, nil
}

// noMore checks that a file ends where its zlib stream does, as git does for
// loose objects.
func noMore(f *inflate.Reader) error {
	more, err := f.More()
	if err == nil && more {
		err = errTrailing
	}
	return err
}

// readLooseHeader reads up to the NUL.
func readLooseHeader(r io.Reader) (Type, int64, error) {
	var header [longestLooseHeader]byte
	for i := range header {
		if _, err := io.ReadFull(r, header[i:i+1]); err != nil {
			return 0, 0, sizeError(err)
		}
		if header[i] == 0 {
			return parseLooseHeader(header[:i])
		}
	}
	return 0, 0, errBadLoose
}

// parseLooseHeader reads a header without its NUL: a type, one space and a
// size in decimal digits without leading zeros.
func parseLooseHeader(header []byte) (Type, int64, error) {
	for _, kind := range []Type{Commit, Tree, Blob, Tag} {
		name := kind.String()
		if len(header) <= len(name) || string(header[:len(name)]) != name || header[len(name)] != ' ' {
			continue
		}
		size, err := parseSize(header[len(name)+1:])
		return kind, size, err
	}
	return 0, 0, errBadLoose
}

func parseSize(digits []byte) (int64, error) {
	// Eighteen digits cannot overflow, and no object has more.
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
		return 0, errBadLoose
	}
	size := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errBadLoose
		}
		size = size*10 + int64(c-'0')
	}
	return size, nil
}

func (s *Store) openFile(name string) (*os.File, fs.FileInfo, error) {
	return OpenRegular(s.root, name)
}

// OpenRegular opens a regular file below a root: every file of a repository is
// opened by it. What is missing is [ErrNotFound]; what is no regular file is a
// [*CorruptError], found out at once even where it is a named pipe.
func OpenRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	// Opening a named pipe would wait for a writer without O_NONBLOCK.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, openError(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, corrupt(name, err)
	}
	return file, info, nil
}

// openError returns the verdict on a file or directory that cannot be opened.
func openError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ErrNotFound
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ErrBusy
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w", name, ErrDenied)
	case errors.Is(err, fs.ErrClosed):
		return ErrClosed
	}
	return corrupt(name, err)
}

// looseIDs appends the ids of the loose objects that begin with the byte
// first. Files with other names, such as those being written, are none.
func (s *Store) looseIDs(ids []ID, dir string, first byte) ([]ID, error) {
	prefix := (ID{first}).String()[:2]
	name := path.Join(dir, prefix)
	folder, err := s.root.Open(name)
	if err != nil {
		if err = openError(name, err); errors.Is(err, ErrNotFound) {
			return ids, nil
		}
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	for {
		names, err := folder.Readdirnames(namesAtOnce)
		for _, rest := range names {
			if id, err := ParseID(prefix + rest); err == nil && !slices.ContainsFunc([]byte(rest), isUpper) {
				ids = append(ids, id)
			}
		}
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, corrupt(name, err)
		}
	}
}

// namesAtOnce is how many names of a directory are read at a time.
const namesAtOnce = 1024

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
