package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/packtest"
)

// FuzzIndex: whatever the file says, nothing panics, and what is found is what
// was looked for, at a position that is in range.
func FuzzIndex(f *testing.F) {
	valid := packtest.Index(manyEntries(20), make([]byte, object.IDSize))
	f.Add(valid)
	f.Add(valid[:len(valid)-object.IDSize-8])
	f.Add(packtest.Index(nil, make([]byte, object.IDSize)))
	first := binary.BigEndian.AppendUint32(make([]byte, 255*4), 1) // version 1, one object
	f.Add(append(append(first, 0, 0, 0, 12), bytes.Repeat([]byte{0xff}, 2*object.IDSize)...))
	f.Fuzz(func(t *testing.T, body []byte) {
		own := sha1.Sum(body)
		file := append(bytes.Clone(body), own[:]...)
		x, err := newIndex(&table{name: "fuzz.idx", whole: file, size: int64(len(file)), memory: new(Budget)})
		if err != nil {
			if !object.IsDamage(err) || errors.Is(err, io.EOF) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		if int64(x.count)*object.IDSize > x.size {
			t.Fatalf("%d objects in %d bytes", x.count, x.size)
		}
		for i := range x.count {
			id := idAt(t, x, i)
			offset, err := x.offset(i)
			if offset < 0 || err != nil && !object.IsDamage(err) {
				t.Fatalf("offset %d, %v", offset, err)
			}
			if pos, found, err := x.search(&id); err != nil || found && idAt(t, x, pos) != id {
				t.Fatalf("searching gives %d %v %v", pos, found, err)
			}
		}
	})
}

func idAt(t *testing.T, x *index, pos uint32) object.ID {
	t.Helper()
	var buf object.ID
	raw, err := x.raw(pos, &buf)
	if err != nil {
		t.Fatal(err)
	}
	return object.ID(raw)
}

// FuzzPackEntry: a header that is accepted lies inside the bytes, has its base
// before itself, and means the same when it is written again.
func FuzzPackEntry(f *testing.F) {
	f.Add(packtest.EntryHead(3, 1000), int64(12))
	f.Add(packtest.EntryHead(uint8(ofsDelta), 1<<40, packtest.Distance(1<<33)...), int64(1)<<34)
	f.Add(packtest.EntryHead(uint8(refDelta), 5, make([]byte, object.IDSize)...), int64(50))
	f.Add(bytes.Repeat([]byte{0xff}, 40), int64(50))
	f.Fuzz(func(t *testing.T, b []byte, off int64) {
		if off < packHeader {
			return
		}
		e, err := parseEntry(b, off)
		if err != nil {
			return
		}
		if e.length > len(b) || e.size < 0 {
			t.Fatalf("%+v in %d bytes", e, len(b))
		}
		var more []byte
		switch e.kind {
		case ofsDelta:
			if e.base < packHeader || e.base >= off {
				t.Fatalf("the base of %d is %d", off, e.base)
			}
			more = packtest.Distance(off - e.base)
		case refDelta:
			more = e.baseID[:]
		}
		again := packtest.EntryHead(uint8(e.kind), uint64(e.size), more...)
		second, err := parseEntry(again, off)
		second.length = e.length // it may have been written longer than needed
		if err != nil || second != e {
			t.Fatalf("%+v is read again as %+v, %v", e, second, err)
		}
	})
}

// plainDelta follows a delta in the simplest way.
func plainDelta(base, delta []byte) (result []byte, ok bool) {
	baseSize, size, delta, err := parseDeltaHeader(delta)
	if err != nil || baseSize != int64(len(base)) {
		return nil, false
	}
	for len(delta) > 0 {
		c := delta[0]
		delta = delta[1:]
		if c == 0 {
			return nil, false
		}
		if c < 0x80 {
			if int(c) > len(delta) {
				return nil, false
			}
			result, delta = append(result, delta[:c]...), delta[c:]
			continue
		}
		var arguments [7]int
		for i := range arguments {
			if c>>i&1 == 0 {
				continue
			}
			if len(delta) == 0 {
				return nil, false
			}
			arguments[i], delta = int(delta[0]), delta[1:]
		}
		offset := arguments[0] | arguments[1]<<8 | arguments[2]<<16 | arguments[3]<<24
		n := arguments[4] | arguments[5]<<8 | arguments[6]<<16
		if n == 0 {
			n = 0x10000
		}
		if offset+n > len(base) || len(result)+n > 1<<22 {
			return nil, false
		}
		result = append(result, base[offset:offset+n]...)
	}
	return result, int64(len(result)) == size
}

// FuzzDelta: the delta in memory, the streamed one and the plain reading of
// the format agree.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("the base"), packtest.Delta(8, 7, 0x91, 0, 4, 3, 'a', 'b', 'c'))
	f.Add([]byte("the base"), packtest.Delta(8, 4, 0x90, 4))
	f.Add(bytes.Repeat([]byte("b"), 1<<16), packtest.Delta(1<<16, 1<<17, 0x80, 0x80))
	f.Add([]byte(""), packtest.Delta(0, 0))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		want, ok := plainDelta(base, delta)
		baseSize, size, rest, err := parseDeltaHeader(delta)
		if err != nil || size > 1<<20 || baseSize != int64(len(base)) {
			return
		}
		out := make([]byte, size)
		if err := applyDelta(out, base, rest); (err == nil) != ok || ok && !bytes.Equal(out, want) {
			t.Fatalf("in memory: %v, want %v", err, ok)
		}
		streamed, err := streamDelta(base, delta, size)
		if (err == nil) != ok || ok && !bytes.Equal(streamed, want) {
			t.Fatalf("streamed: %v, want %v", err, ok)
		}
		if errors.Is(err, io.EOF) {
			t.Fatal("a bare end of file")
		}
	})
}

