package repos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/repomcp/repomcp/internal/objects"
)

// objectStorer lets go-git's history, diff and blame run on a snapshot of our
// own reader. Unlike go-git's storage it may be shared by goroutines, survives
// a repack, and never takes damage for the end of an object.
//
// The snapshot belongs to the caller, who closes it when go-git is done.
type objectStorer struct {
	snapshot *objects.Snapshot
}

var _ storer.EncodedObjectStorer = (*objectStorer)(nil)

func newObjectStorer(snapshot *objects.Snapshot) *objectStorer {
	return &objectStorer{snapshot: snapshot}
}

// heldObject is the size up to which an object is read at once. Commits, trees
// and source files are below it; a larger object is read when go-git asks for
// its content, which it does not do for a listing.
const heldObject = 1 << 20

var errReadOnly = errors.New("objects of a mirror cannot be written")

// EncodedObject gives an object of the wanted type. An object of another type
// is not found, as for go-git's own storage.
func (s *objectStorer) EncodedObject(want plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	o := &encodedObject{snapshot: s.snapshot, hash: hash}
	kind, data, err := s.snapshot.Read(objects.ID(hash), heldObject, nil)
	o.size, o.data = int64(len(data)), data
	if errors.Is(err, objects.ErrTooLarge) {
		o.data = nil
		kind, o.size, err = s.snapshot.Stat(objects.ID(hash))
	}
	if err != nil {
		return nil, storerError(err)
	}
	o.kind = plumbing.ObjectType(kind) //nolint:gosec // the same four numbers, those of pack entries
	if want != plumbing.AnyObject && want != o.kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return o, nil
}

// HasEncodedObject gives plumbing.ErrObjectNotFound when there is no such
// object.
func (s *objectStorer) HasEncodedObject(hash plumbing.Hash) error {
	has, err := s.snapshot.Has(objects.ID(hash))
	if err == nil && !has {
		err = objects.ErrNotFound
	}
	return storerError(err)
}

// EncodedObjectSize gives the size without reading the object.
func (s *objectStorer) EncodedObjectSize(hash plumbing.Hash) (int64, error) {
	_, size, err := s.snapshot.Stat(objects.ID(hash))
	return size, storerError(err)
}

// IterEncodedObjects gives all objects of a type. It must be closed.
func (s *objectStorer) IterEncodedObjects(want plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	next, stop := iter.Pull2(s.snapshot.All())
	return &objectIter{storer: s, want: want, next: next, stop: stop}, nil
}

// NewEncodedObject gives an object in memory, which go-git uses for its own
// purposes too.
func (s *objectStorer) NewEncodedObject() plumbing.EncodedObject { return &plumbing.MemoryObject{} }

// SetEncodedObject refuses.
func (s *objectStorer) SetEncodedObject(plumbing.EncodedObject) (plumbing.Hash, error) {
	return plumbing.ZeroHash, errReadOnly
}

// AddAlternate refuses.
func (s *objectStorer) AddAlternate(string) error { return errReadOnly }

// storerError translates absence, which go-git compares without errors.Is.
func storerError(err error) error {
	if errors.Is(err, objects.ErrNotFound) {
		return plumbing.ErrObjectNotFound
	}
	return err
}

// encodedObject is an object as go-git wants it.
type encodedObject struct {
	snapshot *objects.Snapshot
	hash     plumbing.Hash
	kind     plumbing.ObjectType
	size     int64
	data     []byte // nil when the object is larger than heldObject
}

func (o *encodedObject) Hash() plumbing.Hash         { return o.hash }
func (o *encodedObject) Type() plumbing.ObjectType   { return o.kind }
func (o *encodedObject) SetType(plumbing.ObjectType) {}
func (o *encodedObject) Size() int64                 { return o.size }
func (o *encodedObject) SetSize(int64)               {}

// Reader opens the content.
func (o *encodedObject) Reader() (io.ReadCloser, error) {
	if o.size <= heldObject {
		return io.NopCloser(bytes.NewReader(o.data)), nil
	}
	object, err := o.snapshot.Open(objects.ID(o.hash))
	if err != nil {
		return nil, storerError(err)
	}
	return object, nil
}

// Writer refuses.
func (o *encodedObject) Writer() (io.WriteCloser, error) { return nil, errReadOnly }

// objectIter walks over all objects of one type.
type objectIter struct {
	storer *objectStorer
	want   plumbing.ObjectType
	next   func() (objects.ID, error, bool)
	stop   func()
}

// Next gives the next object, io.EOF after the last.
func (i *objectIter) Next() (plumbing.EncodedObject, error) {
	for {
		id, err, more := i.next()
		if !more {
			return nil, io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("listing objects: %w", err)
		}
		object, err := i.storer.EncodedObject(i.want, plumbing.Hash(id))
		if !errors.Is(err, plumbing.ErrObjectNotFound) { // of another type
			return object, err
		}
	}
}

// ForEach calls do for every object until it gives storer.ErrStop.
func (i *objectIter) ForEach(do func(plumbing.EncodedObject) error) error {
	defer i.Close()
	for {
		object, err := i.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(object)
		}
		if errors.Is(err, storer.ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Close ends the walk.
func (i *objectIter) Close() { i.stop() }
