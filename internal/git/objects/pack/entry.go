package pack

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var errBadEntry = errors.New("malformed pack entry")

// Pack entries, gitformat-pack(5), "Object entries": three bits of type and a
// variable-length size, then for an ofs-delta the distance to its base, for a
// ref-delta the id of its base, then a zlib stream.
const (
	ofsDelta object.Type = 6
	refDelta object.Type = 7

	// longestEntryHeader is ten bytes of size and the longer of an id and ten
	// bytes of distance, rounded up.
	longestEntryHeader = 32
)

// entry is the parsed header of a pack entry.
type entry struct {
	kind   object.Type // of an object, ofsDelta or refDelta
	size   int64       // of the inflated data: for a delta, of the delta itself
	length int         // of the header
	base   int64       // offset of the base of an ofs-delta
	baseID object.ID   // of a ref-delta
}

func (e *entry) isDelta() bool { return e.kind >= ofsDelta }

// parseEntry reads the header of the entry at off from its first bytes.
func parseEntry(b []byte, off int64) (entry, error) {
	if len(b) == 0 {
		return entry{}, io.ErrUnexpectedEOF
	}
	e := entry{kind: object.Type(b[0] >> 4 & 7), size: int64(b[0] & 15), length: 1}
	if b[0]&0x80 != 0 {
		more, n := binary.Uvarint(b[1:])
		if n == 0 {
			return entry{}, io.ErrUnexpectedEOF
		}
		if n < 0 || more > math.MaxInt64>>4 {
			return entry{}, errBadEntry
		}
		e.size |= int64(more << 4)
		e.length += n
	}
	rest := b[e.length:]
	switch e.kind {
	case object.Commit, object.Tree, object.Blob, object.Tag:
	case ofsDelta:
		distance, n, err := parseDistance(rest)
		if err != nil {
			return entry{}, err
		}
		// A base precedes its delta, so chains of these cannot be cycles.
		if distance == 0 || distance > uint64(off) || off-int64(distance) < packHeader {
			return entry{}, errBadEntry
		}
		e.base = off - int64(distance)
		e.length += n
	case refDelta:
		if len(rest) < object.IDSize {
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
