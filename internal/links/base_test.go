package links

import (
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for _, test := range []struct{ public, host, url string }{
		{"https://git.example.com", "git.example.com", "https://git.example.com/dl/T"},
		{"https://Git.Example.com:443/", "git.example.com", "https://Git.Example.com:443/dl/T"},
		{"https://git.example.com:8443/mcp//", "git.example.com:8443", "https://git.example.com:8443/mcp/dl/T"},
		{"https://git.example.com/a%2Fb", "git.example.com", "https://git.example.com/a%2Fb/dl/T"},
		{"http://localhost:8080", "localhost:8080", "http://localhost:8080/dl/T"},
		{"http://127.0.0.9", "127.0.0.9", "http://127.0.0.9/dl/T"},
		{"http://[::1]:80", "[::1]", "http://[::1]:80/dl/T"},
		{"https://[2001:db8::443]", "[2001:db8::443]", "https://[2001:db8::443]/dl/T"},
	} {
		base, err := ParseBase(test.public)
		if err != nil {
			t.Errorf("%s: %v", test.public, err)
			continue
		}
		if got := base.URL("T"); base.Host() != test.host || got != test.url {
			t.Errorf("%s: host %s, URL %s", test.public, base.Host(), got)
		}
	}
	for _, public := range []string{
		"", "git.example.com", "//git.example.com", "https://", "https:///x", "ftp://git.example.com",
		"http://git.example.com",
		"http://10.0.0.1", "http://localhost.example.com", "http://127.0.0.1.example.com",
		"https://user:hunter2@git.example.com",
		"https://git.example.com?x=hunter2", "https://git.example.com/?", "https://git.example.com/#",
		"https://git.example.com/#x",
		"https:git.example.com", "https://git.example.com:hunter2", "https://a b", "https://" +
			repeatByte(300), "javascript:alert(1)", "https://%zz",
	} {
		_, err := ParseBase(public)
		if err == nil {
			t.Errorf("%q is taken", public)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a password is in the error %q", err)
		}
	}
}
