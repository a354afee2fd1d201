package zip

import "encoding/binary"

// The parts of APPNOTE.TXT 6.3.10, section 4.3, that git uses.
const (
	localMagic      = 0x04034b50
	descriptorMagic = 0x08074b50
	centralMagic    = 0x02014b50
	endMagic        = 0x06054b50
	end64Magic      = 0x06064b50
	locatorMagic    = 0x07064b50

	mtimeExtra = 0x5455 // extended timestamp
	wideExtra  = 0x0001 // zip64

	localSize          = 30
	mtimeSize          = 9
	wideSize           = 20
	descriptorSize     = 16
	wideDescriptorSize = 24
	centralSize        = 46
	end64Size          = 56

	methodStore   = 0
	methodDeflate = 8

	flagStream = 1 << 3
	flagUTF8   = 1 << 11

	versionPlain = 10
	version64    = 45
	// creatorUnix makes readers use the mode. Like git, only members with a mode have it.
	creatorUnix = 3<<8 | 23

	max16 = 1<<16 - 1
	max32 = 1<<32 - 1

	// Offsets in a local header of fields that are set later.
	localMethodAt     = 8
	localCompressedAt = 18
)

var order = binary.LittleEndian

// common appends the fields that both kinds of headers have after their magic and creator: version
// to size.
func (f *Format) common(out []byte, r *record, compressed, size uint32) []byte {
	out = order.AppendUint16(out, r.version())
	out = order.AppendUint16(out, r.flags())
	out = order.AppendUint16(out, r.method())
	out = order.AppendUint16(out, f.time)
	out = order.AppendUint16(out, f.date)
	out = order.AppendUint32(out, r.crc)
	out = order.AppendUint32(out, compressed)
	return order.AppendUint32(out, size)
}

// local appends a member's local header (APPNOTE 4.3.7).
func (f *Format) local(out []byte, r *record) []byte {
	out = order.AppendUint32(out, localMagic)
	extra := uint16(mtimeSize)
	if r.has(bitWide) {
		extra += wideSize
		out = f.common(out, r, max32, max32)
	} else {
		out = f.common(out, r, narrow(r.compressed), narrow(r.size))
	}
	out = order.AppendUint16(out, uint16(len(r.path)))
	out = order.AppendUint16(out, extra)
	out = append(out, r.path...)
	out = f.mtimeField(out)
	if r.has(bitWide) {
		out = order.AppendUint16(out, wideExtra)
		out = order.AppendUint16(out, wideSize-4)
		out = order.AppendUint64(out, r.size)
		out = order.AppendUint64(out, r.compressed)
	}
	return out
}

// mtimeField appends the extra field with only the modification time.
func (f *Format) mtimeField(out []byte) []byte {
	out = order.AppendUint16(out, mtimeExtra)
	out = order.AppendUint16(out, mtimeSize-4)
	out = append(out, 1)
	return order.AppendUint32(out, f.mtime)
}

// descriptor appends the data descriptor (APPNOTE 4.3.9), in the form that the local header
// announces.
func (r *record) descriptor(out []byte) []byte {
	out = order.AppendUint32(out, descriptorMagic)
	out = order.AppendUint32(out, r.crc)
	if r.has(bitWide) {
		out = order.AppendUint64(out, r.compressed)
		return order.AppendUint64(out, r.size)
	}
	out = order.AppendUint32(out, narrow(r.compressed))
	return order.AppendUint32(out, narrow(r.size))
}

// narrow returns a number in 32 bits, or the mark that it is elsewhere.
func narrow(n uint64) uint32 { return uint32(min(n, max32)) }
