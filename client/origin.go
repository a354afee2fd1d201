package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// ErrInsecure is returned when an https server leads to plain http.
var ErrInsecure = errors.New("the https server leads to plain http, where anyone could read along")

// ErrOrigin is returned when the server leads to an origin that is neither its own
// nor one of [Options].Origins.
var ErrOrigin = errors.New("the server leads to another origin")

// redirects are the statuses that are followed. SEP-2532 means all of them as the
// way to the bytes: none is to send the message itself to the other place.
var redirects = []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// send follows redirects by GET, and sends credentials to the server's own origin
// only.
func (c *Client) send(request *http.Request) (*http.Response, error) {
	for range maxRedirects {
		request.Header.Del("Authorization")
		if c.authorization != "" && sameOrigin(request.URL, c.server) {
			request.Header.Set("Authorization", c.authorization)
		}
		reply, err := c.sender(request.URL).Do(request)
		if err != nil {
			return nil, withoutURL(err)
		}
		next, err := reply.Location()
		if !slices.Contains(redirects, reply.StatusCode) || err != nil {
			return reply, nil
		}
		_ = reply.Body.Close()
		if err := c.trusts(next); err != nil {
			return nil, err
		}
		if request, err = http.NewRequestWithContext(request.Context(), http.MethodGet, next.String(),
			nil); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the server redirects without end")
}

// sender is the HTTP client, without its cookies for other origins.
func (c *Client) sender(to *url.URL) *http.Client {
	if c.http.Jar == nil || sameOrigin(to, c.server) {
		return c.http
	}
	bare := *c.http
	bare.Jar = nil
	return &bare
}

// withoutURL takes the address out of an error of net/http: that of a link, or of
// a redirect, lets whoever reads it download.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// trusts refuses the step from https to plain http, and to origins that nobody
// has named.
func (c *Client) trusts(to *url.URL) error {
	if c.server.Scheme == "https" && to.Scheme != "https" {
		return ErrInsecure
	}
	if !sameOrigin(to, c.server) && !slices.ContainsFunc(c.origins, func(o *url.URL) bool {
		return sameOrigin(to, o)
	}) {
		return fmt.Errorf("%w, %s://%s: add it to Options.Origins if it is to be trusted", ErrOrigin, to.Scheme,
			to.Host)
	}
	return nil
}

// sameOrigin compares scheme, host and port (RFC 6454, section 5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
