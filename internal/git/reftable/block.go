package reftable

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The kinds of blocks that matter to refs.
const (
	refBlock   = 'r'
	indexBlock = 'i'
	logBlock   = 'g'
)

const (
	blockHead   = 4 // the kind and the length
	restartSize = 3
	countSize   = 2 // of restarts
	idSize      = 20
	// maxNameBytes bounds a name: no file of a repository has a longer one.
	maxNameBytes = 4096
)

// Ref is a record of a table.
type Ref struct {
	Name string
	// ID is what the ref holds, and Peeled what an annotated tag leads to, or zero.
	ID, Peeled [idSize]byte
	// Target is the ref that a symbolic one points to, or "".
	Target string
	// Deleted says that a ref of an earlier table no longer exists.
	Deleted bool
}

// block is a block whose records are read one after another.
type block struct {
	kind    byte
	next    int64 // where the next block is
	records []byte
	key     []byte // of the last record
}

// block reads the block at a position, or returns nil if there is none of the kinds.
func (t *Table) block(at int64, kinds ...byte) (*block, error) {
	start := at
	if at == 0 {
		start = t.header // the first block has the header of the table before its own
	}
	if start > t.end-blockHead {
		return nil, nil //nolint:nilnil // the table ends
	}
	var head [blockHead]byte
	if err := readAt(t.r, head[:], start); err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, head[0]) {
		return nil, nil //nolint:nilnil // another section begins
	}
	length := int64(uint24(head[1:])) // from at on
	size := at + length - start - blockHead
	if size < restartSize+countSize || at+length > t.end {
		return nil, fmt.Errorf("%w: a block of %d bytes at %d", ErrFormat, length, at)
	}
	content := make([]byte, size)
	if err := readAt(t.r, content, start+blockHead); err != nil {
		return nil, err
	}
	restarts := int64(binary.BigEndian.Uint16(content[size-countSize:]))
	records := size - countSize - restarts*restartSize
	if restarts == 0 || records <= 0 {
		return nil, fmt.Errorf("%w: a block with %d restarts at %d", ErrFormat, restarts, at)
	}
	b := &block{kind: head[0], next: at + length, records: content[:records]}
	return b, t.skipPadding(b, at)
}

// skipPadding moves the next block behind the zero bytes that fill a block. The last one of a section may end
// without them, and then a block follows, whose kind is no zero byte.
func (t *Table) skipPadding(b *block, at int64) error {
	padded := at + t.blockSize
	if padded <= b.next || padded > t.end {
		return nil
	}
	next, err := t.kindAt(b.next)
	if err == nil && next == 0 {
		b.next = padded
	}
	return err
}

// kindAt reads the byte that tells the kind of a block.
func (t *Table) kindAt(at int64) (byte, error) {
	var kind [1]byte
	err := readAt(t.r, kind[:], at)
	return kind[0], err
}

// ref takes the next record of a block of refs.
func (b *block) ref() (ref Ref, err error) {
	kind, err := b.nextKey()
	if err != nil {
		return Ref{}, err
	}
	ref.Name = string(b.key)
	if _, err := b.varint(); err != nil { // when it was last changed
		return Ref{}, err
	}
	switch kind {
	case 0:
		ref.Deleted = true
	case 1:
		err = b.take(ref.ID[:])
	case 2:
		if err = b.take(ref.ID[:]); err == nil {
			err = b.take(ref.Peeled[:])
		}
	case 3:
		ref.Target, err = b.text()
	default:
		err = fmt.Errorf("%w: %.100q is of type %d", ErrFormat, ref.Name, kind)
	}
	return ref, err
}

// entry takes the next record of a block of an index: the last name of a block, and the block's position.
func (b *block) entry() (key string, position int64, err error) {
	kind, err := b.nextKey()
	if err != nil {
		return "", 0, err
	}
	if kind != 0 {
		return "", 0, fmt.Errorf("%w: an entry of an index of type %d", ErrFormat, kind)
	}
	at, err := b.varint()
	return string(b.key), int64(at), err
}

// nextKey takes the key of the next record, and the type that is with it.
func (b *block) nextKey() (kind byte, err error) {
	shared, err := b.varint()
	if err != nil {
		return 0, err
	}
	rest, err := b.varint()
	if err != nil {
		return 0, err
	}
	kind, rest = byte(rest&7), rest>>3
	if shared > uint64(len(b.key)) || rest > uint64(len(b.records)) || shared+rest > maxNameBytes || shared+rest == 0 {
		return 0, fmt.Errorf("%w: a name of %d and %d bytes", ErrFormat, shared, rest)
	}
	b.key = append(b.key[:shared], b.records[:rest]...)
	b.records = b.records[rest:]
	return kind, nil
}

func (b *block) text() (string, error) {
	length, err := b.varint()
	if err != nil {
		return "", err
	}
	if length > min(uint64(len(b.records)), maxNameBytes) {
		return "", fmt.Errorf("%w: a target of %d bytes", ErrFormat, length)
	}
	text := make([]byte, length)
	err = b.take(text)
	return string(text), err
}

func (b *block) take(to []byte) error {
	if len(b.records) < len(to) {
		return fmt.Errorf("%w: a record is cut", ErrFormat)
	}
	b.records = b.records[copy(to, b.records):]
	return nil
}

// varint takes a number as packs have them (gitformat-pack(5), offset encoding).
func (b *block) varint() (uint64, error) {
	const largest = 1<<63 - 1
	value := uint64(0)
	for i, c := range b.records {
		value |= uint64(c & 0x7f)
		if c < 0x80 {
			b.records = b.records[i+1:]
			return value, nil
		}
		if value+1 > largest>>7 {
			break
		}
		value = (value + 1) << 7
	}
	return 0, fmt.Errorf("%w: a number is cut or too large", ErrFormat)
}