// streamDelta applies a delta as a large object is resolved.
func streamDelta(base, delta []byte, size int64) ([]byte, error) {
	var buffers object.Buffers
	damage := func(err error) error { return object.Corrupt("fuzz", err) }
	open := func() (*object.Object, error) {
		return object.New(&buffers, object.ID{}, object.Blob, int64(len(delta)), object.Bytes(delta), damage), nil
	}
	d, err := newDeltaStream(&part{ReaderAt: bytes.NewReader(base), size: int64(len(base))}, open)
	if err != nil {
		return nil, err
	}
	return object.New(&buffers, object.ID{}, object.Blob, size, d, damage).AppendTo(nil)
}

// multiIndex writes a multi-pack-index of two packs, without its checksum.
func multiIndex(ids ...object.ID) []byte {
	names := []byte("pack-a.idx\x00pack-b.idx\x00\x00\x00")
	var fanout, list, offsets []byte
	for b := range 256 {
		n := uint32(0)
		for _, id := range ids {
			if int(id[0]) <= b {
				n++
			}
		}
		fanout = binary.BigEndian.AppendUint32(fanout, n)
	}
	for i, id := range ids {
		list = append(list, id[:]...)
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(i%2))
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(12+i))
	}
	out := append([]byte("MIDX\x01\x01\x04\x00"), 0, 0, 0, 2)
	at := uint64(midxHeader + 5*midxChunkEntry)
	for _, c := range []struct {
		name    string
		content []byte
	}{{"PNAM", names}, {"OIDF", fanout}, {"OIDL", list}, {"OOFF", offsets}, {"\x00\x00\x00\x00", nil}} {
		out = binary.BigEndian.AppendUint64(append(out, c.name...), at)
		at += uint64(len(c.content))
	}
	return append(append(append(append(out, names...), fanout...), list...), offsets...)
}

// FuzzMultiIndex: whatever the file says, it hints at packs that are there, and has no
// more objects than bytes.
func FuzzMultiIndex(f *testing.F) {
	a, b := &Pack{stem: "pack/pack-a"}, &Pack{stem: "pack/pack-b"}
	ids := []object.ID{packtest.Named("1"), packtest.Named("2"), packtest.Named("3")}
	slices.SortFunc(ids, object.ID.Compare)
	valid := multiIndex(ids...)
	open := func(file []byte) (*MultiIndex, bool) {
		m := &MultiIndex{idList: idList{table: &table{name: "fuzz", whole: file, size: int64(len(file)),
			memory: new(Budget)}, stride: object.IDSize}}
		return m, m.layOut("pack", []*Pack{a, b})
	}
	if m, ok := open(valid); !ok || m.Hint(&ids[0]) != a || m.Hint(&ids[1]) != b {
		f.Fatal("the seed is no multi-pack-index")
	}
	f.Add(valid, ids[0][:])
	f.Add(valid[:len(valid)-5], ids[1][:])
	f.Fuzz(func(t *testing.T, file, raw []byte) {
		m, ok := open(file)
		if !ok {
			return
		}
		if int64(m.Count())*object.IDSize > int64(len(file)) {
			t.Fatalf("%d objects in %d bytes", m.Count(), len(file))
		}
		var id object.ID
		copy(id[:], raw)
		if p := m.Hint(&id); p != nil && p != a && p != b {
			t.Fatalf("it hints at %+v", p)
		}
	})
}
