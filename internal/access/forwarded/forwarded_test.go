package forwarded

import (
	"net/netip"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	t.Parallel()
	const proxy, second, client = "10.0.0.1:9", "192.0.2.7", "198.51.100.3"
	for _, test := range []struct {
		trusted   string
		remote    string
		forwarded []string
		want      string
	}{
		// Nobody is believed.
		{"", proxy, []string{client}, proxy},
		{"", "@", []string{client}, "@"},
		// Only named proxies are.
		{"10.0.0.0/8", proxy, []string{client}, client + ":0"},
		{"10.0.0.1", proxy, []string{client}, client + ":0"},
		{"10.0.0.2", proxy, []string{client}, proxy},
		{"10.0.0.0/8", "203.0.113.9:1", []string{client}, "203.0.113.9:1"},
		{"10.0.0.1/8", "10.255.0.1:1", []string{client}, client + ":0"},
		// What a client wrote before is not believed.
		{"10.0.0.0/8", proxy, []string{"127.0.0.1, " + client}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"127.0.0.1", client}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"10.0.0.5, " + client}, client + ":0"},
		// Several proxies.
		{"10.0.0.0/8,192.0.2.0/24", proxy, []string{"1.1.1.1, " + client + ", " + second}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{client + "," + second}, second + ":0"},
		// All are proxies: the first of them sent it itself.
		{"10.0.0.0/8", proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},
		// Nothing, or no address: the proxy is the client.
		{"10.0.0.0/8", proxy, nil, proxy},
		{"10.0.0.0/8", proxy, []string{""}, proxy},
		{"10.0.0.0/8", proxy, []string{"unknown"}, proxy},
		{"10.0.0.0/8", proxy, []string{client + ", secret\n"}, proxy},
		{"10.0.0.0/8", proxy, []string{client + ", unknown, 10.0.0.2"}, "10.0.0.2:0"},
		// Other forms.
		{"10.0.0.0/8", proxy, []string{client + ":4711"}, client + ":0"},
		{"10.0.0.0/8", proxy, []string{"2001:db8::1"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"[2001:db8::1]"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"[2001:db8::1]:99"}, "[2001:db8::1]:0"},
		{"10.0.0.0/8", proxy, []string{"::ffff:198.51.100.3"}, client + ":0"},
		{"10.0.0.0/8", "[::ffff:10.0.0.1]:9", []string{client}, client + ":0"},
		{"fd00::/8", "[fd00::1]:9", []string{client}, client + ":0"},
		{"fe80::/10", "[fe80::1%eth0]:9", []string{client}, client + ":0"},
		// A Unix socket has no address.
		{"unix", "@", []string{client}, client + ":0"},
		{"unix", "", []string{client}, client + ":0"},
		{"unix", proxy, []string{client}, proxy},
		{"10.0.0.0/8", "@", []string{client}, "@"},
		// A long list is not read.
		{"10.0.0.0/8", proxy, []string{client + strings.Repeat(",10.0.0.2", 10_000)}, "10.0.0.2:0"},
	} {
		var list []string
		if test.trusted != "" {
			list = strings.Split(test.trusted, ",")
		}
		p, err := Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Client(test.remote, test.forwarded); got != test.want {
			t.Errorf("trusting %q, %q with %.80q is %q, want %q", test.trusted, test.remote, test.forwarded, got,
				test.want)
		}
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "example.com", "10.0.0.1:80", "fe80::1%eth0",
		"::ffff:10.0.0.0/104", "*"} {
		if _, err := Parse([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// Whatever is sent, the client is the connection or an address, and never one that only a
// client wrote.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{"", "1.2.3.4", "1.2.3.4, 10.0.0.1", "[::1]:80,,", "unknown", "::ffff:1.2.3.4%x"} {
		f.Add(seed)
	}
	p, err := Parse([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		const remote, client = "10.0.0.1:9", "198.51.100.3"
		if got := p.Client("203.0.113.1:5", []string{sent}); got != "203.0.113.1:5" {
			t.Errorf("%q has a stranger taken for %q", sent, got)
		}
		if got := p.Client(remote, []string{sent}); got != remote {
			if at, err := netip.ParseAddrPort(got); err != nil || at.Addr().Is4In6() {
				t.Errorf("%q is taken for %q", sent, got)
			}
		}
		if got := p.Client(remote, []string{sent + "," + client}); got != client+":0" {
			t.Errorf("%q before the client is taken for %q", sent, got)
		}
	})
}
