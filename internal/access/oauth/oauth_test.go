package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
)

const audience = "https://git.example/mcp"

// clock is one that a test moves.
type clock struct{ later atomic.Int64 }

func (c *clock) now() time.Time        { return time.Now().Add(time.Duration(c.later.Load())) }
func (c *clock) pass(by time.Duration) { c.later.Add(int64(by)) }

func open(t *testing.T, at string, c *clock) *oauth.Issuer {
	t.Helper()
	issuer, err := oauth.New(oauth.Options{URL: at, Audience: audience, Scope: "repomcp:read", Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// kind is which of the errors of package access it is.
func kind(t *testing.T, err error) string {
	t.Helper()
	for name, is := range map[string]error{"invalid": access.ErrInvalid, "scope": access.ErrScope,
		"unavailable": access.ErrUnavailable} {
		if errors.Is(err, is) {
			return name
		}
	}
	if err != nil {
		t.Errorf("an error of no kind: %v", err)
	}
	return ""
}

func TestWhoAsksIsWhatTheTokenSays(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	for name, c := range map[string]struct {
		claim   string
		changed map[string]any
		groups  []string
		scopes  []string
	}{
		"usual":     {"", nil, []string{"core"}, []string{"openid", "repomcp:read"}},
		"one group": {"", map[string]any{"groups": "ops"}, []string{"ops"}, []string{"openid", "repomcp:read"}},
		"no groups": {"", map[string]any{"groups": nil}, nil, []string{"openid", "repomcp:read"}},
		"odd groups": {"", map[string]any{"groups": map[string]any{"a": 1}}, nil,
			[]string{"openid", "repomcp:read"}},
		"roles": {"realm_access.roles",
			map[string]any{"realm_access": map[string]any{"roles": []string{"x", "y"}}}, []string{"x", "y"},
			[]string{"openid", "repomcp:read"}},
		"a name with dot": {"https://git.example/groups", map[string]any{"https://git.example/groups": []string{"z"}},
			[]string{"z"}, []string{"openid", "repomcp:read"}},
		"nothing there": {"a.b.c", map[string]any{"a": map[string]any{"b": 1}}, nil,
			[]string{"openid", "repomcp:read"}},
		"scp": {"", map[string]any{"scope": nil, "scp": "repomcp:read more"}, []string{"core"},
			[]string{"repomcp:read", "more"}},
		"scp as a list": {"", map[string]any{"scope": nil, "scp": []string{"repomcp:read"}}, []string{"core"},
			[]string{"repomcp:read"}},
		"one audience": {"", map[string]any{"aud": audience}, []string{"core"}, []string{"openid", "repomcp:read"}},
	} {
		issuer, err := oauth.New(oauth.Options{URL: source.URL, Audience: audience, Scope: "repomcp:read",
			GroupsClaim: c.claim})
		if err != nil {
			t.Fatal(err)
		}
		who, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, c.changed)))
		if err != nil || who.ID != "oauth:alice" || !slices.Equal(who.Groups, c.groups) ||
			!slices.Equal(who.Scopes, c.scopes) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	for _, subject := range []any{"", "a\nb", strings.Repeat("x", 256), 7} {
		issuer := open(t, source.URL, &clock{})
		if _, err := issuer.Authenticate(t.Context(),
			source.Token(t, source.Claims(audience, map[string]any{"sub": subject}))); kind(t, err) != "invalid" {
			t.Errorf("the subject %q: %v", subject, err)
		}
	}
}

func TestTimesHaveAMinuteOfLeeway(t *testing.T) {
	t.Parallel()
	source, issuer := issuertest.Start(t), (*oauth.Issuer)(nil)
	issuer = open(t, source.URL, &clock{})
	for _, c := range []struct {
		claim   string
		seconds int
		want    string
	}{
		{"exp", -50, ""}, {"exp", -70, "invalid"}, {"exp", 1, ""}, {"nbf", 50, ""}, {"nbf", 70, "invalid"},
		{"nbf", -70, ""},
	} {
		at := time.Now().Add(time.Duration(c.seconds) * time.Second).Unix()
		for _, value := range []any{at, float64(at) + 0.5} {
			_, err := issuer.Authenticate(t.Context(),
				source.Token(t, source.Claims(audience, map[string]any{c.claim: value})))
			if kind(t, err) != c.want {
				t.Errorf("%s %d s from now: %v", c.claim, c.seconds, err)
			}
		}
	}
	for _, odd := range []map[string]any{{"nbf": "soon"}, {"exp": 0}, {"exp": nil}, {"exp": "soon"}} {
		if _, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, odd))); kind(t,
			err) != "invalid" {
			t.Errorf("%v: %v", odd, err)
		}
	}
}

