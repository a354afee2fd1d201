package content

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/lfs"
)

// ReadPointer reads a file that may be a pointer. content is nil if the file is too large to be
// one; otherwise it is complete, in buf or a larger buffer.
func ReadPointer(
	source tree.Source, id git.ID, buf []byte,
) (content []byte, pointer lfs.Pointer, ok bool, err error) {
	content, err = source.ReadBlob(id, lfs.MaxBytes-1, buf)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, pointer, false, nil
	}
	if err != nil {
		return nil, pointer, false, git.MustExist(id, err)
	}
	pointer, ok = lfs.Parse(content)
	return content, pointer, ok, nil
}

// OpenObject opens the replacement of a pointer; nil if the pointer stays.
func OpenObject(source tree.Source, pointer lfs.Pointer, limits tree.Limits) (*git.LFSObject, error) {
	if pointer.Extended {
		return nil, nil
	}
	object, err := source.LFSObject(pointer.OID)
	if errors.Is(err, git.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case object.Size() != pointer.Size:
		err = fmt.Errorf("%w: lfs object %s has %d bytes, its pointer says %d", git.ErrLFS, pointer.OID,
			object.Size(), pointer.Size)
	case object.Size() > limits.BlobBytes:
		err = limits.BlobExceeded()
	default:
		return object, nil
	}
	return nil, errors.Join(err, object.Close())
}

// ReadObject appends an object to buf and closes the object. It returns git.ErrTooLarge above
// limit bytes.
func ReadObject(object *git.LFSObject, limit int64, buf []byte) ([]byte, error) {
	if object.Size() > limit {
		return buf, errors.Join(git.ErrTooLarge, object.Close())
	}
	buf = slices.Grow(buf, int(object.Size())+1) // one more, to detect the end
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

// pointed is Open for a file that may be a pointer; write is nil if the pointer stays.
func (o *Opener) pointed(e tree.Entry) (size int64, write func(io.Writer) error, err error) {
	object, _, err := o.object(e)
	if object == nil || err != nil {
		return 0, nil, err
	}
	size = object.Size()
	// It is opened again for writing, because the caller may only need the size.
	if err := object.Close(); err != nil {
		return 0, nil, err
	}
	return size, func(w io.Writer) error {
		object, _, err := o.object(e)
		if err != nil {
			return err
		}
		if object == nil {
			return fmt.Errorf("%w: an lfs object went away while it was archived", git.ErrLFS)
		}
		_, err = object.WriteTo(w)
		return errors.Join(err, object.Close())
	}, nil
}

// LacksObject reports whether a file is a pointer whose object is missing.
func (o *Opener) LacksObject(e tree.Entry) (bool, error) {
	if !e.Treatment.MayBePointer() {
		return false, nil
	}
	o.enter(e.Module)
	object, isPointer, err := o.object(e)
	if object == nil || err != nil {
		return isPointer, err
	}
	return false, object.Close()
}

// object opens the object of a file; nil if there is none.
func (o *Opener) object(e tree.Entry) (object *git.LFSObject, isPointer bool, err error) {
	content, pointer, ok, err := ReadPointer(o.source, e.ID, o.stored[:0])
	if content != nil {
		o.stored = content
	}
	if !ok || err != nil {
		return nil, false, err
	}
	object, err = OpenObject(o.source, pointer, o.limits)
	return object, true, err
}
