// Package issuertest is an authorization server for tests: it publishes metadata and keys
// over HTTP on the loopback interface, and signs whatever a test wants it to.
package issuertest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Issuer is a running authorization server.
type Issuer struct {
	URL string

	mu      sync.Mutex
	down    bool
	names   int
	keys    []Key
	fetches int // of keys
}

// Key is one that the issuer signs with.
type Key struct {
	ID      string
	Private *rsa.PrivateKey
}

// Start runs an issuer with one key until the test ends.
func Start(t *testing.T) *Issuer {
	t.Helper()
	i := &Issuer{}
	server := httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.Rotate(t)
	return i
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		panic(http.ErrAbortHandler)
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case "/keys":
		i.fetches++
		_ = json.NewEncoder(w).Encode(i.published())
	default:
		http.NotFound(w, r)
	}
}

// Answer is the reply to a request, without a connection.
func (i *Issuer) Answer(r *http.Request) *http.Response {
	recorder := httptest.NewRecorder()
	i.serve(recorder, r)
	return recorder.Result()
}

// published is the set of keys, with some of kinds that are of no use.
func (i *Issuer) published() map[string]any {
	list := []any{
		map[string]any{"kty": "unheard-of", "kid": "x"}, map[string]any{"kty": "oct", "kid": "y", "k": "c2VjcmV0"},
	}
	for _, key := range i.keys {
		list = append(list, jose.JSONWebKey{Key: &key.Private.PublicKey, KeyID: key.ID, Algorithm: "RS256", Use: "sig"})
	}
	return map[string]any{"keys": list}
}

// Rotate replaces the key by a new one.
func (i *Issuer) Rotate(t *testing.T) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names++
	i.keys = []Key{{fmt.Sprint("key", i.names), private}}
}

// SetDown makes the issuer break off all requests, or answer again.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Key is the one that signs now.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Fetches is how often the keys were asked for.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// Claims are those of a good token for an audience, with some of them changed; nil takes
// one away.
func (i *Issuer) Claims(audience string, changed map[string]any) map[string]any {
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "aud": []string{audience, "another"}, "sub": "alice",
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nbf": now.Unix(),
		"scope": "openid repomcp:read", "groups": []string{"core"},
	}
	maps.Copy(claims, changed)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// Token signs claims as an issuer does.
func (i *Issuer) Token(t *testing.T, claims map[string]any) string {
	t.Helper()
	key := i.Key()
	return Sign(t, jose.RS256, key.Private, key.ID, claims)
}

// Sign signs claims with any key and algorithm; a key without a name is not named.
func Sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, text, nil)
}

// TokenOf signs a text that stands for claims, below a header with more names, as an issuer does.
func (i *Issuer) TokenOf(t *testing.T, text string, header map[jose.HeaderKey]any) string {
	t.Helper()
	key := i.Key()
	return sign(t, jose.SigningKey{
		Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key.Private, KeyID: key.ID},
	}, []byte(text), header)
}

func sign(t *testing.T, key jose.SigningKey, text []byte, header map[jose.HeaderKey]any) string {
	t.Helper()
	signer, err := jose.NewSigner(key, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// Unsigned writes claims with the algorithm none.
func Unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(text) + "."
}
