package links

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// Redemption is a use of a single-use link.
type Redemption struct {
	// Secret goes into the entity tag of the reply by [TagETag]. It is "" for
	// links that can be used again.
	Secret string
	// Until is when the download can no longer be resumed.
	Until time.Time
}

// secretBytes of a redemption: not to be guessed within the grace, or ever.
const secretBytes = 16

// Redeem uses a link that [Authority.Verify] has just accepted. Call it when
// nothing but the client can keep the first byte from being sent, and not for
// HEAD: a link that was looked at is not used.
//
// With resume "" it is the first use, and [ErrUsed] if there was one already.
// With a secret it is the continuation of the use that the secret came from.
// The other errors are [ErrExpired], and [ErrUnavailable] when that cannot be
// found out; after that a first use may count as one, so that the client may
// need a new link. Links for more than one use are always redeemed.
func (a *Authority) Redeem(ctx context.Context, l Link, resume string) (Redemption, error) {
	switch {
	case !l.SingleUse:
		return Redemption{}, nil
	case a.options.Nonces == nil:
		return Redemption{}, fmt.Errorf("%w: there is none", ErrUnavailable)
	case resume != "":
		return a.resume(ctx, l, resume)
	}
	now := a.options.Now()
	if !now.Before(l.Expires) {
		// Verify may have been asked about a continuation.
		return Redemption{}, ErrExpired
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it does not fail (crypto/rand)
	r := Redemption{Secret: base64.RawURLEncoding.EncodeToString(secret), Until: now.Add(a.options.Grace).Truncate(time.Millisecond)}
	claim := Claim{Nonce: l.Nonce, Mark: Mark{Secret: sha256.Sum256([]byte(r.Secret)), Until: r.Until}, Issued: l.Issued}
	// Another replica's clock may be behind: to it the link lives longer.
	claim.Forget = l.Expires.Add(2 * maxSkew)
	if r.Until.After(claim.Forget) {
		claim.Forget = r.Until
	}
	first, err := a.options.Nonces.Claim(ctx, claim)
	if err != nil {
		return Redemption{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !first {
		return Redemption{}, ErrUsed
	}
	return r, nil
}

func (a *Authority) resume(ctx context.Context, l Link, secret string) (Redemption, error) {
	mark, found, err := a.options.Nonces.Find(ctx, l.Nonce)
	if err != nil {
		return Redemption{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	given := sha256.Sum256([]byte(secret))
	if !found || subtle.ConstantTimeCompare(given[:], mark.Secret[:]) != 1 {
		return Redemption{}, ErrUsed
	}
	if !a.options.Now().Before(mark.Until) {
		return Redemption{}, fmt.Errorf("%w: it can no longer be resumed", ErrUsed)
	}
	return Redemption{Secret: secret, Until: mark.Until}, nil
}

// etagMark separates the entity tag of a content from the secret of a
// redemption. No tag of ours has it.
const etagMark = "~"

// TagETag adds a redemption to the opaque part of a strong entity tag (without
// quotes).
func TagETag(etag string, r Redemption) string {
	if r.Secret == "" {
		return etag
	}
	return etag + etagMark + r.Secret
}

// SplitETag is the inverse of [TagETag], for the opaque part of If-Range.
// Without a secret it returns the tag as it is.
func SplitETag(tag string) (etag, secret string) {
	i := strings.LastIndex(tag, etagMark)
	if i < 0 || len(tag)-i-len(etagMark) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return tag, ""
	}
	return tag[:i], tag[i+len(etagMark):]
}
