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
	// leaseTime bounds how long a crashed replica delays others; it is renewed at a third of it.
	leaseTime   = 15 * time.Second
	leasePrefix = "repomcp:build:"
)

// An expired lease may have a new owner: only a replica that knows its token touches it.
const (
	extendLease = `if redis.call("get", KEYS[1]) == ARGV[1] then ` +
		`return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`
	removeLease = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
)

// RedisLeases are Redis keys with a time to live.
type RedisLeases struct {
	client  redis.UniversalClient
	breaker *gobreaker.CircuitBreaker[bool]
	life    time.Duration
}

// RedisOptions parses a redis://, rediss:// or unix:// URL, with timeouts that keep a slow or
// unavailable Redis from delaying requests.
func RedisOptions(url string) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The library's error quotes the URL, which may contain a password.
		return nil, errors.New("the Redis URL is malformed; write redis://user:password@host:6379/0, rediss:// for " +
			"TLS, or unix:///path")
	}
	o.DialTimeout, o.ReadTimeout = remoteTimeout, remoteTimeout
	o.WriteTimeout, o.PoolTimeout = remoteTimeout, remoteTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1 // the breaker handles failures
	return o, nil
}

// NewRedisLeases uses a client with [RedisOptions]; the caller closes it after the cache.
func NewRedisLeases(client redis.UniversalClient) *RedisLeases {
	return &RedisLeases{client: client, breaker: newBreaker[bool]("leases"), life: leaseTime}
}

// Take implements [Leases].
func (l *RedisLeases) Take(ctx context.Context, key Key) (func(), error) {
	name, token := leasePrefix+key.String(), rand.Text()
	acquired, err := l.do(ctx, func(ctx context.Context) (bool, error) {
		err := l.client.SetArgs(ctx, name, token, redis.SetArgs{Mode: "NX", TTL: l.life}).Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	})
	// A key that was set despite a late answer expires by itself.
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

// renew returns once the lease has another owner. It retries after failures: a lease lives for
// three intervals.
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

// drop removes the lease. It tries once, because the lease expires by itself.
func (l *RedisLeases) drop(name, token string) {
	_, _ = l.do(context.Background(), func(ctx context.Context) (bool, error) {
		return true, l.client.Eval(ctx, removeLease, []string{name}, token).Err()
	})
}

// do sends a request within the limits.
func (l *RedisLeases) do(ctx context.Context, ask func(context.Context) (bool, error)) (bool, error) {
	return l.breaker.Execute(func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
		defer cancel()
		return ask(ctx)
	})
}
