package pack

import (
	"bytes"
	"encoding/binary"

	"github.com/repomcp/repomcp/internal/objects/object"
)

// fanoutSize is the size of a fan-out: for each first byte of an id, how many ids
// begin with that or a smaller one.
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

// search returns the position of the first id that is not before id, and
// whether it is equal. Ids are hashes, so the first guess is by proportion;
// what the guess leaves is halved.
func (l *idList) search(id *object.ID) (pos uint32, found bool, err error) {
	var buf object.ID
	lo, hi := uint32(0), l.fanout[id[0]]
	if id[0] > 0 {
		lo = l.fanout[id[0]-1]
	}
	guess := lo + uint32(uint64(hi-lo)*uint64(binary.BigEndian.Uint32(id[1:5]))>>32)
	step := uint32(8)
	for first := true; lo < hi; {
		mid := lo + (hi-lo)/2
		if first || step < (hi-lo)/4 {
			mid = min(max(guess, lo), hi-1)
		}
		raw, err := l.raw(mid, &buf)
		if err != nil {
			return 0, false, err
		}
		switch order := bytes.Compare(raw, id[:]); {
		case order == 0:
			return mid, true, nil
		case order < 0:
			lo = mid + 1
			guess = mid + step
		default:
			hi = mid
			guess = mid - min(mid, step)
		}
		first, step = false, step*4
	}
	return lo, false, nil
}
