package links

import (
	"fmt"
	"time"
)

const (
	// MaxLifetime bounds how long a leaked link is of use to its finder.
	MaxLifetime = time.Hour
	// maxSkew is how much the clocks of replicas may differ.
	maxSkew = time.Minute
	// maxPrincipalBytes has room for an issuer's URL and a subject.
	maxPrincipalBytes = 512
	// maxHostBytes is the longest name in DNS, with a port.
	maxHostBytes = 253 + len(":65535")
)

// Kind is what a link was handed out as.
type Kind byte

// The kinds.
const (
	Download Kind = 1 // downloadUrl of a resources/stream (SEP-2532)
	HTTP     Kind = 2 // httpUrl of a resource (SEP-2166)
)

// Methods is a set of HTTP methods.
type Methods byte

// The methods that a link can be good for.
const (
	GET Methods = 1 << iota
	HEAD

	allMethods = GET | HEAD
)

var methodNames = map[string]Methods{"GET": GET, "HEAD": HEAD}

// Has reports whether a method, by its name in a request, is in the set.
func (m Methods) Has(name string) bool { return m&methodNames[name] != 0 }

// Grant is what a caller of [Authority.Mint] decides.
type Grant struct {
	Kind    Kind
	Methods Methods
	// Resource is the canonical URI, with the full commit id and every option.
	// A link must not mean something else tomorrow.
	Resource string
	// Asked is the URI that the link was asked for with, and FileName the name that a
	// download is saved as. The bearer may read them; they decide nothing.
	Asked    string
	FileName string
	// Repository is the name in Resource; "" where the resource belongs to none.
	Repository string
	// Principal is who may read the resource, in the caller's own words; ""
	// where nobody is asked. A request with the credentials of another one is
	// refused; to a link without a principal no credentials mean anything. A link of kind
	// [Download] needs the credentials of its principal. Links of kind [HTTP] need none:
	// SEP-2166 forbids to ask for any.
	Principal string
	// Reader is the id of who asked for the link, "" for anybody, and Rights is what
	// else decides on their access, in the caller's own words. Whoever opens the
	// resource asks again whether they may read it.
	Reader string
	Rights string
	// SingleUse makes the link good for one download.
	SingleUse bool
	// Lifetime is cut to whole seconds; at most [MaxLifetime].
	Lifetime time.Duration
}

// Nonce makes a link unique.
type Nonce [16]byte

// Link is what a token says: a grant, and what Mint added.
type Link struct {
	Grant
	// Host is the public URL's, so that servers with the same keys do not
	// honour each other's links.
	Host    string
	Issued  time.Time // whole milliseconds
	Expires time.Time // whole seconds
	Nonce   Nonce
	// Place is where the uses of a single-use link are counted.
	Place Place

	// secret of a redemption. It follows from the key and the nonce, and is
	// sent only to the first who redeems the link.
	secret [secretBytes]byte
}

// isBound reports whether the link is worthless without the credentials of its principal.
func (g Grant) isBound() bool { return g.Kind == Download && g.Principal != "" }

// check refuses with ErrGrant what no token may say.
func (l Link) check() error {
	lifetime := l.Expires.Sub(l.Issued)
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{l.Kind != Download && l.Kind != HTTP, "unknown kind"},
		{l.Methods == 0 || l.Methods&^allMethods != 0, "methods must be GET, HEAD or both"},
		{l.Resource == "", "no resource"},
		{l.Host == "", "no host"},
		{l.Issued.Before(time.Unix(0, 0)), "issued before 1970"},
		// Mint cuts Expires to seconds, which can only shorten the lifetime.
		{lifetime <= 0 || lifetime > MaxLifetime,
			"lifetime must be at least a second and at most " + MaxLifetime.String()},
	} {
		if rule.broken {
			return fmt.Errorf("%w: %s", ErrGrant, rule.text)
		}
	}
	if max(len(l.Principal), len(l.Reader)) > maxPrincipalBytes || len(l.Host) > maxHostBytes {
		return fmt.Errorf("%w: a principal has at most %d bytes, a host %d", ErrTooLong, maxPrincipalBytes,
			maxHostBytes)
	}
	return nil
}
