package objects

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// streamBuffer is what a stream reads of a pack at a time.
const streamBuffer = 32 << 10

// inflater reads a zlib stream (RFC 1950) from a file, in a fixed buffer. It is
// kept in a pool, since its tables and its history are about 50 KiB. Header and
// checksum are read here, not by package zlib, whose checksum is slower.
type inflater struct {
	section  io.SectionReader
	file     *bufio.Reader
	flate    io.ReadCloser
	sum      uint32 // of the bytes so far
	unsummed bool   // the checksum is not compared
	err      error  // what every further Read gives
}

// fromFile starts a stream that is read from at.
func (f *inflater) fromFile(at io.ReaderAt, off, length int64) error {
	f.section = *io.NewSectionReader(at, off, length)
	if f.file == nil {
		f.file = bufio.NewReaderSize(nil, streamBuffer)
	}
	f.file.Reset(&f.section)
	f.unsummed = false
	f.sum, f.err = 1, f.begin()
	return f.err
}

const (
	zlibHeaderBytes   = 2
	zlibChecksumBytes = 4
)

// begin reads the header: RFC 1950, section 2.2.
func (f *inflater) begin() error {
	var head [zlibHeaderBytes]byte
	if _, err := io.ReadFull(f.file, head[:]); err != nil {
		return streamError(err)
	}
	const deflate, largestWindow, preset = 8, 7, 0x20
	if head[0]&15 != deflate || head[0]>>4 > largestWindow || head[1]&preset != 0 || (int(head[0])<<8|int(head[1]))%31 != 0 {
		return errBadStream
	}
	if f.flate == nil {
		f.flate = flate.NewReader(f.file)
		return nil
	}
	return f.flate.(flate.Resetter).Reset(f.file, nil)
}

// Read gives inflated bytes, and io.EOF only after the checksum was compared.
func (f *inflater) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.flate.Read(p)
	if !f.unsummed {
		f.sum = adlerUpdate(f.sum, p[:n])
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		f.err = f.compare()
	default:
		f.err = streamError(err)
	}
	return n, f.err
}

// compare reads the checksum that follows the deflated bytes.
func (f *inflater) compare() error {
	var want [zlibChecksumBytes]byte
	if _, err := io.ReadFull(f.file, want[:]); err != nil {
		return streamError(err)
	}
	if !f.unsummed && binary.BigEndian.Uint32(want[:]) != f.sum {
		return errBadStream
	}
	return io.EOF
}

// fill inflates exactly len(dst) bytes, where the stream must end.
func (f *inflater) fill(dst []byte) error {
	if _, err := io.ReadFull(f, dst); err != nil {
		return sizeError(err)
	}
	return f.end()
}

// end checks that the stream ends here.
func (f *inflater) end() error {
	var extra [1]byte
	switch n, err := io.ReadFull(f, extra[:]); {
	case n > 0:
		return errWrongSize
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// sizeError tells a stream that ended properly, but too early for the size
// that was declared, from one that was cut off.
func sizeError(err error) error {
	if errors.Is(err, io.EOF) {
		return errWrongSize
	}
	return err
}

// streamError tells damaged data from a failure to read it. The file's end
// inside a stream is always unexpected.
func streamError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	var damaged flate.CorruptInputError
	if errors.As(err, &damaged) {
		return errBadStream
	}
	return err
}
