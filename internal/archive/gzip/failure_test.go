package gzip

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/workers"
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

// truncated says that no reader takes p for a complete stream.
func truncated(p []byte) bool {
	zr, err := stdgzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return true
	}
	_, err = io.ReadAll(zr)
	return err != nil
}

// settled checks that all blocks are back and only what one Writer can use is
// kept.
func settled(t *testing.T, c *Compressor) {
	t.Helper()
	s := c.blocks
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent != 0 || s.writers != 0 || s.spare != s.shared || len(s.free) > WriterBlocks+s.shared {
		t.Errorf("stock at rest: %d lent, %d writers, %d of %d spare, %d free", s.lent, s.writers, s.spare, s.shared, len(s.free))
	}
}

func TestDestinationFails_AtEachWrite(t *testing.T) {
	c := newCompressor(t, 2)
	data := mixture(ramp + 2*BlockSize)
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
			settled(t, c)
		}
	}
	settled(t, c)
}

func TestCloseAndAbort(t *testing.T) {
	c := newCompressor(t, 2)
	var out bytes.Buffer
	zw, err := c.NewWriter(context.Background(), &out, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
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
	c := newCompressor(t, 2)
	for _, n := range []int{0, 1, ramp, ramp + 3*BlockSize} {
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
		if err := q.Submit(workers.Func(func(*workers.Worker) { close(reached); <-opened }), 1); err != nil {
			t.Fatal(err)
		}
		<-reached
	}
	return func() { close(opened) }
}

// awaitLent returns when so many blocks are lent, and fails if there are more.
func awaitLent(t *testing.T, c *Compressor, want int) {
	t.Helper()
	for lent := 0; lent < want; runtime.Gosched() {
		c.blocks.mu.Lock()
		lent = c.blocks.lent
		c.blocks.mu.Unlock()
		if lent > want {
			t.Fatalf("%d blocks are lent, of at most %d", lent, want)
		}
	}
}

func TestCancel_EndsAWaitingWrite(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, Options{SharedBlocks: -1})
	release := occupy(t, s)
	defer release()
	cause := errors.New("client gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	var out bytes.Buffer
	zw, err := c.NewWriter(ctx, &out, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		for {
			if _, err := zw.Write(make([]byte, BlockSize)); err != nil {
				ended <- err
				return
			}
		}
	}()
	awaitLent(t, c, WriterBlocks) // now Write cannot get on
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
	c := newCompressor(t, 2)
	for _, n := range []int{0, 100, 16 << 10, ramp + BlockSize} {
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
		settled(t, c)
	}
}

func TestSchedulerClosed_EndsTheStream(t *testing.T) {
	s := workers.New(1)
	c := New(s, Options{})
	var out bytes.Buffer
	zw, err := c.NewWriter(context.Background(), &out, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
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

// stuck accepts one write and blocks in the second until it is released.
type stuck struct {
	writes            int
	blocked, released chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.writes++
	if s.writes == 2 {
		close(s.blocked)
		<-s.released
	}
	return len(p), nil
}

func TestSlowDestination_HoldsNoWorker(t *testing.T) {
	c := newCompressor(t, 1)
	data := mixture(ramp + 4*BlockSize)
	dst := &stuck{blocked: make(chan struct{}), released: make(chan struct{})}
	slow, err := c.NewWriter(context.Background(), dst, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := slow.Write(data)
		ended <- errors.Join(err, slow.Close())
	}()
	<-dst.blocked
	// The only worker serves another stream from beginning to end meanwhile.
	if got := decompress(t, compress(t, c, DefaultLevel, 1<<20, data)); !bytes.Equal(got, data) {
		t.Error("the other stream came back as other bytes")
	}
	close(dst.released)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	settled(t, c)
}

// Readers that are slower than the workers must not collect the shared blocks.
func TestSlowDestination_GivesSharedBlocksBack(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, Options{SharedBlocks: 8})
	zw, err := c.NewWriter(context.Background(), io.Discard, MinLevel)
	if err != nil {
		t.Fatal(err)
	}
	defer zw.Abort()
	release := occupy(t, s)
	data := make([]byte, BlockSize)
	for zw.held() < WriterBlocks+8 { // all are taken while the workers are the bottleneck
		if _, err := zw.Write(data[:1000]); err != nil {
			t.Fatal(err)
		}
	}
	release()
	last := zw.window[len(zw.window)-1]
	last.done <- <-last.done // wait until all are finished
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if held := zw.held(); held > WriterBlocks {
		t.Errorf("%d blocks are held though all were finished", held)
	}
}

func TestStream_HoldsNoMoreThanItMay(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, Options{SharedBlocks: 3})
	release := occupy(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	const streams = 4
	ended := make(chan *Writer)
	for range streams {
		zw, err := c.NewWriter(ctx, io.Discard, MinLevel)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var err error
			for err == nil {
				_, err = zw.Write(make([]byte, 4096))
			}
			ended <- zw
		}()
	}
	// Each stream fills what it may have and then waits.
	awaitLent(t, c, streams*WriterBlocks+3)
	cancel()
	for range streams {
		<-ended
	}
	release()
	settled(t, c)
}

// counting notes after each write how many writes each stream has had.
type counting struct {
	id     int
	writes []int
	most   *int
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes[c.id]++
	for _, n := range c.writes {
		*c.most = max(*c.most, c.writes[c.id]-n)
	}
	return len(p), nil
}

// Fifty streams are fed in turn by one goroutine, with one worker: no stream
// may be served many blocks before another.
func TestFiftyStreams_ProgressEvenly(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, Options{SharedBlocks: -1})
	const streams = 50
	var most int
	writes := make([]int, streams)
	zws := make([]*Writer, streams)
	for i := range zws {
		zw, err := c.NewWriter(context.Background(), &counting{i, writes, &most}, MinLevel)
		if err != nil {
			t.Fatal(err)
		}
		defer zw.Abort()
		zws[i] = zw
	}
	data := make([]byte, libraryBlock)
	for range (ramp + 3*BlockSize) / len(data) {
		for _, zw := range zws {
			if _, err := zw.Write(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	// One block may be on its way in each, one filled.
	if most > WriterBlocks {
		t.Errorf("one stream was %d blocks ahead of another", most)
	}
	for _, zw := range zws {
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, c)
}

// One stream writes until all others have ended: if it kept the workers from
// them, that would be never.
func TestEndlessStream_StarvesNobody(t *testing.T) {
	c := newCompressor(t, 1)
	endless, err := c.NewWriter(context.Background(), io.Discard, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Abort()
	const small = 49
	ended := make(chan error, small)
	data := prose(1, 16<<10+libraryBlock)
	for range small {
		go func() {
			zw, err := c.NewWriter(context.Background(), io.Discard, DefaultLevel)
			if err == nil {
				_, err = zw.Write(data)
			}
			if err == nil {
				err = zw.Close()
			}
			ended <- err
		}()
	}
	for n := 0; n < small; {
		if _, err := endless.Write(data); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			n++
		default:
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
	for range 20 { // both workers have their compressor, the stock its blocks
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
	c := newCompressor(t, 1)
	var size counter
	zw, err := c.NewWriter(context.Background(), &size, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	defer zw.Abort()
	if _, err := zw.Write(make([]byte, sizeAt(0))); err != nil { // one block, full
		t.Fatal(err)
	}
	for size == 0 { // until the worker is done
		if n, err := zw.Write(nil); n != 0 || err != nil {
			t.Fatalf("Write(nil) = %d, %v", n, err)
		}
		runtime.Gosched()
	}
}

// A damaged compressor must fail its stream, and neither hang it nor end it well.
func TestWorkerPanics_StreamFails(t *testing.T) {
	c := newCompressor(t, 1)
	c.deflaters[MinLevel] = workers.NewSlot(func() *deflater { panic("damaged") })
	var out bytes.Buffer
	zw, err := c.NewWriter(context.Background(), &out, MinLevel)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = zw.Write([]byte("text"))
	var p *workers.PanicError
	if err := zw.Close(); !errors.As(err, &p) {
		t.Errorf("Close: %v", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
	settled(t, c)
}
