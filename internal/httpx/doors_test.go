package httpx_test

import (
	"encoding/base64"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/resources/uploadpack"
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
	program, err := uploadpack.Find(t.Context(), "git")
	if err != nil {
		t.Fatal(err)
	}
	options.http.Git = uploadpack.New(uploadpack.Options{Program: program})
	t.Cleanup(options.http.Git.Close)
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

// token is one of the issuer with some claims changed.
func (d *doors) token(t *testing.T, changed map[string]any) string {
	t.Helper()
	return d.issuer.Token(t, d.issuer.Claims(audience, changed))
}

func (d *doors) issued(t *testing.T, changed map[string]any) string {
	t.Helper()
	return "Bearer " + d.token(t, changed)
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
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
