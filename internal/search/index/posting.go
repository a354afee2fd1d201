package index

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/repomcp/repomcp/internal/search/rank"
)

// errDamaged says that a segment is not as it was written.
var errDamaged = errors.New("a segment of the search index is damaged")

// The encodings of a list of documents: the distances between them, or a bit for each document of the segment.
const (
	byDistance = 0
	byBit      = 1
)

// appendDocs encodes documents in ascending order, of a segment with so many.
func appendDocs(b []byte, docs []uint32, documents int) []byte {
	if len(docs) > documents/8 {
		b = append(b, byBit)
		start := len(b)
		b = append(b, make([]byte, (documents+7)/8)...)
		for _, d := range docs {
			b[start+int(d/8)] |= 1 << (d % 8)
		}
		return b
	}
	b = append(b, byDistance)
	next := uint32(0)
	for _, d := range docs {
		b = binary.AppendUvarint(b, uint64(d-next))
		next = d + 1
	}
	return b
}

// decodeDocs appends the documents of a list.
func decodeDocs(to []uint32, list []byte, documents int) ([]uint32, error) {
	if len(list) == 0 {
		return nil, errDamaged
	}
	kind, rest, start := list[0], list[1:], len(to)
	if kind == byBit {
		if len(rest) != (documents+7)/8 {
			return nil, errDamaged
		}
		for i, c := range rest {
			for ; c != 0; c &= c - 1 {
				to = append(to, uint32(8*i+bits.TrailingZeros8(c)))
			}
		}
		if n := len(to); n > start && int(to[n-1]) >= documents {
			return nil, errDamaged
		}
		return to, nil
	}
	next := uint64(0)
	for len(rest) > 0 {
		gap, n := binary.Uvarint(rest)
		if n <= 0 || gap >= uint64(documents) || next+gap >= uint64(documents) {
			return nil, errDamaged
		}
		to = append(to, uint32(next+gap))
		next, rest = next+gap+1, rest[n:]
	}
	return to, nil
}

// occurrence is how often a word is in a document. Few are so frequent that a number reaches its bound, which
// then counts.
type occurrence struct {
	doc                  uint32
	names, inName, other uint32
}

func occurrenceOf(doc uint32, c rank.Count) occurrence {
	return occurrence{doc, uint32(c.Names), uint32(c.InName), uint32(c.Other)}
}

func (o occurrence) count() rank.Count {
	return rank.Count{Names: int32(o.names), InName: int32(o.inName), Other: int32(o.other)}
}

// appendOccurrences encodes the occurrences of a word, by documents in ascending order. Most have no names.
func appendOccurrences(b []byte, list []occurrence) []byte {
	next := uint32(0)
	for _, o := range list {
		b = binary.AppendUvarint(b, uint64(o.doc-next))
		next = o.doc + 1
		if o.names|o.inName == 0 {
			b = binary.AppendUvarint(b, uint64(o.other)<<1)
			continue
		}
		for _, n := range []uint64{uint64(o.other)<<1 | 1, uint64(o.names), uint64(o.inName)} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// decodeOccurrences appends the occurrences of a list.
func decodeOccurrences(to []occurrence, list []byte, documents int) ([]occurrence, error) {
	r := reader{rest: list}
	next := uint64(0)
	for len(r.rest) > 0 && !r.wrong {
		doc := next + r.number()
		next = doc + 1
		o := occurrence{doc: uint32(doc)}
		other := r.number()
		if o.other = uint32(other >> 1); other&1 != 0 {
			o.names, o.inName = uint32(r.number()), uint32(r.number())
		}
		if doc >= uint64(documents) {
			r.wrong = true
		}
		to = append(to, o)
	}
	return to, r.err()
}

// reader reads what a segment has, from the left. After a mistake it reads zeros.
type reader struct {
	rest  []byte
	wrong bool
}

// maxNumber bounds the numbers in a segment.
const maxNumber = 1 << 40

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.wrong = r.wrong || n <= 0 || v > maxNumber; r.wrong {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if r.wrong = r.wrong || n > uint64(len(r.rest)); r.wrong {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) err() error {
	if r.wrong {
		return errDamaged
	}
	return nil
}
