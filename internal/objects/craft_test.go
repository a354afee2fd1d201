package objects

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

	"github.com/repomcp/repomcp/internal/gittest"
)

// crafted is a pack that git would not write.
type crafted struct {
	version uint32
	count   int64 // of the header; the true one when negative
	entries []craftedEntry
	index   func([]byte) []byte // changes the index before its checksum is added
	trailer func([]byte)        // changes the checksum of the pack file
	junk    []byte              // between the entries and the checksum
}

type craftedEntry struct {
	id     ID
	head   []byte
	data   []byte // as it lies in the pack
	offset int64  // for the index, instead of the true one
}

func newCrafted(entries ...craftedEntry) *crafted {
	return &crafted{version: 2, count: -1, entries: entries}
}

// write puts the pack and its index into a repository.
func (c *crafted) write(t testing.TB, repo *gittest.Repo) {
	t.Helper()
	count := uint32(len(c.entries))
	if c.count >= 0 {
		count = uint32(c.count)
	}
	pack := binary.BigEndian.AppendUint32([]byte("PACK"), c.version)
	pack = binary.BigEndian.AppendUint32(pack, count)
	entries := slices.Clone(c.entries)
	for i, e := range entries {
		if e.offset == 0 {
			entries[i].offset = int64(len(pack))
		}
		pack = append(append(pack, e.head...), e.data...)
	}
	pack = append(pack, c.junk...)
	sum := sha1.Sum(pack)
	index := craftIndex(entries, sum[:])
	if c.index != nil {
		index = c.index(index)
	}
	own := sha1.Sum(index)
	if c.trailer != nil {
		c.trailer(sum[:])
	}
	base := filepath.Join(repo.Dir, "objects", "pack", "pack-"+hex.EncodeToString(own[:]))
	write(t, base+".pack", string(append(pack, sum[:]...)))
	write(t, base+".idx", string(append(index, own[:]...)))
}

// craftIndex writes an index of version 2 without its own checksum.
func craftIndex(entries []craftedEntry, packSum []byte) []byte {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b craftedEntry) int { return a.id.Compare(b.id) })
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for b := range 256 {
		n := uint32(0)
		for _, e := range entries {
			if int(e.id[0]) <= b {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, n)
	}
	for _, e := range entries {
		index = append(index, e.id[:]...)
	}
	var wide []byte
	short := []byte{}
	for _, e := range entries {
		index = binary.BigEndian.AppendUint32(index, crc32.ChecksumIEEE(append(slices.Clone(e.head), e.data...)))
		if e.offset < largeOffset {
			short = binary.BigEndian.AppendUint32(short, uint32(e.offset))
			continue
		}
		short = binary.BigEndian.AppendUint32(short, largeOffset|uint32(len(wide)/8))
		wide = binary.BigEndian.AppendUint64(wide, uint64(e.offset))
	}
	return slices.Concat(index, short, wide, packSum)
}

// entryHead writes the header of an entry, gitformat-pack(5).
func entryHead(kind uint8, size uint64, more ...byte) []byte {
	head := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	return append(head, more...)
}

// distance writes the distance of an ofs-delta.
func distance(n int64) []byte {
	b := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		b = append(b, byte(n&0x7f)|0x80)
	}
	slices.Reverse(b)
	return b
}

func deflated(content []byte) []byte { return deflatedAt(zlib.DefaultCompression, content) }

func deflatedAt(level int, content []byte) []byte {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, level)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// whole is an entry that is no delta.
func whole(content string) craftedEntry {
	return craftedEntry{id: sumOf(Blob, []byte(content)), head: entryHead(uint8(Blob), uint64(len(content))), data: deflated([]byte(content))}
}

// delta is the data of a delta: the sizes, then the instructions.
func delta(base, result uint64, instructions ...byte) []byte {
	b := binary.AppendUvarint(nil, base)
	return append(binary.AppendUvarint(b, result), instructions...)
}

// onOffset is an ofs-delta, onID a ref-delta, under an id of its own.
func onOffset(name string, back int64, data []byte) craftedEntry {
	return craftedEntry{id: named(name), head: entryHead(ofsDelta, uint64(len(data)), distance(back)...), data: deflated(data)}
}

func onID(name string, base ID, data []byte) craftedEntry {
	return craftedEntry{id: named(name), head: entryHead(refDelta, uint64(len(data)), base[:]...), data: deflated(data)}
}

// sumOf is the id of an object with the given type and content.
func sumOf(t Type, content []byte) ID {
	return sha1.Sum(append(appendHeader(nil, t, int64(len(content))), content...))
}

// named is an id for an object whose true one does not matter.
func named(name string) ID { return sumOf(Blob, []byte("named "+name)) }

// mend opens a file for writing, as git makes its files read-only.
func mend(t testing.TB, pattern string) *os.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal("no file ", pattern)
	}
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
