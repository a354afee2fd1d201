package tokens

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/operatorfile"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open opens a file in no time.
func open(t *testing.T, path string, scopes []string, now func() time.Time) (*Store, error) {
	t.Helper()
	return filetest.Open(t, func() (*Store, error) { return Open(path, scopes, now) })
}

// add adds a token to a file and returns it.
func add(t *testing.T, path, name string, life time.Duration, made time.Time) string {
	t.Helper()
	token, entry, err := New(name, []string{"b", "a", "b"}, life, made)
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(path, entry); err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenIsKnownUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "tokens"), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	alice, bob := add(t, path, "alice", time.Hour, now), add(t, path, "bob@build-1.x", 0, now)
	store, err := open(t, path, []string{"read"}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	known := func(token string) string {
		who, err := store.Authenticate(context.Background(), token)
		if err != nil && (!errors.Is(err, access.ErrInvalid) || token != "" && strings.Contains(err.Error(), token) ||
			who.ID != "") {
			t.Errorf("%v: %v", who, err)
		}
		return who.ID
	}
	check := func(when string, want ...string) {
		t.Helper()
		if got := []string{known(alice), known(bob)}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	check("at first", "token:alice", "token:bob@build-1.x")
	if who, err := store.Authenticate(t.Context(), alice); err != nil ||
		!slices.Equal(who.Groups, []string{"a", "b"}) || !slices.Contains(who.Scopes, "read") {
		t.Errorf("%+v, %v", who, err)
	}
	for _, other := range []string{"", Prefix, alice + "A", alice[:len(alice)-1], strings.ToLower(alice), "alice",
		bob[len(Prefix):]} {
		if id := known(other); id != "" {
			t.Errorf("%q is %s", other, id)
		}
	}
	now = now.Add(time.Hour - time.Second)
	check("just before the end", "token:alice", "token:bob@build-1.x")
	now = now.Add(time.Second)
	check("at the end", "", "token:bob@build-1.x")
	if err := Remove(path, "bob@build-1.x"); err != nil {
		t.Fatal(err)
	}
	check("before it is read again", "", "token:bob@build-1.x")
	if taken, err := filetest.Settle(t, store); !taken || err != nil {
		t.Fatal(taken, err)
	}
	check("revoked", "", "")
	if taken, err := filetest.Settle(t, store); taken || err != nil {
		t.Fatal(taken, err)
	}
	carol := add(t, path, "carol", 0, now)
	if taken, err := filetest.Settle(t, store); !taken || err != nil || known(carol) != "token:carol" {
		t.Errorf("%v: a new token is not known", err)
	}
	// What cannot be read changes nothing.
	filetest.Write(t, path, "carol nonsense\n")
	if _, err := filetest.Settle(t, store); err == nil || known(carol) == "" {
		t.Errorf("%v: a broken file took a token away", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := filetest.Settle(t, store); err == nil || known(carol) == "" || store.Count() != 2 {
		t.Errorf("%v: a missing file took a token away", err)
	}
}

func TestTokensDiffer(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		token, _, err := New("x", nil, 0, time.Now())
		if err != nil || !strings.HasPrefix(token, Prefix) || len(token) != len(Prefix)+26 || seen[token] {
			t.Fatalf("%s, %v", token, err)
		}
		seen[token] = true
	}
}

func TestBadFilesAreRefusedWithoutAWordOfThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	add(t, path, "alice", time.Hour, time.Now())
	add(t, path, "bob", 0, time.Now())
	good := strings.Split(strings.TrimSpace(read(t, path)), "\n")
	fields := strings.Fields(good[0])
	line := func(parts ...string) string { return strings.Join(parts, " ") }
	for name, text := range map[string]string{
		"two columns":        line("secret", fields[1]),
		"a token":            line("secret", "rmcp_SECRET", fields[2]),
		"a bare hash":        line("secret", strings.TrimPrefix(fields[1], "sha256:"), fields[2]),
		"a short hash":       line("secret", fields[1][:20], fields[2]),
		"another hash":       line("secret", "sha512:"+fields[1][7:], fields[2]),
		"no date":            line("secret", fields[1], "secret"),
		"an odd end":         line("secret", fields[1], fields[2], "expires=secret"),
		"an option":          line("secret", fields[1], fields[2], "secret=1"),
		"two ends":           line("secret", fields[1], fields[2], fields[3], fields[3]),
		"two lists":          line("secret", fields[1], fields[2], "groups=a", "groups=secret"),
		"an empty group":     line("secret", fields[1], fields[2], "groups=a,,b"),
		"an odd name":        line("sec/ret", fields[1], fields[2]),
		"a long name":        line(strings.Repeat("secret", 11), fields[1], fields[2]),
		"a name twice":       good[0] + "\n" + line("alice", strings.Fields(good[1])[1], fields[2]),
		"a token twice":      good[0] + "\n" + line("secret", fields[1], fields[2]),
		"bytes that are odd": "\x00\xff secret",
	} {
		filetest.Write(t, path, "# comment\n\n"+text+"\n")
		_, err := open(t, path, nil, time.Now)
		if err == nil || !strings.Contains(err.Error(), "line ") || strings.Contains(strings.ToLower(err.Error()),
			"secret") || strings.Contains(err.Error(), fields[1]) {
			t.Errorf("%s: %v", name, err)
		}
		// Nor do commands make a broken file worse.
		before := read(t, path)
		_, entry, err := New("new", nil, 0, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if Add(path, entry) == nil || Remove(path, "alice") == nil || read(t, path) != before {
			t.Errorf("%s: the file was changed", name)
		}
	}
	for _, name := range []string{"", "-x", "a b", "a\nb", "ä", "#x", "a,b", "a=b"} {
		if _, _, err := New(name, nil, 0, time.Now()); err == nil {
			t.Errorf("%q is a name", name)
		}
		if _, _, err := New("x", []string{name}, 0, time.Now()); err == nil {
			t.Errorf("%q is a group", name)
		}
	}
	if _, _, err := New("x", nil, -time.Second, time.Now()); err == nil {
		t.Error("a token expires before it is made")
	}
}

// Files are replaced atomically: other lines, the mode and a link to the file stay, and concurrent
// changes are not lost.
func TestChangesKeepTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "tokens"), filepath.Join(dir, "link")
	filetest.Write(t, path, "# first\r\n\n  # indented\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tokens", link); err != nil {
		t.Fatal(err)
	}
	add(t, link, "alice", 0, time.Now())
	add(t, link, "alice2", 0, time.Now())
	if err := Remove(link, "alice"); err != nil {
		t.Fatal(err)
	}
	text := read(t, path)
	if !strings.HasPrefix(text, "# first\r\n\n  # indented\nalice2  sha256:") ||
		strings.Contains(text, "alice ") {
		t.Errorf("%q", text)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err = os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if err := Remove(path, "nobody"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := Remove(filepath.Join(dir, "none"), "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	fresh := filepath.Join(dir, "fresh")
	add(t, fresh, "x", 0, time.Now())
	if info, err = os.Stat(fresh); err != nil || info.Mode() != 0o600 {
		t.Errorf("a new file is %v, %v", info, err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, entry, err := New(fmt.Sprint("n", i), nil, 0, time.Now())
			for err = errors.Join(err, ErrLocked); errors.Is(err, ErrLocked); {
				err = Add(path, entry)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := List(path); err != nil || len(list) != 21 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || left != nil {
		t.Errorf("%q are left, %v", left, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(
		[]byte(
			"alice  sha256:q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA  2026-11-01T00:00:00Z  expires=2027-01-30T00:00:00Z groups=core,ops\n"))
	f.Add([]byte("# nothing\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, e := range list {
			again.WriteString(e.line() + "\n")
		}
		second, err := parse([]byte(again.String()))
		if err != nil || len(second) != len(list) {
			t.Fatalf("%q was understood, and %q is not: %v", text, again.String(), err)
		}
		for i := range list {
			if second[i].Name != list[i].Name || second[i].hash != list[i].hash ||
				!second[i].Expires.Equal(list[i].Expires) || !slices.Equal(second[i].Groups, list[i].Groups) {
				t.Fatalf("%+v became %+v", list[i], second[i])
			}
		}
	})
}

func BenchmarkUnknownToken(b *testing.B) {
	var list []Entry
	for i := range maxTokens {
		_, e, err := New(fmt.Sprint("n", i), nil, 0, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, e)
	}
	s := &Store{File: operatorfile.Fixed(list), now: time.Now}
	for b.Loop() {
		_, _ = s.Authenticate(context.Background(), Prefix+"AAAAAAAAAAAAAAAAAAAAAAAAAA")
	}
}
