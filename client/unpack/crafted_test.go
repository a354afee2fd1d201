package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func pax(records ...string) []byte {
	var body []byte
	for _, r := range records {
		length := len(r) + 3
		if length >= 10 {
			length++
		}
		body = fmt.Appendf(body, "%d %s\n", length, r)
	}
	header := rawHeader("pax", 'x', fmt.Sprintf("%011o\x00", len(body)))
	return append(header, body...)
}

func sparseGNU() []byte {
	header := rawHeader("s", 'S', "00000001000\x00")
	copy(header[257:], "ustar  \x00")
	copy(header[386:], "00000000000\x0000000001000\x00")
	header[483-97+0] = '0'
	copy(header[483:], "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00")
	copy(header[148:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return raw(header, make([]byte, 512))
}

func sparsePAX() []byte {
	return raw(pax("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=s",
		"GNU.sparse.realsize=1099511627776"),
		rawHeader("x", '0', "00000001000\x00"), append([]byte("1\n0\n0\n"), make([]byte, 506)...))
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstandard(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return w.EncodeAll(b, nil)
}

// flip changes the byte that is so far from the end.
func flip(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

// bomb has 1000 bytes for one.
func bomb(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	const size = 128 << 20
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: size}); err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
