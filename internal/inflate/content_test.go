package inflate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
)

// text is compressible content that is different for each seed.
func text(seed, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d line %d of %x\n", i, seed, (i*7919+seed*104729)%1000003)
	}
	return b.String()
}

// noise is content that does not compress.
func noise(seed uint64, size int) string {
	b := make([]byte, size)
	for i := range b {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		b[i] = byte(seed >> 24 & 0xff)
	}
	return string(b)
}

func deflated(content []byte) []byte { return deflatedAt(zlib.DefaultCompression, content) }

// deflatedAt is the zlib stream that the standard library makes.
func deflatedAt(level int, content []byte) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(content)
	_ = w.Close() // a buffer takes everything
	return b.Bytes()
}

// inflateWhole inflates a stream whose content has the length of dst, with some
// room behind it.
func inflateWhole(d *Decoder, dst, src []byte, room int) error {
	n, err := d.Inflate(dst[:len(dst)+room], len(dst), src, nil)
	if err == nil && n != len(dst) {
		err = ErrSize
	}
	return err
}

// prefix fills dst with the first bytes of a longer content.
func prefix(d *Decoder, dst, src []byte) error {
	_, err := d.Inflate(dst, len(dst), src, nil)
	if errors.Is(err, ErrSize) {
		err = nil
	}
	return err
}

// piecewise returns a function that has more of a stream each time.
func piecewise(src []byte, piece int) func() ([]byte, error) {
	have := 0
	return func() ([]byte, error) {
		have = min(have+piece, len(src))
		return src[:have], nil
	}
}
