package objects

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"math"
)

// The layout of pack indexes, gitformat-pack(5), "pack-*.idx files have the
// following format":
//
//	version 1: fan-out, count x (offset u32, id), pack checksum, own checksum
//	version 2: magic, version, fan-out, count x id, count x crc u32,
//	           count x offset u32, n x offset u64, pack checksum, own checksum
const (
	idxMagic      = "\xfftOc"
	idxHeader     = 8
	fanoutSize    = 256 * 4
	idxTrailer    = 2 * IDSize
	idxV1Entry    = 4 + IDSize
	idxV2Entry    = IDSize + 4 + 4
	largeOffset   = 1 << 31 // set when the other bits number a u64 offset
	smallestEntry = 2       // a pack entry has at least a header byte and some data
)

// index finds the offsets of a pack's objects. It is safe for any number of
// goroutines and checks every position it reads from the file.
type index struct {
	*table
	where   string
	fanout  [256]uint32
	count   uint32
	ids     int64 // position of the first id
	stride  int64 // from one id to the next
	offsets int64 // position of the first 32-bit offset
	wide    int64 // position of the first 64-bit offset
	wides   int64 // how many of those there are
	packSum ID    // the checksum of the pack that the index belongs to
}

// newIndex reads and checks the parts of an index that have a fixed place:
// the time it takes does not depend on the number of objects, apart from the
// checksum of small indexes.
func newIndex(t *table, where string) (*index, error) {
	x := &index{table: t, where: where}
	var buf [fanoutSize]byte
	head, err := t.at(0, idxHeader, buf[:])
	if err != nil {
		return nil, corrupt(where, err)
	}
	version := 1
	if string(head[:4]) == idxMagic {
		version = int(min(binary.BigEndian.Uint32(head[4:]), math.MaxInt32))
	}
	if err := x.layOut(version); err != nil {
		return nil, corrupt(where, err)
	}
	sum, err := t.at(t.size-idxTrailer, IDSize, buf[:])
	if err != nil {
		return nil, corrupt(where, err)
	}
	copy(x.packSum[:], sum)
	if t.whole != nil {
		if err := x.verify(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// layOut places the tables of the given version and checks that the file is
// as long as they say.
func (x *index) layOut(version int) error {
	start := int64(0)
	if version == 2 {
		start = idxHeader
	}
	if err := x.readFanout(start); err != nil {
		return err
	}
	first, n := start+fanoutSize, int64(x.count)
	switch version {
	case 1:
		x.ids, x.stride = first+4, idxV1Entry
		if x.size != first+n*idxV1Entry+idxTrailer {
			return errBadIndex
		}
	case 2:
		x.ids, x.stride = first, IDSize
		x.offsets = first + n*(IDSize+4)
		x.wide = x.offsets + n*4
		rest := x.size - idxTrailer - x.wide
		if rest < 0 || rest%8 != 0 || rest/8 > n {
			return errBadIndex
		}
		x.wides = rest / 8
	default:
		return errBadIndex
	}
	return nil
}

func (x *index) readFanout(start int64) error {
	var buf [fanoutSize]byte
	raw, err := x.at(start, fanoutSize, buf[:])
	if err != nil {
		return err
	}
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(raw[4*i:])
		if x.fanout[i] < x.count {
			return errBadIndex // must not decrease
		}
		x.count = x.fanout[i]
	}
	return nil
}

// bucket returns the positions of the ids that begin with the byte b.
func (x *index) bucket(b byte) (lo, hi uint32) {
	if b > 0 {
		lo = x.fanout[b-1]
	}
	return lo, x.fanout[b]
}

// id returns the id at position i, which must be below count.
func (x *index) id(i uint32) (ID, error) {
	var id ID
	raw, err := x.at(x.ids+int64(i)*x.stride, IDSize, id[:])
	if err != nil {
		return ID{}, corrupt(x.where, err)
	}
	copy(id[:], raw)
	return id, nil
}

// search returns the position of the first id that is not before id, and
// whether it is equal. Ids are hashes, so the first guess is by proportion;
// what the guess leaves is halved.
func (x *index) search(id *ID) (pos uint32, found bool, err error) {
	var buf ID
	lo, hi := x.bucket(id[0])
	guess := lo + uint32(uint64(hi-lo)*uint64(binary.BigEndian.Uint32(id[1:5]))>>32)
	step := uint32(8)
	for first := true; lo < hi; {
		mid := lo + (hi-lo)/2
		if first || step < (hi-lo)/4 {
			mid = min(max(guess, lo), hi-1)
		}
		raw, err := x.at(x.ids+int64(mid)*x.stride, IDSize, buf[:])
		if err != nil {
			return 0, false, corrupt(x.where, err)
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

// find returns the offset of an object in the pack.
func (x *index) find(id *ID) (offset int64, found bool, err error) {
	pos, found, err := x.search(id)
	if err != nil || !found {
		return 0, false, err
	}
	offset, err = x.offset(pos)
	return offset, err == nil, err
}

// offset returns the offset in the pack of the object at position i.
func (x *index) offset(i uint32) (int64, error) {
	var buf [8]byte
	at := x.offsets + int64(i)*4
	if x.stride == idxV1Entry {
		at = x.ids + int64(i)*idxV1Entry - 4
	}
	raw, err := x.at(at, 4, buf[:])
	if err != nil {
		return 0, corrupt(x.where, err)
	}
	short := binary.BigEndian.Uint32(raw)
	if short < largeOffset || x.stride == idxV1Entry {
		return int64(short), nil
	}
	number := int64(short &^ largeOffset)
	if number >= x.wides {
		return 0, corrupt(x.where, errBadIndex)
	}
	raw, err = x.at(x.wide+8*number, 8, buf[:])
	if err != nil {
		return 0, corrupt(x.where, err)
	}
	long := binary.BigEndian.Uint64(raw)
	if long > math.MaxInt64 {
		return 0, corrupt(x.where, errBadIndex)
	}
	return int64(long), nil
}

// verify compares the index with its trailing checksum.
func (x *index) verify() error {
	h := sha1.New()
	var reader io.Reader
	if x.whole != nil {
		reader = bytes.NewReader(x.whole)
	} else {
		reader = io.NewSectionReader(x.file, 0, x.size)
	}
	if _, err := io.CopyN(h, reader, x.size-IDSize); err != nil {
		return corrupt(x.where, err)
	}
	var want, got ID
	if _, err := io.ReadFull(reader, want[:]); err != nil {
		return corrupt(x.where, err)
	}
	if h.Sum(got[:0]); got != want {
		return corrupt(x.where, errChecksum)
	}
	return nil
}
