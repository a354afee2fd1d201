package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// chunkBytes is what is checked at a time: the buffer of each reader, and 32
// bytes of digest. Changing it takes a new magic.
const chunkBytes = 128 << 10

// maxBytes bounds a size that a footer states, so that no sum of it with the
// length of a table overflows.
const maxBytes = 1 << 50

// errDamaged says that stored bytes are not those that were written.
var errDamaged = errors.New("the stored bytes are damaged")

type sum = [sha256.Size]byte

// Identity is what whole bytes are known by.
type Identity struct {
	Size int64
	Sum  sum // SHA-256
}

// seal is stored with whole bytes and vouches for each chunk of them. On disk
// it follows them, table first; in object storage it is an object of its own,
// footer first.
//
//	table  = SHA-256 of each chunk, in order
//	footer = magic | key | size | SHA-256 of the bytes | SHA-256 of table |
//	         SHA-256 of the footer so far
type seal struct {
	Identity
	table []sum
}

const magic = "repomcp cache 1\n"

const (
	keyAt      = 16 // the length of magic
	sizeAt     = keyAt + sha256.Size
	sumAt      = sizeAt + 8
	tableSumAt = sumAt + sha256.Size
	footSumAt  = tableSumAt + sha256.Size

	footerBytes = footSumAt + sha256.Size
)

// chunksOf returns the number of chunks that so many bytes have.
func chunksOf(size int64) int64 { return (size + chunkBytes - 1) / chunkBytes }

func tableBytes(size int64) int64 { return chunksOf(size) * sha256.Size }

// encode returns the two parts of a seal.
func (s seal) encode(key Key) (table, footer []byte) {
	for _, sum := range s.table {
		table = append(table, sum[:]...)
	}
	tableSum := sha256.Sum256(table)
	footer = append(footer, magic...)
	footer = append(footer, key[:]...)
	footer = binary.BigEndian.AppendUint64(footer, uint64(s.Size))
	footer = append(footer, s.Sum[:]...)
	footer = append(footer, tableSum[:]...)
	footerSum := sha256.Sum256(footer)
	return table, append(footer, footerSum[:]...)
}

// footer is what can be said without the table.
type footer struct {
	Identity
	tableSum sum
}

func parseFooter(key Key, b []byte) (footer, error) {
	if len(b) != footerBytes || string(b[:keyAt]) != magic || Key(b[keyAt:sizeAt]) != key {
		return footer{}, fmt.Errorf("%w: no footer", errDamaged)
	}
	size := binary.BigEndian.Uint64(b[sizeAt:])
	if sha256.Sum256(b[:footSumAt]) != sum(b[footSumAt:]) || size > maxBytes {
		return footer{}, fmt.Errorf("%w: a wrong footer", errDamaged)
	}
	return footer{Identity{int64(size), sum(b[sumAt:])}, sum(b[tableSumAt:])}, nil
}

// withTable returns the whole seal.
func (f footer) withTable(b []byte) (seal, error) {
	if int64(len(b)) != tableBytes(f.Size) || sha256.Sum256(b) != f.tableSum {
		return seal{}, fmt.Errorf("%w: a wrong table", errDamaged)
	}
	s := seal{Identity: f.Identity, table: make([]sum, 0, chunksOf(f.Size))}
	for ; len(b) > 0; b = b[sha256.Size:] {
		s.table = append(s.table, sum(b))
	}
	return s, nil
}