// Keys are fetched once, again when one is unknown, and no more often than every ten
// seconds whatever tokens come.
func TestKeysAreFetchedSeldom(t *testing.T) {
	t.Parallel()
	source, c := issuertest.Start(t), &clock{}
	issuer := open(t, source.URL, c)
	token := source.Token(t, source.Claims(audience, nil))
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			if _, err := issuer.Authenticate(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if n := source.Fetches(); n != 1 {
		t.Errorf("%d fetches for twenty first tokens", n)
	}
	forged := func() error {
		_, err := issuer.Authenticate(t.Context(), issuertest.Sign(t, jose.RS256, source.Key().Private, "unknown",
			source.Claims(audience, nil)))
		return err
	}
	for range 50 {
		if err := forged(); kind(t, err) != "invalid" {
			t.Error(err)
		}
	}
	if n := source.Fetches(); n != 1 {
		t.Errorf("%d fetches, of which the issuer did not want so many", n)
	}
	c.pass(time.Minute)
	for range 50 {
		if err := forged(); kind(t, err) != "invalid" {
			t.Error(err)
		}
	}
	if n := source.Fetches(); n != 2 {
		t.Errorf("%d fetches after a minute", n)
	}
	// The key changes: the new one is taken, the old one no longer.
	source.Rotate(t)
	c.pass(time.Minute)
	if _, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, nil))); err != nil {
		t.Error(err)
	}
	if _, err := issuer.Authenticate(t.Context(), token); kind(t, err) != "invalid" {
		t.Errorf("a key that was withdrawn still signs: %v", err)
	}
}

// While the issuer is unavailable, unverifiable tokens are refused, and tokens with known keys are
// still accepted.
func TestAnIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	source, c := issuertest.Start(t), &clock{}
	source.SetDown(true)
	issuer := open(t, source.URL, c)
	token := source.Token(t, source.Claims(audience, nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { issuer.Follow(ctx); close(ended) }()
	for range 3 {
		if _, err := issuer.Authenticate(t.Context(), token); kind(t, err) != "unavailable" {
			t.Error(err)
		}
	}
	source.SetDown(false)
	c.pass(time.Minute)
	if _, err := issuer.Authenticate(t.Context(), token); err != nil {
		t.Error(err)
	}
	source.SetDown(true)
	c.pass(30 * time.Minute)
	if _, err := issuer.Authenticate(t.Context(), token); err != nil {
		t.Errorf("a key that is known: %v", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	other := issuertest.Sign(t, jose.RS256, source.Key().Private, "unknown", source.Claims(audience, nil))
	if _, err := issuer.Authenticate(t.Context(), other); kind(t, err) != "unavailable" {
		t.Errorf("a key that is not known: %v", err)
	}
	if _, err := issuer.Authenticate(gone, token); err != nil {
		t.Errorf("a known key waits for the issuer: %v", err)
	}
	cancel()
	<-ended
}

// Other kinds of keys, and the metadata of RFC 8414 with a path.
func TestKindsOfKeys(t *testing.T) {
	t.Parallel()
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: edwards.Public(), KeyID: "ed"}, {Key: &curve.PublicKey, KeyID: "ec", Use: "sig"},
		{Key: &large.PublicKey, KeyID: "enc", Use: "enc"},
	}}
	var at string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server/realm":
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, at, at+"/keys")
		case "/realm/keys":
			_ = json.NewEncoder(w).Encode(keys)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	at = server.URL + "/realm"
	issuer := open(t, at, &clock{})
	claims := func() map[string]any {
		return map[string]any{"iss": at, "aud": audience, "sub": "bob", "exp": time.Now().Add(time.Hour).Unix(),
			"scope": "repomcp:read"}
	}
	for _, c := range []struct {
		algorithm jose.SignatureAlgorithm
		key       any
		id, want  string
	}{
		{jose.EdDSA, edwards, "ed", ""}, {jose.ES256, curve, "ec", ""}, {jose.ES512, large, "enc", "invalid"},
		{jose.ES256, curve, "ed", "invalid"},
		{jose.EdDSA, edwards, "", ""}, {jose.HS256, []byte(strings.Repeat("k", 32)), "ed", "invalid"},
	} {
		if _, err := issuer.Authenticate(t.Context(), issuertest.Sign(t, c.algorithm, c.key, c.id, claims())); kind(t,
			err) != c.want {
			t.Errorf("%s by %q: %v, want %q", c.algorithm, c.id, err, c.want)
		}
	}
}

// The issuer's metadata is accepted only over a secure connection.
func TestBadMetadataLetsNobodyIn(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	token := source.Token(t, source.Claims(audience, nil))
	for name, answer := range map[string]http.HandlerFunc{
		"another issuer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"https://evil.example","jwks_uri":%q}`, source.URL+"/keys")
		},
		"plain keys": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://keys.example/"}`, r.Host)
		},
		"a plain redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://keys.example/", http.StatusFound)
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"%0*d"}`, 2<<20,
				1)
		},
		"no keys": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"http://%[1]s","jwks_uri":"http://%[1]s/keys","keys":[]}`, r.Host)
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		server := httptest.NewServer(answer)
		_, err := open(t, server.URL, &clock{}).Authenticate(t.Context(), token)
		if kind(t, err) != "unavailable" || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
	for _, at := range []string{"", "login", "http://login.example", "ftp://login.example", "https://",
		"https://a:b@login.example", "https://login.example?x", "https://login.example#x"} {
		if _, err := oauth.New(oauth.Options{URL: at, Audience: audience}); err == nil {
			t.Errorf("%q is an issuer", at)
		}
	}
	if _, err := oauth.New(oauth.Options{URL: "https://login.example"}); err == nil {
		t.Error("no audience is one")
	}
}
