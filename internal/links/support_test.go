package links

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
)

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 11, 21, 7, 30, 0, 123456789, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// keyLine is a line of a key file with a new key.
func keyLine(from, id string) string {
	secret := make([]byte, minSecretBytes)
	_, _ = rand.Read(secret)
	return from + " " + id + " " + base64.StdEncoding.EncodeToString(secret)
}

// write puts lines into a file.
func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	filetest.Write(t, path, strings.Join(lines, "\n")+"\n")
}

// file makes a file with lines.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, lines...)
	return path
}

// openRing loads a key file in no time.
func openRing(t *testing.T, path string) (*Keyring, error) {
	t.Helper()
	return filetest.Open(t, func() (*Keyring, error) { return LoadKeyring(path) })
}

func loadRing(t *testing.T, lines ...string) *Keyring {
	t.Helper()
	ring, err := openRing(t, file(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func randomRing(t *testing.T) *Keyring {
	t.Helper()
	ring, err := RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func parseBase(t *testing.T, url string) Base {
	t.Helper()
	base, err := ParseBase(url)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// newAuthority fills in what options leave out.
func newAuthority(t *testing.T, o Options) *Authority {
	t.Helper()
	if o.Keys == nil {
		o.Keys = randomRing(t)
	}
	if o.Base.host == "" {
		o.Base = parseBase(t, "https://git.example.com")
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *Authority) mustMint(t *testing.T, g Grant) (string, Link) {
	t.Helper()
	token, l, err := a.Mint(g)
	if err != nil {
		t.Fatal(err)
	}
	return token, l
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// grant is a valid one.
func grant() Grant {
	return Grant{
		Kind: Download, Methods: GET | HEAD, Repository: "group/hello", Principal: "alice", Lifetime: 5 * time.Minute,
		Resource: "repo://group/hello/archive/" + commit + ".tar.gz?prefix=hello/",
	}
}

func singleUse() Grant {
	g := grant()
	g.SingleUse = true
	return g
}

// use is the request that fits grant.
func use() Use { return Use{Method: "GET", Host: "git.example.com", Principal: "alice"} }

func repeatByte(n int) string { return strings.Repeat("x", n) }

func describe(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }
