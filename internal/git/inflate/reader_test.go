package inflate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// streamOf reads a whole stream in pieces.
func streamOf(f *Reader, stream []byte, piece int) ([]byte, error) {
	if err := f.Reset(bytes.NewReader(stream), 0, int64(len(stream))); err != nil {
		return nil, err
	}
	var content []byte
	for buf := make([]byte, piece); ; {
		n, err := f.Read(buf)
		content = append(content, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return content, err
		}
	}
}

// longInputs are much longer than a window, with matches that reach back as far
// as they can.
func longInputs() map[string][]byte {
	all := deflateInputs()
	far := gittest.SeededNoise(3, historyBytes-300)
	all["far"] = []byte(strings.Repeat(far+gittest.Lines(7, 5), 12))
	all["long text"] = []byte(gittest.Lines(5, 15_000))
	all["long noise"] = []byte(gittest.SeededNoise(5, 1_200_000))
	all["long zeros"] = make([]byte, 2_000_000)
	all["a word"] = bytes.Repeat([]byte("abcdefg"), 100_000)
	return all
}

func TestStreamsAgreeWithZlib(t *testing.T) {
	t.Parallel()
	var f Reader
	for name, content := range longInputs() {
		for _, level := range []int{zlib.HuffmanOnly, 0, 1, 6, 9} {
			stream := deflatedAt(level, content)
			for _, piece := range []int{777, 64 << 10, 1 << 20} {
				if got, err := streamOf(&f, stream, piece); err != nil || !bytes.Equal(got, content) {
					t.Fatalf("%s, level %d, by %d: %d bytes of %d, %v", name, level, piece, len(got), len(content), err)
				}
				if more, err := f.More(); more || err != nil {
					t.Fatalf("%s, level %d: more follows: %v, %v", name, level, more, err)
				}
			}
			if _, err := streamOf(&f, append(stream, 0), 1000); err != nil {
				t.Fatalf("%s, level %d: with a byte behind it: %v", name, level, err)
			}
			if more, err := f.More(); !more || err != nil {
				t.Fatalf("%s, level %d: the byte behind it: %v, %v", name, level, more, err)
			}
		}
	}
}

// TestDamagedStreamsGiveNoWrongEnd cuts and alters streams: cut ones never end
// well, and what was given before is right; of altered ones nothing wrong ends well.
func TestDamagedStreamsGiveNoWrongEnd(t *testing.T) {
	t.Parallel()
	var f Reader
	cases := 0
	for name, content := range longInputs() {
		stream := deflated(content)
		for at := 0; at < len(stream); at += 1 + len(stream)/7 {
			cases++
			got, err := streamOf(&f, stream[:at], 10_000)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(content, got) {
				t.Errorf("%s cut at %d of %d: %d bytes, %v", name, at, len(stream), len(got), err)
			}
			damaged := bytes.Clone(stream)
			damaged[at] ^= 0x40
			// A bit of the padding means nothing.
			if got, err := streamOf(&f, damaged, 10_000); err == nil && !bytes.Equal(got, content) {
				t.Errorf("%s altered at %d of %d: %d wrong bytes without an error", name, at, len(stream), len(got))
			}
		}
		last := len(stream) - zlibChecksumBytes - 1
		if got, err := streamOf(&f, stream[:last+1], 10_000); !errors.Is(err, io.ErrUnexpectedEOF) ||
			!bytes.Equal(got, content) {
			t.Errorf("%s without its checksum: %v", name, err)
		}
	}
	if cases < 80 {
		t.Errorf("only %d cases", cases)
	}
}

// TestReaderBytes compares what a Reader says that it takes with its type and buffers.
func TestReaderBytes(t *testing.T) {
	t.Parallel()
	taken := int(reflect.TypeFor[Reader]().Size()) + inputBytes + windowBytes + Room
	if taken > ReaderBytes || taken < ReaderBytes/2 {
		t.Errorf("a reader takes %d bytes and says %d", taken, ReaderBytes)
	}
}
