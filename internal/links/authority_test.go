package links

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestUse is the table of principals, uses and times of links.
func TestUse(t *testing.T) {
	forAnybody := func() Grant { g := grant(); g.Principal = ""; return g }
	shared := func() Grant { g := grant(); g.Kind = HTTP; return g }
	for _, test := range []struct {
		name  string
		grant func() Grant
		later time.Duration
		use   Use
		want  error
	}{
		{name: "GET", use: Use{Method: "GET", Host: "git.example.com"}},
		{name: "HEAD", use: Use{Method: "HEAD", Host: "git.example.com"}},
		{name: "host in capitals with a port", use: Use{Method: "GET", Host: "Git.Example.COM:443"}},
		{name: "POST", use: Use{Method: "POST", Host: "git.example.com"}, want: ErrForged},
		{name: "no method", use: Use{Host: "git.example.com"}, want: ErrForged},
		{name: "method in small letters", use: Use{Method: "get", Host: "git.example.com"}, want: ErrForged},
		{name: "other host", use: Use{Method: "GET", Host: "evil.example.com"}, want: ErrForged},
		{name: "other port", use: Use{Method: "GET", Host: "git.example.com:8443"}, want: ErrForged},
		{name: "subdomain", use: Use{Method: "GET", Host: "a.git.example.com"}, want: ErrForged},
		{name: "no host", use: Use{Method: "GET"}, want: ErrForged},
		{name: "only GET, HEAD asked", grant: func() Grant { g := forAnybody(); g.Methods = GET; return g },
			use: Use{Method: "HEAD", Host: "git.example.com"}, want: ErrForged},
		{name: "made for nobody, used by somebody", use: Use{Method: "GET", Host: "git.example.com", Principal: "bob"}},
		{name: "an httpUrl, its principal", grant: shared, use: use()},
		{name: "an httpUrl, no credentials", grant: shared, use: Use{Method: "GET", Host: "git.example.com"}},
		{name: "an httpUrl, another principal", grant: shared, use: Use{Method: "GET", Host: "git.example.com",
			Principal: "bob"}, want: ErrCredentials},
		{name: "a downloadUrl, its principal", grant: grant, use: use()},
		{name: "a downloadUrl, no credentials", grant: grant, use: Use{Method: "GET", Host: "git.example.com"},
			want: ErrCredentials},
		{name: "a downloadUrl, another principal", grant: grant, use: Use{Method: "GET", Host: "git.example.com",
			Principal: "bob"}, want: ErrCredentials},
		{name: "just before the end", later: 5*time.Minute - 124*time.Millisecond, use: use()},
		{name: "at the end", later: 5*time.Minute - 123456789*time.Nanosecond, use: use(), want: ErrExpired},
		{name: "long after", later: 1000 * time.Hour, use: use(), want: ErrExpired},
		{name: "a resume does not prolong what can be used again", later: 6 * time.Minute,
			use: Use{Method: "GET", Host: "git.example.com", Resume: "x"}, want: ErrExpired},
		{name: "clock a little behind", later: -maxSkew, use: use()},
		{name: "made in the future", later: -maxSkew - time.Second, use: use(), want: ErrForged},
		{name: "made long after", later: -1000 * time.Hour, use: use(), want: ErrForged},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := newClock()
			a := newAuthority(t, Options{Now: now.Now})
			if test.grant == nil {
				test.grant = forAnybody
			}
			token, _ := a.mustMint(t, test.grant())
			now.pass(test.later)
			if _, err := a.Verify(token, test.use); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestMintRefuses(t *testing.T) {
	a := newAuthority(t, Options{})
	for name, change := range map[string]func(*Grant){
		"no kind":           func(g *Grant) { g.Kind = 0 },
		"unknown kind":      func(g *Grant) { g.Kind = 9 },
		"no method":         func(g *Grant) { g.Methods = 0 },
		"unknown method":    func(g *Grant) { g.Methods = 8 },
		"no resource":       func(g *Grant) { g.Resource = "" },
		"no lifetime":       func(g *Grant) { g.Lifetime = 0 },
		"negative lifetime": func(g *Grant) { g.Lifetime = -time.Hour },
		"under a second":    func(g *Grant) { g.Lifetime = time.Second - 1 },
		"too long":          func(g *Grant) { g.Lifetime = MaxLifetime + 1 },
		"longest duration":  func(g *Grant) { g.Lifetime = 1<<63 - 1 },
		"single, no nonces": func(g *Grant) { g.SingleUse = true },
	} {
		g := grant()
		change(&g)
		if token, _, err := a.Mint(g); !errors.Is(err, ErrGrant) || token != "" {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	base := parseBase(t, "https://git.example.com")
	for name, o := range map[string]Options{
		"no keys":         {Base: base},
		"no base":         {Keys: randomRing(t)},
		"only later keys": {Keys: loadRing(t, keyLine("2999-01-01T00:00:00Z", "later")), Base: base},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestErrorsTellNothing(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Now: now.Now})
	token, _ := a.mustMint(t, grant())
	now.pass(time.Hour)
	uses := []Use{use(), {Method: "PUT", Host: "git.example.com"}, {Method: "GET", Host: "other"}}
	for _, u := range uses {
		_, err := a.Verify(token, u)
		if err == nil {
			t.Fatal("no error")
		}
		for _, secret := range []string{token[:20], "alice", "hello", commit} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is in the error %q", secret, err)
			}
		}
	}
}
