package archive

import (
	"errors"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// appendEntry appends one entry and advances to the next. It reports whether there is room for
// more.
func (r *run) appendEntry(e tree.Entry) (more bool, err error) {
	if d, ok := r.layout.(describer); ok {
		r.out, err = d.describe(r, r.out, e)
		return r.finishEntry(e, err)
	}
	switch {
	case e.Mode.IsSymlink():
		target, err := r.Source.ReadBlob(e.ID, tree.MaxLinkBytes, nil)
		if errors.Is(err, git.ErrTooLarge) {
			return false, tree.ErrLink
		}
		if err != nil {
			return false, git.MustExist(e.ID, err)
		}
		return r.appendBare(e, target)
	case e.Mode.IsRegular() && e.Treatment.MayBePointer():
		return r.appendPointer(e)
	case e.Mode.IsRegular():
		return r.appendFile(e)
	default:
		return r.appendBare(e, nil)
	}
}

// finishEntry advances to the next entry, unless this one failed.
func (r *run) finishEntry(e tree.Entry, err error) (more bool, failed error) {
	if err != nil {
		return false, git.MustExist(e.ID, err)
	}
	r.next++
	return true, nil
}

// leaveToWriter stops here: the next file is streamed by the writing goroutine.
func (r *run) leaveToWriter() (more bool, err error) {
	r.forWriter = true
	return false, nil
}

func (r *run) appendBare(e tree.Entry, target []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.framing.appendBare(r, *out, e, target)
	return r.finishEntry(e, err)
}

// appendContent appends a file with the given content.
func (r *run) appendContent(e tree.Entry, content []byte) (more bool, err error) {
	out := r.buffer()
	*out, err = r.framing.appendContent(r, *out, e, content)
	return r.finishEntry(e, err)
}

// appendFile appends a file. A file that is too large for the run's own buffer goes into a large
// one, with the following entries, or is left to the writing goroutine.
func (r *run) appendFile(e tree.Entry) (more bool, err error) {
	if e.Treatment.Changes() {
		return r.appendTreated(e)
	}
	if r.patches != nil && !e.Base.IsZero() {
		if patched, err := r.appendPatch(e); patched || err != nil {
			return r.finishEntry(e, err)
		}
	}
	if r.large == nil {
		out := r.buffer()
		*out, err = r.framing.appendBlob(r, *out, e, min(inlineBytes, r.limits.BlobBytes))
		if !errors.Is(err, git.ErrTooLarge) {
			return r.finishEntry(e, err)
		}
		if r.framing.buffersLarge() {
			r.large = r.buffers.take()
		}
		if r.large == nil {
			return r.leaveToWriter()
		}
	}
	out := r.buffer()
	first := len(*out) == 0
	*out, err = r.framing.appendBlob(r, *out, e, min(largeBytes-int64(len(*out)), r.limits.BlobBytes))
	if errors.Is(err, git.ErrTooLarge) {
		r.forWriter = first // otherwise it begins the next buffer
		return false, nil
	}
	return r.finishEntry(e, err)
}

// appendPatch appends a file as a patch, if possible.
func (r *run) appendPatch(e tree.Entry) (patched bool, err error) {
	layout, ok := r.layout.(patchFraming)
	if !ok {
		return false, nil
	}
	out := r.buffer()
	*out, patched, err = layout.appendPatch(r, *out, e)
	return patched, err
}

// appendTreated appends a small converted file.
func (r *run) appendTreated(e tree.Entry) (more bool, err error) {
	generated := e.Treatment.Generated
	if e.Treatment.InOrder() || len(generated) > inlineBytes {
		return r.leaveToWriter()
	}
	if generated != nil {
		return r.appendContent(e, generated)
	}
	r.stored, err = r.Source.ReadBlob(e.ID, min(inlineBytes, r.limits.BlobBytes), r.stored[:0])
	if errors.Is(err, git.ErrTooLarge) {
		return r.leaveToWriter()
	}
	if err != nil {
		return false, git.MustExist(e.ID, err)
	}
	if r.converted, err = e.Treatment.Conversion.Append(r.converted[:0], r.stored, e.ID.String()); err != nil {
		return false, err
	}
	return r.appendContent(e, r.converted)
}

// appendPointer appends a file that may be a pointer. A large object is left to the writing
// goroutine.
func (r *run) appendPointer(e tree.Entry) (more bool, err error) {
	if e.Treatment.InOrder() {
		return r.leaveToWriter()
	}
	stored, pointer, ok, err := content.ReadPointer(r.Source, e.ID, r.stored[:0])
	if err != nil {
		return false, err
	}
	if stored != nil {
		r.stored = stored
	}
	if ok {
		object, err := content.OpenObject(r.Source, pointer, r.limits)
		if err != nil {
			return false, err
		}
		if object != nil {
			return r.appendObject(e, object)
		}
	}
	if stored == nil || e.Treatment.Changes() {
		return r.appendFile(e) // no pointer, or one that stays
	}
	if int64(len(stored)) > r.limits.BlobBytes {
		return false, r.limits.BlobExceeded()
	}
	return r.appendContent(e, stored)
}

// appendObject appends the Git LFS object of a file, and closes it.
func (r *run) appendObject(e tree.Entry, object *git.LFSObject) (more bool, err error) {
	if object.Size() > inlineBytes {
		r.forWriter = true
		return false, object.Close()
	}
	if r.stored, err = content.ReadObject(object, inlineBytes, r.stored[:0]); err != nil {
		return false, err
	}
	return r.appendContent(e, r.stored)
}
