package objects

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	// streamBuffer is what a stream reads of a pack at a time.
	streamBuffer = 32 << 10
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

// inflater reads a zlib stream (RFC 1950) of any length from a file, in fixed
// buffers. It is the decoder with a window that moves on. It is kept in a pool,
// since its tables and buffers are about 150 KiB.
type inflater struct {
	decoder  decoder
	file     io.ReaderAt
	next     int64  // place in the file where reading goes on
	end      int64  // of the stream's file, or of what may be read of it
	input    []byte // all of the buffer
	window   []byte
	given    int // of the window: what Read gave
	inside   bool
	block    blockHead // that is being inflated, if inside
	sum      uint32    // of the bytes so far
	unsummed bool      // the checksum is not compared
	err      error     // what every further Read gives
}

// fromFile starts a stream that is read from off on.
func (f *inflater) fromFile(at io.ReaderAt, off, length int64) error {
	if f.input == nil {
		f.input, f.window = make([]byte, streamBuffer), make([]byte, windowBytes)
	}
	f.file, f.next, f.end = at, off, off+length
	f.given, f.inside, f.block = 0, false, blockHead{}
	f.sum, f.unsummed = 1, false
	f.decoder.src, f.decoder.position = f.input[:0], position{}
	if f.err = f.refill(); f.err == nil {
		f.err = f.decoder.start(f.window, f.decoder.src)
	}
	return f.err
}

// Read gives inflated bytes, and io.EOF only after the checksum was compared.
func (f *inflater) Read(p []byte) (int, error) {
	if f.err == nil && f.given == f.decoder.out && len(p) > 0 {
		f.err = f.inflate()
	}
	n := copy(p, f.window[f.given:f.decoder.out])
	f.given += n
	if n > 0 {
		return n, nil
	}
	return 0, f.err
}

// inflate fills the window again, of which all was given, up to its end or that
// of the stream. An error leaves what was inflated before it to be given.
func (f *inflater) inflate() error {
	d := &f.decoder
	if keep := d.out - historyBytes; keep > 0 {
		copy(f.window, f.window[keep:d.out])
		d.out, f.given = historyBytes, historyBytes
	}
	err := f.fill()
	if !f.unsummed {
		f.sum = adlerUpdate(f.sum, f.window[f.given:d.out])
	}
	if errors.Is(err, io.EOF) {
		err = f.compare()
	}
	return err
}

// fill inflates until the window is full. It gives io.EOF behind the last block.
func (f *inflater) fill() error {
	d := &f.decoder
	for len(f.window)-d.out >= fastOutput {
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

func (f *inflater) copyStored() error {
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
func (f *inflater) symbols() (err error) {
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
func (f *inflater) refill() error {
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
func (f *inflater) compare() error {
	if err := f.refill(); err != nil {
		return err
	}
	d := &f.decoder
	d.pos -= int(d.have / 8)
	d.buf, d.have = 0, 0
	if len(d.src)-d.pos < zlibChecksumBytes {
		return io.ErrUnexpectedEOF
	}
	if !f.unsummed && binary.BigEndian.Uint32(d.src[d.pos:]) != f.sum {
		return errBadStream
	}
	d.pos += zlibChecksumBytes
	return io.EOF
}

// more says whether bytes follow the stream, of which all was read.
func (f *inflater) more() (bool, error) {
	err := f.refill()
	return f.decoder.pos < len(f.decoder.src), err
}

// whole inflates exactly len(dst) bytes, where the stream must end.
func (f *inflater) whole(dst []byte) error {
	if _, err := io.ReadFull(f, dst); err != nil {
		return sizeError(err)
	}
	return ended(f)
}

// sizeError tells a stream that ended properly, but too early for the size
// that was declared, from one that was cut off.
func sizeError(err error) error {
	if errors.Is(err, io.EOF) {
		return errWrongSize
	}
	return err
}
