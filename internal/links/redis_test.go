package links

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/sony/gobreaker/v2"

	"github.com/repomcp/repomcp/internal/gittest"
)

func connect(t *testing.T, address string, now func() time.Time) *Redis {
	t.Helper()
	r, err := NewRedis("redis://"+address, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func miniredisStores(t *testing.T, now func() time.Time) (a, b Nonces, pass func(time.Duration)) {
	server := miniredis.RunT(t)
	return connect(t, server.Addr(), now), connect(t, server.Addr(), now), server.FastForward
}

// realRedis starts a redis-server for one test and ends it after it.
func realRedis(t *testing.T, arguments ...string) (address string, kill func()) {
	t.Helper()
	gittest.Long(t)
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("REAL PART ABSENT: there is no redis-server on PATH; single use was tested with miniredis only")
	}
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if kill := startRedis(t, program, address, arguments); kill != nil {
			return address, kill
		}
	}
	t.Fatal("redis-server did not start")
	return "", nil
}

// startRedis returns nil when another process took the port meanwhile.
func startRedis(t *testing.T, program, address string, arguments []string) (kill func()) {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	arguments = append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir",
		t.TempDir()}, arguments...)
	command := exec.Command(program, arguments...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		<-ended
		_ = command.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(lines.Text())
			if strings.Contains(lines.Text(), "eady to accept connections") {
				ready <- true
			}
		}
		close(ready)
	}()
	if !<-ready {
		kill()
		return nil
	}
	t.Cleanup(kill)
	t.Logf("redis-server has process id %d", command.Process.Pid)
	return kill
}

