package checkout

import (
	"bufio"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

const (
	fanoutBytes = 4 * 256
	// largeOffset is the first offset that an index has in its table of long offsets.
	largeOffset = 1 << 31
)

// offsets calls do for each object with the position of its entry.
func (p *Pack) offsets(do func(Object, int64)) {
	offset := int64(packHeaderBytes)
	for _, o := range p.objects {
		do(o, offset)
		offset += o.Length
	}
}

// IndexSize returns the length of the pack's index.
func (p *Pack) IndexSize() int64 {
	size := 8 + fanoutBytes + int64(len(p.objects))*int64(idBytes+4+4) + 2*sumBytes
	p.offsets(func(_ Object, offset int64) {
		if offset >= largeOffset {
			size += 8
		}
	})
	return size
}

// WriteIndex writes the index of the sealed pack (gitformat-pack(5), "Version 2 pack-*.idx files").
func (p *Pack) WriteIndex(w io.Writer) (int64, error) {
	var objects idxfile.Writer
	// go-git's errors are those of an index that is not complete.
	_ = objects.OnHeader(uint32(len(p.objects)))
	p.offsets(func(o Object, offset int64) { objects.Add(plumbing.Hash(o.ID), uint64(offset), o.CRC) })
	_ = objects.OnFooter(p.sum)
	index, err := objects.Index()
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w) // go-git writes four bytes at a time
	if _, err := idxfile.NewEncoder(out).Encode(index); err != nil {
		return 0, err
	}
	return p.IndexSize(), out.Flush()
}

// ReverseSize returns the length of the pack's reverse index.
func (p *Pack) ReverseSize() int64 { return 12 + 4*int64(len(p.objects)) + 2*sumBytes }

// WriteReverse writes the reverse index of the sealed pack (gitformat-pack(5), "pack-*.rev files have
// the format"): the places that the objects have in the index, in the order of the pack.
func (p *Pack) WriteReverse(w io.Writer) (int64, error) {
	byID := make([]int32, len(p.objects))
	for i := range byID {
		byID[i] = int32(i)
	}
	slices.SortFunc(byID, func(a, b int32) int { return p.objects[a].ID.Compare(p.objects[b].ID) })
	places := make([]uint32, len(p.objects))
	for place, i := range byID {
		places[i] = uint32(place)
	}
	const version, sha1ID = 1, 1
	out := binary.BigEndian.AppendUint32([]byte("RIDX"), version)
	out = binary.BigEndian.AppendUint32(slices.Grow(out, int(p.ReverseSize())), sha1ID)
	for _, place := range places {
		out = binary.BigEndian.AppendUint32(out, place)
	}
	out = append(out, p.sum[:]...)
	sum := sha1.Sum(out)
	n, err := w.Write(append(out, sum[:]...))
	return int64(n), err
}
