package zip

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// record is a member's data for the central directory. Workers pass records to the [Directory] in a
// compact form, a quarter as long as the directory's, without what all members share.
type record struct {
	bits       byte
	crc        uint32
	size       uint64
	compressed uint64
	path       []byte
}

// Bits of a record: the kind of the member, and flags.
const (
	kindRegular byte = iota
	kindExecutable
	kindLink
	kindFolder

	kinds = kindFolder // mask
)

const (
	bitDeflated byte = (kinds + 1) << iota
	bitStreamed
	bitText
	bitUTF8
	bitWide // the local header has 64-bit sizes
)

func (r *record) kind() byte        { return r.bits & kinds }
func (r *record) has(bit byte) bool { return r.bits&bit != 0 }

func (r *record) set(bit byte, on bool) {
	if on {
		r.bits |= bit
	}
}

// kindOf maps modes of git's trees to kinds.
var kindOf = map[uint32]byte{
	0o100644: kindRegular,
	0o100755: kindExecutable,
	0o120000: kindLink,
	0o040000: kindFolder,
	0o160000: kindFolder,
}

// newRecord returns the record of a member without its content.
func newRecord(m Member) (record, error) {
	kind, ok := kindOf[m.Mode]
	if !ok {
		return record{}, ErrMode
	}
	if len(m.Path) > MaxPath {
		return record{}, ErrPath
	}
	r := record{bits: kind, path: m.Path}
	r.set(bitUTF8, isUTF8(m.Path))
	return r, nil
}

// isUTF8 reports whether a path gets the flag for UTF-8. In git's archives that is a path beyond
// ASCII without U+FFFE and U+FFFF.
func isUTF8(path []byte) bool {
	ascii := true
	for _, c := range path {
		ascii = ascii && c < utf8.RuneSelf
	}
	return !ascii && utf8.Valid(path) &&
		!bytes.Contains(path, []byte("\uFFFE")) && !bytes.Contains(path, []byte("\uFFFF"))
}

// method of compression.
func (r *record) method() uint16 {
	if r.has(bitDeflated) {
		return methodDeflate
	}
	return methodStore
}

// flags returns the general purpose bits.
func (r *record) flags() uint16 {
	var flags uint16
	if r.has(bitStreamed) {
		flags |= flagStream
	}
	if r.has(bitUTF8) {
		flags |= flagUTF8
	}
	return flags
}

// version returns the version that a reader needs. git's is the same for stored and deflated
// members.
func (r *record) version() uint16 {
	if r.has(bitWide) {
		return version64
	}
	return versionPlain
}

// memberLength returns the length of the whole member in the archive.
func (r *record) memberLength() uint64 {
	n := localSize + uint64(len(r.path)) + mtimeSize + r.compressed
	if r.has(bitWide) {
		n += wideSize
	}
	switch {
	case !r.has(bitStreamed):
		return n
	case r.has(bitWide):
		return n + wideDescriptorSize
	default:
		return n + descriptorSize
	}
}

// appendTo appends the record without the shared prefix of its path.
func (r *record) appendTo(out []byte, shared int) []byte {
	out = append(out, r.bits)
	out = binary.AppendUvarint(out, r.size)
	if r.size > 0 {
		out = binary.LittleEndian.AppendUint32(out, r.crc)
	}
	if r.has(bitDeflated) {
		out = binary.AppendUvarint(out, r.compressed)
	}
	out = binary.AppendUvarint(out, uint64(shared))
	rest := r.path[shared:]
	out = binary.AppendUvarint(out, uint64(len(rest)))
	return append(out, rest...)
}

// next parses the first record of in. Its path shares a prefix with the previous one, whose memory
// it reuses.
func (r *record) next(in []byte) []byte {
	number := func() uint64 {
		n, length := binary.Uvarint(in)
		in = in[length:]
		return n
	}
	r.bits, in = in[0], in[1:]
	r.size, r.crc = number(), 0
	if r.size > 0 {
		r.crc, in = binary.LittleEndian.Uint32(in), in[4:]
	}
	r.compressed = r.size
	if r.has(bitDeflated) {
		r.compressed = number()
	}
	shared, rest := number(), number()
	r.path = append(r.path[:shared], in[:rest]...)
	return in[rest:]
}
