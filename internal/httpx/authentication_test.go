package httpx_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/operatorfile/filetest"
)

const (
	scope    = "repomcp:read"
	audience = "https://git.example/mcp"
)

// doors is a server that asks who its clients are.
type doors struct {
	*target
	issuer *issuertest.Issuer
	file   string // of the tokens
	store  *tokens.Store
	// later is by how much the issuer's keys are older than they look.
	later atomic.Int64
	// static are tokens by name: alice's is good, bob's has expired, carol's was revoked.
	static map[string]string
}

func (d *doors) now() time.Time { return time.Now().Add(time.Duration(d.later.Load())) }

// newDoors starts a server with tokens of a file and of an issuer.
func newDoors(t *testing.T, options targetOptions) *doors {
	t.Helper()
	d := &doors{issuer: issuertest.Start(t), static: make(map[string]string)}
	d.file = filepath.Join(t.TempDir(), "tokens")
	for name, life := range map[string]time.Duration{"alice": 0, "bob": time.Second, "carol": 0} {
		made := time.Now()
		if life > 0 {
			made = made.Add(-time.Minute)
		}
		token, entry, err := tokens.New(name, []string{"core"}, life, made)
		if err != nil {
			t.Fatal(err)
		}
		if err := tokens.Add(d.file, entry); err != nil {
			t.Fatal(err)
		}
		d.static[name] = token
	}
	var err error
	if d.store, err = filetest.Open(t, func() (*tokens.Store, error) {
		return tokens.Open(d.file, []string{scope}, time.Now)
	}); err != nil {
		t.Fatal(err)
	}
	d.revoke(t, "carol")
	issued, err := oauth.New(oauth.Options{URL: d.issuer.URL, Audience: audience, Scope: scope, Now: d.now})
	if err != nil {
		t.Fatal(err)
	}
	options.http.Authentication = httpx.Authentication{
		Recheck: 20 * time.Millisecond, Verifier: access.Verifiers{Prefix: tokens.Prefix, Static: d.store,
			Issued: issued}, Issuer: d.issuer.URL, Scope: scope,
	}
	options.authorization = d.alice()
	d.target = newTarget(t, options)
	return d
}

func (d *doors) revoke(t *testing.T, name string) {
	t.Helper()
	if err := tokens.Remove(d.file, name); err != nil {
		t.Fatal(err)
	}
	if changed, err := filetest.Settle(t, d.store); !changed || err != nil {
		t.Fatal(changed, err)
	}
}

func (d *doors) alice() string { return "Bearer " + d.static["alice"] }

