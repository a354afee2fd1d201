// Package oauth checks the tokens of an authorization server, as an OAuth 2.1 resource
// server does: JSON Web Tokens that it signed for this server (RFC 9068), with keys that
// it publishes. No token is sent anywhere.
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
	"github.com/repomcp/repomcp/internal/loopback"
)

const (
	// leeway is by how much the clocks of issuer and server may differ.
	leeway = time.Minute
	// maxSubjectBytes is that of OpenID Connect, and bounds what ids and links hold.
	maxSubjectBytes = 255
	// defaultGroupsClaim is what most authorization servers call it.
	defaultGroupsClaim = "groups"
)

// Options of an [Issuer]. URL and Audience are required.
type Options struct {
	// URL is that of the authorization server, as its tokens name it in "iss".
	URL string
	// Audience has to be among those that a token names in "aud".
	Audience string
	// Scope has to be among those of a token; "" wants none.
	Scope string
	// GroupsClaim names the groups, or roles, of who asks; "" is groups. Dots lead
	// into objects: realm_access.roles.
	GroupsClaim string
	// HTTP carries requests to the issuer; nil is the usual way.
	HTTP http.RoundTripper
	// Now is the clock; nil is that of the machine.
	Now    func() time.Time
	Logger *slog.Logger
}

// Issuer is an authorization server whose tokens are accepted. Several goroutines may
// use it.
type Issuer struct {
	options Options
	keys    *keySet
}

// New makes an issuer; nothing is asked of it before a token has to be checked.
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

// Follow has the issuer's keys fetched now and every so often, until ctx ends. Without it
// that happens when a token names a key that is not known.
func (i *Issuer) Follow(ctx context.Context) { i.keys.follow(ctx) }

// Keys asks the issuer for the keys that it signs with, and returns how many there are. It
// fails as long as the issuer cannot be asked.
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

// check wants a token of this issuer, for this server, for somebody and for now. What it returns is
// for the log.
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
	case now.Add(leeway).Before(token.NotBefore.Time()): // zero where there is none
		return errors.New("it is not valid yet")
	case !sane(token.Subject):
		return errors.New("its subject is none")
	default:
		return nil
	}
}

// sane refuses subjects that could not stand in a log or in a link.
func sane(subject string) bool {
	return subject != "" && len(subject) <= maxSubjectBytes && !strings.ContainsFunc(subject, unicode.IsControl)
}
