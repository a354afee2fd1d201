package httpx_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
)

// credentials are what a request may have, well or not: what it sends as Authorization.
type credentials struct {
	name string
	make func(t *testing.T, d *doors) []string
	in   string // the query, in place of the header
}

func constant(values ...string) func(*testing.T, *doors) []string {
	return func(*testing.T, *doors) []string { return values }
}

// changed are credentials of a token of the issuer with some claims changed.
func changed(claims map[string]any) func(*testing.T, *doors) []string {
	return bearer(func(t *testing.T, d *doors) string { return d.token(t, claims) })
}

// signedBy are credentials of a good token's claims, signed in another way.
func signedBy(
	algorithm jose.SignatureAlgorithm, key func(t *testing.T, d *doors) (any, string),
) func(*testing.T, *doors) []string {
	return bearer(func(t *testing.T, d *doors) string {
		with, id := key(t, d)
		return issuertest.Sign(t, algorithm, with, id, d.issuer.Claims(audience, nil))
	})
}

func stranger(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publicKey is the issuer's key as everybody can have it, in the form in which somebody
// might take it for a secret of HMAC.
func publicKey(t *testing.T, d *doors) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&d.issuer.Key().Private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// bearer sends a token.
func bearer(token func(t *testing.T, d *doors) string) func(*testing.T, *doors) []string {
	return func(t *testing.T, d *doors) []string { return []string{"Bearer " + token(t, d)} }
}

// static sends a token of the file, in the form that a format gives it.
func static(format, name string) func(*testing.T, *doors) []string {
	return func(_ *testing.T, d *doors) []string { return []string{fmt.Sprintf(format, d.static[name])} }
}

// ending is a claim about a time from now, by the issuer's clock.
func ending(claim string, after time.Duration) func(*testing.T, *doors) []string {
	return bearer(func(t *testing.T, d *doors) string {
		return d.token(t, map[string]any{claim: d.now().Add(after).Unix()})
	})
}

func issuersKey(_ *testing.T, d *doors) (any, string) {
	return d.issuer.Key().Private, d.issuer.Key().ID
}

// later is a token that is issued a minute later, after something happened to the issuer.
func later(happens func(t *testing.T, d *doors)) func(*testing.T, *doors) []string {
	return bearer(func(t *testing.T, d *doors) string {
		happens(t, d)
		d.later.Add(int64(time.Minute))
		return d.token(t, nil)
	})
}

// tried are all credentials of the golden table, in an order that matters: keys rotate, and the issuer goes down.
var tried = []credentials{
	{name: "none", make: constant()},
	{name: "of another scheme", make: constant("Digest username=alice")},
	{name: "Bearer without a token", make: constant("Bearer")},
	{name: "Bearer with two words", make: constant("Bearer a b")},
	{name: "two headers", make: func(_ *testing.T, d *doors) []string { return []string{d.alice(), d.alice()} }},
	{name: "Basic that is not base64", make: constant("Basic !!!")},
	{name: "not a token of any kind", make: constant("Bearer abc")},
	{name: "a static token", make: static("Bearer %s", "alice")},
	{name: "a static token, scheme in small letters", make: static("bearer %s", "alice")},
	{name: "an unknown static token", make: constant("Bearer rmcp_ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
	{name: "the prefix alone", make: constant("Bearer rmcp_")},
	{name: "a revoked static token", make: static("Bearer %s", "carol")},
	{name: "an expired static token", make: static("Bearer %s", "bob")},
	{name: "Basic with a static token",
		make: func(_ *testing.T, d *doors) []string { return []string{basic("anyone", d.static["alice"])} }},
	{name: "Basic with a wrong password", make: constant(basic("alice", "secret"))},
	{name: "Basic with the token as the user",
		make: func(_ *testing.T, d *doors) []string { return []string{basic(d.static["alice"], "")} }},
	{name: "an issued token", make: changed(nil)},
	{name: "Basic with an issued token",
		make: func(t *testing.T, d *doors) []string { return []string{basic("oauth2", d.token(t, nil))} }},
	{name: "issued, scp in place of scope", make: changed(map[string]any{"scope": nil, "scp": []string{scope}})},
	{name: "issued, expired within the leeway", make: ending("exp", -30*time.Second)},
	{name: "issued, expired", make: ending("exp", -2*time.Minute)},
	{name: "issued, without an end", make: changed(map[string]any{"exp": nil})},
	{name: "issued, not valid before a while", make: ending("nbf", 2*time.Minute)},
	{name: "issued, for another audience", make: changed(map[string]any{"aud": "https://other.example/mcp"})},
	{name: "issued, for no audience", make: changed(map[string]any{"aud": nil})},
	{name: "issued, by another issuer", make: changed(map[string]any{"iss": "https://other.example"})},
	{name: "issued, without a subject", make: changed(map[string]any{"sub": nil})},
	{name: "issued, without the scope", make: changed(map[string]any{"scope": "openid"})},
	{name: "issued, without any scope", make: changed(map[string]any{"scope": nil})},
	{name: "a wrong signature", make: signedBy(jose.RS256,
		func(t *testing.T, d *doors) (any, string) { return stranger(t), d.issuer.Key().ID })},
	{name: "an unknown key", make: signedBy(jose.RS256,
		func(t *testing.T, _ *doors) (any, string) { return stranger(t), "unknown" })},
	{name: "no key named", make: signedBy(jose.RS256,
		func(_ *testing.T, d *doors) (any, string) { return d.issuer.Key().Private, "" })},
	{name: "no key named, and a wrong signature", make: signedBy(jose.RS256,
		func(t *testing.T, _ *doors) (any, string) { return stranger(t), "" })},
	{name: "another algorithm than the key's", make: signedBy(jose.PS256, issuersKey)},
	{name: "HMAC with the public key", make: signedBy(jose.HS256,
		func(t *testing.T, d *doors) (any, string) { return publicKey(t, d), d.issuer.Key().ID })},
	{name: "the algorithm none", make: bearer(func(t *testing.T, d *doors) string {
		return issuertest.Unsigned(t, d.issuer.Claims(audience, nil))
	})},
	{name: "cut off", make: bearer(func(t *testing.T, d *doors) string { s := d.token(t, nil); return s[:len(s)-9] })},
	{name: "a static token in the query", in: "access_token=", make: static("%s", "alice")},
	{name: "an issued token in the query", in: "access_token=",
		make: func(t *testing.T, d *doors) []string { return []string{d.token(t, nil)} }},
	{name: "issued, after the issuer's key has changed",
		make: later(func(t *testing.T, d *doors) { d.issuer.Rotate(t) })},
	{name: "issued with a new key, while the issuer is down", make: later(func(t *testing.T, d *doors) {
		d.issuer.Rotate(t)
		d.issuer.SetDown(true)
	})},
	{name: "a static token, while the issuer is down", make: static("Bearer %s", "alice")},
	{name: "issued, when the issuer is back", make: later(func(_ *testing.T, d *doors) { d.issuer.SetDown(false) })},
}
