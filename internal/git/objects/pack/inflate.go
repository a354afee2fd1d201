package pack

import (
	"errors"
	"hash"
	"io"

	"github.com/repomcp/repomcp/internal/git/inflate"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// resolver is one operation on an object and the chain of its bases, with reusable buffers: reading
// small objects allocates nothing.
type resolver struct {
	packs     *Reader
	elsewhere Elsewhere
	decoder   inflate.Decoder
	inflater  inflate.Reader // for streams that are longer than a window
	own       window         // of the pack, around the object that is read
	other     window         // around the one before: walks read a commit and a tree by turns
	bases     window         // the same around a base of it
	links     []link         // of the chain, from the object towards its base
	deltas    []byte         // inflated deltas of the chain, one after the other
	most      int64          // limit for a part of the chain, or all deltas, in memory
	hash      hash.Hash
	header    []byte // the hashed header of a content
	// identified says that the object is compared with its id, so its stream's checksum, which
	// proves less, need not be. Bases are cached for readers that compare nothing, so their
	// checksums always are.
	identified bool
}

const (
	// keptLinks is more than the 50 links that git's chains have by default.
	keptLinks = 128
	// keptDeltas is more than the inflated deltas of nearly every chain take.
	keptDeltas = 1 << 20
	// statRead holds an entry's header and, nearly always, as much of a delta's
	// stream as its header needs.
	statRead = 512
)

// sum is the id of an object.
func (s *resolver) sum(t object.Type, content []byte) (id object.ID) {
	s.header = object.AppendHeader(s.header[:0], t, int64(len(content)))
	s.hash.Reset()
	s.hash.Write(s.header)
	s.hash.Write(content)
	s.header = s.hash.Sum(s.header[:0])
	copy(id[:], s.header)
	return id
}

// window is that of the link of the chain that comes next.
func (s *resolver) window() *window {
	if len(s.links) == 0 {
		return &s.own
	}
	return &s.bases
}

// entryAt reads the header of the entry of the next link. It also returns the data that was read
// with the header: together n bytes or more.
func (s *resolver) entryAt(at Place, n int64) (entry, []byte, error) {
	if len(s.links) == 0 && !s.own.leadsTo(at.pack, at.off) && !s.own.endsNear(at.pack, at.off) {
		s.own, s.other = s.other, s.own
	}
	b, err := s.window().readAt(at.pack, at.off, n)
	if err != nil {
		return entry{}, nil, err
	}
	e, err := parseEntry(b, at.off)
	// An entry that declares more than its bytes can hold is refused before memory is allocated for
	// it.
	if err == nil && e.size/largestRatio > at.pack.end-at.off {
		err = object.ErrWrongSize
	}
	if err != nil {
		return entry{}, nil, at.pack.damage(err)
	}
	return e, b[e.length:], nil
}

// deflatedBound is how long a zlib stream of size bytes can be if its writer falls back to stored
// blocks of any sensible length. It is the first read, not a limit: a longer stream is read on.
func deflatedBound(size int64) int64 { return size + size/512 + 64 }

// largestRatio is the largest growth of a deflate stream: 258 bytes from two bits, less the
// headers.
const largestRatio = 1032

// deflatedGuess is the likely maximum length of the stream of size bytes. If it is wrong, more is
// read.
func deflatedGuess(size int64) int64 {
	const long = 64 << 10
	if size > long {
		return size / 4
	}
	return deflatedBound(size)
}

// inflate reads the data of the entry at a place, which must fill dst exactly.
// head are the first bytes of the data, read with the header.
func (s *resolver) inflate(dst []byte, at Place, e entry, head []byte) error {
	p, start := at.pack, at.off+int64(e.length)
	left := p.end - start
	if min(deflatedBound(e.size), left) > largestRead {
		if err := s.stream(dst, at, e); err != nil {
			return p.damage(err)
		}
		return p.damage(object.Ended(&s.inflater))
	}
	need := deflatedGuess(e.size)
	more := func() (_ []byte, err error) {
		// The window may have had more than was needed: as much again would be no more.
		need = min(2*max(need, int64(len(head)))+firstRead, left)
		head, err = s.window().readAt(p, start, need)
		return head, err
	}
	if int64(len(head)) < min(need, left) {
		var err error
		if head, err = s.window().readAt(p, start, min(need, left)); err != nil {
			return err
		}
	}
	// Free space after dst makes inflating faster.
	room := dst[:min(cap(dst), len(dst)+inflate.Room)]
	n, err := s.decoder.Inflate(room, len(dst), head, more)
	if err == nil && n != len(dst) {
		err = object.ErrWrongSize
	}
	return p.damage(err)
}

// stream fills dst with the first bytes of the data of an entry.
func (s *resolver) stream(dst []byte, at Place, e entry) error {
	start := at.off + int64(e.length)
	if err := s.inflater.Reset(at.pack.file, start, at.pack.end-start); err != nil {
		return err
	}
	defer s.inflater.Release()
	_, err := io.ReadFull(&s.inflater, dst)
	return object.SizeError(err)
}

// deltaHeader inflates the first bytes of a delta and reads the sizes of its
// base and its result.
func (s *resolver) deltaHeader(at Place, e entry, head []byte) (base, result int64, err error) {
	var buf [longestDeltaHeader]byte
	first := buf[:min(longestDeltaHeader, e.size)]
	n, err := s.decoder.Inflate(first, len(first), head, nil)
	switch {
	case errors.Is(err, inflate.ErrSize): // there is more, as expected
		err = nil
	case errors.Is(err, io.ErrUnexpectedEOF): // head ends too early
		err = s.stream(first, at, e)
	case err == nil && n < len(first):
		err = object.ErrWrongSize
	}
	if err == nil {
		base, result, _, err = parseDeltaHeader(first)
	}
	return base, result, at.pack.damage(err)
}
