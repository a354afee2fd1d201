package client

import (
	"errors"
	"net/http"
	"net/url"
)

// ErrInsecure is returned when an https server leads to plain http.
var ErrInsecure = errors.New("the https server leads to plain http, where anyone could read along")

// send follows redirects, by GET as they are meant, and sends credentials to
// the server's own origin only.
func (c *Client) send(request *http.Request) (*http.Response, error) {
	for range maxRedirects {
		request.Header.Del("Authorization")
		if c.authorization != "" && sameOrigin(request.URL, c.server) {
			request.Header.Set("Authorization", c.authorization)
		}
		reply, err := c.sender(request.URL).Do(request)
		if err != nil {
			return nil, err
		}
		next, err := reply.Location()
		if reply.StatusCode != http.StatusFound && reply.StatusCode != http.StatusSeeOther || err != nil {
			return reply, nil
		}
		_ = reply.Body.Close()
		if err := c.secure(next); err != nil {
			return nil, err
		}
		if request, err = http.NewRequestWithContext(request.Context(), http.MethodGet, next.String(), nil); err != nil {
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

// secure refuses the step from https to plain http.
func (c *Client) secure(to *url.URL) error {
	if c.server.Scheme == "https" && to.Scheme != "https" {
		return ErrInsecure
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
