package links

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

// linkSegment is what tokens follow.
const linkSegment = "dl/"

// Base is the public URL of a server: the only beginning of its links. Nothing
// of a request gets into one.
type Base struct {
	prefix string // with a slash at its end
	host   string
}

// ParseBase checks a public URL. Links carry what a password does, so it must be
// https unless it is of the loopback interface.
func ParseBase(publicURL string) (Base, error) {
	u, err := url.Parse(publicURL)
	if err != nil {
		// The error of net/url quotes the URL, which may hold a password.
		return Base{}, errors.New("the public URL is malformed; write one like https://git.example.com")
	}
	// A percent in the host is a zone of IPv6, which means nothing on another machine.
	plain := u.Opaque == "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		!strings.Contains(publicURL, "#") && !strings.Contains(u.Host, "%")
	if !plain || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return Base{}, errors.New("the public URL must have a scheme and a host, and no user, query or fragment, " +
			"like https://git.example.com")
	}
	if !loopback.Private(u) {
		return Base{}, fmt.Errorf("the public URL of %s must begin with https://: whoever reads a link on its way "+
			"can use it", u.Hostname())
	}
	host := CanonicalHost(u.Host)
	if len(host) > maxHostBytes {
		return Base{}, fmt.Errorf("%w: the host of the public URL has more than %d bytes", ErrTooLong, maxHostBytes)
	}
	prefix := u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/") + "/"
	return Base{prefix: prefix, host: host}, nil
}

// Host returns what links are made for, as [CanonicalHost] writes it.
func (b Base) Host() string { return b.host }

// URL returns the address of a token. Nothing in it can be read.
func (b Base) URL(token string) string { return b.prefix + linkSegment + token }

// Address returns the public URL without a slash at its end.
func (b Base) Address() string { return strings.TrimSuffix(b.prefix, "/") }

// CanonicalHost returns the one form of all spellings of a host: lower case, without the
// ports of http and https and without the final dot of DNS.
func CanonicalHost(host string) string {
	host = strings.ToLower(host)
	for _, port := range []string{":443", ":80"} {
		// Within the brackets of an IPv6 address a colon begins no port.
		if name, ok := strings.CutSuffix(host, port); ok &&
			(!strings.Contains(name, ":") || strings.HasSuffix(name, "]")) {
			host = name
			break
		}
	}
	return strings.TrimSuffix(host, ".")
}
