package objects

import (
	"crypto/sha1"
	"hash"

	"github.com/repomcp/repomcp/internal/inflate"
)

// scratch is what one operation needs besides its result. Operations take one
// from the store's pool, so that reading small objects allocates nothing.
type scratch struct {
	decoder  inflate.Decoder
	glance   glance         // of headers
	inflater inflate.Reader // for streams that are longer than a window
	own      span           // of the pack, around the object that is read
	other    span           // around the one before: walks read a commit and a tree by turns
	bases    span           // the same around a base of it
	window   []byte         // for a header alone, or the file of a loose object
	deltas   []byte         // inflated deltas of the chain, one after the other
	delta    []byte         // an inflated delta that did not fit among those
	loose    []byte         // an inflated loose object with its header
	links    []link         // of the chain, from the object towards its base
	hash     hash.Hash
	header   []byte // what is hashed before a content
	// identified says that the object is compared with its id, so that its
	// stream's checksum, which says less, need not be. Bases stay in memory for
	// readers that compare nothing: their checksums are always.
	identified bool
}

const (
	// keptLinks is more than the 50 links that git's chains have by default.
	keptLinks = 128
	// keptDeltas bounds the inflated deltas of one chain; the rest of them is
	// read a second time when its turn comes.
	keptDeltas = 1 << 20
)

func (s *Store) takeScratch() *scratch {
	if sc, ok := s.scratch.Get().(*scratch); ok {
		return sc
	}
	return &scratch{window: make([]byte, looseWindow), hash: sha1.New()}
}

// giveScratch puts sc back; buffers that one huge object made are dropped.
func (s *Store) giveScratch(sc *scratch) {
	sc.own.trim()
	sc.other.trim()
	sc.bases.trim()
	if cap(sc.delta) > keptDeltas {
		sc.delta = nil
	}
	if cap(sc.loose) > keptDeltas {
		sc.loose = nil
	}
	if cap(sc.links) > keptLinks {
		sc.links = nil
	}
	clear(sc.links[:cap(sc.links)]) // they point to packs
	sc.links = sc.links[:0]
	sc.identified = false
	s.scratch.Put(sc)
}

// sum is [Sum] without an allocation.
func (sc *scratch) sum(t Type, content []byte) (id ID) {
	sc.header = appendHeader(sc.header[:0], t, int64(len(content)))
	sc.hash.Reset()
	sc.hash.Write(sc.header)
	sc.hash.Write(content)
	sc.header = sc.hash.Sum(sc.header[:0])
	copy(id[:], sc.header)
	return id
}

// span is that of the link of the chain that comes next.
func (sc *scratch) span() *span {
	if len(sc.links) == 0 {
		return &sc.own
	}
	return &sc.bases
}

// entryAt reads the header of the entry of the next link. What was read of its
// data is returned too.
func (sc *scratch) entryAt(at place) (entry, []byte, error) {
	if len(sc.links) == 0 && !sc.own.leadsTo(at.pack, at.off) {
		sc.own, sc.other = sc.other, sc.own
	}
	b, err := sc.span().from(at.pack, at.off, longestEntryHeader)
	if err != nil {
		return entry{}, nil, err
	}
	return at.pack.entryIn(b, at.off)
}

// deflatedBound is how long a zlib stream of size bytes can be when its writer
// falls back to stored blocks of any sensible length. It is where reading
// starts, not a limit: a longer stream is read on.
func deflatedBound(size int64) int64 { return size + size/512 + 64 }

// largestRatio is how much a deflate stream can grow at most: 258 bytes from
// two bits, less what the headers take.
const largestRatio = 1032

// plausible refuses an entry that declares more than its bytes can hold,
// before memory is allocated for it.
func (p *pack) plausible(off int64, e entry) error {
	if left := p.end - off; e.size/largestRatio > left {
		return p.damage(errWrongSize)
	}
	return nil
}

// deflatedGuess is how long the stream of size bytes likely is at most. More is
// read where it was wrong.
func deflatedGuess(size int64) int64 {
	const long = 64 << 10
	if size > long {
		return size / 4
	}
	return deflatedBound(size)
}

// inflate reads the data of the entry at off, which must fill dst exactly.
// head are the first bytes of the data, read with the header.
func (sc *scratch) inflate(dst []byte, p *pack, off int64, e entry, head []byte) error {
	at := off + int64(e.length)
	left := p.end - at
	if min(deflatedBound(e.size), left) > largestSpan {
		if err := sc.inflater.Reset(p.file, at, left); err != nil {
			return p.damage(err)
		}
		return p.damage(readExactly(&sc.inflater, dst))
	}
	need := deflatedGuess(e.size)
	more := func() (_ []byte, err error) {
		need = min(2*need+firstSpan, left)
		head, err = sc.span().from(p, at, need)
		return head, err
	}
	if int64(len(head)) < min(need, left) {
		var err error
		if head, err = sc.span().from(p, at, min(need, left)); err != nil {
			return err
		}
	}
	// What is free behind dst is used for speed.
	room := dst[:min(cap(dst), len(dst)+inflate.Room)]
	n, err := sc.decoder.Inflate(room, len(dst), head, more)
	if err == nil && n != len(dst) {
		err = errWrongSize
	}
	return p.damage(err)
}
