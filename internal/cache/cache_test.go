package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// gate holds a build back from an offset on.
type gate struct {
	at   int
	open chan struct{}
}

func newGate(at int) *gate { return &gate{at, make(chan struct{})} }

func (g *gate) wait(ctx context.Context, offset int) error {
	if offset < g.at {
		return nil
	}
	return wait(ctx, g.open)
}

func TestManyRequestsCauseOneBuild(t *testing.T) {
	clients := int64(gittest.Volume(100, 500)) // each has a buffer
	for _, disk := range []bool{true, false} {
		g := newGate(0)
		s := &source{bytes: content(1, 3*chunkBytes+9), before: g.wait}
		o := Options{WindowBytes: 8 * chunkBytes}
		if disk {
			o.Disk = testDisk(t, t.TempDir(), 1<<30)
		}
		c := testCache(t, o)
		key := KeyOf("one")
		var wg sync.WaitGroup
		var right, arrived atomic.Int64
		for range clients {
			wg.Go(func() {
				e, err := c.Get(t.Context(), key, media, s.build, unreserved)
				if arrived.Add(1); err != nil {
					t.Error(err)
					return
				}
				defer e.Close()
				out := comparer{want: s.bytes}
				if err := e.WriteTo(t.Context(), &out); err == nil && out.whole() {
					right.Add(1)
				}
			})
		}
		if !disk {
			// Without a disk only clients that arrive before the window moves share a build.
			gittest.Await(t, "all clients have arrived", func() bool { return arrived.Load() == clients })
		}
		close(g.open)
		wg.Wait()
		if right.Load() != clients || s.runs.Load() != 1 {
			t.Errorf("disk %v: %d right of %d, %d builds", disk, right.Load(), clients, s.runs.Load())
		}
	}
}

// Requests that come while builds end must not find neither.
func TestNoRequestFallsBetweenBuildAndDisk(t *testing.T) {
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)})
	for round := range 50 {
		s := &source{bytes: content(uint64(round), 1000)}
		key := KeyOf("round", string(rune(round)))
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Microsecond) // arrivals before, during and after the build
				got, err := read(t, c, key, s.build)
				if err != nil || !bytes.Equal(got, s.bytes) {
					t.Errorf("%d bytes and %v", len(got), err)
				}
			})
		}
		wg.Wait()
		if n := s.runs.Load(); n != 1 {
			t.Errorf("round %d: %d builds", round, n)
		}
		// The disk was looked at before the build ended, the builds after.
		idle(c)
		_, _, err := c.join(t.Context(), &request{key: key, build: s.build, unlessStored: true})
		if !errors.Is(err, errStored) {
			t.Errorf("a build begins of what is on disk: %v", err)
		}
	}
}

func bothWays(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("disk", func(t *testing.T) { test(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)}) })
	t.Run("memory", func(t *testing.T) { test(t, Options{WindowBytes: 4 * chunkBytes}) })
}

var errGone = errors.New("the client went away")

// leaver is a client that goes away.
type leaver struct{ left int }

func (l *leaver) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errGone
	}
	return len(p), nil
}

func TestALeaderThatLeavesHarmsNobody(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		g := newGate(2 * chunkBytes)
		s := &source{bytes: content(1, 12*chunkBytes+1), before: g.wait}
		c := testCache(t, o)
		key := KeyOf("x")
		ctx, cancel := context.WithCancel(t.Context())
		leader, err := c.Get(ctx, key, media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 5 {
			e, err := c.Get(t.Context(), key, media, nil, unreserved)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer e.Close()
				e.build = s.build // a client too slow for the window gets its own build
				var out bytes.Buffer
				if err := e.WriteTo(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), s.bytes) {
					t.Errorf("%d bytes and %v", out.Len(), err)
				}
			})
		}
		if err := leader.WriteTo(ctx, &leaver{chunkBytes}); !errors.Is(err, errGone) {
			t.Errorf("the leader got %v", err)
		}
		cancel()
		leader.Close()
		close(g.open)
		wg.Wait()
		idle(c)
		if stats := c.Stats(); o.Disk != nil && (s.runs.Load() != 1 || stats.Abandoned != 0 || stats.Entries != 1) {
			t.Errorf("%d builds, %+v", s.runs.Load(), stats)
		}
	})
}

func TestABuildEndsWithItsLastClient(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		g := newGate(chunkBytes)
		s := &source{bytes: content(1, 3*chunkBytes), before: g.wait}
		c := testCache(t, o)
		key := KeyOf("x")
		first, err := c.Get(t.Context(), key, media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Get(t.Context(), key, media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		first.Close()
		second.Close()
		idle(c)
		if stats := c.Stats(); stats.Abandoned != 1 || stats.Failures != 0 || stats.Bytes != 0 || stats.Shared != 1 {
			t.Errorf("%+v", stats)
		}
		close(g.open)
		mustRead(t, c, key, s)
		if n := s.runs.Load(); n != 2 {
			t.Errorf("%d builds", n)
		}
	})
}

func TestAnErrorReachesAllAndIsNotKept(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		broken := errors.New("a damaged object")
		g := newGate(chunkBytes)
		s := &source{bytes: content(1, 3*chunkBytes)}
		s.before = func(ctx context.Context, offset int) error {
			if err := g.wait(ctx, offset); err != nil || s.runs.Load() > 1 || offset < 2*chunkBytes {
				return err
			}
			return broken
		}
		c := testCache(t, o)
		key := KeyOf("x")
		var wg sync.WaitGroup
		for range 20 {
			e, err := c.Get(t.Context(), key, media, s.build, unreserved)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer e.Close()
				var out bytes.Buffer
				if err := e.WriteTo(t.Context(), &out); !errors.Is(err, broken) ||
					!bytes.HasPrefix(s.bytes, out.Bytes()) {
					t.Errorf("%d bytes and %v", out.Len(), err)
				}
				if _, ok := e.Identity(); ok {
					t.Error("a failed build has an identity")
				}
			})
		}
		close(g.open)
		wg.Wait()
		mustRead(t, c, key, s)
		idle(c)
		if stats := c.Stats(); stats.Failures != 1 || s.runs.Load() != 2 {
			t.Errorf("%d builds, %+v", s.runs.Load(), stats)
		}
	})
}

