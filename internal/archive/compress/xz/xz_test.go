package xz

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/ulikunitz/xz"
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/compress/blocks"
	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
	"github.com/repomcp/repomcp/internal/base/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// codec says what the tests of all compressors expect of this one, which has one
// level.
var codec = compresstest.Codec{
	New:    newCompressor,
	Decode: decode,
	Commands: []compresstest.Command{{Name: "xz", Decode: []string{"-dcq", "--memlimit-decompress=8MiB"},
		Test: []string{"-tq"}}},
	Levels:     []int{0},
	Sample:     lines,
	Sizes:      []int{0, 1, firstSize - 1, firstSize, firstSize + 1, 3*firstSize + 1, 7 * firstSize},
	FirstBlock: firstSize,
	Several:    3*firstSize + 123,
	Long:       7*firstSize + 123,
	ErrClosed:  blocks.ErrClosed,
	GoldenSize: 20 * firstSize,
	Golden:     map[int]string{0: golden[EncoderVersion]},
}

func TestCodec(t *testing.T) { codec.Run(t) }

func newCompressor(s *workers.Scheduler, _ int) (compresstest.Start, error) {
	c := New(s)
	return func(ctx context.Context, dst io.Writer) compresstest.Writer { return c.NewWriter(ctx, dst) }, nil
}

func decode(p []byte) ([]byte, error) {
	zr, err := xz.NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zr)
}

// lines returns n bytes of text from a generator whose output is specified.
func lines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var p []byte
	for len(p) < n {
		p = fmt.Appendf(p, "line %d of %d\n", r.IntN(50), r.IntN(1000))
	}
	return p[:n]
}

// golden are the digests of lines at EncoderVersion. A change of them requires a
// new EncoderVersion: otherwise resumed downloads and caches mix two streams.
var golden = map[string]string{
	"xz1": "ab1730cf5fe5c747d8777e4f6f77b0e5",
}

func TestNoiseFitsIntoItsBlock(t *testing.T) {
	out := codec.Start(t, 1).Compress(t, 0, 1<<20, compresstest.Noise(1, 1<<20)) // ends in a block of 512 KiB
	if limit := 1<<20 + overhead; len(out) > limit {
		t.Errorf("%d bytes of noise became %d, more than %d", 1<<20, len(out), limit)
	}
}