// TestRealRedis runs what does not need a clock of its own on a real Redis.
func TestRealRedis(t *testing.T) {
	address, _ := realRedis(t)
	now := time.Now
	ring := randomRing(t)
	a := newAuthority(t, Options{Keys: ring, Nonces: connect(t, address, now)})
	b := newAuthority(t, Options{Keys: ring, Nonces: connect(t, address, now)})
	for range 20 {
		token, _ := a.mustMint(t, singleUse())
		redeemAtOnce(t, []*Authority{a, b}, token)
	}
	_, l := a.mustMint(t, singleUse())
	longest := time.Until(l.Expires) + defaultGrace + 2*maxSkew // asked before, as each answer takes a while
	first, err := a.Redeem(t.Context(), l, Resume{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Redeem(t.Context(), l, Resume{Secret: first.Secret, Length: 1, Size: 100}); err != nil ||
		again != first {
		t.Errorf("resumed as %+v, %v; began as %+v", again, err, first)
	}
	if _, err := b.Redeem(t.Context(), l, Resume{Secret: first.Secret[1:] + "A", Length: 1, Size: 100}); !errors.Is(err,
		ErrUsed) {
		t.Error(err)
	}
	r := connect(t, address, now)
	if err := r.client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	key := redisKey(l.Nonce)
	left, err := r.client.PTTL(t.Context(), key).Result()
	if err != nil || left <= 0 || left > longest {
		t.Errorf("Redis keeps a nonce for %v, %v", left, err)
	}
	value, err := r.client.Get(t.Context(), key).Result()
	if err != nil || strings.Contains(value, first.Secret) {
		t.Errorf("the secret is in Redis, or nothing is: %v", err)
	}
	if err := r.client.Del(t.Context(), key).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Redeem(t.Context(), l, Resume{Secret: first.Secret, Length: 1, Size: 100}); !errors.Is(err,
		ErrUsed) {
		t.Errorf("a use that Redis forgot is resumed: %v", err)
	}
}

// TestRealRedisRefuses: one that is full and evicts nothing.
func TestRealRedisRefuses(t *testing.T) {
	address, _ := realRedis(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	a := newAuthority(t, Options{Nonces: connect(t, address, time.Now)})
	_, l := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

// TestRealRedisIsKilled while 100 requests for a link are on their way: at most
// one of them gets it, and afterwards none gets any.
func TestRealRedisIsKilled(t *testing.T) {
	address, kill := realRedis(t)
	a := newAuthority(t, Options{Nonces: connect(t, address, time.Now)})
	_, l := a.mustMint(t, singleUse())
	var successes atomic.Int32
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if i == 50 {
				kill()
			}
			switch _, err := a.Redeem(context.Background(), l, Resume{}); {
			case err == nil:
				successes.Add(1)
			case !errors.Is(err, ErrUsed) && !errors.Is(err, ErrUnavailable):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := successes.Load(); n > 1 {
		t.Errorf("%d successes", n)
	}
	for range 20 {
		_, l := a.mustMint(t, singleUse())
		if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
}

func TestRealRedisWithAPassword(t *testing.T) {
	address, _ := realRedis(t, "--requirepass", "swordfish")
	without := newAuthority(t, Options{Nonces: connect(t, address, time.Now)})
	_, l := without.mustMint(t, singleUse())
	if _, err := without.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without the password: %v", err)
	}
	with := newAuthority(t, Options{Nonces: connect(t, ":swordfish@"+address, time.Now)})
	_, l = with.mustMint(t, singleUse())
	if _, err := with.Redeem(t.Context(), l, Resume{}); err != nil {
		t.Errorf("with the password: %v", err)
	}
}

// faulty is a server that does something to each connection.
func faulty(t *testing.T, serve func(net.Conn)) (address string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
	open := make(chan net.Conn, 10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(open)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			open <- conn
			serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
		for conn := range open {
			_ = conn.Close()
		}
	})
	return listener.Addr().String(), connections
}

// TestRedisFaults: whatever is wrong with Redis, single-use links are refused,
// links for more than one use go on, and after some failures Redis is left
// alone. A call that hangs fails the test by its timeout.
func TestRedisFaults(t *testing.T) {
	nothing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := nothing.Close(); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{
		"down":          nothing.Addr().String(),
		"no such host":  "redis.invalid:6379",
		"never answers": first(faulty(t, func(net.Conn) {})),
		"ends at once":  first(faulty(t, func(c net.Conn) { _ = c.Close() })),
		"speaks HTTP": first(faulty(t, func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		})),
		"refuses": first(faulty(t, func(c net.Conn) {
			_, _ = c.Write([]byte(strings.Repeat("-ERR no\r\n", 20)))
		})),
		"endless": first(faulty(t, func(c net.Conn) { _, _ = c.Write([]byte("$536870912\r\n")) })),
		"answers nonsense": first(faulty(t, func(c net.Conn) {
			_, _ = c.Write([]byte(strings.Repeat("+maybe\r\n", 20)))
		})),
		"half a line": first(faulty(t, func(c net.Conn) { _, _ = c.Write([]byte("+O")) })),
		"refuses after OKs": first(faulty(t, func(c net.Conn) {
			_, _ = c.Write([]byte("+OK\r\n+OK\r\n-LOADING\r\n-LOADING\r\n"))
		})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := connect(t, address, time.Now)
			a := newAuthority(t, Options{Nonces: store})
			token, l := a.mustMint(t, singleUse())
			for i := range redisFailures + 3 {
				if _, err := a.Verify(token, use()); err != nil {
					t.Fatal(err)
				}
				resume := []string{"", l.redemption().Secret}[i%2]
				if _, err := a.Redeem(t.Context(), l, Resume{Secret: resume}); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("redemption %d: %v", i, err)
				}
			}
			if state := store.breaker.State(); state != gobreaker.StateOpen {
				t.Errorf("the breaker is %v", state)
			}
			if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, gobreaker.ErrOpenState) {
				t.Errorf("with the breaker open: %v", err)
			}
			if err := store.client.Ping(t.Context()).Err(); err == nil {
				t.Error("Redis answers to a ping")
			}
			_, lasting := a.mustMint(t, grant())
			if _, err := a.Redeem(t.Context(), lasting, Resume{}); err != nil {
				t.Errorf("a link for more than one use: %v", err)
			}
		})
	}
}

func first(address string, _ *atomic.Int32) string { return address }

// TestOpenBreakerLeavesRedisAlone counts connections.
func TestOpenBreakerLeavesRedisAlone(t *testing.T) {
	address, connections := faulty(t, func(c net.Conn) { _ = c.Close() })
	store := connect(t, address, time.Now)
	for range redisFailures {
		if _, err := store.Claim(t.Context(), Claim{Forget: time.Now().Add(time.Minute)}); err == nil {
			t.Fatal("no error")
		}
	}
	before := connections.Load()
	for range 100 {
		if _, err := store.Used(t.Context(), Claim{}); !errors.Is(err, gobreaker.ErrOpenState) &&
			!errors.Is(err, gobreaker.ErrTooManyRequests) {
			t.Fatal(err)
		}
	}
	// The pool may look whether the server is back, once a second.
	if more := connections.Load() - before; before == 0 || more > 2 {
		t.Errorf("%d connections until the breaker opened, %d after", before, more)
	}
}

