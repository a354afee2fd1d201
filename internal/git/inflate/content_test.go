package inflate

import (
	"bytes"
	"compress/zlib"
	"errors"
)

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
