package objects

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
)

// streamBuffer is what a stream reads of a pack at a time.
const streamBuffer = 32 << 10

// inflater reads a zlib stream from a file, in a fixed buffer. It is kept in a
// pool, since its tables and its history are about 50 KiB.
type inflater struct {
	section io.SectionReader
	file    *bufio.Reader
	zlib    io.ReadCloser
}

// fromFile starts a stream that is read from at.
func (f *inflater) fromFile(at io.ReaderAt, off, length int64) error {
	f.section = *io.NewSectionReader(at, off, length)
	if f.file == nil {
		f.file = bufio.NewReaderSize(nil, streamBuffer)
	}
	f.file.Reset(&f.section)
	return f.reset(f.file)
}

func (f *inflater) reset(r io.Reader) error {
	var err error
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(r)
	} else {
		err = f.zlib.(zlib.Resetter).Reset(r, nil)
	}
	return streamError(err)
}

// Read gives inflated bytes, and io.EOF only after the checksum was compared.
func (f *inflater) Read(p []byte) (int, error) {
	n, err := f.zlib.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = streamError(err)
	}
	return n, err
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
	case errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return errBadStream
	}
	var damaged flate.CorruptInputError
	if errors.As(err, &damaged) {
		return errBadStream
	}
	return err
}