// A build that does not look at its writes, or at its context, and says that
// all is well.
func TestACarelessBuildIsNotWhole(t *testing.T) {
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)})
	started := make(chan struct{})
	careless := func(ctx context.Context, w io.Writer) error {
		_, _ = w.Write(content(1, 10))
		close(started)
		<-ctx.Done()
		_, _ = w.Write(content(2, 10))
		return nil
	}
	e, err := c.Get(t.Context(), KeyOf("x"), media, careless, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	<-started
	e.Close()
	idle(c)
	if stats := c.Stats(); stats.Entries != 0 || stats.Abandoned != 1 {
		t.Errorf("%+v", stats)
	}
}

// A build that gives other bytes must not complete what was begun from the disk.
func TestAnotherBuildMustAgree(t *testing.T) {
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)})
	s := &source{bytes: content(1, 3*chunkBytes)}
	key := KeyOf("x")
	mustRead(t, c, key, s)
	idle(c)
	e, err := c.Get(t.Context(), key, media, (&source{bytes: content(2, 3*chunkBytes)}).build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.reader.spool.sums[1][0] ^= 1 // as if the file were damaged
	var out bytes.Buffer
	if err := e.WriteTo(t.Context(), &out); !errors.Is(err, errDiffers) || out.Len() >= len(s.bytes) {
		t.Errorf("%d bytes and %v", out.Len(), err)
	}
	idle(c)
	if n := c.Stats().Entries; n != 0 {
		t.Errorf("%d files are kept", n)
	}
}

func TestCloseEndsBuilds(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		s := &source{bytes: content(1, 3*chunkBytes), before: newGate(chunkBytes).wait}
		c := New(o)
		e, err := c.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c.Close()
		if err := e.WriteTo(t.Context(), io.Discard); !errors.Is(err, ErrClosed) {
			t.Errorf("a client gets %v", err)
		}
		if _, err := c.Get(t.Context(), KeyOf("x"), media, s.build, unreserved); !errors.Is(err, ErrClosed) {
			t.Errorf("a new one gets %v", err)
		}
	})
}

// Clients of all kinds share a disk that is too small: each gets the right bytes, or an error after a
// prefix of them.
func TestStorm(t *testing.T) {
	const keys, clients = 8, 32
	rounds := gittest.Volume(12, 30)
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 12*chunkBytes), WindowBytes: 2 * chunkBytes})
	sources := make([]*source, keys)
	for i := range sources {
		sources[i] = &source{bytes: content(uint64(i), i*chunkBytes+i)}
	}
	var wg sync.WaitGroup
	var whole, left atomic.Int64
	for client := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(client), 7))
			for range rounds {
				i := random.IntN(keys)
				s := sources[i]
				e, err := c.Get(t.Context(), KeyOf("storm", string(rune('a'+i))), media, s.build, unreserved)
				if err != nil {
					t.Error(err)
					continue
				}
				from := random.Int64N(int64(len(s.bytes)) + 1)
				if random.IntN(3) == 0 {
					_ = e.WriteTo(t.Context(), &leaver{random.IntN(len(s.bytes) + 1)})
					left.Add(1)
				} else {
					out := comparer{want: s.bytes[from:]}
					if err := e.WriteRange(t.Context(), &out, from, -1); err != nil || !out.whole() {
						t.Errorf("key %d from %d: %d bytes and %v", i, from, out.got, err)
					}
					whole.Add(1)
				}
				e.Close()
			}
		})
	}
	wg.Wait()
	idle(c)
	stats := c.Stats()
	t.Logf("%d whole, %d left, %+v", whole.Load(), left.Load(), stats)
	if stats.Bytes > 12*chunkBytes || stats.Builds == 0 || stats.Hits == 0 || whole.Load() < int64(10*rounds) {
		t.Errorf("%d whole, %+v", whole.Load(), stats)
	}
}

func TestKeysTellPartsApart(t *testing.T) {
	seen := make(map[Key]bool)
	lists := [][]string{{}, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a", "", "b"},
		{"../../etc/passwd"}}
	for _, list := range lists {
		key := KeyOf(list...)
		if back, ok := parseKey(key.String()); !ok || back != key || strings.ContainsAny(key.String(), "/.") {
			t.Errorf("%q has the key %v", list, key)
		}
		seen[key] = true
	}
	if len(seen) != len(lists) {
		t.Errorf("%d lists have %d keys", len(lists), len(seen))
	}
}

// FuzzSeal: what is taken for a seal is written like it.
func FuzzSeal(f *testing.F) {
	key := KeyOf("x")
	for _, size := range []int{0, 1, chunkBytes, 3 * chunkBytes} {
		table, footer := seal{Identity: Identity{Size: int64(size)}, table: make([]sum, chunksOf(int64(size)))}.encode(
			key)
		f.Add(footer, table)
	}
	f.Fuzz(func(t *testing.T, end, table []byte) {
		foot, err := parseFooter(key, end)
		if err != nil {
			return
		}
		s, err := foot.withTable(table)
		if err != nil {
			return
		}
		table2, end2 := s.encode(key)
		if !bytes.Equal(end, end2) || !bytes.Equal(table, table2) || chunksOf(s.Size) != int64(len(s.table)) {
			t.Errorf("%x %x", end, table)
		}
	})
}
