package xz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/ulikunitz/xz"
	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCompressor(t testing.TB, n int) *Compressor {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	return New(s)
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

func noise(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(p) // never fails
	return p
}

// compress writes data in pieces of at most step bytes.
func compress(t testing.TB, c *Compressor, step int, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := c.NewWriter(context.Background(), &out)
	defer zw.Abort()
	for len(data) > 0 {
		n := min(step, len(data))
		if m, err := zw.Write(data[:n]); m != n || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", n, m, err)
		}
		data = data[n:]
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sizes are around the boundaries of the first blocks.
var sizes = []int{0, 1, firstSize - 1, firstSize, firstSize + 1, 3*firstSize + 1, 7 * firstSize}

func TestRoundTrip(t *testing.T) {
	c := newCompressor(t, 2)
	for _, data := range [][]byte{lines(7 * firstSize), noise(7 * firstSize)} {
		for _, n := range sizes {
			out := compress(t, c, 1<<20, data[:n])
			zr, err := xz.NewReader(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(zr); err != nil || !bytes.Equal(got, data[:n]) {
				t.Errorf("%d bytes came back as %d others, %v", n, len(got), err)
			}
		}
	}
}

func TestNoiseFitsIntoItsBlock(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s)
	out := compress(t, c, 1<<20, noise(1<<20)) // ends in a block of 512 KiB
	if limit := 1<<20 + overhead; len(out) > limit {
		t.Errorf("%d bytes of noise became %d, more than %d", 1<<20, len(out), limit)
	}
}

func TestRealDecoder(t *testing.T) {
	path, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("no xz on the PATH")
	}
	c := newCompressor(t, 2)
	data := lines(7 * firstSize)
	for _, n := range sizes {
		cmd := exec.CommandContext(t.Context(), path, "-dcq", "--memlimit-decompress=8MiB")
		cmd.Stdin = bytes.NewReader(compress(t, c, 1<<20, data[:n]))
		if got, err := cmd.Output(); err != nil || !bytes.Equal(got, data[:n]) {
			t.Errorf("xz -dc of %d bytes: %d bytes, %v", n, len(got), err)
		}
	}
}

// golden are the digests of lines at EncoderVersion. Whoever changes them changes
// EncoderVersion too, or resumed downloads and caches mix two streams.
var golden = map[string]string{
	"xz1": "ab1730cf5fe5c747d8777e4f6f77b0e5",
}

func TestGolden(t *testing.T) {
	sum := sha256.Sum256(compress(t, newCompressor(t, 2), 1<<20, lines(20*firstSize)))
	if got := hex.EncodeToString(sum[:16]); got != golden[EncoderVersion] {
		t.Errorf("%s: digest %q, want %q", EncoderVersion, got, golden[EncoderVersion])
	}
}

func TestSameBytes_ForAnyWritesAndWorkers(t *testing.T) {
	data := lines(7*firstSize + 123)
	want := compress(t, newCompressor(t, 1), len(data), data)
	for _, n := range []int{1, 2, 8} {
		c := newCompressor(t, n)
		for _, step := range []int{511, 65537} {
			if !bytes.Equal(compress(t, c, step, data), want) {
				t.Errorf("%d workers, writes of %d: other bytes", n, step)
			}
		}
	}
}

var errDestination = errors.New("destination failed")

// failing accepts some writes and then returns an error.
type failing struct {
	bytes.Buffer
	left int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errDestination
	}
	f.left--
	return f.Buffer.Write(p)
}

// truncated says that neither the library nor the xz command takes p for a
// complete stream.
func truncated(t *testing.T, p []byte) bool {
	t.Helper()
	if zr, err := xz.NewReader(bytes.NewReader(p)); err == nil {
		if _, err := io.Copy(io.Discard, zr); err == nil {
			return false
		}
	}
	path, err := exec.LookPath("xz")
	if err != nil {
		return true
	}
	cmd := exec.CommandContext(t.Context(), path, "-tq")
	cmd.Stdin = bytes.NewReader(p)
	return cmd.Run() != nil
}

// Wherever a stream that failed can end, no reader takes it for complete.
func TestTruncatedAtEachWrite(t *testing.T) {
	c := newCompressor(t, 2)
	data := lines(5 * firstSize)
	for left := 0; ; left++ {
		dst := &failing{left: left}
		zw := c.NewWriter(context.Background(), dst)
		_, _ = zw.Write(data)
		err := zw.Close()
		if err == nil {
			if left < 3 {
				t.Errorf("complete after %d writes", left)
			}
			return
		}
		if !errors.Is(err, errDestination) {
			t.Fatalf("Close: %v", err)
		}
		if dst.Len() > 0 && !truncated(t, dst.Bytes()) {
			t.Errorf("after %d writes the stream looks complete", left)
		}
	}
}

func TestAbortAndCancel_LeaveAStreamWithoutEnd(t *testing.T) {
	c := newCompressor(t, 2)
	for _, end := range []func(*Writer, context.CancelFunc){
		func(zw *Writer, _ context.CancelFunc) { zw.Abort() },
		func(_ *Writer, cancel context.CancelFunc) { cancel() },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var out bytes.Buffer
		zw := c.NewWriter(ctx, &out)
		if _, err := zw.Write(lines(3 * firstSize)); err != nil {
			t.Fatal(err)
		}
		end(zw, cancel)
		if err := zw.Close(); err == nil {
			t.Error("Close of a stream that was given up succeeds")
		}
		if out.Len() > 0 && !truncated(t, out.Bytes()) {
			t.Error("a stream that was given up looks complete")
		}
	}
}
