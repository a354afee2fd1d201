package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

// The compressed blocks of a stream, RFC 1951 section 3.2.3: literals and matches, in two
// equivalent loops. The fast one needs room ahead, the other one checks every step.

const (
	// fastInput bounds the input of one round of fast: three loads of eight bytes, up to seven of
	// which are new each.
	fastInput = 32
	// Room bounds the output of such a round: three literals, the longest match, and the overshoot
	// of copying.
	Room = 3 + 258 + 32
)

// errBlockEnd marks the regular end of a block within the package.
var errBlockEnd = errors.New("end of a block")

// compressed inflates the rest of a block with the current tables. It stops before a symbol without
// input or room.
func (d *Decoder) compressed() error {
	for {
		var err error
		if d.roomy() {
			if err = d.fast(); err == nil && d.out > len(d.dst) {
				return ErrSize
			}
		}
		if err == nil {
			before := d.position
			if err = d.one(); err == nil {
				continue
			}
			if !errors.Is(err, errBlockEnd) {
				d.position = before
			}
		}
		if errors.Is(err, errBlockEnd) {
			err = nil
		}
		return err
	}
}

// roomy reports whether there is room for a round of fast.
func (d *Decoder) roomy() bool {
	return len(d.src)-d.pos >= fastInput && len(d.room)-d.out >= Room
}

// fast inflates while neither the input nor the output can run out, so that it only has to check
// for damage. Up to three literals fit between two refills; the next code is looked up before a
// match is copied, so that neither waits for the other. It returns nil if there is no room for
// another round, and errBlockEnd after the last symbol.
func (d *Decoder) fast() error {
	src, dst := d.src, d.room
	pos, out, buf, have := d.pos, d.out, d.buf, d.have
	lastPos, lastOut := len(src)-fastInput, len(dst)-Room
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
			// The remaining bits may not contain a length and a distance (48 bits).
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
				return endOfBlock(entry)
			}
		}
		length := int(entry>>16) + int(buf&(1<<(entry&63)-1)>>(entry>>8&15))
		buf, have = buf>>(entry&63), have-uint(entry&63)
		entry = d.dist[buf&(1<<distBits-1)]
		if entry&entrySpecial != 0 {
			if entry&entrySecond == 0 {
				return ErrFormat
			}
			buf, have = buf>>distBits, have-distBits
			entry = d.dist[uint64(entry>>16)+buf&(1<<(entry>>8&15)-1)]
			if entry&entrySpecial != 0 {
				return ErrFormat
			}
		}
		distance := int(entry>>16) + int(buf&(1<<(entry&63)-1)>>(entry>>8&15))
		buf, have = buf>>(entry&63), have-uint(entry&63)
		from := out - distance
		if from < 0 {
			return ErrFormat
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
	return nil
}

// endOfBlock returns the meaning of a special entry without a second table.
func endOfBlock(entry uint32) error {
	if entry&entryEndBlock == 0 {
		return ErrFormat
	}
	return errBlockEnd
}

// copyMatch copies length bytes forwards inside dst. It may write up to 15 bytes more.
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

// one inflates one symbol. It returns errBlockEnd for the last one of a block.
func (d *Decoder) one() error {
	entry, err := d.symbol(d.lit[:], litBits)
	switch {
	case err != nil:
		return err
	case entry&entrySpecial != 0:
		return endOfBlock(entry)
	case entry&entryLiteral == 0:
		return d.match(entry)
	case d.out >= len(d.dst):
		return ErrSize
	}
	d.dst[d.out] = byte(entry >> 16 & 0xff)
	d.out++
	return nil
}

// symbol consumes one code, without the extra bits of a length or distance.
func (d *Decoder) symbol(table []uint32, index uint) (uint32, error) {
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
func (d *Decoder) match(entry uint32) error {
	extra, err := d.readBits(uint(entry&0xff - entry>>8&15))
	if err != nil {
		return err
	}
	length := int(entry>>16) + int(extra)
	entry, err = d.symbol(d.dist[:], distBits)
	if err != nil {
		return err
	}
	if entry&entrySpecial != 0 {
		return ErrFormat
	}
	if extra, err = d.readBits(uint(entry&0xff - entry>>8&15)); err != nil {
		return err
	}
	from := d.out - int(entry>>16) - int(extra)
	if from < 0 {
		return ErrFormat
	}
	for ; length > 0; length-- {
		if d.out >= len(d.dst) {
			return ErrSize
		}
		d.dst[d.out] = d.dst[from]
		d.out++
		from++
	}
	return nil
}
