package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// throttle is a client that takes its time.
type throttle struct {
	bytes.Buffer
	pause time.Duration
}

func (w *throttle) Write(p []byte) (int, error) {
	time.Sleep(w.pause)
	return w.Buffer.Write(p)
}

func TestASlowClientSlowsNobody(t *testing.T) {
	for _, disk := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{WindowBytes: 2 * chunkBytes}
			if disk {
				d, err := OpenDisk(t.TempDir(), 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = d.Close() }()
				o.Disk = d
			}
			c := New(o)
			defer c.Close()
			s := &source{bytes: content(1, 20*chunkBytes)}
			key := KeyOf("x")
			began := time.Now()
			var wg sync.WaitGroup
			ends := make([]time.Duration, 3)
			for i, pause := range []time.Duration{time.Hour, time.Minute, 0} {
				e, err := c.Get(t.Context(), key, media, s.build, unreserved)
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					defer e.Close()
					w := &throttle{pause: pause}
					if err := e.WriteTo(t.Context(), w); err != nil || !bytes.Equal(w.Bytes(), s.bytes) {
						t.Errorf("%v: %d bytes and %v", pause, w.Len(), err)
					}
					ends[i] = time.Since(began)
				})
			}
			wg.Wait()
			// The clock is the test's own: only pauses move it.
			if ends[2] != 0 || ends[1] > 12*time.Hour {
				t.Errorf("disk %v: the fast client waited %v, the others %v", disk, ends[2], ends[:2])
			}
			if n := s.runs.Load(); disk && n != 1 || !disk && n > 3 {
				t.Errorf("disk %v: %d builds", disk, n)
			}
		})
	}
}

// Without a disk a build waits for its fastest client, with its window full.
func TestTheWindowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{WindowBytes: 3 * chunkBytes})
		defer c.Close()
		var made atomic.Int64
		s := &source{bytes: content(1, 30*chunkBytes), before: func(_ context.Context, offset int) error {
			made.Store(int64(offset))
			return nil
		}}
		e, err := c.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		synctest.Wait()
		if n := made.Load(); n > 3*chunkBytes {
			t.Errorf("%d bytes were made without a client", n)
		}
		for at := int64(0); at < int64(len(s.bytes)); at += chunkBytes {
			var out bytes.Buffer
			if err := e.WriteRange(t.Context(), &out, at, chunkBytes); err != nil ||
				!bytes.Equal(out.Bytes(), s.bytes[at:at+chunkBytes]) {
				t.Fatalf("%d bytes at %d and %v", out.Len(), at, err)
			}
			synctest.Wait()
			if ahead := made.Load() - at - chunkBytes; ahead > 3*chunkBytes {
				t.Errorf("%d bytes were made ahead", ahead)
			}
		}
		if s.runs.Load() != 1 {
			t.Errorf("%d builds", s.runs.Load())
		}
	})
}

func TestAClientCanStopWaiting(t *testing.T) {
	s := &source{bytes: content(1, 3*chunkBytes), before: newGate(0).wait}
	c := testCache(t, Options{})
	e, err := c.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	if err := e.WriteTo(ctx, io.Discard); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
}

// TestEachBuildHasAReservation has slow clients lose builds, so that others take their
// place: each build that runs has what was reserved for it, until it ends.
func TestEachBuildHasAReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{WindowBytes: 2 * chunkBytes})
		defer c.Close()
		s := &source{bytes: content(1, 20*chunkBytes)}
		var reserved, running, builds atomic.Int64
		reserve := func(context.Context) (func(), error) {
			reserved.Add(1)
			return func() { reserved.Add(-1) }, nil
		}
		build := func(ctx context.Context, w io.Writer) error {
			builds.Add(1)
			defer running.Add(-1)
			if run, have := running.Add(1), reserved.Load(); run > have {
				t.Errorf("%d builds run with %d reservations", run, have)
			}
			return s.build(ctx, w)
		}
		var wg sync.WaitGroup
		for _, pause := range []time.Duration{time.Hour, time.Minute, 0} {
			e, err := c.Get(t.Context(), KeyOf("x"), media, build, reserve)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer e.Close()
				w := &throttle{pause: pause}
				if err := e.WriteTo(t.Context(), w); err != nil || !bytes.Equal(w.Bytes(), s.bytes) {
					t.Errorf("%v: %d bytes and %v", pause, w.Len(), err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if n := builds.Load(); n < 2 {
			t.Errorf("%d builds: none took another's place", n)
		}
		if n := reserved.Load(); n != 0 {
			t.Errorf("%d reservations are left", n)
		}
	})
}

// TestARefusedBuildBeginsNothing refuses the reservation of a build.
func TestARefusedBuildBeginsNothing(t *testing.T) {
	refused := errors.New("refused")
	c := testCache(t, Options{})
	s := &source{bytes: content(1, chunkBytes)}
	_, err := c.Get(t.Context(), KeyOf("x"), media, s.build, func(context.Context) (func(), error) { return nil, refused })
	if !errors.Is(err, refused) || s.runs.Load() != 0 {
		t.Errorf("a refused build: %v, %d builds", err, s.runs.Load())
	}
}
