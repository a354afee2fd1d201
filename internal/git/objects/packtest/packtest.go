// Package packtest makes packs that git would not write, for tests.
package packtest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Pack is a pack that git would not write.
type Pack struct {
	Version uint32
	Count   int64 // of the header; the true one when negative
	Entries []Entry
	Index   func([]byte) []byte // changes the index before its checksum is added
	Trailer func([]byte)        // changes the checksum of the pack file
	Junk    []byte              // between the entries and the checksum
}

// Entry is an object or a delta in such a pack.
type Entry struct {
	ID     object.ID
	Head   []byte
	Data   []byte // as it lies in the pack
	Offset int64  // for the index, instead of the true one
}

// New returns a pack of the entries.
func New(entries ...Entry) *Pack {
	return &Pack{Version: 2, Count: -1, Entries: entries}
}

// Write puts the pack and its index into a repository.
func (c *Pack) Write(t testing.TB, repo *gittest.Repo) {
	t.Helper()
	count := uint32(len(c.Entries))
	if c.Count >= 0 {
		count = uint32(c.Count)
	}
	pack := binary.BigEndian.AppendUint32([]byte("PACK"), c.Version)
	pack = binary.BigEndian.AppendUint32(pack, count)
	entries := slices.Clone(c.Entries)
	for i, e := range entries {
		if e.Offset == 0 {
			entries[i].Offset = int64(len(pack))
		}
		pack = append(append(pack, e.Head...), e.Data...)
	}
	pack = append(pack, c.Junk...)
	sum := sha1.Sum(pack)
	index := Index(entries, sum[:])
	if c.Index != nil {
		index = c.Index(index)
	}
	own := sha1.Sum(index)
	if c.Trailer != nil {
		c.Trailer(sum[:])
	}
	base := filepath.Join(repo.Dir, "objects", "pack", "pack-"+hex.EncodeToString(own[:]))
	for name, content := range map[string][]byte{".pack": append(pack, sum[:]...), ".idx": append(index, own[:]...)} {
		if err := os.WriteFile(base+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Index writes an index of version 2 without its own checksum.
func Index(entries []Entry, packSum []byte) []byte {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.ID.Compare(b.ID) })
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for b := range 256 {
		n := uint32(0)
		for _, e := range entries {
			if int(e.ID[0]) <= b {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, n)
	}
	for _, e := range entries {
		index = append(index, e.ID[:]...)
	}
	var wide []byte
	short := []byte{}
	for _, e := range entries {
		index = binary.BigEndian.AppendUint32(index, crc32.ChecksumIEEE(append(slices.Clone(e.Head), e.Data...)))
		if e.Offset < 1<<31 {
			short = binary.BigEndian.AppendUint32(short, uint32(e.Offset))
			continue
		}
		short = binary.BigEndian.AppendUint32(short, 1<<31|uint32(len(wide)/8))
		wide = binary.BigEndian.AppendUint64(wide, uint64(e.Offset))
	}
	return slices.Concat(index, short, wide, packSum)
}

// EntryHead writes the header of an entry, gitformat-pack(5).
func EntryHead(kind uint8, size uint64, more ...byte) []byte {
	head := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	return append(head, more...)
}

// Distance writes the Distance of an ofs-delta.
func Distance(n int64) []byte {
	b := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		b = append(b, byte(n&0x7f)|0x80)
	}
	slices.Reverse(b)
	return b
}

// Deflated is the zlib stream of content.
func Deflated(content []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// Whole is an entry that is no delta.
func Whole(content string) Entry {
	return Entry{
		ID: SumOf(object.Blob, []byte(content)), Head: EntryHead(uint8(object.Blob), uint64(len(content))),
		Data: Deflated([]byte(content)),
	}
}

// Delta is the data of a delta: the sizes, then the instructions.
func Delta(base, result uint64, instructions ...byte) []byte {
	b := binary.AppendUvarint(nil, base)
	return append(binary.AppendUvarint(b, result), instructions...)
}

// SumOf is the id of an object with the given type and content.
func SumOf(t object.Type, content []byte) object.ID {
	return sha1.Sum(append(object.AppendHeader(nil, t, int64(len(content))), content...))
}

// Named is an id for an object whose true one does not matter.
func Named(name string) object.ID { return SumOf(object.Blob, []byte("Named "+name)) }
