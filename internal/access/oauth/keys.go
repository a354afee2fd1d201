package oauth

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/panics"
	"github.com/repomcp/repomcp/internal/ticks"
)

const (
	// refetchPause is how long the issuer is left alone after it was asked for keys, whatever
	// tokens come: anybody can make one that names an unknown key.
	refetchPause = 10 * time.Second
	// keysLife is after how long keys are asked for again although no token wants it, so
	// that one that the issuer has withdrawn stops being good.
	keysLife = 15 * time.Minute
)

// algorithms are those that sign with a key of which only the other half is public. What
// is missing is none, and all of HMAC: its key would be the public one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// keySet is the keys that the issuer signs with. A token that names a known key waits for nothing.
type keySet struct {
	source source
	now    func() time.Time
	logger *slog.Logger
	known  atomic.Pointer[[]jose.JSONWebKey] // nil before there were any

	// asking lets one question be under way, for all that wait for its answer. Only the
	// function that it runs uses what follows.
	asking  singleflight.Group
	ended   time.Time // when the issuer was asked last; zero: never
	failure error     // of that
}

func newKeySet(o Options) *keySet {
	return &keySet{source: newSource(o.URL, o.HTTP), now: o.Now, logger: o.Logger}
}

// errSignature says that no key of the issuer made a signature.
var errSignature = fmt.Errorf("%w: no key of the issuer has signed it", access.ErrInvalid)

// verify returns what the issuer has signed. Errors wrap [access.ErrInvalid] or
// [access.ErrUnavailable].
func (k *keySet) verify(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no JSON Web Token that is signed with a public key", access.ErrInvalid)
	}
	// An empty list is not allowed, and nothing that a list could name is known here (RFC 7515,
	// section 4.1.11).
	if _, critical := signed.Signatures[0].Protected.ExtraHeaders["crit"]; critical {
		return nil, fmt.Errorf("%w: it has the header crit", access.ErrInvalid)
	}
	if keys := k.known.Load(); keys != nil {
		if payload, known, err := verifyWith(signed, *keys); known {
			return payload, err
		}
	}
	keys, err := k.fetch(ctx) // the issuer may have new ones
	if err != nil {
		return nil, fmt.Errorf("%w: %w", access.ErrUnavailable, err)
	}
	payload, _, err := verifyWith(signed, keys)
	return payload, err
}

// verifyWith returns what was signed, or [errSignature], and whether the key that the token
// names is known, or the one that has signed it: a token that names none may be of any.
func verifyWith(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) (payload []byte, known bool, err error) {
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
// what is known may not be all. However many wait, one question is under way; its end, and with it
// that of all who wait, comes after askTimeout at the latest. The end of ctx ends the waiting alone.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	select {
	case answer := <-k.asking.DoChan("", k.askSeldom):
		keys, _ := answer.Val.([]jose.JSONWebKey)
		return keys, answer.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askSeldom returns the keys after the pause, and what the issuer answered last before that.
func (k *keySet) askSeldom() (any, error) {
	if k.ended.IsZero() || k.now().Sub(k.ended) >= refetchPause {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		k.ask(ctx)
		cancel()
		k.ended = k.now()
	}
	if k.failure != nil {
		return nil, k.failure
	}
	return *k.known.Load(), nil
}

// ask replaces the keys. Old ones stay good where the issuer cannot be asked.
func (k *keySet) ask(ctx context.Context) {
	var keys []jose.JSONWebKey
	err := panics.Catch(func() (err error) { // singleflight would end the process
		keys, err = k.source.keys(ctx)
		return err
	})
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
