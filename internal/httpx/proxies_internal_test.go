package httpx

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	const proxy, second, client = "10.0.0.1:9", "192.0.2.7", "198.51.100.3"
	for _, test := range []struct {
		trusted   string
		remote    string
		forwarded []string
		want      string
	}{
		// No proxy is trusted.
		{"", proxy, []string{client}, proxy},
		{"", "127.0.0.1:9", []string{client}, "127.0.0.1:9"},
		{"", "@", []string{client}, "@"},
		// Only the named proxies are trusted: no other loopback, link-local or private address.
		{"10.0.0.0/8", proxy, []string{client}, client + ":0"},
		{"10.0.0.1", proxy, []string{client}, client + ":0"},
		{"10.0.0.2", proxy, []string{client}, proxy},
		{"10.0.0.0/8", "203.0.113.9:1", []string{client}, "203.0.113.9:1"},
		{"10.0.0.0/8", "127.0.0.1:1", []string{client}, "127.0.0.1:1"},
		{"10.0.0.0/8", "[::1]:1", []string{client}, "[::1]:1"},
		{"10.0.0.0/8", "192.168.1.1:1", []string{client}, "192.168.1.1:1"},
		{"10.0.0.0/8", "169.254.1.1:1", []string{client}, "169.254.1.1:1"},
		{"10.0.0.0/8", proxy, []string{client + ", 192.168.1.1"}, "192.168.1.1:0"},
		{"10.0.0.1/8", "10.255.0.1:1", []string{client}, client + ":0"},
		// The entries that the client itself may have written do not count.
		{"10.0.0.0/8", proxy, []string{"127.0.0.1, " + client}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"127.0.0.1", client}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"10.0.0.5, " + client}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"unknown, " + client}, client + ":0"},
		// Several proxies.
		{"10.0.0.0/8,192.0.2.0/24", proxy, []string{"1.1.1.1, " + client + ", " + second}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{client + "," + second}, second + ":0"},
		// All addresses are of proxies: the first of them sent the request itself.
		{"10.0.0.0/8", proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},
		{"10.0.0.0/8", proxy, []string{"::ffff:10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},
		// Without a header, and with one that has something else than an address where the
		// client should be, the connection counts.
		{"10.0.0.0/8", proxy, nil, proxy},
		{"10.0.0.0/8", proxy, []string{""}, proxy},
		{"10.0.0.0/8", proxy, []string{"unknown"}, proxy},
		{"10.0.0.0/8", proxy, []string{client + ", secret\n"}, proxy},
		{"10.0.0.0/8", proxy, []string{client + ", unknown, 10.0.0.2"}, proxy},
		// Other forms.
		{"10.0.0.0/8", proxy, []string{client + ":4711"}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"2001:db8::1"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"[2001:db8::1]"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"[2001:db8::1]:99"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"::ffff:198.51.100.3"}, client + ":0"},
		{"10.0.0.0/8", "[::ffff:10.0.0.1]:9", []string{client}, client + ":0"},
		{"::ffff:10.0.0.0/104", proxy, []string{client}, client + ":0"},
		{"fd00::/8", "[fd00::1]:9", []string{client}, client + ":0"},
		{"fe80::/10", "[fe80::1%eth0]:9", []string{client}, client + ":0"},
		{"fd00::1", "[fd00::1]:9", []string{client}, client + ":0"},
		// A Unix socket has no address.
		{"unix", "@", []string{client}, client + ":0"},
		{"unix", "", []string{client}, client + ":0"},
		{"unix", "@", nil, "@"},
		{"unix", "@", []string{"unknown"}, "@"},
		{"unix", proxy, []string{client}, proxy},
		{"10.0.0.0/8", "@", []string{client}, "@"},
		{"10.0.0.0/8,unix", proxy, []string{client}, client + ":0"},
		{"10.0.0.0/8,unix", "@", []string{client + ", 10.0.0.7"}, client + ":0"},
	} {
		var list []string
		if test.trusted != "" {
			list = strings.Split(test.trusted, ",")
		}
		p, err := ParseProxies(list)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{"X-Forwarded-For": test.forwarded}}
		if got := p.clientAddress(r); got != test.want {
			t.Errorf("trusting %q, the client of %q with X-Forwarded-For %.80q is %q, want %q", test.trusted, test.remote,
				test.forwarded, got, test.want)
		}
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "example.com", "10.0.0.1:80", "fe80::1%eth0", "*"} {
		if _, err := ParseProxies([]string{wrong}); err == nil {
			t.Errorf("%q is accepted as a proxy", wrong)
		}
	}
}

// FuzzClientAddress: whatever a client sends, its address is that of the connection or the
// one that the trusted proxy has added.
func FuzzClientAddress(f *testing.F) {
	for _, seed := range []string{"", "1.2.3.4", "1.2.3.4, 10.0.0.1", "[::1]:80,,", "unknown", "::ffff:1.2.3.4%x"} {
		f.Add(seed)
	}
	p, err := ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	addressOf := func(remote, sent string) string {
		return p.clientAddress(&http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {sent}}})
	}
	f.Fuzz(func(t *testing.T, sent string) {
		const remote, client = "10.0.0.1:9", "198.51.100.3"
		if got := addressOf("203.0.113.1:5", sent); got != "203.0.113.1:5" {
			t.Errorf("an untrusted peer that sends %q is taken for %q", sent, got)
		}
		if got := addressOf(remote, sent); got != remote {
			if at, err := netip.ParseAddrPort(got); err != nil || at.Addr().Is4In6() {
				t.Errorf("the client of %q is %q, which is no address", sent, got)
			}
		}
		if got := addressOf(remote, sent+","+client); got != client+":0" {
			t.Errorf("with %q before the client, the client is %q, want %s:0", sent, got, client)
		}
	})
}
