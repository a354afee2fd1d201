package inflate

import (
	"cmp"
	"errors"
	"io"
)

const (
	// inputBytes is the size of a read from the file.
	inputBytes = 64 << 10
	// historyBytes is the maximal distance of a match: RFC 1951, section 2.
	historyBytes = 32 << 10
	// windowBytes is the history with the output of one step. Each step first moves the history,
	// and the decoder's fast loop does not cover the ends.
	windowBytes = historyBytes + 128<<10
	// ReaderBytes is how much memory a [Reader] takes: its buffers, and tables of less than 32 KiB.
	ReaderBytes = inputBytes + windowBytes + 32<<10
	// keptInput is the part of the input that stays for bits that are put back.
	keptInput = 8
)

// Reader reads a zlib stream of any length from a file, in fixed buffers: it is a [Decoder] with a
// moving window. It takes [ReaderBytes] of memory, so reuse it with [Reader.Reset].
type Reader struct {
	decoder  Decoder
	file     io.ReaderAt
	next     int64  // file offset of the next read
	end      int64  // of the file, or of its readable part
	input    []byte // the whole buffer
	window   []byte
	returned int    // part of the window returned by Read
	sum      uint32 // checksum so far
	err      error  // returned by every further Read
}

// Reset starts the stream at off with at most length bytes. It forgets the previous file. After an
// error every Read returns that error.
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

// SkipChecksum skips the Adler-32 of the content.
func (f *Reader) SkipChecksum() { f.decoder.SkipChecksum = true }

// Release forgets the file, before the reader is pooled.
func (f *Reader) Release() { f.file = nil }

// Read returns inflated bytes, and [io.EOF] only after the checksum was verified. A damaged or
// truncated stream is [ErrFormat] or [io.ErrUnexpectedEOF].
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

// inflate refills a fully returned window, up to its end or that of the stream. Bytes inflated
// before an error are still returned.
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

// withInput repeats a step with more input while the input ends too early.
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

// refill reads more input, and reports whether there was any.
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
	case errors.Is(err, io.EOF): // the file was truncated
		f.end = f.next
		return got > 0, nil
	}
	return false, err
}

// More reports whether bytes follow the stream, which was read to its end.
func (f *Reader) More() (bool, error) {
	if f.decoder.pos < len(f.decoder.src) {
		return true, nil
	}
	return f.refill()
}
