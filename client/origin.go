package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// maxRedirects is net/http's limit.
const maxRedirects = 10

// redirects are the statuses that are followed. SEP-2532 uses all of them to lead to the bytes:
// none of them resends the message to the other place.
var redirects = []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// send follows redirects by GET, and those of a HEAD by HEAD, and sends credentials only to the
// server's own origin. Requests for bytes may ask for a part; a message does not.
func (c *Client) send(request *http.Request, p part) (*http.Response, error) {
	caller := request.Context()
	ctx, cancel := context.WithCancelCause(caller)
	timer := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	reply, err := c.follow(request.WithContext(ctx), p)
	late := !timer.Stop()
	if err == nil && late { // its context ends now
		_ = reply.Body.Close()
	}
	if err != nil || late {
		cancel(nil)
		switch {
		case caller.Err() != nil:
			err = caller.Err()
		case late:
			err = fmt.Errorf("%w: %w", ErrNetwork, errIdle)
		}
		return nil, err
	}
	reply.Body = &idleTimeoutBody{ReadCloser: reply.Body, ctx: ctx, cancel: cancel, idle: c.idle}
	return reply, nil
}

func (c *Client) follow(request *http.Request, p part) (*http.Response, error) {
	for range maxRedirects {
		c.identify(request)
		if request.Method == http.MethodGet {
			p.ask(request.Header)
		}
		reply, err := c.sender(request.URL).Do(request)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNetwork, withoutURL(err))
		}
		next, err := reply.Location()
		if !slices.Contains(redirects, reply.StatusCode) || err != nil {
			return reply, nil
		}
		_ = reply.Body.Close()
		if err := c.trusts(next); err != nil {
			return nil, err
		}
		method := request.Method
		if request, err = c.getting(request.Context(), next); err != nil {
			return nil, err
		}
		if method == http.MethodHead {
			request.Method = method
		}
	}
	return nil, fmt.Errorf("%w: it redirects without end", ErrDamaged)
}

// A download's digest is more useful than its length if a server cannot send both (RFC 9530): only
// the digest detects modified bytes.
const (
	headerWanted = "Want-Repr-Digest"
	wantedDigest = "sha-256=10"
)

// getting makes a request for unencoded bytes: net/http would request compression, and their length
// and digest would be lost.
func (c *Client) getting(ctx context.Context, from *url.URL) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set(headerWanted, wantedDigest)
	return request, nil
}

// identify adds the credentials that the request's origin may see. A link can be bound to the
// session that asked for it.
func (c *Client) identify(request *http.Request) {
	if !sameOrigin(request.URL, c.server) {
		request.Header.Del(headerSession)
		return
	}
	if c.options.Authorization != "" {
		request.Header.Set("Authorization", c.options.Authorization)
	}
	if s := c.current(); request.Method == http.MethodGet && s.id != "" && request.Header.Get(headerSession) == "" {
		request.Header.Set(headerSession, s.id)
	}
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

// withoutURL removes the URL from an error of net/http: the URL of a link or a redirect gives
// access to the download.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// trusts refuses a step from https to plain http, and to an origin that is not listed.
func (c *Client) trusts(to *url.URL) error {
	if c.server.Scheme == "https" && to.Scheme != "https" {
		return ErrInsecure
	}
	if !sameOrigin(to, c.server) && !slices.ContainsFunc(c.origins, func(o *url.URL) bool {
		return sameOrigin(to, o)
	}) {
		return &OriginError{Origin: to.Scheme + "://" + to.Host}
	}
	return nil
}

// sameOrigin compares scheme, host and port (RFC 6454, section 5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// errIdle ends a reply of a connection that is open and sends nothing.
var errIdle = errors.New("nothing came for too long")

// idleTimeoutBody is a body that fails when nothing arrives for a while. Only time during reads
// counts.
type idleTimeoutBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	since  time.Time // of the last useful input; zero if all input is useful
}

// expectProgress makes the body of a reply fail when nothing useful arrives for a while. useful
// notes useful input.
func expectProgress(reply *http.Response) (useful func()) {
	body, ok := reply.Body.(*idleTimeoutBody)
	if !ok {
		return func() {}
	}
	body.since = time.Now()
	return func() { body.since = time.Now() }
}

func (l *idleTimeoutBody) Read(p []byte) (int, error) {
	wait := l.idle
	if !l.since.IsZero() {
		wait -= time.Since(l.since)
	}
	timer := time.AfterFunc(wait, func() { l.cancel(errIdle) })
	n, err := l.ReadCloser.Read(p)
	timer.Stop()
	if err != nil && errors.Is(context.Cause(l.ctx), errIdle) {
		err = errIdle
	}
	return n, err
}

func (l *idleTimeoutBody) Close() error {
	l.cancel(nil)
	return l.ReadCloser.Close()
}
