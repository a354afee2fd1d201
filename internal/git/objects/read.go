package objects

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"

	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// Type returns the type of an object without inflating it.
func (s *Snapshot) Type(id ID) (Type, error) {
	kind, err := readHeader(s, id, s.db.store.packs.Type, (*Object).Type)
	if isEmptyTree(id, err) {
		return Tree, nil
	}
	return kind, err
}

// isEmptyTree reports whether an object that is not there is the empty tree.
func isEmptyTree(id ID, err error) bool {
	return errors.Is(err, ErrNotFound) && id.IsEmptyTree()
}

// Size returns the size of an object without inflating more than headers. It does not read the base
// of a delta.
func (s *Snapshot) Size(id ID) (int64, error) {
	return readHeader(s, id, s.db.store.packs.Size, (*Object).Size)
}

// readHeader returns a property from the header of an object.
func readHeader[T any](
	s *Snapshot, id ID, packed func(pack.Place, pack.Elsewhere) (T, error), loose func(*Object) T,
) (told T, err error) {
	if err := s.enter(); err != nil {
		return told, err
	}
	defer s.leave()
	err = s.locate(id, func(v *view, at pack.Place) (err error) {
		if at.Pack() != nil {
			told, err = packed(at, v)
			return err
		}
		object, err := v.OpenLoose(id)
		if err != nil {
			return err
		}
		told = loose(object)
		return object.Close()
	})
	return told, err
}

// sharedObject is the largest object that is cached for other readers: a larger one would displace
// many small ones, which cost more to find.
const sharedObject = 128 << 10

// readsInARow take about a millisecond. Yielding costs as much as a small read.
const readsInARow = 64

// ReadVerified appends a whole object to buf, which may be nil, and returns the extended buffer.
// The object is compared with its id: a copy that does not match is damage, and a sound one in
// another pack is used instead. An object of more than limit bytes is refused with [ErrTooLarge]
// before anything of its size is allocated. After an error buf is unchanged, apart from bytes
// beyond its length.
//
// It yields every readsInARow reads, so long history walks do not starve other requests.
func (s *Snapshot) ReadVerified(id ID, limit int64, buf []byte) (kind Type, data []byte, err error) {
	if s.reads.Add(1)%readsInARow == 0 {
		runtime.Gosched()
	}
	if err := s.enter(); err != nil {
		return 0, buf, err
	}
	defer s.leave()
	share := s.db.readers.Load() > 1
	err = s.locate(id, func(v *view, at pack.Place) (err error) {
		if at.Pack() == nil {
			kind, data, err = v.readLoose(id, limit, buf)
			return err
		}
		if share {
			if known, content, ok := v.store.shared.Get(at); ok && int64(len(content)) <= limit {
				kind, data = known, append(buf, content...)
				return nil
			}
		}
		kind, data, err = v.store.packs.AppendVerified(buf, id, at, limit, v)
		if err == nil && share && len(data)-len(buf) <= sharedObject {
			v.store.shared.Put(at, kind, slices.Clone(data[len(buf):]))
		}
		return err
	})
	switch {
	case isEmptyTree(id, err):
		return Tree, buf, nil
	case err != nil:
		return 0, buf, err
	}
	return kind, data, nil
}

func (v *view) readLoose(id ID, limit int64, buf []byte) (Type, []byte, error) {
	if kind, data, ok := v.store.loose.AppendSmall(buf, v.dirs, id, limit); ok {
		return kind, data, nil
	}
	object, err := v.OpenLoose(id)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = object.Close() }()
	if object.Size() > limit {
		return 0, nil, ErrTooLarge
	}
	data, err := object.AppendTo(buf) // always compared
	return object.Type(), data, err
}

// Open opens an object of any size for reading. Read reports damage that is only visible later.
func (s *Snapshot) Open(id ID) (*Object, error) {
	return s.openBy(id, func(open func() (*Object, error)) (*Object, error) { return open() })
}

// OpenSound opens an object that was compared with its id as a whole: its size and all of its bytes
// are right. A copy that does not match is damage; a sound one in another pack is used instead. A
// large object is read once for that, and the result is remembered as long as there is room.
func (s *Snapshot) OpenSound(ctx context.Context, id ID) (*Object, error) {
	return s.openBy(id, func(open func() (*Object, error)) (*Object, error) {
		return s.db.store.proofs.Sound(ctx, open)
	})
}

// openBy opens a copy of an object. The snapshot stays in use until the object is closed.
func (s *Snapshot) openBy(id ID, by func(open func() (*Object, error)) (*Object, error)) (opened *Object, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	err = s.locate(id, func(v *view, at pack.Place) (err error) {
		opened, err = by(func() (*Object, error) { return v.open(id, at) })
		return err
	})
	if err != nil {
		s.leave()
		return nil, err
	}
	opened.OnClose(s.leave)
	return opened, nil
}

// Prove compares an object with its id, remembers that for [Snapshot.OpenSound], and writes the
// object to the writer that begin returns, which has all of it if there is no error. A copy that
// does not match is damage; begin is then called again for the next copy.
func (s *Snapshot) Prove(ctx context.Context, id ID, begin func() io.Writer) (kind Type, size int64, err error) {
	if err := s.enter(); err != nil {
		return 0, 0, err
	}
	defer s.leave()
	err = s.locate(id, func(v *view, at pack.Place) error {
		object, err := v.open(id, at)
		if err != nil {
			return err
		}
		defer func() { _ = object.Close() }() // it was only read
		kind, size = object.Type(), object.Size()
		return s.db.store.proofs.Prove(ctx, object, begin())
	})
	if err != nil {
		return 0, 0, err
	}
	return kind, size, nil
}

// OpenProver opens an object to compare it with its id in parts, for [Snapshot.OpenSound]. If the
// copy turns out to be damaged, no other copy is tried.
func (s *Snapshot) OpenProver(ctx context.Context, id ID) (*Prover, error) {
	proofs := s.db.store.proofs
	if proofs.Known(id) {
		return new(Prover), nil
	}
	opened, err := s.Open(id)
	if err != nil {
		return nil, err
	}
	return proofs.Begin(ctx, opened, io.Discard), nil
}

// Verify compares every pack of the snapshot and its index with their trailing checksums, for which
// it reads them whole. It returns all damage joined, or the error of ctx.
func (s *Snapshot) Verify(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	v := s.view.Load()
	found := slices.Clone(v.faults)
	for _, p := range v.packs {
		err := p.Verify(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found = append(found, err)
	}
	return errors.Join(found...)
}
