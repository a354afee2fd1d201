package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	stdadler "hash/adler32"
	"io"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// wrap makes a zlib stream of raw deflate data and the checksum of content.
func wrap(raw, content []byte) []byte {
	stream := append([]byte{0x78, 0x9c}, raw...)
	return binary.BigEndian.AppendUint32(stream, stdadler.Checksum(content))
}

// deflateInputs are contents whose streams have stored, fixed and dynamic
// blocks, short and long matches, and codes of all lengths.
func deflateInputs() map[string][]byte {
	fibonacci := []byte{}
	for symbol, a, b := byte(0), 1, 1; a < 60_000; symbol, a, b = symbol+1, b, a+b {
		fibonacci = append(fibonacci, bytes.Repeat([]byte{symbol}, a)...) // gives the longest codes
	}
	shuffled := bytes.Clone(fibonacci)
	for i, seed := 0, uint32(1); i < len(shuffled); i++ {
		seed = seed*1664525 + 1013904223
		j := int(seed>>8) % len(shuffled)
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	return map[string][]byte{
		"empty": {},
		"one":   []byte("a"),
		"short": []byte("hello, hello, hello"),
		"zeros": make([]byte, 50_000),
		"noise": []byte(gittest.SeededNoise(1, 50_000)),
		"text":  []byte(gittest.Lines(1, 2000)),
		"mixed": []byte(gittest.Lines(1, 300) + gittest.SeededNoise(2, 5000) + strings.Repeat("ab", 4000) +
			strings.Repeat("abcdefghi", 1000)),
		"fibonacci": fibonacci,
		"shuffled":  shuffled,
	}
}

func TestInflaterAgreesWithZlib(t *testing.T) {
	t.Parallel()
	var d Decoder
	for name, content := range deflateInputs() {
		for level := zlib.HuffmanOnly; level <= 9; level++ {
			stream := deflatedAt(level, content)
			src := append(stream, "what follows in the pack"...)
			dst := make([]byte, len(content))
			if err := inflateWhole(&d, dst, src, 0); err != nil || !bytes.Equal(dst, content) {
				t.Fatalf("%s, level %d: %v", name, level, err)
			}
			clear(dst)
			pieces := 1 + len(stream)/5
			if n, err := d.Inflate(dst, len(dst), nil, piecewise(stream, pieces)); err != nil || n != len(content) ||
				!bytes.Equal(dst, content) {
				t.Fatalf("%s, level %d, by pieces: %d bytes, %v", name, level, n, err)
			}
			if d.StreamLength() != len(stream) {
				t.Fatalf("%s, level %d: the stream has %d bytes, not %d", name, level, len(stream), d.StreamLength())
			}
			for _, n := range []int{0, 1, 20, len(content) / 2} {
				head := make([]byte, min(n, len(content)))
				if err := prefix(&d, head, src); err != nil || !bytes.Equal(head, content[:len(head)]) {
					t.Fatalf("%s, level %d: prefix of %d: %v", name, level, n, err)
				}
			}
			if err := inflateWhole(&d, make([]byte, len(content)+1), src, 0); !errors.Is(err, ErrSize) {
				t.Errorf("%s, level %d: a byte more is %v", name, level, err)
			}
			if len(content) > 0 {
				if err := inflateWhole(&d, make([]byte, len(content)-1), src, 0); !errors.Is(err, ErrSize) {
					t.Errorf("%s, level %d: a byte less is %v", name, level, err)
				}
			}
			for cut := 0; cut < len(stream); cut += 1 + len(stream)/10 {
				if err := inflateWhole(&d, dst, stream[:cut], 0); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%s, level %d: cut at %d of %d: %v", name, level, cut, len(stream), err)
				}
			}
		}
	}
}

