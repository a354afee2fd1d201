package objects

import (
	"encoding/binary"
	"io"
)

// decoder inflates zlib streams (RFC 1950, RFC 1951) that lie in memory whole,
// straight into their destination: nothing is copied through a window, and no
// byte is fetched through an interface. That makes it two to three times as
// fast as a streaming inflater on the small objects that repositories are made
// of. It is kept in a pool; after use it refers to no input.
type decoder struct {
	values  *symbolValues
	lit     [litTable]uint32
	dist    [distTable]uint32
	pre     [preTable]uint32
	lengths [litSymbols + distSymbols]uint8
	fixed   bool // the tables are those of the fixed codes

	// The input between two blocks.
	src  []byte
	pos  int    // bytes that went into buf
	buf  uint64 // the next bits, the first one lowest
	have uint   // how many bits of buf count
	// The output.
	dst []byte
	out int
}

// inflate fills dst from the stream at the beginning of src and checks that it
// ends there and has the right checksum. It gives io.ErrUnexpectedEOF when src
// ends too early, errWrongSize when the stream is longer or shorter than dst,
// errBadStream when it is damaged.
func (d *decoder) inflate(dst, src []byte) error {
	if err := d.start(dst, src); err != nil {
		return err
	}
	for last := false; !last; {
		var err error
		if last, err = d.block(); err != nil {
			return d.finish(err)
		}
	}
	if d.out != len(dst) {
		return d.finish(errWrongSize)
	}
	rest := d.src[d.pos-int(d.have/8):]
	if len(rest) < 4 {
		return d.finish(io.ErrUnexpectedEOF)
	}
	if binary.BigEndian.Uint32(rest) != adler32(dst) {
		return d.finish(errBadStream)
	}
	return d.finish(nil)
}

// prefix fills dst with the first bytes of a stream. It gives errWrongSize
// when the stream is shorter.
func (d *decoder) prefix(dst, src []byte) error {
	if err := d.start(dst, src); err != nil {
		return err
	}
	for last := false; d.out < len(dst); {
		if last {
			return d.finish(errWrongSize)
		}
		var err error
		last, err = d.block()
		if err != nil && d.out < len(dst) {
			return d.finish(err)
		}
	}
	return d.finish(nil)
}

// start reads the zlib header: RFC 1950, section 2.2.
func (d *decoder) start(dst, src []byte) error {
	if len(src) < 2 {
		return io.ErrUnexpectedEOF
	}
	head := binary.BigEndian.Uint16(src)
	const presetDictionary = 0x20
	if head>>8&0x0f != 8 || head>>12 > 7 || head%31 != 0 || head&presetDictionary != 0 {
		return errBadStream
	}
	if d.values == nil {
		d.values = newSymbolValues()
	}
	d.src, d.pos, d.buf, d.have = src, 2, 0, 0
	d.dst, d.out = dst, 0
	return nil
}

func (d *decoder) finish(err error) error {
	d.src, d.dst = nil, nil
	return err
}

// refill adds whole bytes until there are at least 56 bits or no more input.
func (d *decoder) refill() {
	for d.have < 56 && d.pos < len(d.src) {
		d.buf |= uint64(d.src[d.pos]) << d.have
		d.pos++
		d.have += 8
	}
}

// take gives the next n bits, at most 32.
func (d *decoder) take(n uint) (uint32, error) {
	if d.have < n {
		if d.refill(); d.have < n {
			return 0, io.ErrUnexpectedEOF
		}
	}
	value := uint32(d.buf & (1<<n - 1)) //nolint:gosec // n is at most 32
	d.buf >>= n
	d.have -= n
	return value, nil
}

// block inflates one block and says whether it was the last.
func (d *decoder) block() (last bool, err error) {
	head, err := d.take(3)
	if err != nil {
		return false, err
	}
	last = head&1 != 0
	switch head >> 1 {
	case 0:
		return last, d.stored()
	case 1:
		d.fixedTables()
	case 2:
		if err := d.dynamicTables(); err != nil {
			return last, err
		}
	default:
		return last, errBadStream
	}
	return last, d.compressed()
}

