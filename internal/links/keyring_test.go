package links

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/operatorfile/filetest"
)

// TestRotation follows two replicas through a rotation.
func TestRotation(t *testing.T) {
	now := newClock()
	oldLine := keyLine("2026-01-01T00:00:00Z", "old")
	newLine := keyLine("2026-11-21T08:00:00Z", "new") // half an hour from now
	path := file(t, oldLine)
	ringA, err := openRing(t, path)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t, Options{Keys: ringA, Now: now.Now})
	b := newAuthority(t, Options{Keys: loadRing(t, oldLine), Now: now.Now})
	verify := func(by *Authority, token string, want error) {
		t.Helper()
		if _, err := by.Verify(token, use()); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	first, _ := a.mustMint(t, grant())
	verify(b, first, nil)

	write(t, path, newLine, oldLine) // the order of lines means nothing
	if _, err := filetest.Settle(t, ringA); err != nil {
		t.Fatal(err)
	}
	if ids := ringA.IDs(); !slices.Equal(ids, []string{"old", "new"}) {
		t.Errorf("keys %q", ids)
	}
	verify(a, first, nil)
	second, _ := a.mustMint(t, grant())
	verify(b, second, nil) // the new key does not sign yet

	now.pass(30 * time.Minute)
	third, _ := a.mustMint(t, grant())
	verify(a, third, nil)
	verify(b, third, ErrForged) // this replica has not read the file
	fourth, _ := b.mustMint(t, grant())
	verify(a, fourth, nil)

	write(t, path, newLine)
	if _, err := filetest.Settle(t, ringA); err != nil {
		t.Fatal(err)
	}
	verify(a, third, nil)
	verify(a, fourth, ErrForged)
	verify(newAuthority(t, Options{Now: now.Now}), third, ErrForged)
}

// TestSameIDOtherKey: a key is known by its bytes, not by what it is called.
func TestSameIDOtherKey(t *testing.T) {
	a := newAuthority(t, Options{Keys: loadRing(t, keyLine("2026-01-01T00:00:00Z", "k"))})
	b := newAuthority(t, Options{Keys: loadRing(t, keyLine("2026-01-01T00:00:00Z", "k"))})
	token, _ := a.mustMint(t, grant())
	if _, err := b.Verify(token, use()); !errors.Is(err, ErrForged) {
		t.Error(err)
	}
	// Its tag put into the token does not make it the other's.
	raw := rawOf(t, token)
	tag := b.options.Keys.Value()[0].tag
	copy(raw[1:], tag[:])
	if _, err := b.Verify(encoding.EncodeToString(raw), use()); !errors.Is(err, ErrForged) {
		t.Error(err)
	}
}