// issued is a token of the issuer with some claims changed.
func (d *doors) issued(t *testing.T, changed map[string]any) string {
	t.Helper()
	return "Bearer " + d.issuer.Token(t, d.issuer.Claims(audience, changed))
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// credentials are what a request may have, well or not: what it sends as Authorization.
type credentials struct {
	name string
	make func(t *testing.T, d *doors) []string
	in   string // the query, in place of the header
}

func sends(make func(t *testing.T, d *doors) string) func(*testing.T, *doors) []string {
	return func(t *testing.T, d *doors) []string { return []string{make(t, d)} }
}

func constant(values ...string) func(*testing.T, *doors) []string {
	return func(*testing.T, *doors) []string { return values }
}

// changed are credentials of a token of the issuer with some claims changed.
func changed(claims map[string]any) func(*testing.T, *doors) []string {
	return sends(func(t *testing.T, d *doors) string { return d.issued(t, claims) })
}

func at0(minutes int) int64 { return time.Now().Add(time.Duration(minutes) * time.Minute).Unix() }

// signedBy are credentials of a good token's claims, signed otherwise.
func signedBy(algorithm jose.SignatureAlgorithm, key func(t *testing.T, d *doors) (any, string)) func(*testing.T,
	*doors) []string {
	return sends(func(t *testing.T, d *doors) string {
		with, id := key(t, d)
		return "Bearer " + issuertest.Sign(t, algorithm, with, id, d.issuer.Claims(audience, nil))
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

// tried are all credentials that the golden table has, in an order that matters: keys
// rotate, and the issuer goes down.
var tried = []credentials{
	{name: "none", make: constant()},
	{name: "of another scheme", make: constant("Digest username=alice")},
	{name: "Bearer without a token", make: constant("Bearer")},
	{name: "Bearer with two words", make: constant("Bearer a b")},
	{name: "two headers", make: sends2},
	{name: "Basic that is not base64", make: constant("Basic !!!")},
	{name: "not a token of any kind", make: constant("Bearer abc")},
	{name: "a static token", make: sends(func(_ *testing.T, d *doors) string { return d.alice() })},
	{name: "a static token, scheme in small letters",
		make: sends(func(_ *testing.T, d *doors) string { return "bearer " + d.static["alice"] })},
	{name: "an unknown static token", make: constant("Bearer rmcp_ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
	{name: "the prefix alone", make: constant("Bearer rmcp_")},
	{name: "a revoked static token",
		make: sends(func(_ *testing.T, d *doors) string { return "Bearer " + d.static["carol"] })},
	{name: "an expired static token",
		make: sends(func(_ *testing.T, d *doors) string { return "Bearer " + d.static["bob"] })},
	{name: "Basic with a static token",
		make: sends(func(_ *testing.T, d *doors) string { return basic("anyone", d.static["alice"]) })},
	{name: "Basic with a wrong password", make: constant(basic("alice", "secret"))},
	{name: "Basic with the token as the user",
		make: sends(func(_ *testing.T, d *doors) string { return basic(d.static["alice"], "") })},
	{name: "an issued token", make: changed(nil)},
	{name: "Basic with an issued token", make: sends(func(t *testing.T, d *doors) string {
		return basic("oauth2", strings.TrimPrefix(d.issued(t, nil), "Bearer "))
	})},
	{name: "issued, scp in place of scope", make: changed(map[string]any{"scope": nil, "scp": []string{scope}})},
	{name: "issued, expired within the leeway", make: sends(func(t *testing.T, d *doors) string {
		return d.issued(t, map[string]any{"exp": d.now().Add(-30 * time.Second).Unix()})
	})},
	{name: "issued, expired", make: changed(map[string]any{"exp": at0(-2)})},
	{name: "issued, without an end", make: changed(map[string]any{"exp": nil})},
	{name: "issued, not valid before a while", make: sends(func(t *testing.T, d *doors) string {
		return d.issued(t, map[string]any{"nbf": d.now().Add(2 * time.Minute).Unix()})
	})},
	{name: "issued, for another audience", make: changed(map[string]any{"aud": "https://other.example/mcp"})},
	{name: "issued, for no audience", make: changed(map[string]any{"aud": nil})},
	{name: "issued, by another issuer", make: changed(map[string]any{"iss": "https://other.example"})},
	{name: "issued, without a subject", make: changed(map[string]any{"sub": nil})},
	{name: "issued, without the scope", make: changed(map[string]any{"scope": "openid"})},
	{name: "issued, without any scope", make: changed(map[string]any{"scope": nil})},
	{name: "a wrong signature",
		make: signedBy(jose.RS256, func(t *testing.T, d *doors) (any, string) {
			return stranger(t),
				d.issuer.Key().ID
		})},
	{name: "an unknown key", make: signedBy(jose.RS256, func(t *testing.T, _ *doors) (any, string) {
		return stranger(t),
			"unknown"
	})},
	{name: "no key named",
		make: signedBy(jose.RS256, func(_ *testing.T, d *doors) (any, string) { return d.issuer.Key().Private, "" })},
	{name: "no key named, and a wrong signature",
		make: signedBy(jose.RS256, func(t *testing.T, _ *doors) (any, string) { return stranger(t), "" })},
	{name: "another algorithm than the key's",
		make: signedBy(jose.PS256, func(_ *testing.T, d *doors) (any, string) {
			return d.issuer.Key().Private,
				d.issuer.Key().ID
		})},
	{name: "HMAC with the public key",
		make: signedBy(jose.HS256, func(t *testing.T, d *doors) (any, string) {
			return publicKey(t, d),
				d.issuer.Key().ID
		})},
	{name: "the algorithm none", make: sends(func(t *testing.T, d *doors) string {
		return "Bearer " + issuertest.Unsigned(t, d.issuer.Claims(audience, nil))
	})},
	{name: "cut off", make: sends(func(t *testing.T, d *doors) string { s := d.issued(t, nil); return s[:len(s)-9] })},
	{name: "a static token in the query", in: "access_token=",
		make: sends(func(_ *testing.T, d *doors) string { return d.static["alice"] })},
	{name: "an issued token in the query", in: "access_token=", make: sends(func(t *testing.T, d *doors) string {
		return strings.TrimPrefix(d.issued(t, nil), "Bearer ")
	})},
	{name: "issued, after the issuer's key has changed", make: sends(func(t *testing.T, d *doors) string {
		d.issuer.Rotate(t)
		d.later.Add(int64(time.Minute))
		return d.issued(t, nil)
	})},
	{name: "issued with a new key, while the issuer is down", make: sends(func(t *testing.T, d *doors) string {
		d.issuer.Rotate(t)
		d.issuer.SetDown(true)
		d.later.Add(int64(time.Minute))
		return d.issued(t, nil)
	})},
	{name: "a static token, while the issuer is down",
		make: sends(func(_ *testing.T, d *doors) string { return d.alice() })},
	{name: "issued, when the issuer is back", make: sends(func(t *testing.T, d *doors) string {
		d.issuer.SetDown(false)
		d.later.Add(int64(time.Minute))
		return d.issued(t, nil)
	})},
}

func sends2(_ *testing.T, d *doors) []string { return []string{d.alice(), d.alice()} }

// entrance is a request of the golden table.
type entrance struct {
	name string
	call func(t *testing.T, d *doors, session string) *call
}

// entrances are all ways into the server. Links are made once, by alice.
func entrances(t *testing.T, d *doors) []entrance {
	t.Helper()
	authorized := func(c *call) *call { c.header.Set("Authorization", d.alice()); return c }
	link := func(method, member string) string {
		c := d.call(modernVersion, method, map[string]any{"uri": "repo://hello/contents/README.md"})
		c.header.Set("Accept", acceptBoth)
		return linkIn(t, string(d.do(t, authorized(c)).body), member)
	}
	free, bound := link(methodRead, `"io.github.repomcp/httpUrl":"`), link(methodStream, `"downloadUrl":"`)
	plain := func(verb, path string) entrance {
		return entrance{verb + " " + path,
			func(*testing.T, *doors, string) *call { return &call{verb: verb, path: path, header: http.Header{}} }}
	}
	message := func(version, method string, params map[string]any) entrance {
		return entrance{"POST /mcp " + method + " of " + version, func(_ *testing.T, d *doors, session string) *call {
			c := d.call(version, method, params)
			if version != modernVersion {
				c.header.Set("Mcp-Session-Id", session)
			}
			return c
		}}
	}
	uri := map[string]any{"uri": "repo://hello/contents/README.md"}
	list := []entrance{
		message(sessionVersion, methodRead, uri), message(modernVersion, methodRead, uri),
		message(sessionVersion, methodStream, uri),
		message(modernVersion, methodStream, uri), message(sessionVersion, "ping", nil),
		message(modernVersion, "server/discover", nil),
		message(modernVersion, "subscriptions/listen",
			map[string]any{"notifications": map[string]any{"resourcesListChanged": true}}),
		{"POST /mcp that is no message",
			func(*testing.T, *doors, string) *call { return &call{header: plainHeader(), body: []byte("{")} }},
	}
	for _, version := range eras {
		for _, verb := range []string{http.MethodGet, http.MethodDelete} {
			list = append(list,
				entrance{verb + " /mcp of " + version, func(_ *testing.T, d *doors, session string) *call {
					c := d.getCall(session)
					c.verb, c.path = verb, "/mcp"
					c.header.Set("Mcp-Protocol-Version", version)
					return c
				}})
		}
	}
	list = append(list, entrance{"GET /ws", func(*testing.T, *doors, string) *call {
		return &call{verb: http.MethodGet, path: "/ws", header: http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="},
		}}
	}})
	for _, path := range []string{"/archive/hello/main.tar.gz", "/raw/hello/main/README.md", "/refs/hello",
		"/repositories"} {
		list = append(list, plain(http.MethodGet, path), plain(http.MethodHead, path))
	}
	for name, path := range map[string]string{"GET /dl/ of anybody's link": free, "GET /dl/ of alice's link": bound} {
		e := plain(http.MethodGet, path)
		e.name = name
		list = append(list, e)
	}
	for _, path := range []string{
		"/", "/none", "/healthz", "/mcp/server-card", "/.well-known/ai-catalog.json",
		"/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/none", "//healthz", "/healthz/",
		"/dl/../repositories", "/%64l/x", "/dl%2f..%2frepositories",
	} {
		list = append(list, plain(http.MethodGet, path))
	}
	return append(list, plain(http.MethodPost, "/healthz"), plain(http.MethodOptions, "/mcp"),
		plain(http.MethodPut, "/raw/hello/main/README.md"))
}

// outcome is what the table has of a reply.
func (d *doors) outcome(t *testing.T, c *call, sent credentials, values []string) string {
	t.Helper()
	c.header = c.header.Clone()
	if sent.in == "" {
		c.header["Authorization"] = values
	} else {
		separator := "?"
		if c.path == "" {
			c.path = "/mcp"
		}
		c.path += separator + sent.in + strings.Join(values, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := d.open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	line := fmt.Sprint(reply.StatusCode)
	for _, challenge := range reply.Header.Values("WWW-Authenticate") {
		line += "\n      " + strings.NewReplacer(d.url, "http://HOST").Replace(challenge)
	}
	if control := reply.Header.Get("Cache-Control"); reply.StatusCode < 300 && control != "no-store" &&
		!strings.HasPrefix(control, "private") &&
		!slices.Contains(public, strings.SplitN(c.path, "?", 2)[0]) {
		t.Errorf("%s %s: Cache-Control %q lets others keep it", c.verb, c.path, control)
	}
	return line
}

// public are the entrances that anybody may take and that say nothing of anybody.
var public = []string{"/healthz", "/ws"}

// Every fault of credentials at every entrance, and good credentials among them. The golden
// file is the table; UPDATE_GOLDEN=1 writes it.
func TestEveryCredentialAtEveryEntrance(t *testing.T) {
	t.Parallel()
	withLinks := newLinks(t)
	withLinks.manyUses = true
	d := newDoors(t, targetOptions{links: withLinks.linking(t)})
	ways := entrances(t, d)
	blocks, names := []string{}, make(map[string][]string) // of credentials, by what they lead to
	cases := 0
	for _, sent := range tried {
		values := sent.make(t, d)
		outcomes := make(map[string][]string)
		for _, way := range ways {
			session := d.sessions[sessionVersion]
			if sent.in == "" && len(values) == 1 {
				session = d.sessionOf(t, values[0], session)
			}
			cases++
			line := d.outcome(t, way.call(t, d, session), sent, values)
			outcomes[line] = append(outcomes[line], way.name)
		}
		block := ""
		for _, line := range slices.Sorted(maps.Keys(outcomes)) {
			slices.Sort(outcomes[line])
			block += "   " + line + "\n          " + strings.Join(outcomes[line], "\n          ") + "\n"
		}
		if names[block] == nil {
			blocks = append(blocks, block)
		}
		names[block] = append(names[block], sent.name)
	}
	var table bytes.Buffer
	for _, block := range blocks {
		fmt.Fprintf(&table, "== %s\n%s\n", strings.Join(names[block], "\n== "), block)
	}
	checkGolden(t, "credentials.txt", table.Bytes())
	if least := 1600; cases < least {
		t.Errorf("%d cases, want %d", cases, least)
	}
	t.Logf("%d cases", cases)
}

// sessionOf is a session of whoever has the credentials, or the other one.
func (d *doors) sessionOf(t *testing.T, authorization, other string) string {
	t.Helper()
	c := &call{header: plainHeader(),
		body: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + sessionVersion +
			`","capabilities":{"resourceStreaming":{}},"clientInfo":{"name":"test","version":"1"}}}`)}
	c.header.Set("Authorization", authorization)
	if id := d.do(t, c).header.Get("Mcp-Session-Id"); id != "" {
		return id
	}
	return other
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("%s, line %d: %q, want %q", file, i+1, is[i], was[i])
		}
	}
	t.Fatalf("%s has %d lines, want %d", file, len(is), len(was))
}

// A session is no use to anybody but who began it: another one is told what is told of an id
// that nobody has, byte by byte.
func TestASessionIsOfWhoBeganIt(t *testing.T) {
	t.Parallel()
	d := newDoors(t, targetOptions{})
	alice, other := d.sessions[sessionVersion], d.issued(t, nil)
	invented := alice[:len(alice)-4] + "AAAA"
	cases := 0
	for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		ask := func(session, authorization string) answer {
			c := d.getCall(session)
			if verb == http.MethodPost {
				c = d.call(sessionVersion, methodRead, map[string]any{"uri": "repo://hello"})
				c.header.Set("Mcp-Session-Id", session)
			}
			c.verb, c.path = verb, "/mcp"
			c.header.Set("Authorization", authorization)
			cases++
			patience := time.Minute
			if verb == http.MethodGet { // an event stream has no end
				patience = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			a, err := d.send(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		if a := ask(alice, d.alice()); a.status == http.StatusNotFound {
			t.Errorf("%s: alice's own session: %v", verb, a)
		}
		theirs, nobodys := ask(alice, other), ask(invented, other)
		if theirs.status != http.StatusNotFound || nobodys.status != theirs.status ||
			!bytes.Equal(theirs.body, nobodys.body) {
			t.Errorf("%s: %v and %v", verb, theirs, nobodys)
		}
	}
	if cases != 9 {
		t.Errorf("%d cases", cases)
	}
}

// What lasts ends soon after the token that it was begun with, and not before.
func TestWhatLastsEndsWithItsToken(t *testing.T) {
	t.Parallel()
	d := newDoors(t, targetOptions{})
	for name, c := range map[string]struct {
		authorization string
		end           func()
	}{
		"a revoked token": {d.alice(), func() { d.revoke(t, "alice") }},
		"an expired one":  {d.issued(t, nil), func() { d.later.Add(int64(2 * time.Hour)) }},
	} {
		events := d.getCall(d.sessionOf(t, c.authorization, ""))
		listen := d.call(modernVersion, "subscriptions/listen",
			map[string]any{"notifications": map[string]any{"resourcesListChanged": true}})
		var ended []chan error
		wait := func(what func() error) {
			done := make(chan error, 1)
			ended = append(ended, done)
			go func() { done <- what() }()
		}
		for _, request := range []*call{events, listen} {
			request.header.Set("Authorization", c.authorization)
			reply, err := d.open(t.Context(), request)
			if err != nil || reply.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v, %v", name, reply, err)
			}
			wait(func() error {
				_, err := io.Copy(io.Discard, reply.Body)
				return errors.Join(err, reply.Body.Close())
			})
		}
		conn, _, err := websocket.Dial(t.Context(), d.url+"/ws",
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {c.authorization}}})
		if err != nil {
			t.Fatal(err)
		}
		wait(func() error {
			_, _, err := conn.Read(t.Context())
			if websocket.CloseStatus(err) != 3000 {
				return fmt.Errorf("the connection was closed with %w", err)
			}
			return nil
		})
		time.Sleep(100 * time.Millisecond) // some looks, which find nothing wrong
		for i, done := range ended {
			select {
			case err := <-done:
				t.Errorf("%s: %d ended by itself: %v", name, i, err)
			default:
			}
		}
		c.end()
		for i, done := range ended {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %d: %v", name, i, err)
				}
			case <-time.After(hang):
				t.Fatalf("%s: %d goes on", name, i)
			}
		}
	}
}
