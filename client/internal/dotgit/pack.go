package dotgit

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zlib"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

const (
	// deflation is zlib's level in packs; the package document has the figures.
	deflation = zlib.NoCompression
	// smallObject is the size up to which an object is deflated in memory, by several goroutines at
	// the same time. A larger one goes into the pack at once, and others wait for it.
	smallObject = 256 << 10
	// packBuffer saves system calls for small objects.
	packBuffer = 256 << 10
)

// packHeader is the beginning of a pack, without the number of its objects (gitformat-pack(5)).
var packHeader = []byte("PACK\x00\x00\x00\x02")

// pack is a pack file that is being written. Objects may be added by several goroutines. Each object
// is in it once, and none is a delta.
type pack struct {
	deflaters sync.Pool // of *deflater

	mu      sync.Mutex
	file    *os.File // open until the pack is published
	out     *bufio.Writer
	size    int64 // of the pack so far
	entries []packEntry
	places  map[git.ID]int // in entries
}

type packEntry struct {
	id  git.ID
	at  int64
	crc uint32 // of its bytes in the pack
}

// createPack makes a pack in a new file.
func createPack(name string) (*pack, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o444) //nolint:gosec // as git's packs
	if err != nil {
		return nil, err
	}
	p := &pack{file: file, out: bufio.NewWriterSize(file, packBuffer), places: make(map[git.ID]int)}
	p.deflaters.New = func() any { return newDeflater() }
	_, err = p.Write(append(packHeader, 0, 0, 0, 0))
	if err != nil {
		err = errors.Join(err, file.Close())
	}
	return p, err
}

// Write appends to the file. The caller has the lock.
func (p *pack) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.size += int64(n)
	return n, err
}

// has reports whether the pack has an object.
func (p *pack) has(id git.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.places[id]
	return ok
}

// record notes an object that was appended. The caller has the lock.
func (p *pack) record(e packEntry) {
	p.places[e.id] = len(p.entries)
	p.entries = append(p.entries, e)
}

// cut removes everything from a place on. The caller has the lock.
func (p *pack) cut(at int64) error {
	err := p.out.Flush()
	if err == nil {
		err = p.file.Truncate(at)
	}
	if err == nil {
		_, err = p.file.Seek(at, io.SeekStart)
	}
	p.size = at
	return err
}

// seal completes the file: the number of objects, and the checksum, which it returns.
func (p *pack) seal() (sum git.ID, err error) {
	if err := p.out.Flush(); err != nil {
		return sum, err
	}
	if _, err := p.file.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(len(p.entries))), 8); err != nil {
		return sum, err
	}
	whole := sha1.New()
	if _, err := io.Copy(whole, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return sum, err
	}
	sum = git.ID(whole.Sum(nil))
	if _, err = p.Write(sum[:]); err == nil {
		err = p.out.Flush()
	}
	return sum, err
}

// copyWithout copies the pack, which was published as a file, into a new one that lacks some objects.
func (p *pack) copyWithout(published, name string, unwanted map[git.ID]bool) (other *pack, err error) {
	file, err := os.Open(published)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if other, err = createPack(name); err != nil {
		return nil, err
	}
	for i, e := range p.entries {
		if unwanted[e.id] {
			continue
		}
		end := p.size - sha1.Size
		if i+1 < len(p.entries) {
			end = p.entries[i+1].at
		}
		other.record(packEntry{e.id, other.size, e.crc})
		if _, err := io.Copy(other, io.NewSectionReader(file, e.at, end-e.at)); err != nil {
			return nil, errors.Join(err, other.close())
		}
	}
	return other, nil
}

func (p *pack) close() error {
	if err := p.file.Close(); !errors.Is(err, os.ErrClosed) { // it was not published
		return err
	}
	return nil
}

// deflater makes the bytes of one object after the other.
type deflater struct {
	*zlib.Writer
	buffer bytes.Buffer
}

func newDeflater() *deflater {
	w, err := zlib.NewWriterLevel(nil, deflation)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &deflater{Writer: w}
}

// addition is an object on its way into a pack. It implements [unpack.Copy].
type addition struct {
	pack  *pack
	from  *deflater
	large bool   // it holds the lock of the pack
	at    int64  // of a large object
	crc   uint32 // likewise
	err   error  // of the header
}

// add begins an object, which the caller ends.
func (p *pack) add(kind object.Type, size int64) *addition {
	a := &addition{pack: p, from: p.deflaters.Get().(*deflater), large: size > smallObject}
	header := appendEntryHeader(nil, kind, size)
	if !a.large {
		a.from.buffer.Reset()
		_, _ = a.from.buffer.Write(header) // it never fails
		a.from.Reset(&a.from.buffer)
		return a
	}
	p.mu.Lock()
	a.at = p.size
	_, a.err = tail{a}.Write(header)
	a.from.Reset(tail{a})
	return a
}

// appendEntryHeader appends the type and the size of an object: four bits of the size, and then seven
// in each byte (gitformat-pack(5)).
func appendEntryHeader(b []byte, kind object.Type, size int64) []byte {
	c := byte(kind)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

// tail appends the bytes of a large object.
type tail struct{ a *addition }

func (t tail) Write(b []byte) (int, error) {
	t.a.crc = crc32.Update(t.a.crc, crc32.IEEETable, b)
	return t.a.pack.Write(b)
}

// Write implements [unpack.Copy].
func (a *addition) Write(content []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	return a.from.Write(content)
}

// End implements [unpack.Copy].
func (a *addition) End(id unpack.ID) error {
	p := a.pack
	err := a.from.Close()
	if !a.large {
		p.mu.Lock()
	}
	defer func() {
		p.mu.Unlock()
		p.deflaters.Put(a.from)
	}()
	_, known := p.places[git.ID(id)]
	unwanted := known || err != nil || id == unpack.ID{}
	switch {
	case unwanted && a.large:
		return errors.Join(err, p.cut(a.at))
	case unwanted:
		return err
	case !a.large:
		content := a.from.buffer.Bytes()
		a.at, a.crc = p.size, crc32.ChecksumIEEE(content)
		_, err = p.Write(content)
	}
	p.record(packEntry{git.ID(id), a.at, a.crc})
	return err
}
