package links

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

// FuzzETag: a tag is divided into what the server gave and a secret of one length, and
// nothing is lost.
func FuzzETag(f *testing.F) {
	f.Add("abc" + etagMark + strings.Repeat("A", 22))
	f.Fuzz(func(t *testing.T, tag string) {
		etag, secret := SplitETag(tag)
		if secret == "" && etag != tag || secret != "" && etag+etagMark+secret != tag {
			t.Fatalf("%q is %q and %q", tag, etag, secret)
		}
	})
}

// FuzzBase: links begin with an address that only TLS or this machine reaches, have the
// token at the end, and the address is one again.
func FuzzBase(f *testing.F) {
	f.Add("https://Git.Example.com:443/below/")
	f.Add("http://[::1]:8080")
	f.Fuzz(func(t *testing.T, text string) {
		base, err := ParseBase(text)
		if err != nil {
			if strings.Contains(text, "@") && strings.Contains(err.Error(), text) && !errors.Is(err, ErrTooLong) {
				t.Fatalf("the error quotes it: %v", err)
			}
			return
		}
		link, err := url.Parse(base.URL("token"))
		if err != nil || !strings.HasSuffix(link.Path, "/token") || link.User != nil || link.RawQuery != "" ||
			link.Fragment != "" {
			t.Fatalf("%q: %v", base.URL("token"), err)
		}
		if link.Scheme != "https" && !loopback.Is(link.Hostname()) {
			t.Fatalf("%q", link)
		}
		if again, err := ParseBase(base.Address()); err != nil || again.Host() != base.Host() {
			t.Fatalf("%q is of %q, then of %q: %v", text, base.Host(), again.Host(), err)
		}
	})
}
