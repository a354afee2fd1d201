package checkout

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	packHeaderBytes = 12
	sumBytes        = sha1.Size
	idBytes         = len(git.ID{})
	fanoutBytes     = 4 * 256
	// largeOffset is the first offset that an index has in its table of long offsets.
	largeOffset = 1 << 31
)

// spillMemory is how much of a pack, and of an index, is in memory: a small checkout takes no
// temporary file.
const spillMemory = 128 << 10

// ObjectMemory bounds the memory of one object in a [Pack]: its [Object], and its places in the
// order of ids and back.
const ObjectMemory = 32 + 8 + 8

// Pack is a pack that is written from its entries. It is used by one goroutine.
type Pack struct {
	entries *spill.File
	objects []Object
	sorted  []int32 // indexes of objects, by id
	sum     [sumBytes]byte
}

// NewPack returns an empty pack, whose entries are kept in a space. Close it.
func NewPack(space *spill.Space) *Pack { return &Pack{entries: space.NewFile(spillMemory)} }

// Close releases the entries.
func (p *Pack) Close() { p.entries.Close() }

// Len returns the number of objects.
func (p *Pack) Len() int { return len(p.objects) }

// Write appends the bytes of entries, whose objects [Pack.Add] notes.
func (p *Pack) Write(entries []byte) (int, error) { return p.entries.Write(entries) }

// Add notes objects, in the order of their entries.
func (p *Pack) Add(objects ...Object) { p.objects = append(p.objects, objects...) }

// Size returns the length of the pack.
func (p *Pack) Size() int64 { return packHeaderBytes + p.entries.Size() + sumBytes }

// WriteTo writes the pack (gitformat-pack(5), "pack-*.pack files have the following format").
func (p *Pack) WriteTo(w io.Writer) (int64, error) {
	out := &hashWriter{w, sha1.New()}
	header := binary.BigEndian.AppendUint32([]byte("PACK"), 2)
	if _, err := out.Write(binary.BigEndian.AppendUint32(header, uint32(len(p.objects)))); err != nil {
		return 0, err
	}
	if _, err := p.entries.WriteTo(out); err != nil {
		return 0, err
	}
	var err error
	p.sum, err = out.end()
	return p.Size(), err
}

// byID returns the indexes of the objects in the order of their ids.
func (p *Pack) byID() []int32 {
	if p.sorted == nil {
		p.sorted = make([]int32, len(p.objects))
		for i := range p.sorted {
			p.sorted[i] = int32(i)
		}
		slices.SortFunc(p.sorted, func(a, b int32) int { return p.objects[a].ID.Compare(p.objects[b].ID) })
	}
	return p.sorted
}

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

// WriteIndex writes version 2 of the pack's index (gitformat-pack(5), "Version 2 pack-*.idx
// files"), after [Pack.WriteTo].
func (p *Pack) WriteIndex(w io.Writer) error {
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
	return out.close()
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

// WriteReverse writes the pack's reverse index (gitformat-pack(5), "pack-*.rev files have the
// format"), after [Pack.WriteTo].
func (p *Pack) WriteReverse(w io.Writer) error {
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
	return out.close()
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
	_, err := t.end()
	return err
}
