package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	// firstRetry is how long is waited before a batch is sent once more; each further
	// time twice as long.
	firstRetry = 500 * time.Millisecond
	// maxReplyBytes bounds what is read of a reply, which has a sentence at most.
	maxReplyBytes = 64 << 10
)

// passing are the statuses after which the same may be sent again (OTLP, failures).
var passing = []int{
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// client sends messages of OTLP to a collector.
type client struct {
	to    *destination
	agent string
	http  *http.Client
	// leaving ends when nothing is to be waited for any more but the answer to what was
	// sent, and left ends even that.
	leaving, left context.Context
}

func newClient(to *destination, agent string, leaving, left context.Context) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = to.tls
	return &client{to: to, agent: agent, leaving: leaving, left: left, http: &http.Client{
		Transport: transport,
		// The headers may have a key, which is for no other server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// close gives the connections back. Nothing may be sent any more.
func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a message, several times where that may help.
func (c *client) send(ctx context.Context, m message) error {
	body, err := c.encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.to.timeout)
	defer cancel()
	defer context.AfterFunc(c.left, cancel)()
	for wait := firstRetry; ; wait *= 2 {
		reply, pause, err := c.post(ctx, body)
		if err == nil {
			return taken(reply)
		}
		if pause < 0 || !c.pause(ctx, max(wait, pause)) {
			return err
		}
	}
}

// pause waits, and reports whether there is time left.
func (c *client) pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-c.leaving.Done():
		return false
	}
}

func (c *client) encode(m message) ([]byte, error) {
	if !c.to.gzip {
		return m, nil
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(m) // Close tells of errors
	err := w.Close()
	return compressed.Bytes(), err
}

// post sends a body once. After a failure it says how long to wait at least before
// the next attempt; less than 0 is that there is no use in one.
func (c *client) post(ctx context.Context, body []byte) (content []byte, pause time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to.url, bytes.NewReader(body))
	if err != nil {
		return nil, -1, errors.New("the address of the collector cannot be used")
	}
	for name, value := range c.to.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", c.agent)
	if c.to.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		// The address may have a key in it.
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err
		}
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	content, err = io.ReadAll(io.LimitReader(response.Body, maxReplyBytes))
	switch {
	case response.StatusCode >= http.StatusMultipleChoices:
		err = fmt.Errorf("the collector answered with status %d", response.StatusCode)
		if !slices.Contains(passing, response.StatusCode) {
			return nil, -1, err
		}
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is waited for as if there was none
		return nil, time.Duration(max(seconds, 0)) * time.Second, err
	case err != nil:
		return nil, -1, err // it has been taken
	default:
		return content, 0, nil
	}
}
