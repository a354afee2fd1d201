// Package pack reads packs: a pack file and its index, gitformat-pack(5), a multi-pack-index over
// several, and the objects in them, most of which are deltas against others. A [Reader] has
// everything that the packs of a process share.
//
// Packs are read with pread, never through a mapping. They are hostile input: every
// size and position is checked before it is used, and damage is a
// [*object.CorruptError], never io.EOF.
package pack

import (
	"crypto/sha1"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// Reader opens and reads the packs of all repositories below a root. Any number of
// goroutines may use it.
type Reader struct {
	root    *os.Root
	buffers *object.Buffers
	limits  Limits
	checks  *checks
	// bases caches the bases of deltas. Chains are read from the object to its last base, and
	// neighbouring objects, in tree order as in pack order, mostly share that path: so every base
	// is cached, and requested objects are not.
	bases     *Cache
	lastKey   atomic.Uint64
	resolvers sync.Pool // of *resolver
}

// Limits bound what reading packs takes.
type Limits struct {
	Indexes    *Budget      // for indexes; beyond it they are read from their files at every search
	BaseBytes  int64        // of the cache of delta bases
	SpillSpace *spill.Space // of the temporary files
	// SpillBytes is the largest part of a delta chain that is in memory for an open object, and the
	// largest size of all its deltas together. Larger parts are in temporary files.
	SpillBytes int64
	// WholeBytes is the same for an object that is read into memory whole, if its reader has room
	// for that many bytes.
	WholeBytes int64
	DeltaDepth int // length of a delta chain
	// CheckDelay is how long a large index is in use before it is compared with its checksum.
	CheckDelay time.Duration
}

// Elsewhere finds bases of deltas outside of a pack.
type Elsewhere interface {
	// Find returns the place of an object in another pack.
	Find(id object.ID) (Place, bool, error)
	// OpenLoose opens a loose object.
	OpenLoose(id object.ID) (*object.Object, error)
}

// NewReader returns a reader of packs below root, which the caller keeps.
func NewReader(root *os.Root, buffers *object.Buffers, limits Limits) *Reader {
	return &Reader{
		root: root, buffers: buffers, limits: limits,
		checks: newChecks(root, limits.CheckDelay), bases: NewCache(limits.BaseBytes),
	}
}

// Close ends the checks of indexes. Open packs stay open.
func (r *Reader) Close() { r.checks.close() }

// Spilled is how many bytes of objects are in temporary files.
func (r *Reader) Spilled() int64 { return r.limits.SpillSpace.Used() }

// Type returns the type of the object at a place without inflating it.
func (r *Reader) Type(at Place, elsewhere Elsewhere) (object.Type, error) {
	s := r.take(elsewhere)
	defer r.give(s)
	return s.typeOf(at)
}

// Size returns the size of the object at a place without inflating more than the header
// of a delta.
func (r *Reader) Size(at Place, elsewhere Elsewhere) (int64, error) {
	s := r.take(elsewhere)
	defer r.give(s)
	e, head, err := s.entryAt(at, statRead)
	if err != nil || !e.isDelta() {
		return e.size, err
	}
	_, size, err := s.deltaHeader(at, e, head)
	return size, err
}

// AppendVerified appends the object at a place to buf, and compares it with its id. An object of
// more than limit bytes is refused with [object.ErrTooLarge] before anything of its size is
// allocated.
func (r *Reader) AppendVerified(
	buf []byte, id object.ID, at Place, limit int64, elsewhere Elsewhere,
) (kind object.Type, data []byte, err error) {
	s := r.take(elsewhere)
	defer r.give(s)
	s.identified = true
	s.most = max(s.most, min(limit, r.limits.WholeBytes))
	kind, data, err = s.resolve(at, limit, buf)
	if errors.Is(err, errSpill) {
		kind, data, err = s.resolveSpilled(at, limit, buf)
	}
	if err == nil && s.sum(kind, data[len(buf):]) != id {
		err = at.pack.damage(object.ErrWrongID)
	}
	return kind, data, err
}

// streamedSize is the size from which an object that is stored whole is streamed.
const streamedSize = 32 << 10

// Open opens the object at a place: a small one in memory, and a larger one as a stream, which
// holds a base in a temporary file open if the object is a delta.
func (r *Reader) Open(id object.ID, at Place, elsewhere Elsewhere) (*object.Object, error) {
	s := r.take(elsewhere)
	defer r.give(s)
	e, _, err := s.entryAt(at, longestEntryHeader)
	if err != nil {
		return nil, err
	}
	if !e.isDelta() && e.size > streamedSize {
		return r.openEntry(id, at, e)
	}
	kind, data, err := s.resolve(at, s.most, nil)
	if errors.Is(err, object.ErrTooLarge) {
		return s.openSpilled(id, at)
	}
	if err != nil {
		return nil, err
	}
	return object.New(r.buffers, id, kind, int64(len(data)), object.Bytes(data), at.pack.damage), nil
}

// openEntry opens the inflated data of an entry: an object, or a delta, whose type is then
// meaningless. It reads in a fixed buffer.
func (r *Reader) openEntry(id object.ID, at Place, e entry) (*object.Object, error) {
	start := at.off + int64(e.length)
	source, err := r.buffers.Inflate(at.pack.file, start, at.pack.end-start)
	if err != nil {
		return nil, at.pack.damage(err)
	}
	return object.New(r.buffers, id, e.kind, e.size, source, at.pack.damage), nil
}

func (r *Reader) take(elsewhere Elsewhere) *resolver {
	s, ok := r.resolvers.Get().(*resolver)
	if !ok {
		s = &resolver{packs: r, hash: sha1.New()}
	}
	s.elsewhere, s.most = elsewhere, r.limits.SpillBytes
	return s
}

// give returns s to the pool, without buffers that one huge object needed.
func (r *Reader) give(s *resolver) {
	s.own.trim()
	s.other.trim()
	s.bases.trim()
	if cap(s.deltas) > keptDeltas {
		s.deltas = nil
	}
	if cap(s.links) > keptLinks {
		s.links = nil
	}
	clear(s.links[:cap(s.links)]) // they point to packs
	s.links, s.elsewhere, s.identified = s.links[:0], nil, false
	r.resolvers.Put(s)
}
