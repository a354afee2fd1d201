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
	// Secret goes into the entity tag of the reply by [TagETag]. It is "" for
	// links that can be used again.
	Secret string
}

const (
	// secretBytes of a redemption: not to be guessed within the grace, or ever.
	secretBytes = 16

	// wholeUnits is what it costs to resume with a whole content; a part costs
	// its share, 1 at least.
	wholeUnits = 16
	// resumeWholes bounds what all resumes of a download may ask for together.
	// That is enough for a connection that breaks five times at even distances,
	// and for a client that begins anew three times.
	resumeWholes = 3
)

// Resume is a request to go on with a download. The zero value is a first use.
type Resume struct {
	Secret string // of the redemption that it goes on with
	// Length is how many bytes are asked for of a content of Size.
	Length, Size int64
}

// units returns what a resume costs.
func (r Resume) units() int {
	share := float64(r.Length) / float64(max(1, r.Size))
	return int(min(max(1, math.Ceil(share*wholeUnits)), wholeUnits))
}

// Redeem uses a link that [Authority.Verify] has just accepted. Call it when
// nothing but the client can keep the first byte from being sent, and not for
// HEAD: a link that was looked at is not used.
//
// Without a secret it is the first use, and [ErrUsed] if there was one already.
// With a secret it is the continuation of the use that the secret came from, and
// [ErrUsed] when all continuations together ask for more than three times the
// content. The other errors are [ErrExpired], and [ErrUnavailable] when that
// cannot be found out; after that a first use may count as one, so that the
// client may need a new link. Links for more than one use are always redeemed.
func (a *Authority) Redeem(ctx context.Context, l Link, r Resume) (Redemption, error) {
	switch {
	case !l.SingleUse:
		return Redemption{}, nil
	case a.options.Nonces == nil:
		return Redemption{}, fmt.Errorf("%w: there is none", ErrUnavailable)
	case r.Secret != "":
		return a.resume(ctx, l, r)
	case !a.options.Now().Before(l.Expires):
		// Verify may have been asked about a continuation.
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
		return Redemption{}, ErrUsed // the secret was sent to nobody
	case sum > resumeWholes*wholeUnits:
		return Redemption{}, fmt.Errorf("%w: its download was resumed too often", ErrUsed)
	}
	return whole, nil
}

// Peek returns what Redeem would return for a first use, as far as that is known
// beforehand, and uses nothing: nil, [ErrUsed] or [ErrUnavailable].
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

// claim returns the name under which the uses of a link are counted.
func (a *Authority) claim(l Link) Claim {
	return Claim{Nonce: l.Nonce, Place: l.Place, Forget: a.forget(l.Expires)}
}

// forget returns the time from which no replica accepts a link. Another replica's clock
// may be behind: to it the link lives longer.
func (a *Authority) forget(expires time.Time) time.Time {
	return expires.Add(a.grace + 2*maxSkew)
}

func (l Link) redemption() Redemption {
	return Redemption{Secret: base64.RawURLEncoding.EncodeToString(l.secret[:])}
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
