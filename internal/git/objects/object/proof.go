package object

import (
	"context"
	"hash/maphash"
	"io"

	"github.com/repomcp/repomcp/internal/base/lru"
)

// A stream that is compared with its id only at its end has already returned wrong bytes by then,
// and a client that resumes it later keeps them. So a sound object is read twice: once to compare
// the whole with its id, which also records a sum of each piece, and once more to return the
// pieces, each after a check of its sum. The sums are those of the content with this id, so they
// are valid for ever, for every copy, and whatever happens to the file between the two readings.

// proof is the result of comparing an object with its id.
type proof struct {
	kind   Type
	size   int64
	pieces []uint64 // the sum of each piece of pieceBytes; the last may be shorter
}

// proofOverhead is the cost of a proof besides its sums: a map entry, a list element and the proof
// itself.
const proofOverhead = 300

// Proofs remembers large objects that were compared with their ids, for all repositories: proofs
// are useless to clients that cannot read the object. Any number of goroutines may use it.
type Proofs struct {
	seed maphash.Seed
	byID *lru.Cache[ID, proof]
}

// NewProofs returns an empty memory of up to limit bytes.
func NewProofs(limit int64) *Proofs {
	return &Proofs{seed: maphash.MakeSeed(), byID: lru.New[ID, proof](limit)}
}

func (p proof) cost() int64 { return int64(8*cap(p.pieces)) + proofOverhead }

// Sound opens an object that was compared with its id as a whole: its size and all of its bytes are
// right. A large object is read an additional time for that, unless its proof is remembered.
func (p *Proofs) Sound(ctx context.Context, open func() (*Object, error)) (*Object, error) {
	object, err := open()
	if err != nil {
		return nil, err
	}
	object.Verify()
	if held, err := object.hold(); held || err != nil {
		return object, closedAfter(object, err)
	}
	known, ok := p.byID.Get(object.id)
	if !ok {
		if known, err = p.prove(ctx, object, io.Discard); err != nil {
			return nil, closedAfter(object, err)
		}
		if object, err = object.again(open); err != nil {
			return nil, err
		}
	}
	if object.kind != known.kind || object.size != known.size {
		return nil, closedAfter(object, object.failed(ErrWrongID))
	}
	object.hash = nil
	object.source = &proven{
		source: object.source, buffers: object.buffers, seed: p.seed, pieces: known.pieces, left: known.size,
	}
	return object, nil
}

// Prove writes an object of which nothing was read, compares it with its id, and remembers that for
// Sound. The written bytes are the object if there is no error.
func (p *Proofs) Prove(ctx context.Context, object *Object, w io.Writer) error {
	_, err := p.prove(ctx, object, w)
	return err
}

// closedAfter closes an object after an error.
func closedAfter(object *Object, err error) error {
	if err != nil {
		_ = object.Close() // it was only read
	}
	return err
}

// hold reads an object that is small, or already in memory, into memory, which compares it at once.
// It reports whether it did so.
func (o *Object) hold() (bool, error) {
	held, ok := o.source.(*content)
	if !ok {
		if o.size > pieceBytes {
			return false, nil
		}
		bytes, err := o.AppendTo(nil) // compares it
		if err != nil {
			return true, err
		}
		o.source.Close() // it is still open for an empty object
		o.left, o.err = o.size, nil
		o.source, o.hash = Bytes(bytes), nil
		return true, nil
	}
	o.hash.Write(held.rest)
	if err := o.compare(o.hash); err != nil {
		return true, o.failed(err)
	}
	o.hash = nil
	return true, nil
}

func (p *Proofs) prove(ctx context.Context, object *Object, w io.Writer) (proof, error) {
	r := p.Begin(ctx, object, w)
	if _, err := object.WriteTo(r.sums); err != nil {
		return proof{}, err
	}
	return r.remember(), nil
}

// Prover compares an object with its id in parts. The zero value is the prover of an object with a
// remembered proof. One goroutine may use it at a time.
type Prover struct {
	proofs *Proofs
	object *Object
	sums   *pieceSums
}

// Begin returns the prover of an object of which nothing was read, and takes ownership of the
// object. The object is also written to w.
func (p *Proofs) Begin(ctx context.Context, object *Object, w io.Writer) *Prover {
	object.Verify()
	sums := &pieceSums{ctx: ctx, w: w}
	sums.hash.SetSeed(p.seed)
	return &Prover{p, object, sums}
}

// Known reports whether the proof of an object is remembered.
func (p *Proofs) Known(id ID) bool {
	_, known := p.byID.Get(id)
	return known
}

// Advance reads about most bytes more. whole reports that those were the last, the object matches
// its id, and Sound knows it.
func (r *Prover) Advance(most int64) (whole bool, err error) {
	if r.object == nil {
		return true, nil
	}
	buf := r.object.buffers.takePiece()
	defer r.object.buffers.givePiece(buf)
	for read := int64(0); read < most; read += int64(len(*buf)) {
		content, err := r.object.readPiece(*buf)
		if err == nil {
			_, err = r.sums.Write(content)
		}
		if err != nil {
			return false, err
		}
		if r.object.left == 0 {
			r.remember()
			return true, nil
		}
	}
	return false, nil
}

// Close closes the object.
func (r *Prover) Close() error {
	if r.object == nil {
		return nil
	}
	return r.object.Close()
}

// remember stores the proof of the object, all of which was read.
func (r *Prover) remember() proof {
	known := proof{kind: r.object.kind, size: r.object.size, pieces: r.sums.end()}
	if known.size > pieceBytes { // smaller ones are compared again each time
		r.proofs.byID.Put(r.object.id, known, known.cost())
	}
	return known
}

// pieceSums computes sums of pieces of the bytes that are written to it.
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
		_, _ = p.hash.Write(rest[:n]) // it never fails
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

// end returns all sums.
func (p *pieceSums) end() []uint64 {
	if p.fill > 0 {
		p.next()
	}
	return p.sums
}

// proven is a source that compares each piece with its sum before it returns the piece.
type proven struct {
	source  Source
	buffers *Buffers
	seed    maphash.Seed
	pieces  []uint64 // the sums of the remaining pieces
	left    int64    // in the remaining pieces, in bytes
	buf     *[]byte  // contains rest; nil until needed
	rest    []byte   // of the last piece, compared
}

func (p *proven) Read(b []byte) (int, error) {
	if len(p.rest) == 0 && len(p.pieces) == 0 {
		return p.source.Read(b) // its own checks come at its end
	}
	if len(p.rest) == 0 {
		size := int(min(p.left, pieceBytes))
		if len(b) >= size {
			if err := p.piece(b[:size]); err != nil {
				return 0, err // none of its bytes is returned
			}
			return size, nil
		}
		if p.buf == nil {
			p.buf = p.buffers.takePiece()
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

// piece reads the next piece, and compares it.
func (p *proven) piece(b []byte) error {
	if _, err := io.ReadFull(p.source, b); err != nil {
		return SizeError(err)
	}
	if maphash.Bytes(p.seed, b) != p.pieces[0] {
		return ErrWrongID
	}
	p.pieces, p.left = p.pieces[1:], p.left-int64(len(b))
	return nil
}

// Held is the memory of the source, of a piece and of the sums.
func (p *proven) Held() int64 { return p.source.Held() + pieceBytes + int64(8*len(p.pieces)) }

func (p *proven) Close() {
	if p.buf != nil {
		p.buffers.givePiece(p.buf)
	}
	p.source.Close()
}
