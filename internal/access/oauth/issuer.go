// Package oauth verifies the tokens of an authorization server, as an OAuth 2.1 resource server
// does: JSON Web Tokens for this server (RFC 9068), signed with keys that the issuer publishes. No
// token is sent anywhere.
//
// # Decisions
//
// The set of keys is fetched here because go-oidc's fetches at each unknown key, and its verifier
// decodes claims with encoding/json, which ignores the case of names. go-jose's JSON matches them
// exactly, and refuses duplicates.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/loopback"
)

const (
	// leeway is the tolerated difference between the clocks of issuer and server.
	leeway = time.Minute
	// maxSubjectBytes is the limit of OpenID Connect, and bounds the size of ids and links.
	maxSubjectBytes = 255
	// defaultGroupsClaim is the usual name of the claim.
	defaultGroupsClaim = "groups"
)

// Options of an [Issuer]. URL and Audience are required.
type Options struct {
	// URL of the authorization server, as in the claim "iss" of its tokens.
	URL string
	// Audience must be in the claim "aud" of a token.
	Audience string
	// Scope is the required scope of a token; "" requires none.
	Scope string
	// GroupsClaim is the claim with the client's groups or roles; "" means groups. Dots lead into
	// objects: realm_access.roles.
	GroupsClaim string
	// HTTP transports requests to the issuer; nil means the default.
	HTTP http.RoundTripper
	// Now is the clock; nil means the machine's.
	Now    func() time.Time
	Logger *slog.Logger
}

// Issuer is an authorization server whose tokens are accepted. It is safe for concurrent use.
type Issuer struct {
	options Options
	keys    *keySet
}

// New returns an issuer. It sends no request before a token has to be verified.
func New(o Options) (*Issuer, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" || at.RawQuery != "" || at.Fragment != "" || at.User != nil ||
		!loopback.Private(at) {
		return nil, fmt.Errorf("%q is no issuer such as https://login.example.com, with https unless it is on this "+
			"machine", o.URL)
	}
	if o.Audience == "" {
		return nil, errors.New("the audience of tokens is not known")
	}
	o.GroupsClaim = cmp.Or(o.GroupsClaim, defaultGroupsClaim)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Issuer{options: o, keys: newKeySet(o)}, nil
}

// Follow fetches the issuer's keys now and regularly until ctx ends. Without it, keys are fetched
// when a token names an unknown key.
func (i *Issuer) Follow(ctx context.Context) { i.keys.follow(ctx) }

// Keys fetches the issuer's keys, and returns their number. It fails while the issuer is
// unreachable.
func (i *Issuer) Keys(ctx context.Context) (int, error) {
	keys, err := i.keys.fetch(ctx)
	return len(keys), err
}

// Authenticate implements [access.Verifier].
func (i *Issuer) Authenticate(ctx context.Context, token string) (access.Principal, error) {
	payload, err := i.keys.verify(ctx, token)
	if err != nil {
		return access.Principal{}, err
	}
	known, said, err := readClaims(payload)
	if err == nil {
		err = i.check(known)
	}
	if err != nil {
		return access.Principal{}, fmt.Errorf("%w: %w", access.ErrInvalid, err)
	}
	scopes := said.scopes()
	if i.options.Scope != "" && !slices.Contains(scopes, i.options.Scope) {
		return access.Principal{}, fmt.Errorf("%w: oauth:%s has not %s", access.ErrScope, known.Subject,
			i.options.Scope)
	}
	return access.Principal{
		ID: "oauth:" + known.Subject, Groups: said.groups(i.options.GroupsClaim), Scopes: scopes,
	}, nil
}

// check requires a token of this issuer, for this server, with a subject, and currently valid. Its
// errors are for the log.
func (i *Issuer) check(token registered) error {
	now := i.options.Now()
	switch {
	case token.Issuer != i.options.URL:
		return fmt.Errorf("it is of the issuer %.200q, not of %q", token.Issuer, i.options.URL)
	case !token.Audience.Contains(i.options.Audience):
		return fmt.Errorf("it is for %.200q, not for %q", token.Audience, i.options.Audience)
	case token.Expiry == nil:
		return errors.New("it never expires")
	case !now.Before(token.Expiry.Time().Add(leeway)):
		return errors.New("it expired")
	case now.Add(leeway).Before(token.NotBefore.Time()): // zero if absent
		return errors.New("it is not valid yet")
	case token.Confirmation != nil:
		return errors.New("it is bound to a key (cnf), and its client's proof is not checked here")
	case !sane(token.Subject):
		return errors.New("its subject is none")
	default:
		return nil
	}
}

// sane refuses subjects that are unsafe in a log or in a link.
func sane(subject string) bool {
	return subject != "" && len(subject) <= maxSubjectBytes && !strings.ContainsFunc(subject, unicode.IsControl)
}
