package pack

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

var (
	errBadPack     = errors.New("malformed pack file")
	errPackDiffers = errors.New("pack file does not match its index")
	errNoPack      = errors.New("pack file is missing")
	errEmptyPack   = errors.New("pack file is empty")
)

const (
	packHeader  = 12
	packTrailer = object.IDSize
)

// Pack is an open pack file and its index. It is safe for any number of goroutines. A pack whose
// file is unusable is kept with its fault, so that its objects are reported as damaged and not as
// absent.
type Pack struct {
	stem  string // the name of both files without its end, relative to the root
	key   uint64 // names this pack in caches; never used twice
	file  *os.File
	end   int64 // where the trailing checksum begins
	index *index
	fault error // a *CorruptError

	info, indexInfo fs.FileInfo // when they were opened
	suspect         atomic.Bool // damage was seen: examine the files again
}

// Place is where an object lies in a pack.
type Place struct {
	pack *Pack
	off  int64
}

// Pack is the pack of the place; nil for the zero value, which is no place.
func (at Place) Pack() *Pack { return at.pack }

// OpenPack opens an index and its pack, stem.idx and stem.pack, for which it takes up to two
// descriptors. Damage of the index is an error, since its content is unknown then; damage of the
// pack, or its absence, is reported by reads.
func (r *Reader) OpenPack(stem string, hasPack bool) (_ *Pack, err error) {
	p := &Pack{stem: stem, key: r.lastKey.Add(1)}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	file, info, err := files.Open(r.root, p.indexName())
	if err != nil {
		return nil, err
	}
	t, err := openTable(p.indexName(), file, info.Size(), r.limits.Indexes)
	if err != nil {
		return nil, err
	}
	p.indexInfo = info
	if p.index, err = newIndex(t); err != nil {
		t.Close()
		return nil, err
	}
	if t.whole == nil {
		if err := r.checks.add(p); err != nil {
			return nil, err
		}
	}
	if !hasPack {
		p.fault = object.Corrupt(p.name(), errNoPack)
		return p, nil
	}
	p.file, p.info, err = files.Open(r.root, p.name())
	if err == nil {
		p.fault = object.Corrupt(p.name(), p.check(p.info.Size()))
	} else if object.IsDamage(err) {
		p.fault, err = err, nil
		p.info, _ = r.root.Stat(p.name()) // it may be missing
	}
	return p, err
}

func (p *Pack) name() string      { return p.stem + ".pack" }
func (p *Pack) indexName() string { return p.stem + ".idx" }

// Stem is the name by which the pack was opened.
func (p *Pack) Stem() string { return p.stem }

// NewestFirst compares packs for sorting.
func NewestFirst(a, b *Pack) int {
	return cmp.Or(b.indexInfo.ModTime().Compare(a.indexInfo.ModTime()), strings.Compare(a.stem, b.stem))
}

// check compares the ends of the pack file with its index, as git does when
// it opens a pack: the signature, the version, the number of objects and the
// checksum.
func (p *Pack) check(size int64) error {
	p.end = size - packTrailer
	if size == 0 {
		return errEmptyPack
	}
	if p.end < packHeader {
		return io.ErrUnexpectedEOF
	}
	var head [packHeader]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil {
		return err
	}
	version := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "PACK" || version != 2 && version != 3 {
		return errBadPack
	}
	var sum object.ID
	if _, err := p.file.ReadAt(sum[:], p.end); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(head[8:]) != p.index.count || sum != p.index.packSum {
		return errPackDiffers
	}
	return nil
}

// Damaged reports whether damage was seen in the pack or its index, so that the files should be
// examined again after a repair.
func (p *Pack) Damaged() bool { return p.fault != nil || p.suspect.Load() }

// Unchanged reports whether the files are those that were opened, as far as their times tell.
func (r *Reader) Unchanged(p *Pack) bool {
	index, err := r.root.Stat(p.indexName())
	if err != nil || !files.Same(index, p.indexInfo) {
		return false
	}
	info, err := r.root.Stat(p.name())
	if err != nil {
		info = nil
	}
	return files.Same(info, p.info)
}

// Count is how many objects the pack has.
func (p *Pack) Count() uint64 { return uint64(p.index.count) }

// Find returns the place of an object. An offset outside the pack is damage.
func (p *Pack) Find(id *object.ID) (at Place, found bool, err error) {
	offset, found, err := p.index.find(id)
	if err != nil || !found {
		return Place{}, false, p.damage(err)
	}
	if p.fault != nil {
		return Place{}, false, p.fault
	}
	if offset < packHeader || offset > p.end-smallestEntry {
		return Place{}, false, p.damage(errBadIndex)
	}
	return Place{p, offset}, true, nil
}

// IDs calls use with the sorted ids of the pack, from the first that is not before low on, until
// use returns false.
func (p *Pack) IDs(low object.ID, use func(object.ID) bool) error {
	pos, _, err := p.index.search(&low)
	for ; err == nil && pos < p.index.count; pos++ {
		var buf object.ID
		raw, failure := p.index.raw(pos, &buf)
		if failure != nil {
			err = failure
		} else if !use(object.ID(raw)) {
			return nil
		}
	}
	return p.damage(err)
}

// Verify compares the pack and its index with their trailing checksums, for which it reads them
// whole. It returns damage, or the error of ctx.
func (p *Pack) Verify(ctx context.Context) error {
	if p.fault != nil {
		return p.fault
	}
	if err := p.VerifyIndex(ctx); err != nil {
		return err
	}
	sum, err := sumOf(ctx, p.file, p.end)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && sum != p.index.packSum {
		err = errChecksum
	}
	return p.damage(err)
}

// VerifyIndex compares only the index with its checksum. It returns damage, including that of the
// ends of the pack that were examined when it was opened, or the error of ctx.
func (p *Pack) VerifyIndex(ctx context.Context) error {
	if p.fault != nil || p.index.whole != nil { // a small index was compared when it was opened
		return p.fault
	}
	if err := checkSum(ctx, p.index.file, p.index.size); err != nil {
		return cmp.Or(ctx.Err(), object.Corrupt(p.indexName(), err))
	}
	return nil
}

// damage wraps a read error of the pack and remembers that there was one.
func (p *Pack) damage(err error) error {
	if err == nil {
		return nil
	}
	err = object.Corrupt(p.name(), err)
	if object.IsDamage(err) {
		p.suspect.Store(true)
	}
	return err
}

// read reads up to len(buf) bytes at off; fewer only at the end of the pack.
func (p *Pack) read(off int64, buf []byte) ([]byte, error) {
	if off < packHeader || off >= p.end {
		return nil, p.damage(errBadEntry)
	}
	buf = buf[:min(int64(len(buf)), p.end-off)]
	if _, err := p.file.ReadAt(buf, off); err != nil {
		return nil, p.damage(err)
	}
	return buf, nil
}

// Close closes the files.
func (p *Pack) Close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	if p.index != nil {
		p.index.Close()
	}
}

// Descriptors is the number of open files.
func (p *Pack) Descriptors() int {
	n := p.index.Descriptors()
	if p.file != nil {
		n++
	}
	return n
}
