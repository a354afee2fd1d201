package objects

import (
	"context"
	"hash/maphash"
	"io"

	"github.com/repomcp/repomcp/internal/lru"
)

// A stream that is compared with its id at its end has given wrong bytes by
// then, and a client that resumes it later keeps them. So a sound object is
// read twice: once to compare the whole with its id, which also notes a sum of
// each piece, and once more to give the pieces, each after a look at its sum.
// The sums are of the content that belongs to the id, so they hold for ever,
// for every copy, and whatever becomes of the file between the two readings.

// proof is what is known of an object that was compared with its id once.
type proof struct {
	kind   Type
	size   int64
	pieces []uint64 // the sum of each piece of pieceBytes; the last may be shorter
}

// proofOverhead is what a proof costs apart from its sums: a map entry, a list
// element and the proof itself.
const proofOverhead = 300

// proofs remembers proofs for all repositories. What they tell is of no use to
// who cannot read the object.
type proofs struct {
	seed maphash.Seed
	byID *lru.Cache[ID, proof]
}

func newProofs(limit int64) *proofs {
	return &proofs{seed: maphash.MakeSeed(), byID: lru.New[ID, proof](limit)}
}

func (p proof) cost() int64 { return int64(8*cap(p.pieces)) + proofOverhead }

// OpenSound opens an object that was compared with its id as a whole: neither
// its size nor any of its bytes is another's. A copy that does not match is
// damage; a sound one in another pack is taken instead. A large object is read
// for that once, and then remembered for as long as there is room.
func (s *Snapshot) OpenSound(ctx context.Context, id ID) (*Object, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	var object *Object
	err := s.locate(id, func(v *view, at place) (err error) {
		object, err = v.store.sound(ctx, id, func() (*Object, error) { return v.openPacked(id, at) })
		return err
	}, func(v *view) (err error) {
		object, err = v.store.sound(ctx, id, func() (*Object, error) { return v.openLoose(id) })
		return err
	})
	if err != nil {
		s.leave()
		return nil, err
	}
	object.release = s.leave
	return object, nil
}

// Prove compares an object with its id, remembers that for [Snapshot.OpenSound],
// and writes the object to what begin gives, which has all of it when there is no
// error. A copy that does not match is damage; for the next one begin is called
// again.
func (s *Snapshot) Prove(ctx context.Context, id ID, begin func() io.Writer) (kind Type, size int64, err error) {
	if err := s.enter(); err != nil {
		return 0, 0, err
	}
	defer s.leave()
	var known proof
	prove := func(object *Object, err error) error {
		if err == nil {
			known, err = s.db.store.prove(ctx, object, begin())
			_ = object.Close() // only read from
		}
		return err
	}
	err = s.locate(id, func(v *view, at place) error { return prove(v.openPacked(id, at)) }, func(v *view) error { return prove(v.openLoose(id)) })
	return known.kind, known.size, err
}

// sound opens a copy of an object, and compares it unless that was done.
func (s *Store) sound(ctx context.Context, id ID, open func() (*Object, error)) (*Object, error) {
	object, err := open()
	if err != nil {
		return nil, err
	}
	object.Verify()
	if held, err := object.hold(); held || err != nil {
		return object, closedAfter(object, err)
	}
	known, ok := s.proofs.byID.Get(id)
	if !ok {
		known, err = s.prove(ctx, object, io.Discard)
		_ = object.Close() // only read from
		if err != nil {
			return nil, err
		}
		if object, err = open(); err != nil {
			return nil, err
		}
	}
	if object.kind != known.kind || object.size != known.size {
		return nil, closedAfter(object, object.failed(errWrongID))
	}
	object.hash = nil
	object.source = &proven{source: object.source, store: s, pieces: known.pieces, left: known.size}
	return object, nil
}

// closedAfter closes an object that is of no use after an error.
func closedAfter(object *Object, err error) error {
	if err != nil {
		_ = object.Close() // only read from
	}
	return err
}

// hold compares an object at once that is in memory, or small enough to be,
// and reports whether it is one.
func (o *Object) hold() (bool, error) {
	held, ok := o.source.(*memory)
	if !ok {
		if o.size > pieceBytes {
			return false, nil
		}
		content, err := o.appendTo(nil) // compares it
		if err != nil {
			return true, err
		}
		o.left, o.err = o.size, nil
		o.source, o.hash = &memory{rest: content, store: o.store}, nil
		return true, nil
	}
	o.hash.Write(held.rest)
	if err := o.compare(o.hash); err != nil {
		return true, o.failed(err)
	}
	o.hash = nil
	return true, nil
}

// prove reads an object that nothing was read of to its end.
func (s *Store) prove(ctx context.Context, object *Object, w io.Writer) (proof, error) {
	object.Verify()
	sums := &pieceSums{ctx: ctx, w: w}
	sums.hash.SetSeed(s.proofs.seed)
	if _, err := object.WriteTo(sums); err != nil {
		return proof{}, err
	}
	known := proof{kind: object.kind, size: object.size, pieces: sums.end()}
	if known.size > pieceBytes { // smaller ones are compared anew each time
		s.proofs.byID.Put(object.id, known, known.cost())
	}
	return known, nil
}

// pieceSums sums pieces of what is written through it.
type pieceSums struct {
	ctx  context.Context
	w    io.Writer
	hash maphash.Hash
	fill int // bytes of the piece that is being summed
	sums []uint64
}

func (p *pieceSums) Write(b []byte) (int, error) {
	if err := context.Cause(p.ctx); err != nil {
		return 0, err
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceBytes-p.fill)
		_, _ = p.hash.Write(rest[:n]) // never fails
		rest, p.fill = rest[n:], p.fill+n
		if p.fill == pieceBytes {
			p.next()
		}
	}
	return p.w.Write(b)
}

func (p *pieceSums) next() {
	p.sums = append(p.sums, p.hash.Sum64())
	p.hash.Reset()
	p.fill = 0
}

// end gives all sums.
func (p *pieceSums) end() []uint64 {
	if p.fill > 0 {
		p.next()
	}
	return p.sums
}

// proven is a source whose pieces are given after each was compared with its
// sum.
type proven struct {
	source source
	store  *Store
	pieces []uint64 // the sums of those that are to come
	left   int64    // bytes of them
	buf    *[]byte  // that rest is in; nil: none was needed
	rest   []byte   // of the last piece, compared
}

func (p *proven) Read(b []byte) (int, error) {
	if len(p.rest) == 0 && len(p.pieces) == 0 {
		return p.source.Read(b) // its own checks come at its end
	}
	if len(p.rest) == 0 {
		size := int(min(p.left, pieceBytes))
		if len(b) >= size {
			if err := p.piece(b[:size]); err != nil {
				return 0, err // not one of its bytes
			}
			return size, nil
		}
		if p.buf == nil {
			p.buf = p.store.takePiece()
		}
		if err := p.piece((*p.buf)[:size]); err != nil {
			return 0, err
		}
		p.rest = (*p.buf)[:size]
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// piece reads the next one, and compares it.
func (p *proven) piece(b []byte) error {
	if _, err := io.ReadFull(p.source, b); err != nil {
		return sizeError(err)
	}
	if maphash.Bytes(p.store.proofs.seed, b) != p.pieces[0] {
		return errWrongID
	}
	p.pieces, p.left = p.pieces[1:], p.left-int64(len(b))
	return nil
}

func (p *proven) close() {
	if p.buf != nil {
		p.store.givePiece(p.buf)
		p.buf, p.rest = nil, nil
	}
	p.source.close()
}
