package weborigin_test

import (
	"net/http"
	"testing"

	"github.com/repomcp/repomcp/internal/weborigin"
)

func TestForeign(t *testing.T) {
	t.Parallel()
	allowed := []string{"https://ide.example"}
	for _, c := range []struct {
		origin, site string
		want         bool
	}{
		{"", "", false}, {"", "none", false}, {"", "same-origin", false}, {"", "same-site", false},
		{"", "cross-site", true},
		{"http://git.example:80", "", false}, {"https://GIT.example:80", "cross-site", false},
		{"https://ide.example", "cross-site", false}, {"HTTPS://IDE.example", "", false},
		{"https://ide.example:444", "", true}, {"http://ide.example", "", true},
		{"https://evil.example", "", true}, {"https://evil.example", "same-origin", true},
		{"null", "", true}, {"*", "", true}, {"git.example:80", "", true}, {"ftp://git.example:80", "", true},
		{"http://git.example", "", true}, {"http://git.example:80@evil.example", "", true},
		{"http://git.example:80.evil.example", "", true}, {"http://[", "", true},
	} {
		header := http.Header{}
		header.Set("Origin", c.origin)
		header.Set("Sec-Fetch-Site", c.site)
		if got := weborigin.Foreign(header.Get, "git.example:80", allowed); got != c.want {
			t.Errorf("Origin %q, Sec-Fetch-Site %q: foreign is %v, want %v", c.origin, c.site, got, c.want)
		}
	}
}
