package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// fanoutSize is the size of a fan-out: for each first byte of an id, how many ids begin with that
// or a smaller one.
const fanoutSize = 256 * 4

// idList is the sorted ids of an index or a multi-pack-index.
type idList struct {
	*table
	fanout [256]uint32
	count  uint32
	first  int64 // position of the first id
	stride int64 // from one id to the next
}

func (l *idList) readFanout(at int64) error {
	var buf [fanoutSize]byte
	raw, err := l.at(at, fanoutSize, buf[:])
	if err != nil {
		return err
	}
	for i := range l.fanout {
		l.fanout[i] = binary.BigEndian.Uint32(raw[4*i:])
		if l.fanout[i] < l.count {
			return errBadIndex // must not decrease
		}
		l.count = l.fanout[i]
	}
	return nil
}

// raw returns the bytes of the id at position i, which must be below count.
func (l *idList) raw(i uint32, buf *object.ID) ([]byte, error) {
	return l.at(l.first+int64(i)*l.stride, object.IDSize, buf[:])
}

// search returns the position of the first id that is not before id, and whether it is equal. Ids
// are hashes, so a guess by proportion is close, and repeating it between the neighbours is closer;
// after some steps the rest is halved, in case the ids are not evenly distributed.
func (l *idList) search(id *object.ID) (pos uint32, found bool, err error) {
	const guesses = 6
	var buf object.ID
	lo, hi := uint32(0), l.fanout[id[0]]
	if id[0] > 0 {
		lo = l.fanout[id[0]-1]
	}
	// Ids of one first byte differ in those behind it.
	key, below, above := binary.BigEndian.Uint64(id[1:]), uint64(0), uint64(math.MaxUint64)
	for try := 0; lo < hi; try++ {
		mid := lo + (hi-lo)/2
		if try < guesses && below <= key && key <= above && below < above {
			share := float64(key-below) / float64(above-below)
			mid = min(lo+uint32(share*float64(hi-lo)), hi-1)
		}
		raw, err := l.raw(mid, &buf)
		if err != nil {
			return 0, false, err
		}
		met := binary.BigEndian.Uint64(raw[1:])
		order := cmp.Compare(met, key)
		if order == 0 || raw[0] != id[0] {
			order = bytes.Compare(raw, id[:])
		}
		switch {
		case order == 0:
			return mid, true, nil
		case order < 0:
			lo, below = mid+1, met
		default:
			hi, above = mid, met
		}
	}
	return lo, false, nil
}
