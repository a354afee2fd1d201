package inflate

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
)

// Errors of streams. A truncated stream is [io.ErrUnexpectedEOF].
var (
	ErrFormat = errors.New("malformed zlib stream")
	ErrSize   = errors.New("size differs from the declared one")
)

const (
	zlibHeaderBytes = 2
	// zlibChecksumBytes is the length of the final Adler-32.
	zlibChecksumBytes = 4
)

// Decoder inflates zlib streams in memory directly into their destination, without a window and
// without an interface call per byte. For streams of a few KiB that is two to three times as fast
// as a streaming inflater. It has 12 KiB of tables, so reuse it; the zero value is ready. After a
// call that ended a stream, successfully or not, it refers to no buffer.
type Decoder struct {
	// SkipChecksum skips the Adler-32, for callers that verify the content by a better checksum.
	SkipChecksum bool

	values  *symbolValues
	lit     [litTable]uint32
	dist    [distTable]uint32
	pre     [preTable]uint32
	lengths [litSymbols + distSymbols]uint8
	fixed   bool // the tables are those of the fixed codes

	src  []byte
	dst  []byte
	room []byte // dst, and the room after it
	position
	begun  bool  // the header was read
	inside bool  // of block
	block  block // the current or last one
}

// position is a place between two symbols or blocks.
type position struct {
	pos  int    // input bytes loaded into buf
	buf  uint64 // next bits, lowest first
	have uint   // valid bits of buf
	out  int    // output bytes
}

// block is the header of a block.
type block struct {
	last   bool
	stored bool // not compressed
	length int  // remaining length of a stored block
}

// Inflate inflates the stream at the beginning of src into dst[:size] and returns the length of its
// content. It is fastest with [Room] bytes after size in dst, which it overwrites arbitrarily. It
// never writes beyond dst.
//
// If src ends before the stream, Inflate calls more for a longer src with the same beginning; if
// more is nil or has no more, it fails with [io.ErrUnexpectedEOF]. It fails with [ErrSize] if the
// content exceeds size bytes, the first of which are then in dst, and with [ErrFormat] if the
// stream is damaged.
func (d *Decoder) Inflate(dst []byte, size int, src []byte, more func() ([]byte, error)) (n int, err error) {
	d.begin(dst, size, src)
	for {
		if err = d.run(); errors.Is(err, io.EOF) {
			err = d.trailer(d.checksum(1, d.dst[:d.out]))
		}
		if more == nil || !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		longer, failed := more()
		if failed != nil || len(longer) <= len(d.src) {
			err = cmp.Or(failed, err)
			break
		}
		d.src = longer
	}
	d.src, d.dst, d.room = nil, nil, nil
	return d.out, err
}

// StreamLength returns the length of the last completely inflated stream, including header and
// checksum.
func (d *Decoder) StreamLength() int { return d.pos }

func (d *Decoder) begin(dst []byte, size int, src []byte) {
	if d.values == nil {
		d.values = newSymbolValues()
	}
	d.src, d.dst, d.room = src, dst[:size:size], dst
	d.position, d.begun, d.inside, d.block = position{}, false, false, block{}
}

// run inflates to the end of the last block, where it returns io.EOF. It can continue after
// io.ErrUnexpectedEOF with more input, and after ErrSize with another output; up to Room bytes
// after dst are then inflated already.
func (d *Decoder) run() error {
	if err := d.header(); err != nil {
		return err
	}
	for {
		if !d.inside {
			if d.block.last {
				return io.EOF
			}
			before := d.position
			next, err := d.blockHeader()
			if err != nil {
				d.position = before
				return err
			}
			d.block, d.inside = next, true
		}
		var err error
		if d.block.stored {
			err = d.copyStored()
		} else {
			err = d.compressed()
		}
		d.inside = err != nil
		if d.out > len(d.dst) {
			err = ErrSize
		}
		if err != nil {
			return err
		}
	}
}

// header reads the zlib header (RFC 1950, section 2.2) if it has not been read yet.
func (d *Decoder) header() error {
	switch {
	case d.begun:
		return nil
	case len(d.src) < zlibHeaderBytes:
		return io.ErrUnexpectedEOF
	}
	head := binary.BigEndian.Uint16(d.src)
	const presetDictionary = 0x20
	if head>>8&0x0f != 8 || head>>12 > 7 || head%31 != 0 || head&presetDictionary != 0 {
		return ErrFormat
	}
	d.pos, d.begun = zlibHeaderBytes, true
	return nil
}

// checksum updates a checksum, unless it is skipped.
func (d *Decoder) checksum(before uint32, content []byte) uint32 {
	if d.SkipChecksum {
		return before
	}
	return adler32(before, content)
}

// trailer compares the checksum after the last block with that of the content.
func (d *Decoder) trailer(sum uint32) error {
	end := d.pos - int(d.have/8)
	if len(d.src)-end < zlibChecksumBytes {
		return io.ErrUnexpectedEOF
	}
	if !d.SkipChecksum && binary.BigEndian.Uint32(d.src[end:]) != sum {
		return ErrFormat
	}
	d.pos, d.buf, d.have = end+zlibChecksumBytes, 0, 0
	return nil
}

