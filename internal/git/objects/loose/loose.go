// Package loose reads loose objects, gitrepository-layout(5): files objects/xx/y...,
// each a zlib stream of the header that is hashed too ("blob 12" and a NUL) and the
// content.
package loose

import (
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var (
	errBadHeader = errors.New("malformed loose object header")
	errTrailing  = errors.New("bytes after the end of a loose object")
)

// Reader reads the loose objects of all repositories below a root. Any number of
// goroutines may use it.
type Reader struct {
	root    *os.Root
	beneath *beneath
	buffers *object.Buffers
	scratch sync.Pool // of *scratch
}

// NewReader returns a reader of the objects below root, which stays the caller's.
func NewReader(root *os.Root, buffers *object.Buffers) *Reader {
	return &Reader{root: root, beneath: newBeneath(root), buffers: buffers}
}

// Close ends the reader. Open objects stay open.
func (r *Reader) Close() error { return r.beneath.close() }

func pathOf(dir string, id object.ID) string {
	digits := id.String()
	return path.Join(dir, digits[:2], digits[2:])
}

// Open opens an object in the first of some objects directories that has a sound copy. The object
// is compared with its id while it is read.
func (r *Reader) Open(dirs []string, id object.ID) (*object.Object, error) {
	verdict := object.ErrNotFound
	for _, dir := range dirs {
		opened, err := r.openFile(pathOf(dir, id), id)
		if err == nil {
			return opened, nil
		}
		if !errors.Is(err, object.ErrNotFound) {
			verdict = err
		}
	}
	return nil, verdict
}

// largestRatio is the largest growth of a deflate stream: 258 bytes from two bits, less the
// headers.
const largestRatio = 1032

func (r *Reader) openFile(name string, id object.ID) (*object.Object, error) {
	file, info, err := files.Open(r.root, name)
	if err != nil {
		return nil, err
	}
	damage := func(err error) error { return object.Corrupt(name, err) }
	stream, err := r.buffers.Inflate(file, 0, info.Size())
	if err != nil {
		_ = file.Close()
		return nil, object.About(id, damage(err))
	}
	from := &source{stream, file}
	kind, size, err := readHeader(stream)
	if err == nil && size/largestRatio > info.Size() {
		err = object.ErrWrongSize
	}
	if err != nil {
		from.Close()
		return nil, object.About(id, damage(err))
	}
	opened := object.New(r.buffers, id, kind, size, from, damage)
	opened.Verify()
	return opened, nil
}

// source is the stream of a file that must end with the stream, as git demands of loose objects.
type source struct {
	*object.Stream
	file *os.File
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if errors.Is(err, io.EOF) {
		if more, failure := s.More(); failure != nil {
			err = failure
		} else if more {
			err = errTrailing
		}
	}
	return n, err
}

func (s *source) Close() {
	s.Stream.Close()
	_ = s.file.Close()
}

// IDs calls use with the ids of the objects in a directory that begin with the byte first. It
// ignores files with other names, such as those being written.
func (r *Reader) IDs(dir string, first byte, use func(object.ID)) error {
	prefix := (object.ID{first}).String()[:2]
	return files.Names(r.root, path.Join(dir, prefix), func(rest string) {
		if id, err := object.ParseID(prefix + rest); err == nil && id.String() == prefix+rest {
			use(id)
		}
	})
}
