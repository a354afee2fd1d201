package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// chunkBytes is the unit of verification: the buffer of each reader, with 32 bytes of digest.
// Changing it requires a new magic.
const chunkBytes = 128 << 10

// maxBytes bounds the size in a footer, so that adding the length of a table does not overflow.
const maxBytes = 1 << 50

// errDamaged means that stored bytes differ from those written.
var errDamaged = errors.New("the stored bytes are damaged")

type sum = [sha256.Size]byte

// Identity identifies complete bytes.
type Identity struct {
	Size int64
	Sum  sum // SHA-256
}

// seal is stored with complete bytes and verifies each chunk. On disk it follows the bytes, table
// first; in object storage it is an object of its own, footer first.
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

// chunksOf returns the number of chunks of so many bytes.
func chunksOf(size int64) int64 { return (size + chunkBytes - 1) / chunkBytes }

func tableBytes(size int64) int64 { return chunksOf(size) * sha256.Size }

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

// footer is the fixed part of a seal.
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

// withTable returns the complete seal.
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
