package gzip

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/flate"
)

// maxMoved is how much input a compressor takes before a new one replaces it.
//
// The library keeps positions in a 32-bit counter that moves by the input and up to 64 KiB with
// each use, and rebuilds its tables when the counter nears 2 GiB. The library does not promise the
// same matches across that; a difference would make one download in a thousand differ. Below 640
// MiB the counter is safe, and a megabyte allocated for each half gigabyte compressed costs
// nothing.
const maxMoved = 640 << 20

// deflater compresses blocks, one at a time. It belongs to a worker, since it is far too large
// (about a megabyte, and the scratch) for each stream.
type deflater struct {
	level int
	fw    *flate.Writer
	moved int
	out   scratch
}

// newDeflater has room for an incompressible block: a scratch that grew to its usual size would
// touch several times as much memory, all of it new.
func newDeflater(level int) *deflater {
	return &deflater{level: level, out: make(scratch, 0, BlockMemory)}
}

// deflate returns the compressed form of data, which ends on a byte boundary and refers back to at
// most the 32 KiB of dictionary before it. The result is valid until the next call and does not
// depend on earlier ones.
func (d *deflater) deflate(dictionary, data []byte) ([]byte, error) {
	d.out = d.out[:0]
	err := d.compress(dictionary, data, (*flate.Writer).Flush)
	return d.out, err
}

// maxStored is the most that one stored block of deflate has.
const maxStored = 65535

// store returns data as stored blocks (RFC 1951, section 3.2.4), none of which is the last one of
// its stream. They begin on a byte boundary. The result is valid until the next call.
func (d *deflater) store(data []byte) []byte {
	d.out = d.out[:0]
	for len(data) > 0 {
		block := data[:min(len(data), maxStored)]
		data = data[len(block):]
		length := uint16(len(block))
		d.out = append(d.out, 0)
		d.out = binary.LittleEndian.AppendUint16(d.out, length)
		d.out = binary.LittleEndian.AppendUint16(d.out, ^length)
		d.out = append(d.out, block...)
	}
	return d.out
}

// whole appends data to dst as a complete deflate stream. The result does not depend on earlier
// calls.
func (d *deflater) whole(dst, data []byte) ([]byte, error) {
	// dst replaces the scratch, which saves copying the output.
	kept := d.out
	defer func() { d.out = kept }()
	d.out = dst
	if err := d.compress(nil, data, (*flate.Writer).Close); err != nil {
		return dst, err
	}
	return d.out, nil
}

// compress appends the compressed form of data to the scratch; end ends it.
func (d *deflater) compress(dictionary, data []byte, end func(*flate.Writer) error) error {
	if d.fw == nil || d.moved >= maxMoved {
		fw, err := flate.NewWriter(nil, d.level)
		if err != nil {
			return err
		}
		d.fw, d.moved = fw, 0
	}
	d.moved += len(data) + 2*windowSize
	d.fw.ResetDict(&d.out, dictionary)
	// One Write for the block: the library cuts its own blocks by writes.
	_, err := d.fw.Write(data)
	if err == nil {
		err = end(d.fw)
	}
	if err != nil {
		return fmt.Errorf("deflate: %w", err)
	}
	return nil
}

// scratch collects the library's output, which comes in pieces of some hundred bytes.
type scratch []byte

func (s *scratch) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}
