package inflate

import (
	"cmp"
	"errors"
	"io"
)

const (
	// inputBytes are read of the file at a time.
	inputBytes = 64 << 10
	// historyBytes is how far back a match may reach: RFC 1951, section 2.
	historyBytes = 32 << 10
	// windowBytes is the history, and what is inflated at a time: before each time
	// the history is moved, and the fast loop of the decoder has its slow ends.
	windowBytes = historyBytes + 128<<10
	// ReaderBytes is how much memory a [Reader] takes: its buffers, and tables of less
	// than 32 KiB.
	ReaderBytes = inputBytes + windowBytes + 32<<10
	// keptInput is what stays of the input when more is read: bits that were
	// taken may go back.
	keptInput = 8
)

// Reader reads a zlib stream of any length from a file, in fixed buffers: it is a
// [Decoder] with a window that moves on. It takes [ReaderBytes] of memory, so that
// it is best used again by [Reader.Reset].
type Reader struct {
	decoder  Decoder
	file     io.ReaderAt
	next     int64  // place in the file where reading goes on
	end      int64  // of the stream's file, or of what may be read of it
	input    []byte // all of the buffer
	window   []byte
	returned int    // of the window, by Read
	sum      uint32 // of the bytes so far
	err      error  // that every further Read returns
}

// Reset starts the stream that begins at off and has at most length bytes. It
// forgets the file of the stream before. After an error every Read returns it.
func (f *Reader) Reset(at io.ReaderAt, off, length int64) error {
	if f.input == nil {
		f.input, f.window = make([]byte, inputBytes), make([]byte, windowBytes+Room)
	}
	f.file, f.next, f.end = at, off, off+length
	f.returned, f.sum, f.decoder.SkipChecksum = 0, 1, false
	f.decoder.begin(f.window, windowBytes, f.input[:0])
	f.err = f.withInput(f.decoder.header)
	return f.err
}

// SkipChecksum leaves the Adler-32 of the content uncompared.
func (f *Reader) SkipChecksum() { f.decoder.SkipChecksum = true }

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
	err := f.withInput(d.run)
	f.sum = d.checksum(f.sum, f.window[f.returned:d.out])
	switch {
	case errors.Is(err, ErrSize): // the window is full
		return nil
	case errors.Is(err, io.EOF):
		err = f.withInput(func() error { return d.trailer(f.sum) })
		return cmp.Or(err, io.EOF)
	}
	return err
}

// withInput does a step, and again with more input as long as that ends too early.
func (f *Reader) withInput(step func() error) error {
	for {
		err := step()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if more, failure := f.refill(); failure != nil || !more {
			return cmp.Or(failure, err)
		}
	}
}

// refill reads on, and reports whether there was more.
func (f *Reader) refill() (bool, error) {
	d := &f.decoder
	moved := max(0, d.pos-keptInput)
	kept := copy(f.input, d.src[moved:])
	d.pos -= moved
	n := int(min(int64(len(f.input)-kept), f.end-f.next))
	got, err := f.file.ReadAt(f.input[kept:kept+n], f.next)
	f.next += int64(got)
	d.src = f.input[:kept+got]
	switch {
	case got == n:
		return n > 0, nil
	case errors.Is(err, io.EOF): // the file has shrunk
		f.end = f.next
		return got > 0, nil
	}
	return false, err
}

// More reports whether bytes follow the stream, of which all was read.
func (f *Reader) More() (bool, error) {
	if f.decoder.pos < len(f.decoder.src) {
		return true, nil
	}
	return f.refill()
}
