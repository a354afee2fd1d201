package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokensAreKeptByOrigin(t *testing.T) {
	t.Parallel()
	settings := filepath.Join(t.TempDir(), "settings")
	s := At(settings)
	check := func(origin, want string) {
		t.Helper()
		if got, err := s.Token(origin); got != want || err != nil {
			t.Errorf("%s has %q, %v", origin, got, err)
		}
	}
	check("https://a.example", "")
	if found, err := s.Forget("https://a.example"); found || err != nil {
		t.Error(found, err)
	}
	for _, token := range []string{"old", "new"} {
		if err := s.Keep("https://a.example", token); err != nil {
			t.Fatal(err)
		}
		check("https://a.example", token)
	}
	if err := s.Keep("https://a.example:8443", "other"); err != nil {
		t.Fatal(err)
	}
	check("https://a.example", "new")
	check("http://a.example", "")
	check("https://a.example:8443", "other")
	for path, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s is %v, %v", path, info.Mode(), err)
		}
	}
	if found, err := s.Forget("https://a.example"); !found || err != nil {
		t.Error(found, err)
	}
	check("https://a.example", "")
	check("https://a.example:8443", "other")
	if left, err := os.ReadDir(filepath.Dir(s.Path())); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
	for _, text := range []string{"", "secret", `{"version":2,"origins":{}}`, `{"origins":"secret"}`} {
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Token("https://a.example"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
		if s.Keep("https://a.example", "x") == nil {
			t.Errorf("%q was replaced", text)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Git.Example/mcp": "https://git.example", "https://git.example:443/x?y": "https://git.example",
		"wss://git.example/ws":      "https://git.example",
		"http://127.0.0.1:8080/mcp": "http://127.0.0.1:8080", "ws://127.0.0.1:80": "http://127.0.0.1",
		"https://git.example:80": "https://git.example:80",
		"https://[::1]:8443/":    "https://[::1]:8443", "https://[::1]": "https://[::1]",
		"https://user:secret@git.example/": "https://git.example",
		"stdio:repomcp":                    "", "git.example": "", "": "", "ftp://git.example": "", "https://": "", "https://:8080": "",
	} {
		if got := Origin(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// A home that is no folder has no credentials, and that is no failure.
func TestAHomeThatIsNoFolderHasNoTokens(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := At(filepath.Join(home, ".config"))
	if token, err := s.Token("https://a.example"); token != "" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	if s.Keep("https://a.example", "token") == nil {
		t.Error("a token was kept in nothing")
	}
}
