package gzip

import (
	"fmt"

	"github.com/klauspost/compress/flate"
)

// maxUses is how many blocks a compressor takes before a new one replaces it.
//
// The library keeps positions in a 32-bit counter that moves by up to a block
// and 64 KiB with each use, and rebuilds its tables when the counter nears
// 2 GiB. Whether matches come out the same across that is nobody's promise, and
// it would come to light as a download that differs once in a thousand. With
// 1024 uses the counter stays below 640 MiB, and a megabyte allocated for each
// half gigabyte compressed costs nothing.
const maxUses = 1024

// deflater compresses blocks, one at a time. It belongs to a worker, being far
// too large (about a megabyte, and the scratch) to have for each stream.
type deflater struct {
	level int
	fw    *flate.Writer
	uses  int
	out   scratch
}

func newDeflater(level int) *deflater { return &deflater{level: level} }

// deflate returns the compressed form of data, which ends on a byte boundary
// and refers back to at most the 32 KiB of dictionary before it. The result is
// valid until the next call and does not depend on earlier ones.
func (d *deflater) deflate(dictionary, data []byte) ([]byte, error) {
	if d.fw == nil || d.uses == maxUses {
		fw, err := flate.NewWriter(nil, d.level)
		if err != nil {
			return nil, err
		}
		d.fw, d.uses = fw, 0
	}
	d.uses++
	d.out = d.out[:0]
	d.fw.ResetDict(&d.out, dictionary)
	// One Write for the block: the library cuts its own blocks by it.
	if _, err := d.fw.Write(data); err != nil {
		return nil, fmt.Errorf("gzip: deflate: %w", err)
	}
	if err := d.fw.Flush(); err != nil {
		return nil, fmt.Errorf("gzip: deflate: %w", err)
	}
	return d.out, nil
}

// scratch collects what the library writes in pieces of some hundred bytes.
type scratch []byte

func (s *scratch) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}
