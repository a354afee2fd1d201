package blocks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/base/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	own        = 2
	blockSize  = 8000
	ramp       = 1000 + 2000 + 4000 // before the first block of full size
	historyLen = 700
	sumLen     = 4
)

// format is of streams whose blocks are a checksum of the history, the input with
// all bits turned, and the number.
var format = Format{
	Name:     "test",
	Own:      own,
	Size:     func(number int) int { return min(1000<<min(number, 8), blockSize) },
	Largest:  blockSize,
	History:  historyLen,
	Front:    6,
	Withheld: 3,
}

var (
	header  = []byte("header")
	trailer = []byte("trailer")
)

func end() []byte { return trailer }

// turning is the encoder, with its workers' memory.
type turning struct{ slot *workers.Slot[*[]byte] }

func newTurning() turning {
	return turning{workers.NewSlot(func() *[]byte { return new([]byte) })}
}

func (e turning) Encode(w *workers.Worker, number int, history, data []byte) ([]byte, error) {
	out := e.slot.Of(w)
	*out = turn((*out)[:0], number, history, data)
	return *out, nil
}

func turn(out []byte, number int, history, data []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(history))
	for _, b := range data {
		out = append(out, ^b)
	}
	return append(out, byte(number))
}

// whole returns the stream of data, made in one go.
func whole(f Format, data []byte) []byte {
	out := bytes.Clone(header)
	for number, from := 0, 0; from < len(data); number++ {
		to := min(from+f.Size(number), len(data))
		out = turn(out, number, data[max(from-f.History, 0):from], data[from:to])
		from = to
	}
	return append(out, trailer...)
}

// sample returns n bytes none of whose parts is like another.
func sample(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(p) // never fails
	return p
}

// newPool returns one on n workers, which end with the test.
func newPool(t testing.TB, n int) *Pool {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	return New(s, format, n)
}

func open(p *Pool, ctx context.Context, dst io.Writer) *Stream {
	return p.Open(ctx, dst, newTurning(), header, end)
}

// compress writes data in pieces of at most step bytes.
func compress(t testing.TB, p *Pool, step int, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	s := open(p, context.Background(), &out)
	defer s.Abort()
	for len(data) > 0 {
		n := min(step, len(data))
		if m, err := s.Write(data[:n]); m != n || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", n, m, err)
		}
		data = data[n:]
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Whatever a format withholds, remembers and makes room for, for any writes and
// workers, the stream is the blocks in order between header and trailer.
func TestStreamIsItsBlocksInOrder(t *testing.T) {
	data := sample(ramp + 3*blockSize + 1)
	formats := map[string]func(*Format){
		"as it is":                func(*Format) {},
		"nothing withheld":        func(f *Format) { f.Withheld = 0 },
		"more than a small block": func(f *Format) { f.Withheld, f.Front = 1100, 1100 },
		"no history":              func(f *Format) { f.History = 0 },
		"history over blocks":     func(f *Format) { f.History = 2500 },
		"more growth than room":   func(f *Format) { f.History = 0 },
	}
	for name, change := range formats {
		f := format
		change(&f)
		for _, n := range []int{1, 2, 8} {
			s := workers.New(n)
			p := New(s, f, n)
			for _, size := range []int{0, 1, 999, 1000, 1001, ramp - 1, ramp, ramp + 1, ramp + blockSize, len(data)} {
				want := whole(f, data[:size])
				for _, step := range []int{97, blockSize, len(data)} {
					if got := compress(t, p, step, data[:size]); !bytes.Equal(got, want) {
						t.Errorf("%s, %d workers, %d bytes in writes of %d: other bytes", name, n, size, step)
					}
				}
			}
			settled(t, p)
			s.Close()
		}
	}
}

// refusing fails from one block on.
type refusing struct {
	turning
	from int
}

var errRefused = errors.New("refused")

func (e refusing) Encode(w *workers.Worker, number int, history, data []byte) ([]byte, error) {
	if number >= e.from {
		return nil, errRefused
	}
	return e.turning.Encode(w, number, history, data)
}

func TestEncoderFails_AtEachBlock(t *testing.T) {
	p := newPool(t, 2)
	data := sample(ramp + 2*blockSize)
	for from := range 5 {
		var out bytes.Buffer
		s := p.Open(context.Background(), &out, refusing{newTurning(), from}, header, end)
		_, writeErr := s.Write(data)
		if err := s.Close(); !errors.Is(err, errRefused) || writeErr != nil && !errors.Is(writeErr, errRefused) {
			t.Errorf("block %d: Write: %v, Close: %v", from, writeErr, err)
		}
		if !truncated(out.Bytes()) {
			t.Errorf("block %d: the stream has its end", from)
		}
		settled(t, p)
	}
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
