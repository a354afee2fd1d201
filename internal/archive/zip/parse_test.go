package zip

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"
)

// header is what a header, central or local, says, apart from where the member
// is.
type header struct {
	creator, version, flags, method, time, date uint16
	crc                                         uint32
	compressed, size                            uint32
	internal                                    uint16
	external                                    uint32
	offset                                      uint32
	path, extra                                 string
}

func (h header) String() string {
	return fmt.Sprintf(
		"%q creator %04x version %d flags %04x method %d time %04x %04x crc %08x size %d internal %d external %08x extra %s",
		h.path, h.creator, h.version, h.flags, h.method, h.date, h.time, h.crc, h.size, h.internal, h.external,
		hex.EncodeToString([]byte(h.extra)))
}

// scanner reads little-endian fields.
type scanner struct {
	t testing.TB
	p []byte
}

func (s *scanner) bytes(n int) []byte {
	s.t.Helper()
	if n > len(s.p) {
		s.t.Fatalf("%d bytes wanted, %d left", n, len(s.p))
	}
	var b []byte
	b, s.p = s.p[:n], s.p[n:]
	return b
}
func (s *scanner) u16() uint16 { return order.Uint16(s.bytes(2)) }
func (s *scanner) u32() uint32 { return order.Uint32(s.bytes(4)) }
func (s *scanner) u64() uint64 { return order.Uint64(s.bytes(8)) }

func (s *scanner) magic(want uint32) {
	s.t.Helper()
	if got := s.u32(); got != want {
		s.t.Fatalf("magic %08x, want %08x", got, want)
	}
}

// fields reads what both kinds of header begin with, after the creator.
func (s *scanner) fields(h *header) {
	h.version, h.flags, h.method, h.time, h.date = s.u16(), s.u16(), s.u16(), s.u16(), s.u16()
	h.crc, h.compressed, h.size = s.u32(), s.u32(), s.u32()
}

// ends is what an archive ends with.
type ends struct {
	entries16         uint16
	size32, offset32  uint32
	comment           string
	wide              bool
	creator, version  uint16
	entries           uint64
	size, offset      uint64
	locatedAt, wideAt uint64
}

// readEnds reads the records at the end, whose comment has the given length.
func readEnds(t testing.TB, p []byte, comment int) ends {
	t.Helper()
	at := len(p) - comment - 22
	s := &scanner{t, p[at:]}
	var e ends
	s.magic(0x06054b50)
	if disks := s.u32(); disks != 0 {
		t.Errorf("disks %x", disks)
	}
	e.entries16 = s.u16()
	if n := s.u16(); n != e.entries16 {
		t.Errorf("%d and %d entries", e.entries16, n)
	}
	e.size32, e.offset32 = s.u32(), s.u32()
	if n := int(s.u16()); n != comment {
		t.Fatalf("comment of %d bytes, not %d", n, comment)
	}
	e.comment = string(s.bytes(comment))
	e.entries, e.size, e.offset = uint64(e.entries16), uint64(e.size32), uint64(e.offset32)
	if at < 20 || order.Uint32(p[at-20:]) != 0x07064b50 {
		return e
	}
	s = &scanner{t, p[at-20 : at]}
	s.magic(0x07064b50)
	disk := s.u32()
	e.wide, e.locatedAt = true, s.u64()
	if disks := s.u32(); disk != 0 || disks != 1 {
		t.Errorf("disk %d of %d", disk, disks)
	}
	s = &scanner{t, p[at-20-56 : at-20]}
	s.magic(0x06064b50)
	if n := s.u64(); n != 44 {
		t.Errorf("zip64 end of %d bytes", n)
	}
	e.creator, e.version = s.u16(), s.u16()
	if disks := s.u64(); disks != 0 {
		t.Errorf("disks %x", disks)
	}
	e.entries = s.u64()
	if n := s.u64(); n != e.entries {
		t.Errorf("%d and %d entries", e.entries, n)
	}
	e.size, e.offset = s.u64(), s.u64()
	e.wideAt = uint64(at - 20 - 56)
	return e
}

// readCentral reads the directory's headers.
func readCentral(t testing.TB, directory []byte) []header {
	t.Helper()
	s := &scanner{t, directory}
	var list []header
	for len(s.p) > 0 {
		var h header
		s.magic(0x02014b50)
		h.creator = s.u16()
		s.fields(&h)
		path, extra, comment, disk := int(s.u16()), int(s.u16()), s.u16(), s.u16()
		if comment != 0 || disk != 0 {
			t.Errorf("comment of %d bytes, disk %d", comment, disk)
		}
		h.internal, h.external, h.offset = s.u16(), s.u32(), s.u32()
		h.path, h.extra = string(s.bytes(path)), string(s.bytes(extra))
		list = append(list, h)
	}
	return list
}

// readLocal reads the local header at the start of p and returns what follows.
func readLocal(t testing.TB, p []byte) (header, []byte) {
	t.Helper()
	s := &scanner{t, p}
	var h header
	s.magic(0x04034b50)
	s.fields(&h)
	path, extra := int(s.u16()), int(s.u16())
	h.path, h.extra = string(s.bytes(path)), string(s.bytes(extra))
	return h, s.p
}

// member is one of an archive as its raw bytes say.
type member struct {
	central, local header
	descriptor     []byte
}

// readMembers reads an archive below 4 GiB and checks that its members follow
// one another without gaps.
func readMembers(t testing.TB, p []byte, comment int) ([]member, ends) {
	t.Helper()
	e := readEnds(t, p, comment)
	list := readCentral(t, p[e.offset:e.offset+e.size])
	if uint64(len(list)) != e.entries {
		t.Fatalf("%d entries, %d in the directory", e.entries, len(list))
	}
	members := make([]member, len(list))
	at := uint64(0)
	for i, c := range list {
		if uint64(c.offset) != at {
			t.Fatalf("member %d %q is at %d, not %d", i, c.path, c.offset, at)
		}
		local, rest := readLocal(t, p[at:])
		end := e.offset
		if i+1 < len(list) {
			end = uint64(list[i+1].offset)
		}
		at = uint64(len(p)-len(rest)) + uint64(c.compressed)
		members[i] = member{central: c, local: local, descriptor: p[at:end]}
		at = end
	}
	return members, e
}

// inMemory is an archive that is nothing but zeros before from.
type inMemory struct {
	from int64
	p    []byte
}

func (m inMemory) ReadAt(p []byte, off int64) (int, error) {
	missing := min(max(m.from-off, 0), int64(len(p)))
	clear(p[:missing])
	n, err := bytes.NewReader(m.p).ReadAt(p[missing:], off+missing-m.from)
	return int(missing) + n, err
}
