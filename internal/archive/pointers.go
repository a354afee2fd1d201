package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/lfs"
	"github.com/repomcp/repomcp/internal/repos"
)

// LFS says what becomes of the pointers that git-lfs stores in the place of
// large files.
type LFS string

// The choices. The zero value means [LFSPointers].
const (
	// LFSPointers leaves them as they are.
	LFSPointers LFS = "pointers"
	// LFSContent puts the objects of git-lfs in their place, under
	// [ProfileArchive] those of files with filter=lfs, as git-lfs does, and
	// under [ProfileFull] those of all. An object is not converted, for git
	// does that before a filter runs. Where the repository does not have it the pointer stays, and
	// so does one with extensions, which only programs of the user's could
	// make a file of. One that is damaged ends the archive: repos.ErrCorrupt.
	LFSContent LFS = "content"
)

// filterLFS is the value of the attribute filter in what git lfs track writes.
const filterLFS = "lfs"

// onlyPoints is the treatment of all files where attributes do not count.
var onlyPoints = &treatment{lfs: true}

// mayBePointer reports whether a file may be a pointer that is to be replaced.
func (t *treatment) mayBePointer() bool { return t != nil && t.lfs }

// readPointer reads a file that may be a pointer. The content is nil when the
// file is too large to be one; else it is whole, in buf or beyond.
func readPointer(source Source, id repos.ID, buf []byte) (content []byte, pointer lfs.Pointer, ok bool, err error) {
	content, err = source.ReadBlob(id, lfs.MaxBytes-1, buf)
	if errors.Is(err, repos.ErrTooLarge) {
		return nil, pointer, false, nil
	}
	if err != nil {
		return nil, pointer, false, damaged(err)
	}
	pointer, ok = lfs.Parse(content)
	return content, pointer, ok, nil
}

// openPointed opens what a pointer is to be replaced by; nil if it has to stay.
func openPointed(source Source, pointer lfs.Pointer, limits Limits) (*repos.LFSObject, error) {
	if pointer.Extended {
		return nil, nil
	}
	object, err := source.LFSObject(pointer.OID)
	if errors.Is(err, repos.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case object.Size() != pointer.Size:
		err = fmt.Errorf("%w: lfs object %s has %d bytes, its pointer says %d", repos.ErrCorrupt, pointer.OID,
			object.Size(), pointer.Size)
	case object.Size() > limits.BlobBytes:
		err = limitBlob(limits)
	default:
		return object, nil
	}
	return nil, errors.Join(err, object.Close())
}

// pointed appends a file that may be a pointer. A large object is left to the
// goroutine that writes.
func (r *run) pointed(e entry) (more bool, err error) {
	if e.treatment.forWriter() {
		r.forWriter = true
		return false, nil
	}
	content, pointer, ok, err := readPointer(r.source, e.id, r.stored[:0])
	if err != nil {
		return false, err
	}
	if content != nil {
		r.stored = content
	}
	if ok {
		object, err := openPointed(r.source, pointer, r.limits)
		if err != nil {
			return false, err
		}
		if object != nil {
			return r.object(e, object)
		}
	}
	if content == nil || e.treatment.changes() {
		return r.file(e) // not a pointer, or one that stays
	}
	if int64(len(content)) > r.limits.BlobBytes {
		return false, limitBlob(r.limits)
	}
	return r.whole(e, content)
}

// object appends the object of git-lfs that a file stands for, and closes it.
func (r *run) object(e entry, object *repos.LFSObject) (more bool, err error) {
	if object.Size() > inlineBytes {
		r.forWriter = true
		return false, object.Close()
	}
	if r.stored, err = readObject(object, inlineBytes, r.stored[:0]); err != nil {
		return false, err
	}
	return r.whole(e, r.stored)
}

// readObject appends an object to buf and closes it. One of more than limit
// bytes is repos.ErrTooLarge.
func readObject(object *repos.LFSObject, limit int64, buf []byte) ([]byte, error) {
	if object.Size() > limit {
		return buf, errors.Join(repos.ErrTooLarge, object.Close())
	}
	buf = slices.Grow(buf, int(object.Size())+1) // one more, to be told of the end
	var err error
	for err == nil {
		var n int
		n, err = object.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf, errors.Join(err, object.Close())
}

// pointed is open for a file that may be a pointer; write is nil if that stays.
func (c *content) pointed(e entry) (size int64, write func(io.Writer) error, err error) {
	object, err := c.object(e)
	if object == nil || err != nil {
		return 0, nil, err
	}
	size = object.Size()
	// It is opened again to be written, since it may be only measured.
	if err := object.Close(); err != nil {
		return 0, nil, err
	}
	return size, func(w io.Writer) error {
		object, err := c.object(e)
		if err != nil {
			return err
		}
		if object == nil {
			return fmt.Errorf("%w: an lfs object went away while it was archived", repos.ErrCorrupt)
		}
		_, err = object.WriteTo(w)
		return errors.Join(err, object.Close())
	}, nil
}

func (c *content) object(e entry) (*repos.LFSObject, error) {
	content, pointer, ok, err := readPointer(c.source, e.id, c.raw[:0])
	if content != nil {
		c.raw = content
	}
	if !ok || err != nil {
		return nil, err
	}
	return openPointed(c.source, pointer, c.limits)
}
