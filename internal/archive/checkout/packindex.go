package checkout

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"io"
)

// IndexSize returns the length of the pack's index.
func (p *Pack) IndexSize() int64 {
	large := int64(0)
	for offset, o := int64(packHeaderBytes), 0; o < len(p.objects); o++ {
		if offset >= largeOffset {
			large++
		}
		offset += p.objects[o].Length
	}
	return 8 + fanoutBytes + int64(len(p.objects))*int64(idBytes+4+4) + 8*large + 2*sumBytes
}

// writeIndex writes version 2 of the pack's index (gitformat-pack(5), "Version 2 pack-*.idx
// files") of the sealed pack.
func (p *Pack) writeIndex(w io.Writer) (int64, error) {
	out := &tableWriter{hashWriter: hashWriter{w, sha1.New()}}
	out.bytes([]byte("\xfftOc"))
	out.uint32(2)
	sorted, at := p.byID(), 0
	for first := range 256 {
		for at < len(sorted) && int(p.objects[sorted[at]].ID[0]) == first {
			at++
		}
		out.uint32(uint32(at))
	}
	for _, i := range sorted {
		out.bytes(p.objects[i].ID[:])
	}
	for _, i := range sorted {
		out.uint32(p.objects[i].CRC)
	}
	p.writeOffsets(out)
	out.bytes(p.sum[:])
	return p.IndexSize(), out.close()
}

// writeOffsets writes an offset for each object, and those above 2 GiB after all others.
func (p *Pack) writeOffsets(out *tableWriter) {
	offsets, next := make([]int64, len(p.objects)), int64(packHeaderBytes)
	for i, o := range p.objects {
		offsets[i] = next
		next += o.Length
	}
	var large []int64
	for _, i := range p.byID() {
		offset := offsets[i]
		if offset >= largeOffset {
			large = append(large, offset)
			offset = largeOffset | int64(len(large)-1)
		}
		out.uint32(uint32(offset))
	}
	for _, offset := range large {
		out.uint32(uint32(offset >> 32))
		out.uint32(uint32(offset))
	}
}

// ReverseSize returns the length of the pack's reverse index.
func (p *Pack) ReverseSize() int64 { return 12 + 4*int64(len(p.objects)) + 2*sumBytes }

// writeReverse writes the pack's reverse index (gitformat-pack(5), "pack-*.rev files have the
// format") of the sealed pack.
func (p *Pack) writeReverse(w io.Writer) (int64, error) {
	out := &tableWriter{hashWriter: hashWriter{w, sha1.New()}}
	out.bytes([]byte("RIDX"))
	out.uint32(1)
	out.uint32(1) // SHA-1
	places := make([]int32, len(p.objects))
	for place, i := range p.byID() {
		places[i] = int32(place)
	}
	for _, place := range places {
		out.uint32(uint32(place))
	}
	out.bytes(p.sum[:])
	return p.ReverseSize(), out.close()
}

// tableWriter writes a file of numbers and ids through a buffer, and keeps the first error.
type tableWriter struct {
	hashWriter
	buffer []byte
	err    error
}

// tableBuffer is the length of the pieces that are written.
const tableBuffer = 32 << 10

func (t *tableWriter) bytes(p []byte) {
	if len(t.buffer)+len(p) > tableBuffer {
		t.flush()
	}
	t.buffer = append(t.buffer, p...)
}

func (t *tableWriter) uint32(n uint32) {
	var digits [4]byte
	binary.BigEndian.PutUint32(digits[:], n)
	t.bytes(digits[:])
}

func (t *tableWriter) flush() {
	_, err := t.Write(t.buffer)
	t.err = cmp.Or(t.err, err)
	t.buffer = t.buffer[:0]
}

// close writes the rest and the SHA-1.
func (t *tableWriter) close() error {
	t.flush()
	if t.err != nil {
		return t.err
	}
	return t.end()
}
