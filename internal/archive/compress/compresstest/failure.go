package compresstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/base/panics"
)

// ErrDestination is what a [FailingWriter] returns.
var ErrDestination = errors.New("destination failed")

// FailingWriter accepts some writes and then returns an error, or accepts half.
type FailingWriter struct {
	bytes.Buffer
	Left  int // writes
	Short bool
}

func (f *FailingWriter) Write(p []byte) (int, error) {
	if f.Left == 0 {
		if f.Short {
			return len(p) / 2, nil
		}
		return 0, ErrDestination
	}
	f.Left--
	return f.Buffer.Write(p)
}

// testDestinationFails checks that no reader considers a failed stream complete, wherever it ends:
// after any write.
func (c *Codec) testDestinationFails(t *testing.T) {
	compressor := c.Start(t, 2)
	data := c.Sample(c.Several)
	for want, short := range map[error]bool{ErrDestination: false, io.ErrShortWrite: true} {
		left := 0
		for ; ; left++ {
			dst := &FailingWriter{Left: left, Short: short}
			zw := compressor.Open(dst, c.Levels[0])
			_, writeErr := zw.Write(data)
			closeErr := zw.Close()
			if closeErr == nil {
				if writeErr != nil || dst.Left != 0 {
					t.Fatalf("Write: %v, Close: nil, %d writes left", writeErr, dst.Left)
				}
				break // this many writes are enough
			}
			if !errors.Is(closeErr, want) || writeErr != nil && !errors.Is(writeErr, want) {
				t.Fatalf("after %d writes: Write: %v, Close: %v", left, writeErr, closeErr)
			}
			if reader := c.looksComplete(t, dst.Bytes()); reader != "" {
				t.Fatalf("after %d writes the stream looks complete to %s", left, reader)
			}
			if _, err := zw.Write([]byte("x")); !errors.Is(err, want) {
				t.Fatalf("Write after the failure: %v", err)
			}
			if err := zw.Close(); !errors.Is(err, want) {
				t.Fatalf("second Close: %v", err)
			}
		}
		if left < 3 {
			t.Errorf("the stream is complete after %d writes", left)
		}
	}
}

func (c *Codec) testAbort(t *testing.T) {
	compressor := c.Start(t, 2)
	for _, n := range []int{0, 1, c.FirstBlock, c.Long} {
		var out bytes.Buffer
		zw := compressor.Open(&out, c.Default)
		if _, err := zw.Write(c.Sample(n)[:n]); err != nil {
			t.Fatal(err)
		}
		zw.Abort()
		zw.Abort()
		if err := zw.Close(); !errors.Is(err, c.ErrClosed) {
			t.Errorf("Close after Abort: %v", err)
		}
		if reader := c.looksComplete(t, out.Bytes()); reader != "" {
			t.Errorf("an aborted stream of %d bytes looks complete to %s", n, reader)
		}
	}
}

// testCancel checks that a stream that is cancelled before Close has no end.
func (c *Codec) testCancel(t *testing.T) {
	compressor := c.Start(t, 2)
	for _, n := range []int{0, 100, c.FirstBlock, c.Long} {
		ctx, cancel := context.WithCancel(context.Background())
		var out bytes.Buffer
		zw := compressor[c.Default](ctx, &out)
		if _, err := zw.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := zw.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if reader := c.looksComplete(t, out.Bytes()); reader != "" {
			t.Errorf("a cancelled stream of %d bytes looks complete to %s", n, reader)
		}
	}
}

// CheckAllocations checks that a running stream allocates nothing for a block of the given size.
func (c *Codec) CheckAllocations(t *testing.T, block int) {
	t.Helper()
	zw := c.Start(t, 2).Open(io.Discard, c.Levels[0])
	defer zw.Abort()
	data := make([]byte, block)
	for range 20 { // both workers have their compressor, the stock its blocks
		if _, err := zw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	// Concurrent allocations of the runtime, such as those of a collection, are counted as well,
	// but not every time.
	n := 1.0
	for try := 0; n >= 1 && try < 5; try++ {
		n = testing.AllocsPerRun(20, func() {
			if _, err := zw.Write(data); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n >= 1 {
		t.Errorf("%v allocations for each block", n)
	}
}

// CheckPanic checks that a stream fails if its compressor panics: it neither hangs nor ends well.
func CheckPanic(t *testing.T, damaged Start) {
	t.Helper()
	var out bytes.Buffer
	zw := damaged(t.Context(), &out)
	_, _ = zw.Write([]byte("text"))
	var p *panics.Error
	if err := zw.Close(); !errors.As(err, &p) {
		t.Errorf("Close: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
}