func TestAdlerAgreesWithTheStandardLibrary(t *testing.T) {
	high := bytes.Repeat([]byte{0xff}, 2_000_000)
	for _, p := range [][]byte{high, []byte(gittest.SeededNoise(4, 1_000_000)), make([]byte, 1000)} {
		for n := 0; n <= len(p); n += 1 + n/3 {
			if got, want := adler32(1, p[:n]), stdadler.Checksum(p[:n]); got != want {
				t.Fatalf("%d bytes: %x, want %x", n, got, want)
			}
		}
		if got, want := adler32(1, p), stdadler.Checksum(p); got != want {
			t.Fatalf("%d bytes: %x, want %x", len(p), got, want)
		}
	}
}

// TestInflaterSwitchesAnywhere ends streams with bytes whose codes are longer
// than the index of the table, between others, so that the fast loop gives way to the careful
// one at each of their steps.
func TestInflaterSwitchesAnywhere(t *testing.T) {
	var d Decoder
	for n := range 300 {
		p := bytes.Repeat([]byte("aabc"), 20_000)
		for i := range 300 + n {
			p = append(p, "aa"[:n%3]...) // short codes before a long one
			p = append(p, byte(i*37&0xff))
		}
		stream := deflatedAt(zlib.HuffmanOnly, p)
		dst := make([]byte, len(p))
		if err := inflateWhole(&d, dst, stream, 0); err != nil || !bytes.Equal(dst, p) {
			t.Fatalf("%d bytes: %v", len(p), err)
		}
	}
}

func BenchmarkAdler(b *testing.B) {
	p := []byte(gittest.SeededNoise(1, 20_000))
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		adler32(1, p)
	}
}

func FuzzInflate(f *testing.F) {
	for _, content := range deflateInputs() {
		for _, level := range []int{flate.HuffmanOnly, 0, 1, 9} {
			var raw bytes.Buffer
			w, _ := flate.NewWriter(&raw, level)
			_, _ = w.Write(content[:min(len(content), 3000)])
			_ = w.Close()
			f.Add(raw.Bytes())
		}
	}
	f.Add([]byte{0x05, 0xe0, 0x81, 0x08, 0, 0, 0, 0, 0x20, 0x7f, 0xeb, 0x0b, 0, 0})
	const limit = 1 << 20
	var d Decoder
	f.Fuzz(func(t *testing.T, raw []byte) {
		reader := bytes.NewReader(raw)
		want, failure := io.ReadAll(io.LimitReader(flate.NewReader(reader), limit))
		if len(want) == limit {
			return
		}
		dst := make([]byte, len(want))
		err := inflateWhole(&d, dst, wrap(raw[:len(raw)-reader.Len()], want), 0)
		switch {
		case failure == nil && (err != nil || !bytes.Equal(dst, want)):
			t.Fatalf("a stream of %d bytes is refused: %v", len(want), err)
		case failure != nil && err == nil:
			t.Fatalf("accepted what the standard library refuses: %v", failure)
		}
		var f Reader
		streamed, streamFailure := streamOf(&f, wrap(raw[:len(raw)-reader.Len()], want), 1000)
		if (failure == nil) != (streamFailure == nil) || failure == nil && !bytes.Equal(streamed, want) {
			t.Fatalf("as a stream: %v, want %v", streamFailure, failure)
		}
		if failure == nil && len(want) > 0 {
			head := make([]byte, len(want)/2)
			if err := prefix(&d, head, wrap(raw, want)); err != nil || !bytes.Equal(head, want[:len(head)]) {
				t.Fatalf("prefix: %v", err)
			}
		}
	})
}

func BenchmarkInflate(b *testing.B) {
	content := []byte(gittest.Lines(1, 150) + gittest.SeededNoise(2, 100))
	stream := deflated(content)
	dst := make([]byte, len(content), len(content)+Room)
	b.Run("memory", func(b *testing.B) {
		var d Decoder
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			if err := inflateWhole(&d, dst, stream, Room); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stream", func(b *testing.B) {
		var f Reader
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			if err := f.Reset(bytes.NewReader(stream), 0, int64(len(stream))); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(&f, dst); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compress/zlib", func(b *testing.B) {
		reader, err := zlib.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			if err := reader.(zlib.Resetter).Reset(bytes.NewReader(stream), nil); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(reader, dst); err != nil {
				b.Fatal(err)
			}
		}
	})
}
