package pack

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var (
	errBadIndex = errors.New("malformed pack index")
	errChecksum = errors.New("checksum mismatch")
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
	idxTrailer    = 2 * object.IDSize
	idxV1Entry    = 4 + object.IDSize
	idxV2Entry    = object.IDSize + 4 + 4
	largeOffset   = 1 << 31 // set when the other bits number a u64 offset
	smallestEntry = 2       // a pack entry has at least a header byte and some data
)

// index finds the offsets of a pack's objects. It is safe for any number of goroutines and checks
// every position that it reads from the file.
type index struct {
	idList
	offsets int64     // position of the first 32-bit offset
	wide    int64     // position of the first 64-bit offset
	wides   int64     // number of 64-bit offsets
	packSum object.ID // the checksum of the pack that the index belongs to
}

// newIndex reads and checks the parts of an index at fixed places: the time does not depend on the
// number of objects, apart from the checksum of small indexes.
func newIndex(t *table) (*index, error) {
	x := &index{idList: idList{table: t}}
	if err := x.layOut(); err != nil {
		return nil, object.Corrupt(t.name, err)
	}
	return x, nil
}

// layOut computes the positions of the tables of the file's version and checks that the file is as
// long as they need.
func (x *index) layOut() error {
	var buf [idxTrailer]byte
	head, err := x.at(0, idxHeader, buf[:])
	if err != nil {
		return err
	}
	start, version := int64(0), uint32(1)
	if string(head[:4]) == idxMagic {
		start, version = idxHeader, binary.BigEndian.Uint32(head[4:])
	}
	if err := x.readFanout(start); err != nil {
		return err
	}
	first, n := start+fanoutSize, int64(x.count)
	switch {
	case version == 1 && start == 0:
		x.first, x.stride, x.offsets = first+4, idxV1Entry, first
		x.wide = first + n*idxV1Entry
	case version == 2:
		x.first, x.stride, x.offsets = first, object.IDSize, first+n*(object.IDSize+4)
		x.wide = x.offsets + n*4
	default:
		return errBadIndex
	}
	rest := x.size - idxTrailer - x.wide
	if rest < 0 || rest%8 != 0 || rest/8 > n || rest > 0 && version == 1 {
		return errBadIndex
	}
	x.wides = rest / 8
	sums, err := x.at(x.size-idxTrailer, idxTrailer, buf[:])
	if err != nil {
		return err
	}
	copy(x.packSum[:], sums)
	if x.whole != nil && sha1.Sum(x.whole[:x.size-object.IDSize]) != object.ID(sums[object.IDSize:]) {
		return errChecksum
	}
	return nil
}

// find returns the offset of an object in the pack.
func (x *index) find(id *object.ID) (offset int64, found bool, err error) {
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
	v1 := x.stride == idxV1Entry
	width := int64(4)
	if v1 {
		width = idxV1Entry
	}
	raw, err := x.at(x.offsets+int64(i)*width, 4, buf[:])
	if err != nil {
		return 0, err
	}
	short := binary.BigEndian.Uint32(raw)
	if short < largeOffset || v1 {
		return int64(short), nil
	}
	number := int64(short &^ largeOffset)
	if number >= x.wides {
		return 0, object.Corrupt(x.name, errBadIndex)
	}
	raw, err = x.at(x.wide+8*number, 8, buf[:])
	if err != nil {
		return 0, err
	}
	long := binary.BigEndian.Uint64(raw)
	if long > math.MaxInt64 {
		return 0, object.Corrupt(x.name, errBadIndex)
	}
	return int64(long), nil
}

// hashStep is how much is hashed between two checks of the context.
const hashStep = 1 << 20

// sumOf returns the SHA-1 of the first n bytes of a file.
func sumOf(ctx context.Context, file io.ReaderAt, n int64) (sum object.ID, err error) {
	h, buf := sha1.New(), make([]byte, hashStep)
	for off := int64(0); off < n; off += hashStep {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		step := buf[:min(n-off, hashStep)]
		if _, err := file.ReadAt(step, off); err != nil {
			return sum, err
		}
		h.Write(step)
	}
	h.Sum(sum[:0])
	return sum, nil
}

// checkSum compares an index file with its trailing checksum.
func checkSum(ctx context.Context, file io.ReaderAt, size int64) error {
	got, err := sumOf(ctx, file, size-object.IDSize)
	if err != nil {
		return err
	}
	var want object.ID
	if _, err := file.ReadAt(want[:], size-object.IDSize); err != nil {
		return err
	}
	if got != want {
		return errChecksum
	}
	return nil
}
