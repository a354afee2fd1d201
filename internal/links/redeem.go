package links

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"
)

// Redemption is a use of a single-use link.
type Redemption struct {
	// Secret goes into the entity tag of the reply by [TagETag]. It is "" for reusable links.
	Secret string
}

const (
	// secretBytes of a redemption make it impossible to guess.
	secretBytes = 16

	// wholeUnits is the cost of resuming with the whole content; a range costs its share, at least
	// 1.
	wholeUnits = 16
	// resumeWholes bounds what all resumes of a download may request together. It is enough for a
	// connection that breaks five times at equal intervals, and for a client that starts over three
	// times.
	resumeWholes = 3
)

// Resume is a request that resumes a download. The zero value is a first use.
type Resume struct {
	Secret string // of the redemption that is resumed
	// Length is how many of the Size bytes are requested.
	Length, Size int64
}

// units returns what a resume costs.
func (r Resume) units() int {
	share := float64(r.Length) / float64(max(1, r.Size))
	return int(min(max(1, math.Ceil(share*wholeUnits)), wholeUnits))
}

// Redeem uses a link that [Authority.Verify] has just accepted. Call it when only the client can
// still keep the first byte from being sent, and not for HEAD, which uses nothing up.
//
// Without a secret it is the first use, and [ErrUsed] if there was one already. With a secret it
// continues the use that the secret came from, and fails with [ErrUsed] when all continuations
// together request more than three times the content. The other errors are [ErrExpired], and
// [ErrUnavailable] if the record cannot be reached; a first use may then have been counted, so that
// the client may need a new link. Reusable links are always redeemed.
func (a *Authority) Redeem(ctx context.Context, l Link, r Resume) (Redemption, error) {
	switch {
	case !l.SingleUse:
		return Redemption{}, nil
	case a.options.Nonces == nil:
		return Redemption{}, fmt.Errorf("%w: there is none", ErrUnavailable)
	case r.Secret != "":
		return a.resume(ctx, l, r)
	case !a.options.Now().Before(l.Expires):
		// Verify may have been called for a continuation.
		return Redemption{}, ErrExpired
	}
	first, err := a.options.Nonces.Claim(ctx, a.claim(l))
	if err != nil {
		return Redemption{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !first {
		return Redemption{}, ErrUsed
	}
	return l.redemption(), nil
}

func (a *Authority) resume(ctx context.Context, l Link, r Resume) (Redemption, error) {
	whole := l.redemption()
	if subtle.ConstantTimeCompare([]byte(r.Secret), []byte(whole.Secret)) != 1 {
		return Redemption{}, ErrUsed
	}
	sum, err := a.options.Nonces.Charge(ctx, a.claim(l), r.units())
	switch {
	case err != nil:
		return Redemption{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case sum == 0:
		return Redemption{}, ErrUsed // the secret was never sent
	case sum > resumeWholes*wholeUnits:
		return Redemption{}, fmt.Errorf("%w: its download was resumed too often", ErrUsed)
	}
	return whole, nil
}

// Peek predicts the result of Redeem for a first use, as far as that is possible, and uses nothing:
// nil, [ErrUsed] or [ErrUnavailable].
func (a *Authority) Peek(ctx context.Context, l Link) error {
	switch {
	case !l.SingleUse:
		return nil
	case a.options.Nonces == nil:
		return fmt.Errorf("%w: there is none", ErrUnavailable)
	}
	used, err := a.options.Nonces.Used(ctx, a.claim(l))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case used:
		return ErrUsed
	}
	return nil
}

// claim returns the identity under which the uses of a link are counted.
func (a *Authority) claim(l Link) Claim {
	return Claim{Nonce: l.Nonce, Place: l.Place, Forget: a.forget(l.Expires)}
}

// forget returns the time from which no replica accepts a link. A replica whose clock is slow
// accepts it longer.
func (a *Authority) forget(expires time.Time) time.Time {
	return expires.Add(a.grace + 2*maxSkew)
}

func (l Link) redemption() Redemption {
	return Redemption{Secret: base64.RawURLEncoding.EncodeToString(l.secret[:])}
}

// etagMark separates the entity tag of content from the secret of a redemption. No entity tag
// contains it.
const etagMark = "~"

// TagETag adds a redemption to the opaque part of a strong entity tag (without quotes).
func TagETag(etag string, r Redemption) string {
	if r.Secret == "" {
		return etag
	}
	return etag + etagMark + r.Secret
}

// SplitETag is the inverse of [TagETag], for the opaque part of If-Range. Without a secret it
// returns the tag unchanged.
func SplitETag(tag string) (etag, secret string) {
	i := strings.LastIndex(tag, etagMark)
	if i < 0 || len(tag)-i-len(etagMark) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return tag, ""
	}
	return tag[:i], tag[i+len(etagMark):]
}
