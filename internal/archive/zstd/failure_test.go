package zstd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/repomcp/repomcp/internal/archive/workers"
	"github.com/repomcp/repomcp/internal/panics"
)

var errDestination = errors.New("destination failed")

// failing accepts some writes and then returns an error, or accepts half.
type failing struct {
	bytes.Buffer
	left  int
	short bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left == 0 {
		if f.short {
			return len(p) / 2, nil
		}
		return 0, errDestination
	}
	f.left--
	return f.Buffer.Write(p)
}

// truncated says that no reader takes p for a complete stream. Even nothing is
// none, to the zstd command.
func truncated(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	d, err := zstd.NewReader(bytes.NewReader(p), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return true
	}
	defer d.Close()
	_, err = io.Copy(io.Discard, d)
	return err != nil
}

func TestDestinationFails_AtEachWrite(t *testing.T) {
	c := newCompressor(t, 2)
	data := mixture(ramp + BlockSize)
	for _, short := range []bool{false, true} {
		want := errDestination
		if short {
			want = io.ErrShortWrite
		}
		for left := 0; ; left++ {
			dst := &failing{left: left, short: short}
			zw, err := c.NewWriter(context.Background(), dst, MinLevel)
			if err != nil {
				t.Fatal(err)
			}
			_, writeErr := zw.Write(data)
			closeErr := zw.Close()
			if closeErr == nil {
				if writeErr != nil || dst.left != 0 {
					t.Fatalf("Write: %v, Close: nil, %d writes left", writeErr, dst.left)
				}
				break // this many writes are enough
			}
			if !errors.Is(closeErr, want) || writeErr != nil && !errors.Is(writeErr, want) {
				t.Fatalf("after %d writes: Write: %v, Close: %v", left, writeErr, closeErr)
			}
			if !truncated(dst.Bytes()) {
				t.Fatalf("after %d writes the stream looks complete", left)
			}
			if _, err := zw.Write([]byte("x")); !errors.Is(err, want) {
				t.Fatalf("Write after the failure: %v", err)
			}
			if err := zw.Close(); !errors.Is(err, want) {
				t.Fatalf("second Close: %v", err)
			}
		}
	}
}

func TestAbort_LeavesAStreamWithoutEnd(t *testing.T) {
	c := newCompressor(t, 2)
	for _, n := range []int{0, 1, ramp, ramp + BlockSize + 1} {
		var out bytes.Buffer
		zw, err := c.NewWriter(context.Background(), &out, DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zw.Write(mixture(n)[:n]); err != nil {
			t.Fatal(err)
		}
		zw.Abort()
		zw.Abort()
		if err := zw.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("Close after Abort: %v", err)
		}
		if !truncated(out.Bytes()) {
			t.Errorf("an aborted stream of %d bytes looks complete", n)
		}
	}
}

func TestCancel_BeforeClose_EndsWithinAFrame(t *testing.T) {
	c := newCompressor(t, 2)
	for _, n := range []int{0, 100, firstSize, ramp + BlockSize} {
		ctx, cancel := context.WithCancel(context.Background())
		var out bytes.Buffer
		zw, err := c.NewWriter(ctx, &out, DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zw.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := zw.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if !truncated(out.Bytes()) {
			t.Errorf("a cancelled stream of %d bytes looks complete", n)
		}
	}
}

func TestSteadyStream_AllocatesNothing(t *testing.T) {
	c := newCompressor(t, 2)
	zw, err := c.NewWriter(context.Background(), io.Discard, MinLevel)
	if err != nil {
		t.Fatal(err)
	}
	defer zw.Abort()
	data := make([]byte, BlockSize)
	for range 12 { // both workers have their compressor, the stock its blocks
		if _, err := zw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(20, func() {
		if _, err := zw.Write(data); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations for each block", n)
	}
}

// A damaged compressor must fail its stream, and neither hang it nor end it well.
func TestWorkerPanics_StreamFails(t *testing.T) {
	c := newCompressor(t, 1)
	c.encoders = workers.NewSlot(func() *encoder { panic("damaged") })
	var out bytes.Buffer
	zw, err := c.NewWriter(context.Background(), &out, MinLevel)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = zw.Write([]byte("text"))
	var p *panics.Error
	if err := zw.Close(); !errors.As(err, &p) {
		t.Errorf("Close: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
}