// stored copies a block that is not compressed: RFC 1951, 3.2.4.
func (d *decoder) stored() error {
	d.pos -= int(d.have / 8)
	d.buf, d.have = 0, 0
	if len(d.src)-d.pos < 4 {
		return io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint16(d.src[d.pos:])
	if n != ^binary.LittleEndian.Uint16(d.src[d.pos+2:]) {
		return errBadStream
	}
	d.pos += 4
	copied := copy(d.dst[d.out:], d.src[d.pos:min(d.pos+int(n), len(d.src))])
	d.out += copied
	d.pos += copied
	switch {
	case copied == int(n):
		return nil
	case d.out == len(d.dst):
		return errWrongSize
	}
	return io.ErrUnexpectedEOF
}

// fixedTables are those of RFC 1951, 3.2.6.
func (d *decoder) fixedTables() {
	if d.fixed {
		return
	}
	lit := d.lengths[:litSymbols]
	for i := range lit {
		switch {
		case i < 144:
			lit[i] = 8
		case i < 256:
			lit[i] = 9
		case i < 280:
			lit[i] = 7
		default:
			lit[i] = 8
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
func (d *decoder) dynamicTables() error {
	head, err := d.take(14)
	if err != nil {
		return err
	}
	lits, dists, pres := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if lits > 286 || dists > 30 {
		return errBadStream
	}
	d.fixed = false
	order := [preSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var preLengths [preSymbols]uint8
	for _, symbol := range order[:pres] {
		n, err := d.take(3)
		if err != nil {
			return err
		}
		preLengths[symbol] = uint8(n) //nolint:gosec // three bits
	}
	if !buildTable(d.pre[:], preBits, preLengths[:], d.values.pre[:]) {
		return errBadStream
	}
	lengths := d.lengths[:lits+dists]
	if err := d.readLengths(lengths); err != nil {
		return err
	}
	const endOfBlock = 256
	if lengths[endOfBlock] == 0 ||
		!buildTable(d.lit[:], litBits, lengths[:lits], d.values.lit[:]) ||
		!buildTable(d.dist[:], distBits, lengths[lits:], d.values.dist[:]) {
		return errBadStream
	}
	return nil
}

// readLengths reads code lengths, which are run-length coded.
func (d *decoder) readLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		if d.have < preBits+7 {
			d.refill()
		}
		entry := d.pre[d.buf&(preTable-1)]
		n := uint(entry & 0xff)
		if entry&entrySpecial != 0 {
			return errBadStream
		}
		if n > d.have {
			return io.ErrUnexpectedEOF
		}
		d.buf >>= n & 63
		d.have -= n
		symbol := uint8(entry >> 16) //nolint:gosec // below 19
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
				return errBadStream
			}
			value = lengths[i-1]
		case 17:
			extra = 3
		case 18:
			extra, base = 7, 11
		}
		more, err := d.take(extra)
		if err != nil {
			return err
		}
		run := base + int(more)
		if run > len(lengths)-i {
			return errBadStream
		}
		for range run {
			lengths[i] = value
			i++
		}
	}
	return nil
}

const (
	// fastInput is how many bytes one round of fast reads at most: three
	// loads of eight bytes, seven of which may be new each.
	fastInput = 32
	// fastOutput is how many it writes at most: three literals, the longest
	// match, and the bytes by which copying in words overshoots.
	fastOutput = 3 + 258 + 16
)

// compressed inflates a block with the present tables.
func (d *decoder) compressed() error {
	for {
		if len(d.src)-d.pos >= fastInput && len(d.dst)-d.out >= fastOutput {
			if done, err := d.fast(); done || err != nil {
				return err
			}
		}
		if done, err := d.careful(); done || err != nil {
			return err
		}
	}
}

// fast inflates while neither the input nor the output can run out, so that
// only what damage can bring about is checked. Up to three literals fit between
// two refills; the next code is looked up before a match is copied, so that
// neither waits for the other.
func (d *decoder) fast() (done bool, err error) {
	src, dst := d.src, d.dst
	pos, out, buf, have := d.pos, d.out, d.buf, d.have
	lastPos, lastOut := len(src)-fastInput, len(dst)-fastOutput
	buf |= binary.LittleEndian.Uint64(src[pos:]) << (have & 63)
	pos, have = pos+int((63-have)>>3&7), have|56
	entry := d.lit[buf&(1<<litBits-1)]
	for pos <= lastPos && out <= lastOut {
		if entry&entryLiteral != 0 {
			dst[out] = byte(entry >> 16 & 0xff)
			buf, have, out = buf>>(entry&63), have-uint(entry&63), out+1
			entry = d.lit[buf&(1<<litBits-1)]
			if entry&entryLiteral != 0 {
				dst[out] = byte(entry >> 16 & 0xff)
				buf, have, out = buf>>(entry&63), have-uint(entry&63), out+1
				entry = d.lit[buf&(1<<litBits-1)]
			}
			// What is left may not hold a length and a distance (48 bits).
			buf |= binary.LittleEndian.Uint64(src[pos:]) << (have & 63)
			pos, have = pos+int((63-have)>>3&7), have|56
			if entry&entryLiteral != 0 {
				continue
			}
		}
		if entry&entrySpecial != 0 {
			if entry&entrySecond != 0 {
				buf, have = buf>>litBits, have-litBits
				entry = d.lit[uint64(entry>>16)+buf&(1<<(entry>>8&15)-1)]
			}
			if entry&entryLiteral != 0 {
				dst[out] = byte(entry >> 16 & 0xff)
				buf, have, out = buf>>(entry&63), have-uint(entry&63), out+1
				buf |= binary.LittleEndian.Uint64(src[pos:]) << (have & 63)
				pos, have = pos+int((63-have)>>3&7), have|56
				entry = d.lit[buf&(1<<litBits-1)]
				continue
			}
			if entry&entrySpecial != 0 {
				d.pos, d.out, d.buf, d.have = pos, out, buf>>(entry&63), have-uint(entry&63)
				return true, endOfBlock(entry)
			}
		}
		length := int(entry>>16) + int(buf&(1<<(entry&63)-1)>>(entry>>8&15)) //nolint:gosec // at most 258
		buf, have = buf>>(entry&63), have-uint(entry&63)
		entry = d.dist[buf&(1<<distBits-1)]
		if entry&entrySpecial != 0 {
			if entry&entrySecond == 0 {
				return false, errBadStream
			}
			buf, have = buf>>distBits, have-distBits
			entry = d.dist[uint64(entry>>16)+buf&(1<<(entry>>8&15)-1)]
			if entry&entrySpecial != 0 {
				return false, errBadStream
			}
		}
		distance := int(entry>>16) + int(buf&(1<<(entry&63)-1)>>(entry>>8&15)) //nolint:gosec // at most 32768
		buf, have = buf>>(entry&63), have-uint(entry&63)
		from := out - distance
		if from < 0 {
			return false, errBadStream
		}
		buf |= binary.LittleEndian.Uint64(src[pos:]) << (have & 63)
		pos, have = pos+int((63-have)>>3&7), have|56
		entry = d.lit[buf&(1<<litBits-1)]
		if distance >= 8 && length <= 16 { // most matches
			binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[from:]))
			binary.LittleEndian.PutUint64(dst[out+8:], binary.LittleEndian.Uint64(dst[from+8:]))
		} else {
			copyMatch(dst, out, from, length)
		}
		out += length
	}
	d.pos, d.out, d.buf, d.have = pos, out, buf, have
	return false, nil
}