func TestKeyFile(t *testing.T) {
	line := keyLine("2026-01-01T00:00:00Z", "k1")
	secret := strings.Fields(line)[2]
	raw, err := base64.StdEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"plain":          line,
		"comments":       "# keys\n\n  " + line + "\n\t# end\n",
		"tabs":           strings.ReplaceAll(line, " ", "\t"),
		"windows":        line + "\r\n",
		"no line end":    line,
		"no padding":     strings.TrimRight(line, "="),
		"url alphabet":   "2026-01-01T00:00:00+01:00 k1 " + base64.URLEncoding.EncodeToString(raw),
		"longer":         "2026-01-01T00:00:00Z k1 " + base64.StdEncoding.EncodeToString(append(raw, raw...)),
		"fraction, zone": "2026-01-01T00:00:00.5-08:00 a.b_c-D " + secret,
	}
	for name, text := range good {
		if keys, err := parseKeys([]byte(text)); err != nil || len(keys) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := keyLine("2026-01-02T00:00:00Z", "k2")
	bad := map[string]string{
		"empty":           "",
		"comment only":    "# " + line,
		"only a secret":   secret,
		"two columns":     "k1 " + secret,
		"four columns":    line + " x",
		"no date":         "yesterday k1 " + secret,
		"date only":       "2026-01-01 k1 " + secret,
		"columns swapped": "2026-01-01T00:00:00Z " + secret + " k1",
		"secret as date":  secret + " k1 2026-01-01T00:00:00Z",
		"id with a slash": "2026-01-01T00:00:00Z k/1 " + secret,
		"id too long":     "2026-01-01T00:00:00Z " + repeatByte(65) + " " + secret,
		"not base64":      "2026-01-01T00:00:00Z k1 " + secret[:20] + "!" + secret[20:],
		"31 bytes":        "2026-01-01T00:00:00Z k1 " + base64.StdEncoding.EncodeToString(raw[:31]),
		"1025 bytes": "2026-01-01T00:00:00Z k1 " + base64.StdEncoding.EncodeToString(append(make([]byte, 993),
			raw...)),
		"zeros":           "2026-01-01T00:00:00Z k1 " + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"same id":         line + "\n" + strings.Replace(other, "k2", "k1", 1),
		"same date":       line + "\n" + strings.Replace(other, "01-02", "01-01", 1),
		"same key":        line + "\n2026-01-02T00:00:00Z k2 " + secret,
		"second line bad": line + "\nk2",
	}
	for name, text := range bad {
		_, err := parseKeys([]byte(text))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for i := 0; i+8 <= len(secret); i++ {
			if strings.Contains(err.Error(), secret[i:i+8]) {
				t.Fatalf("%s: a piece of the key is in the error %q", name, err)
			}
		}
	}
	var many []string
	for i := range maxKeys + 1 {
		many = append(many, keyLine(time.Unix(int64(i), 0).UTC().Format(time.RFC3339),
			describe("k", i)[:1]+string(rune('A'+i%26))+string(rune('a'+i/26))))
	}
	if _, err := parseKeys([]byte(strings.Join(many[:maxKeys], "\n"))); err != nil {
		t.Error(err)
	}
	if _, err := parseKeys([]byte(strings.Join(many, "\n"))); err == nil {
		t.Error("there is no limit of keys")
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := LoadKeyring(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without a file: %v", err)
	}
	first := keyLine("2026-01-01T00:00:00Z", "first")
	write(t, path, first)
	ring, err := openRing(t, path)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(want bool, ids ...string) {
		t.Helper()
		changed, err := filetest.Settle(t, ring)
		if err != nil || changed != want || !slices.Equal(ring.IDs(), ids) {
			t.Errorf("changed %v, keys %q, error %v; want %v, %q", changed, ring.IDs(), err, want, ids)
		}
	}
	reload(false, "first")
	write(t, path, first, keyLine("2026-02-01T00:00:00Z", "second"))
	reload(true, "first", "second")
	reload(false, "first", "second")
	// A file that takes the place of the old one, of the same size and date.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".new", first, keyLine("2026-02-01T00:00:00Z", "thirds"))
	if err := os.Chtimes(path+".new", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	reload(true, "first", "thirds")

	for name, breakIt := range map[string]func(){
		"nonsense": func() { write(t, path, "nonsense") },
		"too big":  func() { write(t, path, first, "#"+repeatByte(maxFileBytes)) },
		"a folder": func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) },
		"missing":  func() { _ = os.Remove(path) },
	} {
		_ = os.Remove(path)
		breakIt()
		if _, err := filetest.Settle(t, ring); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !slices.Equal(ring.IDs(), []string{"first", "thirds"}) {
			t.Errorf("%s: the keys are %q", name, ring.IDs())
		}
	}
	random := randomRing(t)
	random.Reread()
	if changed, err := filetest.Settle(t, random); changed || err != nil || len(random.IDs()) != 1 {
		t.Error("a random key has something to reload")
	}
}

// TestReloadWhileInUse is for the race detector.
func TestReloadWhileInUse(t *testing.T) {
	path := file(t, keyLine("2026-01-01T00:00:00Z", "k"))
	ring, err := openRing(t, path)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t, Options{Keys: ring, Nonces: NewMemory(time.Now)})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				token, _, err := a.Mint(grant())
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := a.Verify(token, use()); err != nil {
					t.Error(err)
					return
				}
				ring.Reread()
				if _, err := ring.Look(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
