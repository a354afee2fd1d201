package zip

import (
	"io"
)

const (
	// chunkBytes is the size of a chunk of records, which bounds what growing copies and wastes. A
	// record with the longest path fits.
	chunkBytes = 256 << 10
	// pieceBytes is the part of the directory that is generated before it is written.
	pieceBytes = 64 << 10
)

// Directory collects the members of an archive and ends it. It is used by one goroutine at a time.
type Directory struct {
	format  *Format
	chunks  [][]byte // records, each without the prefix of the previous path
	last    record   // the last added one
	entries uint64
	length  uint64 // of the members
	creator uint16 // the highest of all
}

// NewDirectory returns the directory of an archive without members.
func (f *Format) NewDirectory() *Directory { return &Directory{format: f} }

// Add takes the records of members from Append and Finish, in the order in which the members are
// written. It copies records.
func (d *Directory) Add(records []byte) {
	var r record
	for len(records) > 0 {
		records = r.next(records)
		shared := sharedLength(r.path, d.last.path)
		d.last.path = append(d.last.path[:shared], r.path[shared:]...)
		d.put(&r, shared)
		d.entries++
		d.length += r.memberLength()
		d.creator = max(d.creator, r.creator())
	}
}

// put appends a record to the last chunk, or to a new one.
func (d *Directory) put(r *record, shared int) {
	const fields = 1 + 4 + 4*10 // maximum: bits, checksum and four numbers
	last := len(d.chunks) - 1
	if last < 0 || len(d.chunks[last])+fields+len(r.path)-shared > chunkBytes {
		d.chunks = append(d.chunks, nil)
		last++
	}
	d.chunks[last] = r.appendTo(d.chunks[last], shared)
}

func sharedLength(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Write writes the central directory and the end of the archive, with a comment of at most 65535
// bytes: git's is the commit's id in hex, or none for a tree. The Directory is empty afterwards.
func (d *Directory) Write(w io.Writer, comment string) error {
	if len(comment) > max16 {
		return ErrSize
	}
	dst := counting{Writer: w}
	var (
		r      record
		offset uint64
		out    []byte
	)
	for i, chunk := range d.chunks {
		for len(chunk) > 0 {
			chunk = r.next(chunk)
			out = d.format.central(out, &r, offset)
			offset += r.memberLength()
			if len(out) < pieceBytes {
				continue
			}
			if err := write(&dst, out); err != nil {
				return err
			}
			out = out[:0]
		}
		d.chunks[i] = nil
	}
	size := dst.n + uint64(len(out))
	out = d.end(out, size, comment)
	*d = Directory{format: d.format}
	return write(&dst, out)
}

// creator returns the version and system of a member.
func (r *record) creator() uint16 {
	if r.kind() == kindExecutable || r.kind() == kindLink {
		return creatorUnix
	}
	return 0
}

// external attributes: a mode in the upper half, MS-DOS attributes below.
var external = [...]uint32{
	kindRegular:    0,
	kindExecutable: 0o100755 << 16,
	kindLink:       0o120777 << 16,
	kindFolder:     0x10,
}

// central appends a member's header in the directory (APPNOTE 4.3.12).
func (f *Format) central(out []byte, r *record, offset uint64) []byte {
	wide := wideField(r, offset)
	var internal uint16
	if r.has(bitText) {
		internal = 1
	}
	out = order.AppendUint32(out, centralMagic)
	out = order.AppendUint16(out, r.creator())
	out = f.common(out, r, narrow(r.compressed), narrow(r.size))
	out = order.AppendUint16(out, uint16(len(r.path)))
	out = order.AppendUint16(out, uint16(mtimeSize+len(wide)))
	out = order.AppendUint32(out, 0) // comment, disk
	out = order.AppendUint16(out, internal)
	out = order.AppendUint32(out, external[r.kind()])
	out = order.AppendUint32(out, narrow(offset))
	out = append(out, r.path...)
	out = f.mtimeField(out)
	return append(out, wide...)
}

// wideField returns the extra field with the numbers that do not fit elsewhere (APPNOTE 4.5.3), if
// there are any.
func wideField(r *record, offset uint64) []byte {
	if max(r.size, r.compressed, offset) < max32 {
		return nil
	}
	out := order.AppendUint32(nil, wideExtra) // and the length
	for _, n := range []uint64{r.size, r.compressed, offset} {
		if n >= max32 {
			out = order.AppendUint64(out, n)
		}
	}
	order.PutUint16(out[2:], uint16(len(out)-4))
	return out
}

// end appends the records that end an archive (APPNOTE 4.3.14 to 4.3.16).
func (d *Directory) end(out []byte, size uint64, comment string) []byte {
	if d.entries > max16 || size >= max32 || d.length >= max32 {
		out = d.end64(out, size)
	}
	entries := uint16(min(d.entries, max16))
	out = order.AppendUint32(out, endMagic)
	out = order.AppendUint32(out, 0) // disks
	out = order.AppendUint16(out, entries)
	out = order.AppendUint16(out, entries)
	out = order.AppendUint32(out, narrow(size))
	out = order.AppendUint32(out, narrow(d.length))
	out = order.AppendUint16(out, uint16(len(comment)))
	return append(out, comment...)
}

// end64 appends the zip64 end of the directory and its locator.
func (d *Directory) end64(out []byte, size uint64) []byte {
	out = order.AppendUint32(out, end64Magic)
	out = order.AppendUint64(out, end64Size-12) // of the rest
	out = order.AppendUint16(out, d.creator)
	out = order.AppendUint16(out, version64)
	out = order.AppendUint64(out, 0) // disks
	out = order.AppendUint64(out, d.entries)
	out = order.AppendUint64(out, d.entries)
	out = order.AppendUint64(out, size)
	out = order.AppendUint64(out, d.length)

	out = order.AppendUint32(out, locatorMagic)
	out = order.AppendUint32(out, 0) // disk
	out = order.AppendUint64(out, d.length+size)
	return order.AppendUint32(out, 1) // disks in all
}
