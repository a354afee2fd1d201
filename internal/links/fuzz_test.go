package links

import (
	"bytes"
	"encoding/base64"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

// fuzzed is an authority with a fixed key and time, so that findings repeat.
func fuzzed(f *testing.F) (*Authority, *key) {
	f.Helper()
	secret := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	keys, err := parseKeys([]byte("2026-01-01T00:00:00Z k " + secret))
	if err != nil {
		f.Fatal(err)
	}
	ring := &Keyring{operatorfile.Fixed(keys)}
	base, err := ParseBase("https://git.example.com")
	if err != nil {
		f.Fatal(err)
	}
	now := newClock()
	a, err := New(Options{Keys: ring, Base: base, Nonces: NewMemory(now.Now), Now: now.Now})
	if err != nil {
		f.Fatal(err)
	}
	return a, keys[0]
}

// FuzzVerify: no text is a link but those that were made. What is accepted is,
// sealed again, the same text, and grants what was granted.
func FuzzVerify(f *testing.F) {
	a, k := fuzzed(f)
	granted := map[Grant]bool{}
	for _, g := range []Grant{grant(), singleUse()} {
		token, l, err := a.Mint(g)
		if err != nil {
			f.Fatal(err)
		}
		granted[l.Grant] = true
		f.Add(token)
		f.Add(token + "=")
		f.Add(token[1:])
	}
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, token string) {
		l, err := a.Verify(token, use())
		if err != nil {
			if l != (Link{}) {
				t.Fatalf("%v, and yet %+v", err, l)
			}
			return
		}
		again, err := k.seal(l)
		if err != nil || again != token || !granted[l.Grant] {
			t.Fatalf("%q: %+v, %v", token, l, err)
		}
	})
}

// FuzzClaims: what a holder of the key could sign is either refused or exactly
// what encode writes, and a date never overflows.
func FuzzClaims(f *testing.F) {
	a, k := fuzzed(f)
	for _, g := range []Grant{grant(), singleUse()} {
		_, l, err := a.Mint(g)
		if err != nil {
			f.Fatal(err)
		}
		claims, err := l.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(claims)
	}
	f.Add(make([]byte, paddingBytes))
	f.Fuzz(func(t *testing.T, claims []byte) {
		l, err := decodeClaims(claims)
		if err != nil {
			return
		}
		again, err := l.encode()
		if err != nil || !bytes.Equal(again, claims) {
			t.Fatalf("%x became %x, %v", claims, again, err)
		}
		if l.Lifetime <= 0 || l.Lifetime > MaxLifetime || !l.Expires.After(l.Issued) {
			t.Fatalf("%+v", l)
		}
		if l.secret, err = k.redemption(l.Nonce); err != nil {
			t.Fatal(err)
		}
		token, err := k.seal(l)
		if err != nil || len(token) > MaxTokenBytes {
			t.Fatalf("%d bytes, %v", len(token), err)
		}
		u := Use{Method: "GET", Host: l.Host, Principal: l.Principal}
		if got, err := a.Verify(token, u); err == nil && (got != l || !a.options.Now().Before(got.Expires) ||
			got.Issued.After(a.options.Now().Add(maxSkew))) {
			t.Fatalf("%+v became %+v", l, got)
		}
	})
}

// FuzzRoundTrip: what Mint makes Verify finds again.
func FuzzRoundTrip(f *testing.F) {
	a, _ := fuzzed(f)
	f.Add(byte(1), byte(3), "repo://a/archive/x.tar", "a", "alice", uint32(300), true)
	f.Add(byte(2), byte(1), "repo://ä\x00", "ä", "", uint32(3600), false)
	f.Fuzz(func(t *testing.T, kind, methods byte, resource, repository, principal string, seconds uint32, single bool) {
		g := Grant{
			Kind: Kind(kind), Methods: Methods(methods), Resource: resource, Repository: repository,
			Principal: principal, Reader: principal, Rights: repository,
			Lifetime: time.Duration(seconds) * time.Second, SingleUse: single,
		}
		token, minted, err := a.Mint(g)
		if err != nil {
			return
		}
		u := use()
		u.Principal = principal
		if g.Methods == HEAD {
			u.Method = "HEAD"
		}
		if got, err := a.Verify(token, u); err != nil || got != minted || len(token) > MaxTokenBytes {
			t.Fatalf("%+v became %+v, %v", minted, got, err)
		}
	})
}

// FuzzKeys: a key file never yields a weak key, and its errors no piece of it.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(keyLine("2026-01-01T00:00:00Z", "k")))
	f.Add([]byte("# x\n\n2026-01-01T00:00:00Z k AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeys(text)
		if err != nil {
			return
		}
		if len(keys) == 0 || len(keys) > maxKeys {
			t.Fatalf("%d keys", len(keys))
		}
		for i, k := range keys {
			if len(k.secret) < minSecretBytes || i > 0 && !keys[i-1].from.Before(k.from) || keys.find(k.tag) != k {
				t.Fatalf("key %d of %d", i, len(keys))
			}
		}
	})
}