// endOfBlock gives an error for a special entry that is none.
func endOfBlock(entry uint32) error {
	if entry&entryEndBlock == 0 {
		return errBadStream
	}
	return nil
}

// copyMatch copies length bytes inside dst, forwards. It may write up to 15
// bytes more.
func copyMatch(dst []byte, out, from, length int) {
	switch distance := out - from; {
	case distance >= 8:
		for end := out + length; out < end; out, from = out+16, from+16 {
			binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[from:]))
			binary.LittleEndian.PutUint64(dst[out+8:], binary.LittleEndian.Uint64(dst[from+8:]))
		}
	case distance == 1:
		word := uint64(dst[from]) * 0x0101010101010101
		for end := out + length; out < end; out += 8 {
			binary.LittleEndian.PutUint64(dst[out:], word)
		}
	default:
		for i := range length {
			dst[out+i] = dst[from+i]
		}
	}
}

// careful inflates symbol by symbol near the end of the input or the output,
// until the block ends or fast can go on.
func (d *decoder) careful() (done bool, err error) {
	for {
		entry, err := d.symbol(d.lit[:], litBits)
		if err != nil {
			return false, err
		}
		switch {
		case entry&entryLiteral != 0:
			if d.out == len(d.dst) {
				return false, errWrongSize
			}
			d.dst[d.out] = byte(entry >> 16 & 0xff)
			d.out++
		case entry&entrySpecial != 0:
			if entry&entryEndBlock == 0 {
				return false, errBadStream
			}
			return true, nil
		default:
			if err := d.match(entry); err != nil {
				return false, err
			}
		}
		if len(d.src)-d.pos >= fastInput && len(d.dst)-d.out >= fastOutput {
			return false, nil
		}
	}
}

// symbol consumes one code. Of a length or distance the extra bits remain.
func (d *decoder) symbol(table []uint32, index uint) (uint32, error) {
	if d.have < longestCode {
		d.refill()
	}
	entry := table[d.buf&(1<<index-1)]
	if entry&entrySecond != 0 && entry&entrySpecial != 0 {
		if d.have < index {
			return 0, io.ErrUnexpectedEOF
		}
		d.buf >>= index
		d.have -= index
		entry = table[uint64(entry>>16)+d.buf&(1<<(entry>>8&15)-1)]
	}
	n := uint(entry >> 8 & 15)
	if n > d.have || n == 0 && d.have == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	d.buf >>= n
	d.have -= n
	return entry, nil
}

// match reads the rest of a match and copies it.
func (d *decoder) match(entry uint32) error {
	extra, err := d.take(uint(entry&0xff - entry>>8&15))
	if err != nil {
		return err
	}
	length := int(entry>>16) + int(extra)
	entry, err = d.symbol(d.dist[:], distBits)
	if err != nil {
		return err
	}
	if entry&entrySpecial != 0 {
		return errBadStream
	}
	if extra, err = d.take(uint(entry&0xff - entry>>8&15)); err != nil {
		return err
	}
	from := d.out - int(entry>>16) - int(extra)
	if from < 0 {
		return errBadStream
	}
	for ; length > 0; length-- {
		if d.out == len(d.dst) {
			return errWrongSize
		}
		d.dst[d.out] = d.dst[from]
		d.out++
		from++
	}
	return nil
}
