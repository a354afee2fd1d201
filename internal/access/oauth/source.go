package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

const (
	// askTimeout bounds the requests for all documents of the issuer, and so the wait of a client
	// with an unknown key.
	askTimeout = 10 * time.Second
	// maxDocument bounds a document: a hundred keys with certificates.
	maxDocument = 1 << 20
	// maxRedirects bounds the redirects of the issuer.
	maxRedirects = 3
)

// source fetches the keys.
type source struct {
	issuer string
	http   *http.Client
}

func newSource(issuer string, transport http.RoundTripper) source {
	return source{issuer, &http.Client{
		Transport: transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || !loopback.Private(next.URL) {
				return errors.New("it leads on too often, or to plain http")
			}
			return nil
		},
	}}
}

// keys returns the keys of the document in the issuer's metadata.
func (s source) keys(ctx context.Context) ([]jose.JSONWebKey, error) {
	at, err := s.keysURL(ctx)
	if err != nil {
		return nil, err
	}
	// Keys are parsed individually, so that one of an unknown kind does not invalidate the others.
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.read(ctx, at, &document); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, text := range document.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer publishes no key that can be used")
	}
	return keys, nil
}

// keysURL returns the address of the keys, from the metadata of RFC 8414 or else of OpenID Connect.
func (s source) keysURL(ctx context.Context) (string, error) {
	var failures []error
	for _, at := range metadataURLs(s.issuer) {
		var metadata struct {
			Issuer  string `json:"issuer"`
			KeysURL string `json:"jwks_uri"`
		}
		err := s.read(ctx, at, &metadata)
		if err == nil && metadata.Issuer != s.issuer {
			err = fmt.Errorf("%s is metadata of another issuer, %.200q", at, metadata.Issuer)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		keys, err := url.Parse(metadata.KeysURL)
		if err != nil || keys.Host == "" || !loopback.Private(keys) {
			return "", fmt.Errorf("%s names no jwks_uri with https", at)
		}
		return keys.String(), nil
	}
	return "", errors.Join(failures...)
}

// metadataURLs returns the addresses of an issuer's metadata: RFC 8414 puts the issuer's path after
// the name of the document, OpenID Connect before it.
func metadataURLs(issuer string) []string {
	at, err := url.Parse(issuer)
	if err != nil {
		return nil // New has parsed it
	}
	origin, path := at.Scheme+"://"+at.Host, strings.TrimSuffix(at.EscapedPath(), "/")
	return []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + path + "/.well-known/openid-configuration",
	}
}

// read fetches and decodes a JSON document.
func (s source) read(ctx context.Context, at string, into any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	reply, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", at, reply.Status)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxDocument+1))
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if len(text) > maxDocument || json.Unmarshal(text, into) != nil {
		return fmt.Errorf("%s has no JSON document of that kind", at)
	}
	return nil
}
