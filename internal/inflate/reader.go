package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	// inputBytes are read of the file at a time.
	inputBytes = 32 << 10
	// historyBytes is how far back a match may reach: RFC 1951, section 2.
	historyBytes = 32 << 10
	// windowBytes is the history, and what is inflated at a time.
	windowBytes = historyBytes + 64<<10
	// headBytes is more than any head of a block has: 286 lengths of literals and
	// 30 of distances in at most 14 bits each.
	headBytes = 1 << 10
	// keptInput is what stays of the input when more is read: bits that were
	// taken may go back.
	keptInput = 8
)

// Reader reads a zlib stream of any length from a file, in fixed buffers: it is a
// [Decoder] with a window that moves on. Its tables and buffers are about 150 KiB,
// so that it is best used again by [Reader.Reset].
type Reader struct {
	// SkipChecksum leaves the Adler-32 of the content uncompared.
	SkipChecksum bool

	decoder  Decoder
	file     io.ReaderAt
	next     int64  // place in the file where reading goes on
	end      int64  // of the stream's file, or of what may be read of it
	input    []byte // all of the buffer
	window   []byte
	returned int // of the window, by Read
	inside   bool
	block    blockHead // that is being inflated, if inside
	sum      uint32    // of the bytes so far
	err      error     // that every further Read returns
}

// Reset starts the stream that begins at off and has at most length bytes. It
// forgets the file of the stream before. After an error every Read returns it.
func (f *Reader) Reset(at io.ReaderAt, off, length int64) error {
	if f.input == nil {
		f.input, f.window = make([]byte, inputBytes), make([]byte, windowBytes)
	}
	f.file, f.next, f.end = at, off, off+length
	f.returned, f.inside, f.block = 0, false, blockHead{}
	f.sum, f.SkipChecksum = 1, false
	f.decoder.begin(f.window, len(f.window), f.input[:0])
	if f.err = f.refill(); f.err == nil {
		f.err = f.decoder.header()
	}
	return f.err
}

// Release forgets the file, before the reader is kept for later.
func (f *Reader) Release() { f.file = nil }

// Read returns inflated bytes, and [io.EOF] only after the checksum was compared.
// A damaged or shortened stream is [ErrFormat] or [io.ErrUnexpectedEOF].
func (f *Reader) Read(p []byte) (int, error) {
	if f.err == nil && f.returned == f.decoder.out && len(p) > 0 {
		f.err = f.inflate()
	}
	n := copy(p, f.window[f.returned:f.decoder.out])
	f.returned += n
	if n > 0 {
		return n, nil
	}
	return 0, f.err
}

// inflate fills the window again, of which all was returned, up to its end or that
// of the stream. What was inflated before an error is still returned.
func (f *Reader) inflate() error {
	d := &f.decoder
	if keep := d.out - historyBytes; keep > 0 {
		copy(f.window, f.window[keep:d.out])
		d.out, f.returned = historyBytes, historyBytes
	}
	err := f.fill()
	if !f.SkipChecksum {
		f.sum = adlerUpdate(f.sum, f.window[f.returned:d.out])
	}
	if errors.Is(err, io.EOF) {
		err = f.compare()
	}
	return err
}

// fill inflates until the window is full. It returns io.EOF behind the last block.
func (f *Reader) fill() error {
	d := &f.decoder
	for len(f.window)-d.out >= Room {
		if err := f.refill(); err != nil {
			return err
		}
		var err error
		switch {
		case !f.inside && f.block.last:
			return io.EOF
		case !f.inside:
			f.block, err = d.head()
			f.inside = err == nil
		case f.block.stored:
			err = f.copyStored()
		default:
			err = f.symbols()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Reader) copyStored() error {
	n := f.decoder.copyStored(f.block.length)
	if n == 0 && f.block.length > 0 {
		return io.ErrUnexpectedEOF
	}
	f.block.length -= n
	f.inside = f.block.length > 0
	return nil
}

// symbols inflates as long as there is input and room, which at the end of the
// file is one symbol.
func (f *Reader) symbols() (err error) {
	v := noRoom
	if f.decoder.roomy() {
		v = f.decoder.fast()
		err = v.err()
	} else {
		v, err = f.decoder.one()
	}
	f.inside = v == noRoom
	return err
}

// refill reads on when the input may not have a whole head of a block. Then
// there is less only at the end of what may be read.
func (f *Reader) refill() error {
	d := &f.decoder
	if len(d.src)-d.pos >= headBytes || f.next == f.end {
		return nil
	}
	moved := max(0, d.pos-keptInput)
	kept := copy(f.input, d.src[moved:])
	d.pos -= moved
	n := int(min(int64(len(f.input)-kept), f.end-f.next))
	got, err := f.file.ReadAt(f.input[kept:kept+n], f.next)
	f.next += int64(got)
	d.src = f.input[:kept+got]
	switch {
	case got == n:
		return nil
	case errors.Is(err, io.EOF): // the file has shrunk
		f.end = f.next
		return nil
	default:
		return err
	}
}

// compare reads the checksum that follows the deflated bytes.
func (f *Reader) compare() error {
	if err := f.refill(); err != nil {
		return err
	}
	d := &f.decoder
	d.pos -= int(d.have / 8)
	d.buf, d.have = 0, 0
	if len(d.src)-d.pos < zlibChecksumBytes {
		return io.ErrUnexpectedEOF
	}
	if !f.SkipChecksum && binary.BigEndian.Uint32(d.src[d.pos:]) != f.sum {
		return ErrFormat
	}
	d.pos += zlibChecksumBytes
	return io.EOF
}

// More reports whether bytes follow the stream, of which all was read.
func (f *Reader) More() (bool, error) {
	err := f.refill()
	return f.decoder.pos < len(f.decoder.src), err
}
