package objects

import (
	"encoding/binary"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
)

// Pack entries, gitformat-pack(5), "Object entries": three bits of type and a
// variable-length size, then for an ofs-delta the distance to its base, for a
// ref-delta the id of its base, then a zlib stream.
const (
	ofsDelta = 6
	refDelta = 7

	packHeader  = 12
	packTrailer = IDSize
	// longestEntryHeader is ten bytes of size and the longer of an id and ten
	// bytes of distance, rounded up.
	longestEntryHeader = 32
)

// pack is an open pack file and its index. It is safe for any number of
// goroutines. A pack whose file cannot be used is kept with its fault, so that
// the objects it should hold are reported as damaged and not as absent.
type pack struct {
	where string
	key   uint64 // names this pack in the base cache; never used twice
	file  *os.File
	end   int64 // where the trailing checksum begins
	index *index
	kinds kindTable
	fault error // a *CorruptError

	info    fs.FileInfo // of the pack file when it was opened
	idxInfo fs.FileInfo
	suspect atomic.Bool // damage was seen: look at the files again
	sets    int         // how many packSets hold it; guarded by descriptors.mu
}

// entry is the parsed header of a pack entry.
type entry struct {
	kind   uint8 // a Type, ofsDelta or refDelta
	size   int64 // of the inflated data: for a delta, of the delta itself
	length int   // of the header
	base   int64 // offset of the base of an ofs-delta
	baseID ID    // of a ref-delta
}

// check compares the ends of the pack file with its index, as git does when
// it opens a pack: the signature, the version, the number of objects and the
// checksum.
func (p *pack) check(size int64) error {
	p.end = size - packTrailer
	if p.end < packHeader {
		return corrupt(p.where, io.ErrUnexpectedEOF)
	}
	var head [packHeader]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil {
		return corrupt(p.where, err)
	}
	version := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "PACK" || version != 2 && version != 3 {
		return corrupt(p.where, errBadPack)
	}
	var sum ID
	if _, err := p.file.ReadAt(sum[:], p.end); err != nil {
		return corrupt(p.where, err)
	}
	if binary.BigEndian.Uint32(head[8:]) != p.index.count || sum != p.index.packSum {
		return corrupt(p.where, errPackDiffers)
	}
	return nil
}

// find returns the offset of an object. An offset outside the pack is damage.
func (p *pack) find(id *ID) (offset int64, found bool, err error) {
	offset, found, err = p.index.find(id)
	if err != nil || !found {
		return 0, false, p.damage(err)
	}
	if p.fault != nil {
		return 0, false, p.fault
	}
	if offset < packHeader || offset > p.end-smallestEntry {
		return 0, false, p.damage(errBadIndex)
	}
	return offset, true, nil
}

// damage wraps a failure to read the pack and remembers that there was one.
func (p *pack) damage(err error) error {
	if err == nil {
		return nil
	}
	err = corrupt(p.where, err)
	if isCorrupt(err) {
		p.suspect.Store(true)
	}
	return err
}

// window reads up to len(buf) bytes at off; fewer only at the end of the pack.
func (p *pack) window(off int64, buf []byte) ([]byte, error) {
	if off < packHeader || off >= p.end {
		return nil, p.damage(errBadEntry)
	}
	buf = buf[:min(int64(len(buf)), p.end-off)]
	if _, err := p.file.ReadAt(buf, off); err != nil {
		return nil, p.damage(err)
	}
	return buf, nil
}

// parseEntry reads the header of the entry at off from its first bytes.
func parseEntry(b []byte, off int64) (entry, error) {
	if len(b) == 0 {
		return entry{}, io.ErrUnexpectedEOF
	}
	e := entry{kind: b[0] >> 4 & 7, length: 1}
	size, shift := uint64(b[0]&15), 4
	for c := b[0]; c&0x80 != 0; shift += 7 {
		if e.length >= len(b) {
			return entry{}, io.ErrUnexpectedEOF
		}
		c = b[e.length]
		e.length++
		if shift > 60 || uint64(c&0x7f) > math.MaxInt64>>shift {
			return entry{}, errBadEntry
		}
		size |= uint64(c&0x7f) << shift
	}
	e.size = int64(size)
	rest := b[e.length:]
	switch e.kind {
	case uint8(Commit), uint8(Tree), uint8(Blob), uint8(Tag):
	case ofsDelta:
		distance, n, err := parseDistance(rest)
		if err != nil {
			return entry{}, err
		}
		// A base lies before its delta: so chains of these cannot be cycles.
		if distance == 0 || distance > uint64(off) || off-int64(distance) < packHeader {
			return entry{}, errBadEntry
		}
		e.base = off - int64(distance)
		e.length += n
	case refDelta:
		if len(rest) < IDSize {
			return entry{}, io.ErrUnexpectedEOF
		}
		e.length += copy(e.baseID[:], rest)
	default:
		return entry{}, errBadEntry
	}
	return e, nil
}

// parseDistance reads the offset encoding of gitformat-pack(5): big-endian
// groups of seven bits, where each further byte adds one to what was read.
func parseDistance(b []byte) (distance uint64, n int, err error) {
	for n < len(b) {
		c := b[n]
		n++
		if distance > math.MaxInt64>>8 {
			return 0, 0, errBadEntry
		}
		distance = distance<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return distance, n, nil
		}
		distance++
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// entryAt reads the header of the entry at off.
func (p *pack) entryAt(off int64, buf []byte) (entry, error) {
	b, err := p.window(off, buf)
	if err != nil {
		return entry{}, err
	}
	e, _, err := p.entryIn(b, off)
	return e, err
}

// entryIn reads the header of the entry at off from its first bytes. What of them
// is the entry's data is returned too.
func (p *pack) entryIn(b []byte, off int64) (entry, []byte, error) {
	e, err := parseEntry(b, off)
	if err != nil {
		return entry{}, nil, p.damage(err)
	}
	if err := p.plausible(off, e); err != nil {
		return entry{}, nil, err
	}
	return e, b[e.length:], nil
}

func (p *pack) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	if p.index != nil {
		p.index.close()
	}
}

// descriptors is how many the pack holds.
func (p *pack) descriptors() int {
	n := 0
	if p.file != nil {
		n++
	}
	if p.index != nil {
		n += p.index.descriptors()
	}
	return n
}
