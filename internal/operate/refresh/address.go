package refresh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxReplyBytes bounds the part of a response body that is read to reuse the connection.
const maxReplyBytes = 64 << 10

// address is a hook that is called over HTTP.
type address struct {
	url    string
	client *http.Client
}

// newAddress checks an address. Its user information is sent as Basic authentication.
func newAddress(hook string) (*address, error) {
	u, err := url.Parse(hook)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the address has no host: write it as https://host/path")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = Concurrency
	return &address{url: hook, client: &http.Client{
		Transport: transport,
		// Redirects are not followed: they would let the other side choose the target.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// request is the JSON body.
type request struct {
	Repository string `json:"repository"`
	// Fetched is the time of the last fetch (RFC 3339), null if unknown.
	Fetched *string `json:"fetched"`
}

// call implements hook. Any 2xx status is success.
func (a *address) call(ctx context.Context, m mirror) error {
	body := request{Repository: m.name}
	if !m.fetched.IsZero() {
		at := m.fetched.UTC().Format(time.RFC3339)
		body.Fetched = &at
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(text))
	if err != nil {
		return withoutAddress(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "repomcp")
	response, err := a.client.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	// The body does not matter.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxReplyBytes))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the reply is %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	return nil
}

func (a *address) close() { a.client.CloseIdleConnections() }
