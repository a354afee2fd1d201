package oauth

import (
	"context"
	"crypto/rsa"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/ticks"
)

const (
	// refetchPause is the minimal time between requests for keys, whatever tokens arrive: any
	// client can make a token with an unknown key.
	refetchPause = 10 * time.Second
	// keysLife is the time after which keys are fetched again in any case, so that withdrawn keys
	// become invalid.
	keysLife = 15 * time.Minute
)

// algorithms are asymmetric ones. none is not among them, nor is HMAC, whose key would be the
// public one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// keySet holds the issuer's signing keys. A token with a known key never waits.
type keySet struct {
	source source
	now    func() time.Time
	logger *slog.Logger
	known  atomic.Pointer[[]jose.JSONWebKey] // nil before the first success

	// asking shares one request among all waiters. Only its function uses the following fields.
	asking  singleflight.Group
	ended   time.Time // time of the last request; zero: none
	failure error     // its error
}

func newKeySet(o Options) *keySet {
	return &keySet{source: newSource(o.URL, o.HTTP), now: o.Now, logger: o.Logger}
}

// errSignature means that no key of the issuer made a signature.
var errSignature = fmt.Errorf("%w: no key of the issuer has signed it", access.ErrInvalid)

// verify returns the payload signed by the issuer. Errors wrap [access.ErrInvalid] or
// [access.ErrUnavailable].
func (k *keySet) verify(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no JSON Web Token that is signed with a public key", access.ErrInvalid)
	}
	// The list must not be empty, and all of its possible extensions are unknown here (RFC 7515,
	// section 4.1.11).
	if _, critical := signed.Signatures[0].Protected.ExtraHeaders["crit"]; critical {
		return nil, fmt.Errorf("%w: it has the header crit", access.ErrInvalid)
	}
	if kind, _ := signed.Signatures[0].Protected.ExtraHeaders[jose.HeaderType].(string); isProof(kind) {
		return nil, fmt.Errorf("%w: it is a proof (%s) and no access token", access.ErrInvalid, kind)
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

// verifyWith returns the payload, or [errSignature]. known reports whether the token's key is
// known; a token may also name no key, and be signed by any.
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

// fetch requests the issuer's keys, unless that happened recently. An error means that the known
// keys may be incomplete. All callers share one request, which ends after askTimeout at the latest.
// The end of ctx only ends the waiting.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	select {
	case answer := <-k.asking.DoChan("", k.askSeldom):
		keys, _ := answer.Val.([]jose.JSONWebKey)
		return keys, answer.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askSeldom requests the keys after the pause; before that it returns the last result.
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

// ask replaces the keys. Old ones remain valid if the request fails.
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

// follow fetches the keys now and regularly until ctx ends.
func (k *keySet) follow(ctx context.Context) {
	_, _ = k.fetch(ctx) // already logged
	for range ticks.Every(ctx, keysLife) {
		_, _ = k.fetch(ctx)
	}
}

// isProof recognises the type of a proof of possession (RFC 9449, section 4.2), which is not an access token. Media
// types ignore case, and "application/" may be left out (RFC 7515, section 4.1.9).
func isProof(kind string) bool {
	return strings.TrimPrefix(strings.ToLower(kind), "application/") == "dpop+jwt"
}

// minRSABits is that of RFC 7518, section 3.3.
const minRSABits = 2048

// useless reports keys that do not verify signatures: secret ones, encryption keys, and those that are too weak.
func useless(key jose.JSONWebKey) bool {
	public, isRSA := key.Key.(*rsa.PublicKey)
	return !key.IsPublic() || !key.Valid() || key.Use == "enc" || isRSA && public.N.BitLen() < minRSABits
}
