package links

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"
)

// defaultGrace is how long after its link has expired a single-use download may be resumed: enough
// for a break or two of a large one, too short for a second use tomorrow.
const defaultGrace = 15 * time.Minute

// Options of an [Authority]. Keys and Base are required.
type Options struct {
	Keys *Keyring
	Base Base
	// Nonces remembers used links; without it there are no single-use links.
	Nonces Nonces
	// Now is the clock; nil means the machine's.
	Now func() time.Time
}

// Authority makes links and checks them. Several goroutines may use it.
type Authority struct {
	options Options
	grace   time.Duration // defaultGrace, except in tests
}

// New makes an authority.
func New(options Options) (*Authority, error) {
	if options.Keys == nil || options.Base.host == "" {
		return nil, errors.New("links need keys and a public URL")
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Keys.Value().signer(options.Now()) == nil {
		return nil, errors.New("every link key signs from a later date on; add one whose date has come")
	}
	return &Authority{options, defaultGrace}, nil
}

// Mint makes a link. The caller has checked that the principal may read the resource. The errors
// are [ErrGrant], [ErrTooLong] and [ErrUnavailable].
func (a *Authority) Mint(g Grant) (token string, l Link, err error) {
	if g.SingleUse && a.options.Nonces == nil {
		return "", Link{}, fmt.Errorf("%w: single use needs a record of used links", ErrGrant)
	}
	now := a.options.Now()
	k := a.options.Keys.Value().signer(now)
	if k == nil {
		return "", Link{}, fmt.Errorf("%w: every key of the ring signs from a later date on", ErrGrant)
	}
	if g.Lifetime < time.Second || g.Lifetime > MaxLifetime {
		return "", Link{}, fmt.Errorf("%w: lifetime must be at least a second and at most %v", ErrGrant, MaxLifetime)
	}
	l = Link{
		Grant: g, Host: a.options.Base.host,
		Issued:  now.UTC().Truncate(time.Millisecond),
		Expires: now.UTC().Add(g.Lifetime).Truncate(time.Second),
	}
	l.Lifetime = l.Expires.Sub(l.Issued)
	if g.SingleUse {
		if l.Place, err = a.options.Nonces.Reserve(a.forget(l.Expires)); err != nil {
			return "", Link{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	_, _ = rand.Read(l.Nonce[:]) // it does not fail (crypto/rand)
	if l.secret, err = k.redemption(l.Nonce); err != nil {
		return "", Link{}, err
	}
	token, err = k.seal(l)
	if err != nil {
		return "", Link{}, err
	}
	return token, l, nil
}

// Use is a request with a token.
type Use struct {
	Method string
	// Host is the host of the request, or that of the public URL if a proxy hides it.
	Host string
	// Principal is that of the request's credentials; "" without credentials.
	Principal string
	// Resume is the secret that [SplitETag] found in If-Range of a request with Range; ""
	// otherwise. With it a single-use link outlives its expiry by the grace: [Authority.Redeem]
	// must be given the same secret.
	Resume string
}

// Verify checks a token. The errors are [ErrTooLong], [ErrForged], [ErrExpired] and
// [ErrCredentials]. A single-use link also has to pass [Authority.Redeem].
func (a *Authority) Verify(token string, use Use) (Link, error) {
	l, err := open(token, a.options.Keys.Value().find)
	if err != nil {
		return Link{}, err
	}
	now := a.options.Now()
	until := l.Expires
	if l.SingleUse && use.Resume != "" {
		until = until.Add(a.grace)
	}
	for _, rule := range []struct {
		broken bool
		err    error
		text   string
	}{
		{l.Host != CanonicalHost(use.Host), ErrForged, "it is of another host"},
		{!l.Methods.Has(use.Method), ErrForged, "it is of another method"},
		{l.Issued.After(now.Add(maxSkew)), ErrForged, "it was made in the future; compare the clocks"},
		{!now.Before(until), ErrExpired, ""},
		{use.Principal != "" && l.Principal != "" && !equal(use.Principal, l.Principal), ErrCredentials,
			"it is of another principal"},
		{l.isBound() && use.Principal == "", ErrCredentials, ""},
	} {
		if !rule.broken {
			continue
		}
		if rule.text == "" {
			return Link{}, rule.err
		}
		return Link{}, fmt.Errorf("%w: %s", rule.err, rule.text)
	}
	return l, nil
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
