package links

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

// linkSegment precedes the token in a URL.
const linkSegment = "dl/"

// Base is the public URL of a server, with which all its links begin. Links contain nothing from a
// request.
type Base struct {
	prefix string // with a slash at its end
	host   string
}

// ParseBase checks a public URL. Links are as secret as passwords, so it must be https, except on
// the loopback interface.
func ParseBase(publicURL string) (Base, error) {
	u, err := url.Parse(publicURL)
	if err != nil {
		// net/url's error quotes the URL, which may contain a password.
		return Base{}, errors.New("the public URL is malformed; write one like https://git.example.com")
	}
	// A percent sign in the host begins an IPv6 zone, which has no meaning on another machine.
	plain := u.Opaque == "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		!strings.Contains(publicURL, "#") && !strings.Contains(u.Host, "%")
	if !plain || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return Base{}, errors.New("the public URL must have a scheme and a host, and no user, query or fragment, " +
			"like https://git.example.com")
	}
	if !loopback.Private(u) {
		return Base{}, fmt.Errorf("the public URL of %s must begin with https://: otherwise a link could be "+
			"read and used by others", u.Hostname())
	}
	host := CanonicalHost(u.Host)
	if len(host) > maxHostBytes {
		return Base{}, fmt.Errorf("%w: the host of the public URL has more than %d bytes", ErrTooLong, maxHostBytes)
	}
	prefix := u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/") + "/"
	return Base{prefix: prefix, host: host}, nil
}

// Host returns the host of the links, in the form of [CanonicalHost].
func (b Base) Host() string { return b.host }

// URL returns the URL of a token. Its content cannot be read.
func (b Base) URL(token string) string { return b.prefix + linkSegment + token }

// Address returns the public URL without a slash at its end.
func (b Base) Address() string { return strings.TrimSuffix(b.prefix, "/") }

// CanonicalHost returns the canonical spelling of a host: lower case, without the ports of http and
// https and without the final dot of DNS.
func CanonicalHost(host string) string {
	host = strings.ToLower(host)
	for _, port := range []string{":443", ":80"} {
		// A colon within the brackets of an IPv6 address begins no port.
		if name, ok := strings.CutSuffix(host, port); ok &&
			(!strings.Contains(name, ":") || strings.HasSuffix(name, "]")) {
			host = name
			break
		}
	}
	return strings.TrimSuffix(host, ".")
}
