package zip

import (
	stdzip "archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// fake is a record of a member that was never written.
func fake(path string, size, compressed uint64) []byte {
	r := record{bits: bitDeflated | bitStreamed, crc: 7, size: size, compressed: compressed, path: []byte(path)}
	r.set(bitWide, size >= wideFrom)
	return r.appendTo(nil, 0)
}

// readFake reads the directory of an archive whose members are not there.
func readFake(t *testing.T, d *Directory, comment string) (*stdzip.Reader, []byte) {
	t.Helper()
	from := int64(d.length)
	var out bytes.Buffer
	if err := d.Write(&out, comment); err != nil {
		t.Fatal(err)
	}
	zr, err := stdzip.NewReader(inMemory{from, out.Bytes()}, from+int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return zr, out.Bytes()
}

func TestLargeSizesAndOffsets(t *testing.T) {
	d := newBuilder(t, 1, 0).format.NewDirectory()
	sizes := []uint64{
		1, wideFrom - 1, wideFrom, max32 - 1, max32, max32 + 1, 1 << 40, 5,
	}
	var offsets []int64
	for i, size := range sizes {
		offsets = append(offsets, int64(d.length))
		d.Add(fake(fmt.Sprint(i), size, size+10))
	}
	zr, raw := readFake(t, d, commitID)
	if len(zr.File) != len(sizes) || zr.Comment != commitID {
		t.Fatalf("%d files, comment %q", len(zr.File), zr.Comment)
	}
	for i, f := range zr.File {
		version := uint16(versionPlain)
		if sizes[i] >= wideFrom {
			version = version64
		}
		if f.Name != fmt.Sprint(i) || f.UncompressedSize64 != sizes[i] || f.CompressedSize64 != sizes[i]+10 ||
			f.ReaderVersion != version {
			t.Errorf("file %d: %+v", i, f.FileHeader)
		}
	}
	// The standard library reads offsets but does not tell them.
	e := readEnds(t, raw, len(commitID))
	if !e.wide || e.offset32 != max32 || e.locatedAt != e.offset+e.size {
		t.Errorf("ends: %+v", e)
	}
	for i, h := range readCentral(t, raw[:e.size]) {
		if got := offsetOf(t, h); got != uint64(offsets[i]) {
			t.Errorf("file %d: offset %d, not %d", i, got, offsets[i])
		}
	}
}

// offsetOf reads a header's offset, from the extra field if it is there.
func offsetOf(t *testing.T, h header) uint64 {
	t.Helper()
	if h.offset != max32 {
		return uint64(h.offset)
	}
	s := &scanner{t, []byte(h.extra)}
	for len(s.p) > 0 {
		tag, length := s.u16(), int(s.u16())
		field := s.bytes(length)
		if tag == wideExtra {
			return order.Uint64(field[length-8:])
		}
	}
	t.Fatalf("%v: no offset", h)
	return 0
}

func TestManyEntries(t *testing.T) {
	for _, n := range []int{65534, 65535, 65536, 200_000} {
		d := newBuilder(t, 1, 0).format.NewDirectory()
		for i := range n {
			d.Add(fake(fmt.Sprintf("folder/%d", i), 3, 5))
		}
		zr, raw := readFake(t, d, "")
		if len(zr.File) != n || zr.File[n-1].Name != fmt.Sprintf("folder/%d", n-1) {
			t.Errorf("%d files were read, of %d", len(zr.File), n)
		}
		if e := readEnds(t, raw, 0); e.wide != (n > max16) || e.entries != uint64(n) || e.wide && e.wideAt != e.size {
			t.Errorf("%d files: ends %+v", n, e)
		}
	}
}

// zeros is a source of so many.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	return int(n), nil
}

// streamZeros makes an archive of one streamed file.
func streamZeros(t *testing.T, size int64) (archive []byte, descriptorAt int64) {
	t.Helper()
	f := newBuilder(t, 2, 0).format
	var out bytes.Buffer
	s, err := f.Stream(t.Context(), &out, Member{Path: []byte("zeros"), Mode: 0o100644}, size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	if _, err := io.CopyBuffer(struct{ io.Writer }{s}, &zeros{size}, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	records, err := s.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	descriptorAt = int64(out.Len()) - int64(len(s.record.descriptor(nil)))
	d := f.NewDirectory()
	d.Add(records)
	if int64(d.length) != int64(out.Len()) {
		t.Errorf("%d bytes, not %d", out.Len(), int64(d.length))
	}
	if err := d.Write(&out, ""); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), descriptorAt
}

func TestStream_Large(t *testing.T) {
	if gittest.Volume(0, 1) == 0 {
		t.Skip("compresses 6 GiB: make soak does")
	}
	for _, size := range []int64{wideFrom + 1, 1<<32 + 5} {
		p, at := streamZeros(t, size)
		local, _ := readLocal(t, p)
		if local.version != version64 || local.size != max32 || local.compressed != max32 ||
			local.flags != flagStream || len(local.extra) != mtimeSize+wideSize {
			t.Errorf("local header %v", local)
		}
		s := &scanner{t, p[at:]}
		s.magic(descriptorMagic)
		crc, compressed, length := s.u32(), s.u64(), s.u64()
		if compressed != uint64(at)-localSize-5-mtimeSize-wideSize || length != uint64(size) {
			t.Errorf("descriptor: %d of %d bytes", length, compressed)
		}
		zr, err := stdzip.NewReader(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		f := zr.File[0]
		if f.UncompressedSize64 != uint64(size) || f.CompressedSize64 != compressed || f.CRC32 != crc {
			t.Errorf("%+v", f.FileHeader)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		sum := crc32.NewIEEE()
		if n, err := io.Copy(sum, r); err != nil || n != size || sum.Sum32() != crc {
			t.Errorf("%d bytes came back, %v", n, err)
		}
	}
}

// What follows a large stream has sizes of 64 bits.
func TestDescriptor_Large(t *testing.T) {
	for _, size := range []uint64{wideFrom, max32, 1<<32 + 5} {
		r := record{bits: bitDeflated | bitStreamed | bitWide, crc: 7, size: size, compressed: size + 10}
		s := &scanner{t, r.descriptor(nil)}
		s.magic(descriptorMagic)
		if crc, compressed, length := s.u32(), s.u64(), s.u64(); crc != 7 || compressed != size+10 || length != size ||
			len(s.p) != 0 {
			t.Errorf("descriptor: %d of %d bytes, want %d", length, compressed, size)
		}
	}
}

// A member's form goes by the size that was announced.
func TestStream_WideForm(t *testing.T) {
	f := newBuilder(t, 1, 0).format
	for _, size := range []int64{0, 100, wideFrom - 1, wideFrom, 1 << 33} {
		var out bytes.Buffer
		s, err := f.Stream(t.Context(), &out, Member{Path: []byte("p"), Mode: 0o100644}, size)
		if err != nil {
			t.Fatal(err)
		}
		local, _ := readLocal(t, out.Bytes())
		if wide := local.version == version64; wide != (size >= wideFrom) || wide != (len(local.extra) > mtimeSize) ||
			wide != (local.size == max32) || !wide && int64(local.size) != size {
			t.Errorf("%d bytes: %v", size, local)
		}
		s.Abort()
		if _, err := s.Finish(nil); !errors.Is(err, ErrClosed) {
			t.Errorf("Finish after Abort: %v", err)
		}
	}
}
