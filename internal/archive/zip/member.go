package zip

import (
	"fmt"
	"hash/crc32"

	"github.com/repomcp/repomcp/internal/base/workers"
)

// wideFrom is the size from which a stream's sizes have 64 bits: git leaves room for incompressible
// data. Content in memory is always below.
const wideFrom = 1 << 31

// Append appends a member to out and its record to records: a file with all its content, a symbolic
// link with its target, or a folder or gitlink, which have none. It runs in a task, on whose worker
// w it compresses. After an error both are unchanged.
//
// Files are deflated if that makes them shorter, everything else is stored. Temporarily out takes
// the worst case of deflate: 5 bytes per 64 KiB beyond the content.
func (f *Format) Append(
	w *workers.Worker, out, records []byte, m Member, content []byte,
) (longer, more []byte, err error) {
	r, err := newRecord(m)
	if err != nil {
		return out, records, err
	}
	if len(content) >= wideFrom || r.kind() == kindFolder && len(content) > 0 {
		return out, records, ErrSize
	}
	r.size, r.compressed = uint64(len(content)), uint64(len(content))
	if r.kind() != kindFolder {
		r.crc = crc32.ChecksumIEEE(content)
		r.set(bitText, m.Content.text(content))
	}
	longer = f.local(out, &r)
	if r.kind() > kindExecutable || len(content) == 0 {
		return append(longer, content...), r.appendTo(records, 0), nil
	}
	start := len(longer)
	longer, err = f.compressor.Deflate(w, longer, content)
	if err != nil {
		return out, records, fmt.Errorf("zip: %w", err)
	}
	if len(longer)-start >= len(content) {
		return append(longer[:start], content...), r.appendTo(records, 0), nil
	}
	r.bits |= bitDeflated
	r.compressed = uint64(len(longer[start:]))
	header := longer[len(out):]
	order.PutUint16(header[localMethodAt:], r.method())
	order.PutUint32(header[localCompressedAt:], narrow(r.compressed))
	return longer, r.appendTo(records, 0), nil
}
