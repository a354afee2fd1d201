package pack

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// MultiIndexName is the file of a multi-pack-index in the pack directory. Chains
// of incremental ones (multi-pack-index.d) are not read: their packs are found
// through their own indexes.
const MultiIndexName = "multi-pack-index"

// The layout, gitformat-pack(5), "multi-pack-index (MIDX) files": a header, a
// table of chunks as in gitformat-chunk(5), the chunks.
const (
	midxHeader     = 12
	midxChunkEntry = 12
	midxChunks     = 64      // more than git has kinds of
	midxNames      = 1 << 20 // bytes of pack names that are read
	midxSHA1       = 1
	midxVersions   = 2 // the second one lists packs in any order
)

// MultiIndex is a multi-pack-index. It is used as a hint: it names the pack that probably has an
// object, and the index of that pack decides. So a stale or damaged multi-pack-index costs time and
// changes no answer.
type MultiIndex struct {
	idList
	info    fs.FileInfo
	offsets int64 // position of (pack u32, offset u32) pairs
	packs   []*Pack
}

// MultiIndexVersion reads the version of the multi-pack-index of a pack directory; 0 if there is none.
func MultiIndexVersion(root *os.Root, dir string) int {
	file, _, err := files.Open(root, path.Join(dir, MultiIndexName))
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }() // it was only read
	var head [midxHeader]byte
	if _, err := file.ReadAt(head[:], 0); err != nil || string(head[:4]) != "MIDX" {
		return 0
	}
	return int(head[4])
}

// OpenMultiIndex opens the multi-pack-index of a pack directory, or returns nil after any failure.
func (r *Reader) OpenMultiIndex(dir string, packs []*Pack) *MultiIndex {
	name := path.Join(dir, MultiIndexName)
	file, info, err := files.Open(r.root, name)
	if err != nil {
		return nil
	}
	t, err := openTable(name, file, info.Size(), r.limits.Indexes)
	if err != nil {
		return nil
	}
	m := &MultiIndex{idList: idList{table: t, stride: object.IDSize}, info: info}
	if !m.layOut(dir, packs) {
		t.Close()
		return nil
	}
	return m
}

// layOut reads the table of chunks and the small chunks. It reports whether they
// are sound.
func (m *MultiIndex) layOut(dir string, packs []*Pack) bool {
	var buf [midxHeader]byte
	head, err := m.at(0, midxHeader, buf[:])
	if err != nil || string(head[:4]) != "MIDX" || head[4] < 1 || head[4] > midxVersions || head[5] != midxSHA1 ||
		head[6] > midxChunks {
		return false
	}
	number := int64(binary.BigEndian.Uint32(head[8:]))
	chunks, ok := m.chunks(int(head[6]))
	if !ok || chunks["OIDF"].size != fanoutSize || m.readFanout(chunks["OIDF"].at) != nil {
		return false
	}
	m.first, m.offsets = chunks["OIDL"].at, chunks["OOFF"].at
	return chunks["OIDL"].size == int64(m.count)*object.IDSize && chunks["OOFF"].size == int64(m.count)*8 &&
		m.readNames(chunks["PNAM"], number, dir, packs)
}

// chunk is a part of the file.
type chunk struct{ at, size int64 }

// chunks reads the table of chunks: each ends where the next begins.
func (m *MultiIndex) chunks(n int) (map[string]chunk, bool) {
	raw := make([]byte, (n+1)*midxChunkEntry)
	raw, err := m.at(midxHeader, len(raw), raw)
	if err != nil {
		return nil, false
	}
	chunks := make(map[string]chunk, n)
	for ; n > 0; n-- {
		start, end := binary.BigEndian.Uint64(raw[4:]), binary.BigEndian.Uint64(raw[midxChunkEntry+4:])
		if start > end || end > uint64(m.size) {
			return nil, false
		}
		chunks[string(raw[:4])] = chunk{int64(start), int64(end - start)}
		raw = raw[midxChunkEntry:]
	}
	return chunks, true
}

// readNames finds the packs by the names of their indexes. A missing pack leaves a gap.
func (m *MultiIndex) readNames(names chunk, number int64, dir string, packs []*Pack) bool {
	if names.size > midxNames || number > names.size {
		return false
	}
	raw := make([]byte, names.size)
	raw, err := m.at(names.at, len(raw), raw)
	if err != nil {
		return false
	}
	byName := make(map[string]*Pack, len(packs))
	for _, p := range packs {
		byName[p.stem] = p
	}
	m.packs = make([]*Pack, number)
	for i := range m.packs {
		name, rest, ok := bytes.Cut(raw, []byte{0})
		if !ok {
			return false
		}
		m.packs[i] = byName[path.Join(dir, strings.TrimSuffix(string(name), ".idx"))]
		raw = rest
	}
	return true
}

// Hint returns the pack that probably holds the object, or nil.
func (m *MultiIndex) Hint(id *object.ID) *Pack {
	pos, found, err := m.search(id)
	if err != nil || !found {
		return nil
	}
	var buf [4]byte
	raw, err := m.at(m.offsets+int64(pos)*8, 4, buf[:])
	if err != nil {
		return nil
	}
	number := binary.BigEndian.Uint32(raw)
	if uint64(number) >= uint64(len(m.packs)) {
		return nil
	}
	return m.packs[number]
}

// Count is the number of its objects.
func (m *MultiIndex) Count() uint64 { return uint64(m.count) }

// Covers reports whether it covers a pack.
func (m *MultiIndex) Covers(p *Pack) bool { return slices.Contains(m.packs, p) }

// Same reports whether two multi-pack-indexes, or none, are of one file.
func (m *MultiIndex) Same(other *MultiIndex) bool {
	if m == nil || other == nil {
		return m == nil && other == nil
	}
	return files.Same(m.info, other.info)
}
