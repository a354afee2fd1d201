package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
)

// road is the connection to an issuer; while it is blocked, requests do not end. It runs in a
// bubble of synctest, in which a connection would keep the clock from going on.
type road struct {
	issuer *issuertest.Issuer
	mu     sync.Mutex
	closed bool
	asked  int
}

func (r *road) block(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = closed
}

func (r *road) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// RoundTrip implements [http.RoundTripper].
func (r *road) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	closed := r.closed
	r.asked++
	r.mu.Unlock()
	if closed {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return r.issuer.Answer(request), nil
}

// However many requests wait for an issuer that hangs, it is asked once, all are refused after the
// same ten seconds, and it is then left alone for ten seconds. Keys that are known need no issuer.
func TestRequestsWaitForAHangingIssuerTogether(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	synctest.Test(t, func(t *testing.T) {
		way := &road{issuer: source}
		issuer, err := oauth.New(oauth.Options{URL: source.URL, Audience: audience, HTTP: way})
		if err != nil {
			t.Fatal(err)
		}
		good := source.Token(t, source.Claims(audience, nil))
		if _, err := issuer.Authenticate(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		foreign := issuertest.Sign(t, jose.RS256, source.Key().Private, "unknown", source.Claims(audience, nil))
		time.Sleep(time.Minute)
		way.block(true)
		before, began := way.count(), time.Now()
		var waiting sync.WaitGroup
		for range 8 {
			waiting.Go(func() {
				_, err := issuer.Authenticate(t.Context(), foreign)
				if kind(t, err) != "unavailable" || time.Since(began) != 10*time.Second {
					t.Errorf("after %s: %v; a hanging issuer should be given up after 10 s", time.Since(began), err)
				}
			})
		}
		synctest.Wait()
		if n := way.count() - before; n != 1 {
			t.Errorf("%d requests were made to the issuer for 8 tokens", n)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, err := issuer.Authenticate(left, foreign); !errors.Is(err, context.Canceled) {
			t.Errorf("a request whose client left: %v", err)
		}
		if _, err := issuer.Authenticate(t.Context(), good); err != nil || time.Since(began) != 0 {
			t.Errorf("a known key, after %s: %v", time.Since(began), err)
		}
		waiting.Wait()

		asked := way.count()
		way.block(false)
		for time.Since(began) < 20*time.Second {
			at := time.Since(began)
			if _, err := issuer.Authenticate(t.Context(), foreign); !errors.Is(err, access.ErrUnavailable) ||
				time.Since(began) != at || way.count() != asked {
				t.Errorf("after %s, %d more requests to the issuer: %v", at, way.count()-asked, err)
			}
			time.Sleep(time.Second)
		}
		if _, err := issuer.Authenticate(t.Context(), foreign); kind(t, err) != "invalid" || way.count() == asked {
			t.Errorf("20 s after, %d more requests to the issuer: %v", way.count()-asked, err)
		}
	})
}
