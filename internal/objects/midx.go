package objects

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math"
	"path"
	"strings"
)

// midxName is the file of a multi-pack-index in the pack directory. Chains of
// incremental ones (multi-pack-index.d) are not read: their packs are found
// through their own indexes.
const midxName = "multi-pack-index"

// The layout, gitformat-pack(5), "multi-pack-index (MIDX) files": a header, a
// table of chunks as in gitformat-chunk(5), the chunks.
const (
	midxHeader     = 12
	midxChunkEntry = 12
	midxChunks     = 64      // more than git has kinds of
	midxNames      = 1 << 20 // bytes of pack names that are read
	midxSHA1       = 1
)

// midx is a multi-pack-index. It is taken as a hint: it says in which pack an
// object probably is, and the index of that pack is asked whether it is there
// and where. So one that is stale or damaged costs time and changes no answer.
type midx struct {
	*table
	info    fs.FileInfo
	fanout  [256]uint32
	count   uint32
	ids     int64
	offsets int64 // position of (pack u32, offset u32) pairs
	packs   []*pack
}

// openMidx adds the multi-pack-index to a set when there is one that is
// sound. Every failure means that there is none.
func (d *directory) openMidx(set *packSet, names map[string]bool) {
	s := d.store
	if !names[midxName] || len(set.packs) < 2 || s.descriptors.reserve(1) != nil {
		return
	}
	m := d.readMidx(set.packs)
	if m == nil {
		s.descriptors.release(1)
		return
	}
	s.descriptors.release(1 - m.descriptors())
	set.midx = m
}

func (d *directory) readMidx(packs []*pack) *midx {
	file, info, err := d.store.openFile(path.Join(d.packDir(), midxName))
	if err != nil {
		return nil
	}
	t, err := openTable(file, info.Size(), d.store.descriptors.index)
	if err != nil {
		return nil
	}
	m := &midx{table: t, info: info}
	if err := m.layOut(d.packDir(), packs); err != nil {
		t.close()
		return nil
	}
	return m
}

// layOut reads the table of chunks and the small chunks.
func (m *midx) layOut(dir string, packs []*pack) error {
	var buf [midxHeader]byte
	head, err := m.at(0, midxHeader, buf[:])
	if err != nil {
		return err
	}
	chunks := int(head[6])
	if string(head[:4]) != "MIDX" || head[4] != 1 || head[5] != midxSHA1 || chunks > midxChunks {
		return errBadMidx
	}
	number := binary.BigEndian.Uint32(head[8:])
	places, err := m.chunkTable(chunks)
	if err != nil {
		return err
	}
	fanout, ids, offsets := places["OIDF"], places["OIDL"], places["OOFF"]
	if fanout.size != fanoutSize {
		return errBadMidx
	}
	if err := m.readFanout(fanout.at); err != nil {
		return err
	}
	m.ids, m.offsets = ids.at, offsets.at
	if ids.size != int64(m.count)*IDSize || offsets.size != int64(m.count)*8 {
		return errBadMidx
	}
	return m.readNames(places["PNAM"], int64(number), dir, packs)
}

// chunk is a part of the file.
type chunk struct{ at, size int64 }

// chunkTable reads the table of chunks: each ends where the next begins.
func (m *midx) chunkTable(n int) (map[string]chunk, error) {
	raw := make([]byte, (n+1)*midxChunkEntry)
	raw, err := m.at(midxHeader, len(raw), raw)
	if err != nil {
		return nil, err
	}
	chunks := make(map[string]chunk, n)
	for ; n > 0; n-- {
		start, end := binary.BigEndian.Uint64(raw[4:]), binary.BigEndian.Uint64(raw[midxChunkEntry+4:])
		if start > end || end > uint64(m.size) {
			return nil, errBadMidx
		}
		chunks[string(raw[:4])] = chunk{int64(start), int64(end - start)}
		raw = raw[midxChunkEntry:]
	}
	return chunks, nil
}

func (m *midx) readFanout(at int64) error {
	var buf [fanoutSize]byte
	raw, err := m.at(at, fanoutSize, buf[:])
	if err != nil {
		return err
	}
	for i := range m.fanout {
		m.fanout[i] = binary.BigEndian.Uint32(raw[4*i:])
		if m.fanout[i] < m.count {
			return errBadMidx
		}
		m.count = m.fanout[i]
	}
	return nil
}

// readNames finds the packs of the set under the names of their indexes. A
// pack that is gone leaves a gap.
func (m *midx) readNames(names chunk, number int64, dir string, packs []*pack) error {
	if names.size > midxNames || number > names.size {
		return errBadMidx
	}
	raw := make([]byte, names.size)
	raw, err := m.at(names.at, len(raw), raw)
	if err != nil {
		return err
	}
	byName := make(map[string]*pack, len(packs))
	for _, p := range packs {
		byName[p.where] = p
	}
	m.packs = make([]*pack, number)
	for i := range m.packs {
		end := bytes.IndexByte(raw, 0)
		if end < 0 {
			return errBadMidx
		}
		stem := strings.TrimSuffix(string(raw[:end]), ".idx")
		m.packs[i] = byName[path.Join(dir, stem)+".pack"]
		raw = raw[end+1:]
	}
	return nil
}

// hint returns the pack that probably holds the object, or nil.
func (m *midx) hint(id *ID) *pack {
	var buf [IDSize]byte
	lo, hi := uint32(0), m.fanout[id[0]]
	if id[0] > 0 {
		lo = m.fanout[id[0]-1]
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		raw, err := m.at(m.ids+int64(mid)*IDSize, IDSize, buf[:])
		if err != nil {
			return nil
		}
		switch order := bytes.Compare(raw, id[:]); {
		case order == 0:
			return m.packAt(mid)
		case order < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

func (m *midx) packAt(i uint32) *pack {
	var buf [4]byte
	raw, err := m.at(m.offsets+int64(i)*8, 4, buf[:])
	if err != nil {
		return nil
	}
	number := binary.BigEndian.Uint32(raw)
	if number > math.MaxInt32 || int(number) >= len(m.packs) {
		return nil
	}
	return m.packs[number]
}

// sameFile says whether two multi-pack-indexes, or none, are of one file.
func (m *midx) sameFile(other *midx) bool {
	if m == nil || other == nil {
		return m == nil && other == nil
	}
	return sameFile(m.info, other.info)
}
