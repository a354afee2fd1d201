package blocks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/compress/compresstest"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/workers"
)

// truncated says that p has neither a trailer nor all of a stream's last block:
// it is the beginning of the stream of failing inputs, and stops short.
func truncated(p []byte) bool {
	return !bytes.HasSuffix(p, trailer) && bytes.HasPrefix(longest, p) && !blockEnds[len(p)]
}

// longest is a stream of more input than any that is to fail, and blockEnds are
// the lengths at which blocks of it end.
var (
	longest   = whole(format, sample(ramp+5*blockSize))
	blockEnds = func() map[int]bool {
		ends := map[int]bool{}
		for number, at := 0, len(header); at < len(longest)-len(trailer); number++ {
			at += format.Size(number) + sumLen + 1
			ends[at] = true
		}
		return ends
	}()
)

// settled checks that all blocks are back and only what one stream can use is
// kept.
func settled(t *testing.T, c *Pool) {
	t.Helper()
	s := c.stock
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent != 0 || s.streams != 0 || s.spare != s.shared || len(s.free) > s.format.Own+s.shared ||
		len(s.clients) != 0 {
		t.Errorf("stock at rest: %d lent, %d streams, %d of %d spare, %d free", s.lent, s.streams, s.spare, s.shared,
			len(s.free))
	}
}

func TestDestinationFails_AtEachWrite(t *testing.T) {
	c := newPool(t, 2)
	data := sample(ramp + 2*blockSize)
	for _, short := range []bool{false, true} {
		want := compresstest.ErrDestination
		if short {
			want = io.ErrShortWrite
		}
		for left := 0; ; left++ {
			dst := &compresstest.FailingWriter{Left: left, Short: short}
			zw := open(c, context.Background(), dst)
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
			if !truncated(dst.Bytes()) {
				t.Fatalf("after %d writes the stream looks complete", left)
			}
			if _, err := zw.Write([]byte("x")); !errors.Is(err, want) {
				t.Fatalf("Write after the failure: %v", err)
			}
			if err := zw.Close(); !errors.Is(err, want) {
				t.Fatalf("second Close: %v", err)
			}
			settled(t, c)
		}
	}
	settled(t, c)
}

func TestCloseAndAbort(t *testing.T) {
	c := newPool(t, 2)
	var out bytes.Buffer
	zw := open(c, context.Background(), &out)
	if _, err := zw.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n := out.Len()
	zw.Abort()
	if err := zw.Close(); err != nil {
		t.Errorf("Close after Close and Abort: %v", err)
	}
	if _, err := zw.Write([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if out.Len() != n {
		t.Error("something was written after Close")
	}
	settled(t, c)
}

func TestAbort_LeavesAStreamWithoutEnd(t *testing.T) {
	c := newPool(t, 2)
	for _, n := range []int{0, 1, ramp, ramp + 3*blockSize} {
		var out bytes.Buffer
		zw := open(c, context.Background(), &out)
		if _, err := zw.Write(sample(n)); err != nil {
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
		settled(t, c)
	}
}

// occupy keeps all workers of a scheduler busy until the returned function is
// called.
func occupy(t *testing.T, s *workers.Scheduler) (release func()) {
	t.Helper()
	opened := make(chan struct{})
	q := s.Queue()
	for range s.Workers() {
		reached := make(chan struct{})
		if err := q.Submit(workers.Func(func(*workers.Worker) { close(reached); <-opened })); err != nil {
			t.Fatal(err)
		}
		<-reached
	}
	return func() { close(opened) }
}

// awaitLent returns when so many blocks are lent, and fails if there are more.
func awaitLent(t *testing.T, c *Pool, want int) {
	t.Helper()
	for lent := 0; lent < want; runtime.Gosched() {
		c.stock.mu.Lock()
		lent = c.stock.lent
		c.stock.mu.Unlock()
		if lent > want {
			t.Fatalf("%d blocks are lent, of at most %d", lent, want)
		}
	}
}

func TestCancel_EndsAWaitingWrite(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, format, -1)
	release := occupy(t, s)
	defer release()
	cause := errors.New("client gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	var out bytes.Buffer
	zw := open(c, ctx, &out)
	ended := make(chan error)
	go func() {
		for {
			if _, err := zw.Write(make([]byte, blockSize)); err != nil {
				ended <- err
				return
			}
		}
	}()
	awaitLent(t, c, own) // now Write cannot get on
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("Write: %v", err)
	}
	if err := zw.Close(); !errors.Is(err, cause) {
		t.Errorf("Close: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
	settled(t, c)
}

func TestCancel_BeforeClose_WritesNoTrailer(t *testing.T) {
	c := newPool(t, 2)
	for _, n := range []int{0, 100, 1000, ramp + blockSize} {
		ctx, cancel := context.WithCancel(context.Background())
		var out bytes.Buffer
		zw := open(c, ctx, &out)
		if _, err := zw.Write(sample(n)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := zw.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if !truncated(out.Bytes()) {
			t.Errorf("a cancelled stream of %d bytes looks complete", n)
		}
		settled(t, c)
	}
}

func TestSchedulerClosed_EndsTheStream(t *testing.T) {
	s := workers.New(1)
	c := New(s, format, s.Workers())
	var out bytes.Buffer
	zw := open(c, context.Background(), &out)
	if _, err := zw.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := zw.Close(); !errors.Is(err, workers.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if !truncated(out.Bytes()) {
		t.Error("the stream looks complete")
	}
	settled(t, c)
}

func TestSteadyStream_AllocatesNothing(t *testing.T) {
	c := newPool(t, 2)
	zw := open(c, context.Background(), io.Discard)
	defer zw.Abort()
	data := make([]byte, blockSize)
	for range 20 { // both workers have their memory, the stock its blocks
		if _, err := zw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(50, func() {
		if _, err := zw.Write(data); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations for each block", n)
	}
}

func TestEmptyWrite_BringsOutWhatIsFinished(t *testing.T) {
	c := newPool(t, 1)
	var size counter
	zw := open(c, context.Background(), &size)
	defer zw.Abort()
	if _, err := zw.Write(make([]byte, format.Size(0))); err != nil { // one block, full
		t.Fatal(err)
	}
	for size == 0 { // until the worker is done
		if n, err := zw.Write(nil); n != 0 || err != nil {
			t.Fatalf("Write(nil) = %d, %v", n, err)
		}
		runtime.Gosched()
	}
}

// A damaged encoder must fail its stream, and neither hang it nor end it well.
func TestWorkerPanics_StreamFails(t *testing.T) {
	c := newPool(t, 1)
	damaged := turning{workers.NewSlot(func() *[]byte { panic("damaged") })}
	var out bytes.Buffer
	zw := c.Open(context.Background(), &out, damaged, header, end)
	_, _ = zw.Write([]byte("text"))
	var p *panics.Error
	if err := zw.Close(); !errors.As(err, &p) {
		t.Errorf("Close: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
	settled(t, c)
}
