package links

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/sony/gobreaker/v2"
)

const (
	// redisTimeout bounds a question to Redis as a whole: a download waits for the answer.
	redisTimeout = 250 * time.Millisecond
	// redisFailures in a row open the breaker: later requests are refused at once instead of after
	// the timeout.
	redisFailures = 5
	// redisPause is how long the breaker stays open before one request tries again.
	redisPause = 2 * time.Second
	// redisPrefix distinguishes the keys from those of other programs.
	redisPrefix = "repomcp:link:"
)

// Redis is [Nonces] that replicas share. When it fails, is slow or refuses, every question is an
// error within 250 ms, and after five failures in a row at once, for two seconds at a time:
// single-use links are refused, others still work.
//
// Use a database that evicts nothing (maxmemory-policy noeviction). A reader of the database can
// neither forge a link nor resume a download; a writer can make used links valid again.
type Redis struct {
	client  *redis.Client
	breaker *gobreaker.CircuitBreaker[int]
	now     func() time.Time
}

// NewRedis makes a record in the Redis at a URL: redis://, rediss:// (TLS) or
// unix://. It does not connect yet.
func NewRedis(url string, now func() time.Time) (*Redis, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The library's error quotes the URL, which may contain a password.
		return nil, errors.New("the Redis URL is malformed; write redis://user:password@host:6379/0, rediss:// for " +
			"TLS, or unix:///path")
	}
	options.DialTimeout, options.ReadTimeout = redisTimeout, redisTimeout
	options.WriteTimeout, options.PoolTimeout = redisTimeout, redisTimeout
	options.ContextTimeoutEnabled = true
	// A claim whose answer was lost must not be sent again: the second answer would be that the
	// nonce is used.
	options.MaxRetries = -1
	options.DialerRetries = 1
	// Neither is useful here, and both cost a connection a round trip.
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Redis{client: redis.NewClient(options), breaker: newBreaker(), now: now}, nil
}

func newBreaker() *gobreaker.CircuitBreaker[int] {
	return gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name:        "links",
		Timeout:     redisPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= redisFailures },
	})
}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Reserve implements [Nonces]: uses are found by the nonce, wherever they happen.
func (r *Redis) Reserve(time.Time) (Place, error) { return Place{}, nil }

// Claim implements [Nonces].
func (r *Redis) Claim(ctx context.Context, c Claim) (bool, error) {
	keep := c.Forget.Sub(r.now())
	if keep < time.Millisecond {
		// Redis treats 0 as "for ever".
		return false, nil
	}
	n, err := r.ask(ctx, func(ctx context.Context) (int, error) {
		_, err := r.client.SetArgs(ctx, redisKey(c.Nonce), 1, redis.SetArgs{Mode: "NX", TTL: keep}).Result()
		if errors.Is(err, redis.Nil) {
			return 0, nil
		}
		return 1, err
	})
	return n == 1, err
}

// chargeScript adds to the count of a link that has one. An unconditional increment would make a
// key without an expiry.
const chargeScript = `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('INCRBY', KEYS[1], ARGV[1]) - 1`

// Charge implements [Nonces].
func (r *Redis) Charge(ctx context.Context, c Claim, units int) (int, error) {
	return r.ask(ctx, func(ctx context.Context) (int, error) {
		return r.client.Eval(ctx, chargeScript, []string{redisKey(c.Nonce)}, units).Int()
	})
}

// Used implements [Nonces].
func (r *Redis) Used(ctx context.Context, c Claim) (bool, error) {
	n, err := r.ask(ctx, func(ctx context.Context) (int, error) {
		n, err := r.client.Exists(ctx, redisKey(c.Nonce)).Result()
		return int(n), err
	})
	return n > 0, err
}

// ask puts a question to Redis through the breaker. A client's disconnection does not end it: the
// breaker would count it as a failure of Redis, and it would leave open whether a nonce is used.
func (r *Redis) ask(ctx context.Context, question func(context.Context) (int, error)) (int, error) {
	n, err := r.breaker.Execute(func() (int, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
		defer cancel()
		return question(bounded)
	})
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	return n, nil
}

func redisKey(n Nonce) string { return redisPrefix + base64.RawURLEncoding.EncodeToString(n[:]) }