// refill loads whole bytes until there are at least 56 bits or no more input.
func (d *Decoder) refill() {
	if len(d.src)-d.pos >= 8 {
		d.buf |= binary.LittleEndian.Uint64(d.src[d.pos:]) << (d.have & 63)
		d.pos, d.have = d.pos+int((63-d.have)>>3&7), d.have|56
		return
	}
	for d.have < 56 && d.pos < len(d.src) {
		d.buf |= uint64(d.src[d.pos]) << d.have
		d.pos++
		d.have += 8
	}
}

// readBits returns the next n bits, at most 32.
func (d *Decoder) readBits(n uint) (uint32, error) {
	if d.have < n {
		if d.refill(); d.have < n {
			return 0, io.ErrUnexpectedEOF
		}
	}
	value := uint32(d.buf & (1<<n - 1))
	d.buf >>= n
	d.have -= n
	return value, nil
}

// blockHeader reads the header of a block, and builds the tables of its codes.
func (d *Decoder) blockHeader() (next block, err error) {
	bits, err := d.readBits(3)
	if err != nil {
		return next, err
	}
	next.last = bits&1 != 0
	switch bits >> 1 {
	case 0:
		next.stored = true
		next.length, err = d.storedLength()
	case 1:
		d.fixedTables()
	case 2:
		err = d.dynamicTables()
	default:
		err = ErrFormat
	}
	return next, err
}

// storedLength reads the length of an uncompressed block: RFC 1951, 3.2.4.
func (d *Decoder) storedLength() (int, error) {
	d.pos -= int(d.have / 8)
	d.buf, d.have = 0, 0
	if len(d.src)-d.pos < 4 {
		return 0, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint16(d.src[d.pos:])
	if n != ^binary.LittleEndian.Uint16(d.src[d.pos+2:]) {
		return 0, ErrFormat
	}
	d.pos += 4
	return int(n), nil
}

// copyStored copies the rest of a stored block, as far as input and room allow.
func (d *Decoder) copyStored() error {
	n := copy(d.dst[d.out:], d.src[d.pos:min(d.pos+d.block.length, len(d.src))])
	d.out += n
	d.pos += n
	d.block.length -= n
	switch {
	case d.block.length == 0:
		return nil
	case d.out == len(d.dst):
		return ErrSize
	}
	return io.ErrUnexpectedEOF
}

// fixedTables builds the tables of RFC 1951, 3.2.6.
func (d *Decoder) fixedTables() {
	if d.fixed {
		return
	}
	lit := d.lengths[:0]
	for _, run := range [...]struct{ symbols, bits int }{{144, 8}, {112, 9}, {24, 7}, {8, 8}} {
		for range run.symbols {
			lit = append(lit, uint8(run.bits))
		}
	}
	buildTable(d.lit[:], litBits, lit, d.values.lit[:])
	dist := d.lengths[:distSymbols]
	for i := range dist {
		dist[i] = 5
	}
	buildTable(d.dist[:], distBits, dist, d.values.dist[:])
	d.fixed = true
}

// dynamicTables reads the codes of a block: RFC 1951, 3.2.7.
func (d *Decoder) dynamicTables() error {
	head, err := d.readBits(14)
	if err != nil {
		return err
	}
	lits, dists, pres := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if lits > 286 || dists > 30 {
		return ErrFormat
	}
	d.fixed = false
	order := [preSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var preLengths [preSymbols]uint8
	for _, symbol := range order[:pres] {
		n, err := d.readBits(3)
		if err != nil {
			return err
		}
		preLengths[symbol] = uint8(n)
	}
	if !buildTable(d.pre[:], preBits, preLengths[:], d.values.pre[:]) {
		return ErrFormat
	}
	lengths := d.lengths[:lits+dists]
	if err := d.readLengths(lengths); err != nil {
		return err
	}
	const endOfBlock = 256
	if lengths[endOfBlock] == 0 ||
		!buildTable(d.lit[:], litBits, lengths[:lits], d.values.lit[:]) ||
		!buildTable(d.dist[:], distBits, lengths[lits:], d.values.dist[:]) {
		return ErrFormat
	}
	return nil
}

// readLengths reads run-length encoded code lengths.
func (d *Decoder) readLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		if d.have < preBits+7 {
			d.refill()
		}
		entry := d.pre[d.buf&(preTable-1)]
		n := uint(entry & 0xff)
		if entry&entrySpecial != 0 {
			return ErrFormat
		}
		if n > d.have {
			return io.ErrUnexpectedEOF
		}
		d.buf >>= n & 63
		d.have -= n
		symbol := uint8(entry >> 16)
		if symbol < 16 {
			lengths[i] = symbol
			i++
			continue
		}
		var value uint8
		extra, base := uint(2), 3
		switch symbol {
		case 16:
			if i == 0 {
				return ErrFormat
			}
			value = lengths[i-1]
		case 17:
			extra = 3
		case 18:
			extra, base = 7, 11
		}
		more, err := d.readBits(extra)
		if err != nil {
			return err
		}
		run := base + int(more)
		if run > len(lengths)-i {
			return ErrFormat
		}
		if clear(lengths[i : i+run]); value != 0 {
			for k := range lengths[i : i+run] {
				lengths[i+k] = value
			}
		}
		i += run
	}
	return nil
}
