package blocks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/base/workers"
)

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
	c := newPool(t, 1)
	data := sample(ramp + 4*blockSize)
	dst := &stuck{blocked: make(chan struct{}), released: make(chan struct{})}
	slow := open(c, context.Background(), dst)
	ended := make(chan error)
	go func() {
		_, err := slow.Write(data)
		ended <- errors.Join(err, slow.Close())
	}()
	<-dst.blocked
	// The only worker serves another stream from beginning to end meanwhile.
	if got := compress(t, c, 1<<20, data); !bytes.Equal(got, whole(format, data)) {
		t.Error("the other stream has other bytes")
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
	c := New(s, format, 8)
	zw := open(c, context.Background(), io.Discard)
	defer zw.Abort()
	release := occupy(t, s)
	data := make([]byte, blockSize)
	for held(zw) < own+8 { // all are taken while the workers are the bottleneck
		if _, err := zw.Write(data[:100]); err != nil {
			t.Fatal(err)
		}
	}
	release()
	last := zw.window[len(zw.window)-1]
	last.done <- <-last.done // wait until all are finished
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if held := held(zw); held > own {
		t.Errorf("%d blocks are held though all were finished", held)
	}
}

// held is how many blocks a stream has.
func held(s *Stream) int {
	s.pool.stock.mu.Lock()
	defer s.pool.stock.mu.Unlock()
	return s.blocks.held
}

// stopped takes nothing until it is released.
type stopped struct {
	entered  sync.Once
	reached  func()
	released chan struct{}
}

func (s *stopped) Write(p []byte) (int, error) {
	s.entered.Do(s.reached)
	<-s.released
	return len(p), nil
}

// However many readers stop, their streams keep no block of a bounded pool, and it never
// lends more than its bound.
func TestBoundedPool_IsNotHeldByReaders(t *testing.T) {
	s := workers.New(2)
	defer s.Close()
	f := format
	f.Own = 1
	c := New(s, f, 1).Bounded(3)
	data := sample(ramp + 4*blockSize)
	want := whole(f, data)
	const readers = 20
	var stuck, ended sync.WaitGroup
	stuck.Add(readers)
	released := make(chan struct{})
	for range readers {
		ended.Go(func() {
			zw := open(c, context.Background(), &stopped{reached: stuck.Done, released: released})
			_, err := zw.Write(data)
			if err := errors.Join(err, zw.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	stuck.Wait()
	for _, step := range []int{97, len(data)} {
		if got := compress(t, c, step, data); !bytes.Equal(got, want) {
			t.Error("beside readers that stopped: other bytes")
		}
	}
	c.stock.mu.Lock()
	if c.stock.lent > 3 || len(c.stock.free)+c.stock.lent > 3 {
		t.Errorf("%d are lent and %d free, of 3", c.stock.lent, len(c.stock.free))
	}
	c.stock.mu.Unlock()
	close(released)
	ended.Wait()
	settled(t, c)
}

// A stream that waits for its turn ends with its context, and keeps nobody behind it.
func TestBoundedPool_CancelledTurn(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	f := format
	f.Own = 1
	c := New(s, f, 0).Bounded(1)
	first := open(c, context.Background(), io.Discard)
	if _, err := first.Write(make([]byte, 1)); err != nil { // it has the only block
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	write := func(ctx context.Context) {
		zw := open(c, ctx, io.Discard)
		_, err := zw.Write(make([]byte, 1))
		zw.Abort()
		ended <- err
	}
	go write(ctx)
	awaitWaiting(c, 1)
	go write(context.Background())
	awaitWaiting(c, 2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one: %v", err)
	}
	first.Abort()
	if err := <-ended; err != nil {
		t.Errorf("the one behind it: %v", err)
	}
	settled(t, c)
}

// A client with many streams leaves a block for another client, and the first block that comes
// back goes to the client that has none.
func TestBoundedPool_IsSharedByClients(t *testing.T) {
	const most, crowd = 3, 10
	f := format
	f.Own = 1
	s := workers.New(1)
	defer s.Close()
	c := New(s, f, 0).Bounded(most)
	ctx, cancel := context.WithCancel(context.Background())
	var taking sync.WaitGroup
	defer taking.Wait()
	defer cancel()
	taken := make(chan *block, crowd)
	take := func(client string) {
		if b, err := c.stock.take(ctx, &account{client: client}); err == nil {
			taken <- b
		}
	}
	for range crowd {
		taking.Go(func() { take("crowd") })
	}
	awaitWaiting(c, crowd-(most-1))
	first := <-taken
	<-taken
	take("other") // or this would wait for ever
	if b := <-taken; b.lentTo.client != "other" {
		t.Fatalf("a block was lent to %q", b.lentTo.client)
	}
	taking.Go(func() { take("third") })
	awaitWaiting(c, crowd-(most-1)+1)
	c.stock.put(first)
	if b := <-taken; b.lentTo.client != "third" {
		t.Errorf("a block that was given back went to %q", b.lentTo.client)
	}
}

func awaitWaiting(c *Pool, want int) {
	for waiting := 0; waiting < want; runtime.Gosched() {
		c.stock.mu.Lock()
		waiting = len(c.stock.waiting)
		c.stock.mu.Unlock()
	}
}

func TestStream_HoldsNoMoreThanItMay(t *testing.T) {
	s := workers.New(1)
	defer s.Close()
	c := New(s, format, 3)
	release := occupy(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	const streams = 4
	ended := make(chan *Stream)
	for range streams {
		zw := open(c, ctx, io.Discard)
		go func() {
			var err error
			for err == nil {
				_, err = zw.Write(make([]byte, 400))
			}
			ended <- zw
		}()
	}
	// Each stream fills what it may have and then waits.
	awaitLent(t, c, streams*own+3)
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
	c := New(s, format, -1)
	const streams = 50
	var most int
	writes := make([]int, streams)
	zws := make([]*Stream, streams)
	for i := range zws {
		zw := open(c, context.Background(), &counting{i, writes, &most})
		defer zw.Abort()
		zws[i] = zw
	}
	data := make([]byte, 1000)
	for range (ramp + 3*blockSize) / len(data) {
		for _, zw := range zws {
			if _, err := zw.Write(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	// One block may be on its way in each, one filled.
	if most > own {
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
	c := newPool(t, 1)
	endless := open(c, context.Background(), io.Discard)
	defer endless.Abort()
	const small = 49
	ended := make(chan error, small)
	data := sample(3000)
	for range small {
		go func() {
			zw := open(c, context.Background(), io.Discard)
			_, err := zw.Write(data)
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
