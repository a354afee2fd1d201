package cache

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/gittest"
)

func redisLeases(t *testing.T, address string) (*RedisLeases, *redis.Client) {
	t.Helper()
	o, err := RedisOptions("redis://" + address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return NewRedisLeases(client), client
}

// eachRedis runs a test with the imitation and with the real one.
func eachRedis(t *testing.T, test func(t *testing.T, address string)) {
	t.Run("miniredis", func(t *testing.T) { test(t, miniredis.RunT(t).Addr()) })
	t.Run("redis", func(t *testing.T) { test(t, realRedis(t).address) })
}

func realRedis(t *testing.T) *process {
	t.Helper()
	path := installed("redis-server")
	if path == "" {
		t.Skip("ABSENT: redis-server, only miniredis was tested")
	}
	address := refusing(t)
	return start(t, address, path, "--bind", "127.0.0.1", "--port", address[len("127.0.0.1:"):], "--save", "",
		"--appendonly", "no")
}

func TestOneReplicaHasTheLease(t *testing.T) {
	eachRedis(t, func(t *testing.T, address string) {
		a, client := redisLeases(t, address)
		b, _ := redisLeases(t, address)
		key, other := KeyOf("x"), KeyOf("y")
		release := take(t, a, key, true)
		take(t, b, key, false)
		take(t, b, other, true)()
		release()
		release = take(t, b, key, true)
		// It ran out and became another's: that is not taken away.
		if err := client.Set(t.Context(), leasePrefix+key.String(), "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
		release()
		take(t, a, key, false)
		if value := client.Get(t.Context(), leasePrefix+key.String()).Val(); value != "another's" {
			t.Errorf("the lease is %q", value)
		}
	})
}

func take(t *testing.T, l Leases, key Key, want bool) func() {
	t.Helper()
	release, err := l.Take(t.Context(), key)
	if err != nil || (release != nil) != want {
		t.Fatalf("taken is %v, not %v, with %v", release != nil, want, err)
	}
	return release
}

func TestALeaseIsRenewedAndRunsOut(t *testing.T) {
	eachRedis(t, func(t *testing.T, address string) {
		a, client := redisLeases(t, address)
		a.life = 300 * time.Millisecond
		key := KeyOf("x")
		release := take(t, a, key, true)
		name := leasePrefix + key.String()
		// Shortened as if time had passed, it has to grow again.
		if err := client.PExpire(t.Context(), name, 250*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
		gittest.Await(t, "the lease is renewed", func() bool {
			return client.PTTL(t.Context(), name).Val() > 250*time.Millisecond
		})
		release()
		if n := client.Exists(t.Context(), name).Val(); n != 0 {
			t.Error("it is there after its end")
		}
		take(t, a, key, true)()
	})
}

// The second replica waits for the first and takes over its object.
func TestReplicasBuildOnce(t *testing.T) {
	eachRedis(t, func(t *testing.T, address string) {
		bucket := &cachetest.Bucket{}
		g := newGate(chunkBytes)
		s := &source{bytes: content(1, 3*chunkBytes), before: g.wait}
		key := KeyOf("x")
		var caches []*Cache
		for range 2 {
			l, _ := redisLeases(t, address)
			caches = append(caches, testCache(t, Options{
				Disk: testDisk(t, t.TempDir(), 1<<30), Objects: NewObjects(bucket, nil), Leases: l,
				LeaseWait: patience,
			}))
		}
		first, err := caches[0].Get(t.Context(), key, media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			mustRead(t, caches[1], key, s)
		}()
		gittest.Await(t, "the second waits", func() bool { return caches[1].Stats().LeaseWaits > 0 })
		close(g.open)
		if err := first.WriteTo(t.Context(), &leaver{1 << 30}); err != nil {
			t.Error(err)
		}
		first.Close()
		<-done
		if n := s.runs.Load(); n != 1 {
			t.Errorf("%d builds", n)
		}
	})
}

// held is a lease that is always another's.
type held struct{}

func (held) Take(context.Context, Key) (func(), error) { return nil, nil }

// unsure fails.
type unsure struct{}

func (unsure) Take(context.Context, Key) (func(), error) { return nil, errors.New("away") }

func TestABuildNeverDependsOnALease(t *testing.T) {
	for name, leases := range map[string]Leases{"held": held{}, "unsure": unsure{}} {
		bucket := &cachetest.Bucket{}
		s := &source{bytes: content(1, chunkBytes)}
		c := testCache(t, Options{Objects: NewObjects(bucket, nil), Leases: leases,
			LeaseWait: 50 * time.Millisecond})
		mustRead(t, c, KeyOf("x"), s)
		idle(c)
		if stats := c.Stats(); s.runs.Load() != 1 || stats.LeaseWaits+stats.LeaseFaults != 1 {
			t.Errorf("%s: %+v", name, stats)
		}
	}
}

func TestARedisThatDoesNotAnswer(t *testing.T) {
	test := func(t *testing.T, address string) {
		l, _ := redisLeases(t, address)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range 2 * tripAfter {
			release, err := l.Take(ctx, KeyOf("x"))
			if err == nil || release != nil || ctx.Err() != nil {
				t.Fatalf("%v, %v", err, ctx.Err())
			}
		}
		if state := l.breaker.State().String(); state != "open" {
			t.Errorf("the breaker is %s", state)
		}
	}
	t.Run("silent", func(t *testing.T) { test(t, silent(t)) })
	t.Run("refusing", func(t *testing.T) { test(t, refusing(t)) })
	t.Run("stopped", func(t *testing.T) {
		p := realRedis(t)
		p.stop(t)
		test(t, p.address)
	})
}
