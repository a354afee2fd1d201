package reftable

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var (
	// ErrFormat says that a table is damaged.
	ErrFormat = errors.New("malformed reftable")
	// ErrUnsupported says that a table has another version, or the refs of a SHA-256 repository.
	ErrUnsupported = errors.New("reftable of a version or hash that is not read")
)

const (
	magic = "REFT"
	// headerSize is that of version 1. Version 2 adds hashSize bytes that name the hash.
	headerSize = 24
	hashSize   = 4
	// footerTail is what follows the header in a footer: five positions and a checksum.
	footerTail = 5*8 + 4
	// objectLengthBits are beside the position of the index from ids to refs.
	objectLengthBits = 5
)

// Table is a table that was opened. It may be used by any number of goroutines if its reader may.
type Table struct {
	r         io.ReaderAt
	header    int64 // its size
	end       int64 // of the blocks, where the footer begins
	blockSize int64 // to which blocks are padded; 0: they are not
	index     int64 // the position of the index of refs; 0: none
	after     int64 // the position of what follows refs without an index; 0: nothing does, or there are no refs
}

// Open checks the header and the footer of a table of a size. The reader must not be closed before the last
// read of the table.
func Open(r io.ReaderAt, size int64) (*Table, error) {
	if size < headerSize+headerSize+footerTail {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrFormat, size)
	}
	var head [headerSize + hashSize]byte
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	t := &Table{r: r, header: headerSize}
	switch version := head[len(magic)]; {
	case string(head[:len(magic)]) != magic:
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrFormat, magic)
	case version == 2 && string(head[headerSize:]) == "sha1":
		t.header += hashSize
	case version != 1:
		return nil, fmt.Errorf("version %d: %w", version, ErrUnsupported)
	}
	footer := make([]byte, t.header+footerTail)
	t.end = size - int64(len(footer))
	if t.end < t.header {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrFormat, size)
	}
	if err := readAt(r, footer, t.end); err != nil {
		return nil, err
	}
	summed := footer[:len(footer)-4]
	if !bytes.Equal(footer[:t.header], head[:t.header]) ||
		crc32.ChecksumIEEE(summed) != binary.BigEndian.Uint32(footer[len(summed):]) {
		return nil, fmt.Errorf("%w: the footer contradicts its checksum or the header", ErrFormat)
	}
	t.blockSize = int64(uint24(head[5:]))
	positions := footer[t.header:]
	index, objects := binary.BigEndian.Uint64(positions), binary.BigEndian.Uint64(positions[8:])>>objectLengthBits
	logs := binary.BigEndian.Uint64(positions[3*8:])
	if end := uint64(t.end); index > end || objects > end || logs > end {
		return nil, fmt.Errorf("%w: a section begins behind the end", ErrFormat)
	}
	t.index, t.after = int64(index), int64(cmp.Or(objects, logs))
	return t, nil
}

// readAt fills a buffer. A file that ends before is damage, and never io.EOF.
func readAt(r io.ReaderAt, buffer []byte, at int64) error {
	n, err := r.ReadAt(buffer, at)
	switch {
	case n == len(buffer):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it ends at %d", ErrFormat, at+int64(n))
	default:
		return err
	}
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// From passes the refs whose names are name or come after it, in the order of their names, until yield returns
// false.
func (t *Table) From(name string, yield func(Ref) bool) error {
	b, err := t.blockOf(name)
	last, end := "", int64(0)
	for b != nil && err == nil {
		for len(b.records) > 0 {
			ref, err := b.ref()
			if err != nil {
				return err
			}
			if ref.Name <= last {
				return fmt.Errorf("%w: %.100q follows %.100q", ErrFormat, ref.Name, last)
			}
			last = ref.Name
			if ref.Name >= name && !yield(ref) {
				return nil
			}
		}
		end = b.next
		b, err = t.block(end, refBlock)
	}
	if err != nil || end == 0 {
		return err
	}
	return t.checkEnd(end, last)
}

// checkEnd refuses a section of refs that ends elsewhere than the footer or the index says. Blocks have no
// checksum, so that a damaged one could look like the next section, and its refs would be missing.
func (t *Table) checkEnd(end int64, last string) error {
	if t.index == 0 {
		if end != t.end && end != t.after {
			return fmt.Errorf("%w: the refs end at %d", ErrFormat, end)
		}
		return nil
	}
	root, err := t.block(t.index, indexBlock)
	if err != nil {
		return err
	}
	greatest := ""
	err = t.entries(root, func(key string, _ int64) bool {
		greatest = key
		return true
	})
	if err == nil && last != greatest {
		err = fmt.Errorf("%w: the last ref is %.100q, and not %.100q as the index says", ErrFormat, last, greatest)
	}
	return err
}

// firstBlock returns the first block of refs, or nil if the table has none: it is empty, or has logs alone.
func (t *Table) firstBlock() (*block, error) {
	b, err := t.block(0, refBlock)
	if b != nil || err != nil || t.header == t.end {
		return b, err
	}
	if logs, err := t.kindAt(t.header); err != nil || logs == logBlock && t.after == 0 {
		return nil, err
	}
	return nil, fmt.Errorf("%w: the first block is of no known kind", ErrFormat)
}

// maxIndexLevels bounds the indexes of indexes. With two entries each they lead to more blocks than a file has.
const maxIndexLevels = 48

// blockOf returns the block of refs in which a name would be, as the index says, or the first one without an
// index; nil if all names are before it.
func (t *Table) blockOf(name string) (*block, error) {
	if t.index == 0 {
		return t.firstBlock()
	}
	at := t.index
	for level := range maxIndexLevels {
		b, err := t.block(at, refBlock, indexBlock)
		if err != nil {
			return nil, err
		}
		if b == nil {
			return nil, fmt.Errorf("%w: the index leads to another kind of block", ErrFormat)
		}
		if b.kind == refBlock {
			return b, nil
		}
		found := false
		err = t.entries(b, func(key string, position int64) bool {
			at, found = position, key >= name
			return !found
		})
		if err != nil || !found && level == 0 {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("%w: the index contradicts the one above", ErrFormat)
		}
	}
	return nil, fmt.Errorf("%w: the index leads nowhere", ErrFormat)
}

// entries passes the entries of an index, from a block on, until yield returns false: the last name of each block of
// the next level with its position. A level may have several blocks.
func (t *Table) entries(b *block, yield func(key string, position int64) bool) (err error) {
	for last := ""; b != nil && err == nil; b, err = t.block(b.next, indexBlock) {
		for len(b.records) > 0 {
			key, position, err := b.entry()
			if err != nil {
				return err
			}
			if key <= last {
				return fmt.Errorf("%w: %.100q follows %.100q in the index", ErrFormat, key, last)
			}
			if last = key; !yield(key, position) {
				return nil
			}
		}
	}
	return err
}
