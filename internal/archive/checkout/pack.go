package checkout

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	packHeaderBytes = 12
	sumBytes        = sha1.Size
	idBytes         = len(git.ID{})
)

const (
	// spillMemory is how much of a pack, and of an index, is in memory: a small checkout takes no
	// temporary file.
	spillMemory = 128 << 10
	// FolderMemory is the memory of a [Folder] besides its objects: of two files, and of a buffer to
	// copy them.
	FolderMemory = 3 * spillMemory
	// ObjectMemory bounds the memory of an object: in a [Pack] and in [Seen], or of a folder in an
	// [Index].
	ObjectMemory = 160
)

// Pack is a pack that is written from its entries. It is used by one goroutine.
type Pack struct {
	entries *spill.File
	objects []Object
	sum     [sumBytes]byte
}

// NewPack returns an empty pack, whose entries are kept in a space. Close it.
func NewPack(space *spill.Space) *Pack { return &Pack{entries: space.NewFile(spillMemory)} }

// Close releases the entries.
func (p *Pack) Close() { p.entries.Close() }

// Write appends the bytes of entries, whose objects [Pack.Add] notes.
func (p *Pack) Write(entries []byte) (int, error) { return p.entries.Write(entries) }

// Add notes objects, in the order of their entries.
func (p *Pack) Add(objects ...Object) { p.objects = append(p.objects, objects...) }

// Size returns the length of the pack.
func (p *Pack) Size() int64 { return packHeaderBytes + p.entries.Size() + sumBytes }

// header returns the beginning of the pack.
func (p *Pack) header() []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(p.objects)))
}

// Seal computes the checksum of the pack, to which nothing can be added afterwards. That is the SHA-1
// of all before it, which begins with the number of objects.
func (p *Pack) Seal() error {
	sum := sha1.New()
	sum.Write(p.header())
	_, err := p.entries.WriteTo(sum)
	sum.Sum(p.sum[:0])
	return err
}

// Name returns the name of the sealed pack in its folder, without a suffix: its checksum, which
// go-git compares.
func (p *Pack) Name() string { return fmt.Sprintf("pack-%x", p.sum) }

// WriteTo writes the sealed pack (gitformat-pack(5), "pack-*.pack files have the following format").
func (p *Pack) WriteTo(w io.Writer) (int64, error) {
	if _, err := w.Write(p.header()); err != nil {
		return 0, err
	}
	if _, err := p.entries.WriteTo(w); err != nil {
		return 0, err
	}
	_, err := w.Write(p.sum[:])
	return p.Size(), err
}
