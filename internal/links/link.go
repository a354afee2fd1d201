package links

import (
	"fmt"
	"time"
)

const (
	// MaxLifetime bounds how long a leaked link is useful.
	MaxLifetime = time.Hour
	// maxSkew is how much the clocks of replicas may differ.
	maxSkew = time.Minute
	// maxPrincipalBytes has room for an issuer's URL and a subject.
	maxPrincipalBytes = 512
	// maxHostBytes is the longest name in DNS, with a port.
	maxHostBytes = 253 + len(":65535")
)

// Kind is the purpose for which a link was made.
type Kind byte

// The kinds.
const (
	Download Kind = 1 // downloadUrl of a resources/stream (SEP-2532)
	HTTP     Kind = 2 // httpUrl of a resource (SEP-2166)
)

// Methods is a set of HTTP methods.
type Methods byte

// A link is valid for these methods.
const (
	GET Methods = 1 << iota
	HEAD

	allMethods = GET | HEAD
)

var methodNames = map[string]Methods{"GET": GET, "HEAD": HEAD}

// Has reports whether a method, by its name in a request, is in the set.
func (m Methods) Has(name string) bool { return m&methodNames[name] != 0 }

// Grant is the caller's part of a link.
type Grant struct {
	Kind    Kind
	Methods Methods
	// Resource is the canonical URI, with the full commit id and every option: a link must always
	// mean the same content.
	Resource string
	// Asked is the URI that the client asked with, and FileName the name under which a download is
	// saved. The bearer may read them; they decide nothing.
	Asked    string
	FileName string
	// Repository is the name in Resource; "" if the resource belongs to none.
	Repository string
	// Principal is the id of the principal that may read the resource; "" without authentication. A
	// request with another principal's credentials is refused; a link without a principal ignores
	// credentials. A link of kind [Download] needs the credentials of its principal. Links of kind
	// [HTTP] need none: SEP-2166 forbids it.
	Principal string
	// Reader is the id of the client that asked for the link, "" without one, and Rights are its
	// other rights, in the caller's encoding. They are checked again whenever the resource is
	// opened.
	Reader string
	Rights string
	// SingleUse makes the link valid for one download.
	SingleUse bool
	// Lifetime is cut to whole seconds; at most [MaxLifetime].
	Lifetime time.Duration
}

// Nonce makes a link unique.
type Nonce [16]byte

// Link is the content of a token: a grant, and the fields that Mint adds.
type Link struct {
	Grant
	// Host is the public URL's, so that servers with the same keys do not honour each other's
	// links.
	Host    string
	Issued  time.Time // whole milliseconds
	Expires time.Time // whole seconds
	Nonce   Nonce
	// Place is where the uses of a single-use link are counted.
	Place Place

	// secret is the secret of a redemption. It is derived from the key and the nonce, and is sent
	// only to the first client that redeems the link.
	secret [secretBytes]byte
}

// isBound reports whether the link is worthless without the credentials of its principal.
func (g Grant) isBound() bool { return g.Kind == Download && g.Principal != "" }

// check refuses invalid links with ErrGrant.
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
