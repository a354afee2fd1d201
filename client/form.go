package client

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// formTail is how many bytes at the end of an archive are kept: the end of a zip with the longest
// comment, or the index of an xz of some thousand blocks.
const formTail = 96 << 10

// form watches bytes whose length and digest are unknown, and decides by the format of an archive
// whether they are complete: tar, tar.gz, zip and xz. A zstd file may end after each of its frames,
// so its format proves nothing. A nil form proves nothing.
type form struct {
	ctx   context.Context // of the download
	total int64
	magic []byte // the first bytes
	tail  []byte // the last bytes, at least formTail

	// Other formats than zip and xz are read as a tar, plain or in gzip, while they arrive.
	tar *io.PipeWriter // nil before the first byte
	end chan struct{}  // closed when tar was read
	err error          // set before end is closed
}

// see takes received bytes.
func (f *form) see(p []byte) {
	if f == nil || len(p) == 0 {
		return
	}
	f.total += int64(len(p))
	f.magic = append(f.magic, p[:min(len(p), len(magicXZ)-len(f.magic))]...)
	if f.tail = append(f.tail, p...); len(f.tail) > 2*formTail {
		f.tail = append(f.tail[:0], f.tail[len(f.tail)-formTail:]...)
	}
	if f.tar == nil {
		in, out := io.Pipe()
		f.tar, f.end = out, make(chan struct{})
		leave := context.AfterFunc(f.ctx, func() { _ = out.CloseWithError(f.ctx.Err()) }) // it never fails
		go func() {
			defer leave()
			f.err = readTar(in)
			_, _ = io.Copy(io.Discard, in) // other content must not block the download
			close(f.end)
		}()
	}
	_, _ = f.tar.Write(p) // it never fails
}

// close ends the goroutine that reads the bytes.
func (f *form) close() { f.finish(io.ErrClosedPipe) }

// finish says how the bytes ended, nil for well, and waits for the goroutine that reads them.
func (f *form) finish(err error) {
	if f != nil && f.tar != nil {
		_ = f.tar.CloseWithError(err) // it never fails
		<-f.end
	}
}

// isWhole reports whether the bytes are a complete archive.
func (f *form) isWhole() bool {
	switch {
	case f == nil || f.tar == nil:
		return false
	case bytes.HasPrefix(f.magic, []byte(magicZip)):
		return isWholeZip(f.tail, f.total)
	case bytes.Equal(f.magic, []byte(magicXZ)):
		return isWholeXZ(f.tail, f.total)
	}
	f.finish(nil)
	return f.err == nil
}

const (
	magicGzip = "\x1f\x8b"
	magicZip  = "PK"
	magicXZ   = "\xfd7zXZ\x00"
)

// errForm says that bytes are no tar, or an incomplete one.
var errForm = errors.New("it is no whole tar")

// readTar reads a tar, plain or in gzip, with the two blocks that end it and the zeros that pad its
// last record.
func readTar(in io.Reader) error {
	packed := &counter{Reader: in}
	front := bufio.NewReader(packed)
	plain := &counter{Reader: front}
	if magic, _ := front.Peek(len(magicGzip)); string(magic) == magicGzip {
		unpacked, err := gzip.NewReader(front)
		if err != nil {
			return err
		}
		plain = &counter{Reader: unpacked, packed: packed}
	}
	archive := tar.NewReader(plain)
	for {
		if _, err := archive.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
	}
	if plain.ended { // before the two blocks
		return errForm
	}
	const record = 20 * 512 // some programs pad to it
	end := plain.bytes
	for block := make([]byte, 4<<10); ; {
		n, err := plain.Read(block)
		switch {
		case len(bytes.Trim(block[:n], "\x00")) > 0:
			return errForm
		case errors.Is(err, io.EOF) && plain.bytes > end && plain.bytes%record != 0:
			return errForm
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// counter counts the bytes that are read, and bounds the compression ratio.
type counter struct {
	io.Reader
	packed *counter // nil without compression
	bytes  int64
	ended  bool // a read found no more bytes
}

func (c *counter) Read(p []byte) (int, error) {
	const (
		mostRatio = 200 // more than files of a repository reach
		ratioFrom = 64 << 20
	)
	n, err := c.Reader.Read(p)
	c.bytes += int64(n)
	c.ended = errors.Is(err, io.EOF)
	if c.packed != nil && c.bytes > ratioFrom && c.bytes/mostRatio > c.packed.bytes {
		return 0, errForm
	}
	return n, err
}

// isWholeZip checks the end of the central directory (APPNOTE, 4.3.14 to 4.3.16), which says where
// the directory begins and how long it is.
func isWholeZip(tail []byte, total int64) bool {
	const (
		recordBytes, locatorBytes = 22, 20
		wideBytes                 = 56 // of the record of zip64
	)
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < recordBytes {
		return false
	}
	record, little := tail[at:], binary.LittleEndian
	if int(little.Uint16(record[20:])) != len(record)-recordBytes {
		return false
	}
	begin := total - int64(len(record))
	size, directory := uint64(little.Uint32(record[12:])), uint64(little.Uint32(record[16:]))
	if size == math.MaxUint32 || directory == math.MaxUint32 {
		if at -= wideBytes + locatorBytes; at < 0 || !bytes.HasPrefix(tail[at:], []byte("PK\x06\x06")) {
			return false
		}
		begin -= wideBytes + locatorBytes
		size, directory = little.Uint64(tail[at+40:]), little.Uint64(tail[at+48:])
	}
	return directory+size == uint64(begin)
}

// isWholeXZ adds up the blocks in the index (the .xz file format, 2.1.2 and 4), which follows the
// last block. A file of several streams is not recognised as complete.
func isWholeXZ(tail []byte, total int64) bool {
	const header, footer = 12, 12
	if len(tail) < footer || !bytes.HasSuffix(tail, []byte("YZ")) {
		return false
	}
	index, end := tail[:len(tail)-footer], tail[len(tail)-footer:]
	length := 4 * (int64(binary.LittleEndian.Uint32(end[4:])) + 1)
	if length <= crc32.Size || length > int64(len(index)) {
		return false
	}
	index = index[int64(len(index))-length:]
	records := index[:length-crc32.Size]
	if crc32.ChecksumIEEE(records) != binary.LittleEndian.Uint32(index[length-crc32.Size:]) || records[0] != 0 {
		return false
	}
	left, n := binary.Uvarint(records[1:])
	if n <= 0 {
		return false
	}
	sum, rest := header+length+footer, records[1+n:]
	for ; left > 0; left-- {
		packed, n := binary.Uvarint(rest)
		_, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 || packed > uint64(total) {
			return false
		}
		sum, rest = sum+int64(packed+3)&^3, rest[n+m:]
	}
	return sum == total
}