// TestRedisComesBack: the breaker closes again, and what was used stays used.
func TestRedisComesBack(t *testing.T) {
	server := miniredis.RunT(t)
	store := connect(t, server.Addr(), time.Now)
	a := newAuthority(t, Options{Nonces: store})
	_, used := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), used, Resume{}); err != nil {
		t.Fatal(err)
	}
	_, l := a.mustMint(t, singleUse())
	server.SetError("LOADING Redis is loading the dataset in memory")
	for store.breaker.State() == gobreaker.StateClosed {
		if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
	server.SetError("")
	gittest.Await(t, "the breaker closes", func() bool {
		_, err := a.Redeem(t.Context(), l, Resume{})
		if err != nil && !errors.Is(err, ErrUnavailable) {
			t.Fatalf("while the breaker is open: %v, want %v", err, ErrUnavailable)
		}
		return err == nil
	})
	if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUsed) {
		t.Error(err)
	}
	if _, err := a.Redeem(t.Context(), used, Resume{}); !errors.Is(err, ErrUsed) {
		t.Error(err)
	}
}

// TestClientThatGoesAway does not count against Redis, nor keep a claim from
// being made.
func TestClientThatGoesAway(t *testing.T) {
	server := miniredis.RunT(t)
	store := connect(t, server.Addr(), time.Now)
	a := newAuthority(t, Options{Nonces: store})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range redisFailures + 3 {
		_, l := a.mustMint(t, singleUse())
		if _, err := a.Redeem(gone, l, Resume{}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUsed) {
			t.Fatal(err)
		}
	}
	if state := store.breaker.State(); state != gobreaker.StateClosed {
		t.Errorf("the breaker is %v", state)
	}
}

// TestNothingIsKeptForEver: to Redis a time of 0 means no end.
func TestNothingIsKeptForEver(t *testing.T) {
	server := miniredis.RunT(t)
	now := newClock()
	store := connect(t, server.Addr(), now.Now)
	for _, keep := range []time.Duration{0, -time.Hour, time.Microsecond} {
		if first, err := store.Claim(t.Context(), Claim{Forget: now.Now().Add(keep)}); first || err != nil {
			t.Errorf("to be forgotten in %v: %v, %v", keep, first, err)
		}
	}
	if keys := server.Keys(); len(keys) > 0 {
		t.Error(keys)
	}
}

// TestRedisRecordsSomethingElse: a value that is not ours resumes nothing.
func TestRedisRecordsSomethingElse(t *testing.T) {
	server := miniredis.RunT(t)
	a := newAuthority(t, Options{Nonces: connect(t, server.Addr(), time.Now)})
	for _, value := range []string{"", "x", "1.5", repeatByte(40), repeatByte(1 << 20)} {
		_, l := a.mustMint(t, singleUse())
		if err := server.Set(redisKey(l.Nonce), value); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUsed) {
			t.Errorf("%.10q: %v", value, err)
		}
		if _, err := a.Redeem(t.Context(), l, Resume{Secret: l.redemption().Secret}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%.10q: %v", value, err)
		}
	}
	_, l := a.mustMint(t, singleUse())
	if _, err := server.Lpush(redisKey(l.Nonce), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Redeem(t.Context(), l, Resume{}); !errors.Is(err, ErrUsed) {
		t.Error(err)
	}
}

func TestRedisURL(t *testing.T) {
	for _, url := range []string{"", "localhost:6379", "http://localhost", "redis://user:hunter2@host:port",
		"redis://h/hunter2", "redis://:hunter2@%zz"} {
		r, err := NewRedis(url, time.Now)
		if err == nil {
			t.Errorf("%q is taken", url)
			_ = r.Close()
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a password is in the error %q", err)
		}
	}
	for _, url := range []string{"redis://localhost", "rediss://u:p@host:1/2", "unix:///run/redis.sock",
		"redis://h?read_timeout=1h&max_retries=9&dial_timeout=1h&pool_timeout=1h&write_timeout=-1"} {
		r, err := NewRedis(url, time.Now)
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		o := r.client.Options()
		limits := []time.Duration{o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.PoolTimeout}
		if slices.Max(limits) != redisTimeout || slices.Min(limits) != redisTimeout || o.MaxRetries > 0 {
			t.Errorf("%q: the limits are %v, %d retries", url, limits, o.MaxRetries)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKeysOfRedis are those that the documentation of operators names.
func TestKeysOfRedis(t *testing.T) {
	server := miniredis.RunT(t)
	a := newAuthority(t, Options{Nonces: connect(t, server.Addr(), time.Now)})
	_, l := a.mustMint(t, singleUse())
	if _, err := a.Redeem(t.Context(), l, Resume{}); err != nil {
		t.Fatal(err)
	}
	keys := server.Keys()
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "repomcp:link:") || server.TTL(keys[0]) <= 0 {
		t.Error(fmt.Sprint(keys))
	}
}
