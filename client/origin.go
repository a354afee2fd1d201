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

// maxRedirects is net/http's.
const maxRedirects = 10

// redirects are the statuses that are followed. SEP-2532 means all of them as the
// way to the bytes: none is to send the message itself to the other place.
var redirects = []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// send follows redirects by GET, and those of a HEAD by HEAD, and sends credentials to
// the server's own origin only. Requests for bytes ask for a part; a message has none.
func (c *Client) send(request *http.Request, p part) (*http.Response, error) {
	caller := request.Context()
	ctx, cancel := context.WithCancelCause(caller)
	timer := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	reply, err := c.follow(request.WithContext(ctx), p)
	if !timer.Stop() && err == nil { // it is too late for this one
		_ = reply.Body.Close()
		err = context.Canceled
	}
	if err != nil {
		late := errors.Is(context.Cause(ctx), errIdle)
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

// The digest of a download is worth more than its length, where a server has not
// both (RFC 9530): without it nothing tells bytes that were changed on their way.
const (
	headerWanted = "Want-Repr-Digest"
	wantedDigest = "sha-256=10"
)

// getting is a request for bytes. They are to come as they are: net/http would
// have them compressed on the way, and their length and digest would be lost.
func (c *Client) getting(ctx context.Context, from *url.URL) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set(headerWanted, wantedDigest)
	return request, nil
}

// identify gives a request the credentials that its origin may see. A link can be
// bound to the session that asked for it.
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

// withoutURL takes the address out of an error of net/http: that of a link, or of
// a redirect, lets whoever reads it download.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
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

// errIdle ends a reply whose connection is there and gives nothing.
var errIdle = errors.New("nothing came for too long")

// idleTimeoutBody is a body that fails when nothing comes for a while. Only the time in
// which somebody reads counts.
type idleTimeoutBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	since  time.Time // when something useful came; zero where all that comes is
}

// expectProgress has the body of a reply fail when nothing useful comes for a while. The function
// that it returns notes what is.
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
