package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/ticks"
)

const (
	// refetchPause is how often the issuer is asked for keys at most, whatever tokens
	// come: anybody can make one that names an unknown key.
	refetchPause = 10 * time.Second
	// keysLife is after how long keys are asked for again although no token wants it, so
	// that one that the issuer has withdrawn stops being good.
	keysLife = 15 * time.Minute
)

// outageKey of a context leads to where a keySet notes that it has no keys to check
// with: go-oidc keeps only the text of an error.
type outageKey struct{}

func withOutage(ctx context.Context, outage *error) context.Context {
	return context.WithValue(ctx, outageKey{}, outage)
}

// keySet is the keys that the issuer signs with. It implements [oidc.KeySet]. A token that
// names a known key waits for nobody.
type keySet struct {
	source source
	now    func() time.Time
	logger *slog.Logger
	known  atomic.Pointer[[]jose.JSONWebKey] // nil before there were any

	// turn has room for one goroutine, which then has what follows: waiting for it ends
	// with a context, as waiting for a mutex would not.
	turn    chan struct{}
	asked   time.Time // when the issuer was asked last; zero: never
	failure error     // of that
}

func newKeySet(o Options) *keySet {
	return &keySet{source: newSource(o.URL, o.HTTP), now: o.Now, logger: o.Logger, turn: make(chan struct{}, 1)}
}

// errSignature says that no key of the issuer made a signature.
var errSignature = errors.New("no key of the issuer has signed it")

// VerifySignature implements [oidc.KeySet]. go-oidc has refused other algorithms.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	allowed := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, name := range algorithms {
		allowed[i] = jose.SignatureAlgorithm(name)
	}
	signed, err := jose.ParseSigned(token, allowed)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errors.New("it is no JSON Web Token with one signature")
	}
	if keys := k.known.Load(); keys != nil {
		if payload, known, err := verify(signed, *keys); known {
			return payload, err
		}
	}
	keys, err := k.fetch(ctx) // the issuer may have new ones
	if err != nil {
		if outage, ok := ctx.Value(outageKey{}).(*error); ok {
			*outage = fmt.Errorf("%w: %w", access.ErrUnavailable, err)
		}
		return nil, err
	}
	payload, _, err := verify(signed, keys)
	return payload, err
}

// verify returns what was signed, or [errSignature], and whether the key that the token
// names is known, or the one that has signed it: a token that names none may be of any.
func verify(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) (payload []byte, known bool, err error) {
	header := signed.Signatures[0].Header
	for _, key := range keys {
		if header.KeyID != "" && key.KeyID != header.KeyID {
			continue
		}
		known = known || header.KeyID != ""
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true, nil
		}
	}
	return nil, known, errSignature
}

// fetch asks the issuer for its keys, unless it was asked a moment ago. An error says that
// what is known may not be all.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if now := k.now(); k.asked.IsZero() || now.Sub(k.asked) >= refetchPause {
		// It does not end with the request that it is for: others have use of it.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		k.ask(asking)
		cancel()
		k.asked = now
	}
	if k.failure != nil {
		return nil, k.failure
	}
	return *k.known.Load(), nil
}

// ask replaces the keys. Old ones stay good where the issuer cannot be asked.
func (k *keySet) ask(ctx context.Context) {
	keys, err := k.source.keys(ctx)
	recovered := k.failure != nil && err == nil
	if k.failure = err; err != nil {
		k.logger.Error("the keys of the issuer were not fetched; tokens that need them are refused", "error", err)
		return
	}
	keys = slices.DeleteFunc(keys, useless)
	k.known.Store(&keys)
	if recovered {
		k.logger.Info("the keys of the issuer were fetched", "keys", len(keys))
	}
}

// follow has the keys fetched now and every so often, until ctx ends.
func (k *keySet) follow(ctx context.Context) {
	_, _ = k.fetch(ctx) // it has been logged
	for range ticks.Every(ctx, keysLife) {
		_, _ = k.fetch(ctx)
	}
}

// useless tells keys that sign nothing here: secret ones, and those to encrypt with.
func useless(key jose.JSONWebKey) bool { return !key.IsPublic() || !key.Valid() || key.Use == "enc" }
