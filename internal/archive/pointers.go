package archive

import (
	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/repos"
)

// pointed appends a file that may be a pointer. A large object is left to the
// goroutine that writes.
func (r *run) pointed(e tree.Entry) (more bool, err error) {
	if e.Treatment.InOrder() {
		r.forWriter = true
		return false, nil
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
			return r.object(e, object)
		}
	}
	if stored == nil || e.Treatment.Changes() {
		return r.file(e) // not a pointer, or one that stays
	}
	if int64(len(stored)) > r.limits.BlobBytes {
		return false, r.limits.BlobExceeded()
	}
	return r.whole(e, stored)
}

// object appends the object of git-lfs that a file stands for, and closes it.
func (r *run) object(e tree.Entry, object *repos.LFSObject) (more bool, err error) {
	if object.Size() > inlineBytes {
		r.forWriter = true
		return false, object.Close()
	}
	if r.stored, err = content.ReadObject(object, inlineBytes, r.stored[:0]); err != nil {
		return false, err
	}
	return r.whole(e, r.stored)
}
