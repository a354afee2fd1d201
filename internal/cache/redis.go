package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/repomcp/repomcp/internal/base/ticks"
)

const (
	// leaseTime is for how long a replica that died keeps others waiting at
	// most; it is renewed at a third of it.
	leaseTime   = 15 * time.Second
	leasePrefix = "repomcp:build:"
)

// A lease that ran out may be another's by now: it is only touched by who knows
// what was written into it.
const (
	extendLease = `if redis.call("get", KEYS[1]) == ARGV[1] then ` +
		`return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`
	removeLease = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
)

// RedisLeases are keys in Redis with a time to live.
type RedisLeases struct {
	client  redis.UniversalClient
	breaker *gobreaker.CircuitBreaker[bool]
	life    time.Duration
}

// RedisOptions reads a redis://, rediss:// or unix:// URL, with the timeouts that keep a
// Redis that is slow or away from holding up a request.
func RedisOptions(url string) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The error of the library quotes the URL, which may hold a password.
		return nil, errors.New("the Redis URL is malformed; write redis://user:password@host:6379/0, rediss:// for " +
			"TLS, or unix:///path")
	}
	o.DialTimeout, o.ReadTimeout = remoteTimeout, remoteTimeout
	o.WriteTimeout, o.PoolTimeout = remoteTimeout, remoteTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1 // the breaker decides
	return o, nil
}

// NewRedisLeases uses a client that was made with [RedisOptions]; the caller
// closes it after the cache.
func NewRedisLeases(client redis.UniversalClient) *RedisLeases {
	return &RedisLeases{client: client, breaker: newBreaker[bool]("leases"), life: leaseTime}
}

// Take sets the key unless it is there.
func (l *RedisLeases) Take(ctx context.Context, key Key) (func(), error) {
	name, token := leasePrefix+key.String(), rand.Text()
	acquired, err := l.do(ctx, func(ctx context.Context) (bool, error) {
		err := l.client.SetArgs(ctx, name, token, redis.SetArgs{Mode: "NX", TTL: l.life}).Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	})
	// It may have been set all the same, only the answer was late. Then it runs
	// out by itself.
	if err != nil || !acquired {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.renew(ctx, name, token)
	}()
	return func() {
		cancel()
		<-done
		l.drop(name, token)
	}, nil
}

// renew ends when the lease is another's. A failure is tried again: there are
// three times to a life.
func (l *RedisLeases) renew(ctx context.Context, name, token string) {
	for range ticks.Every(ctx, l.life/3) {
		extended, err := l.do(ctx, func(ctx context.Context) (bool, error) {
			return l.client.Eval(ctx, extendLease, []string{name}, token, l.life.Milliseconds()).Bool()
		})
		if err == nil && !extended {
			return
		}
	}
}

// drop removes the lease. It is tried once: the lease runs out by itself.
func (l *RedisLeases) drop(name, token string) {
	_, _ = l.do(context.Background(), func(ctx context.Context) (bool, error) {
		return true, l.client.Eval(ctx, removeLease, []string{name}, token).Err()
	})
}

// do asks Redis within the limits.
func (l *RedisLeases) do(ctx context.Context, ask func(context.Context) (bool, error)) (bool, error) {
	return l.breaker.Execute(func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
		defer cancel()
		return ask(ctx)
	})
}
