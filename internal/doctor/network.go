package doctor

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/internal/loopback"
)

// unixPrefix begins the address of a Unix socket.
const unixPrefix = "unix:"

// isLocal reports whether only this machine reaches an address.
func isLocal(address string) bool {
	if strings.HasPrefix(address, unixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopback.Is(host)
}

func (e *examination) checkListening(ctx context.Context) {
	adminDanger := "others than this machine reach metrics, profiles and all names of mirrors without a token"
	if e.AdminToken {
		adminDanger = ""
	}
	e.readers(e.AdminTokenFile)
	for _, at := range []struct{ flag, address, danger string }{
		{"--listen", e.Listen, e.Exposure}, {"--admin-listen", e.AdminListen, adminDanger},
	} {
		if at.address == "" {
			continue
		}
		if err := understood(ctx, at.address); err != nil {
			e.fault(at.flag+" "+at.address, err.Error(), "write HOST:PORT or unix:PATH")
		} else if !isLocal(at.address) && at.danger != "" {
			e.warn(at.flag+" "+at.address, at.danger, "listen on 127.0.0.1, or let a proxy or a network of its own "+
				"decide who reaches it")
		}
	}
	switch {
	case !e.quiet():
	case isLocal(e.Listen):
		e.ok(e.Listen + " is reached from this machine alone")
	default:
		e.ok(e.Listen + " is reached by others, who have to say who they are")
	}
}

// understood fails when nothing can listen at an address.
func understood(ctx context.Context, address string) error {
	if strings.HasPrefix(address, unixPrefix) {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return err
	}
	if host != "" {
		_, err = net.DefaultResolver.LookupHost(ctx, host)
	}
	return err
}

// publicHost is the host of the public URL, "" where there is none.
func (e *examination) publicHost() string {
	u, err := url.Parse(e.PublicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (e *examination) checkHosts(context.Context) {
	u, err := url.Parse(e.PublicURL)
	switch {
	case err != nil: // refused: see the settings
	case e.PublicURL == "" && !isLocal(e.Listen):
		e.warn("", "there are no links for others than this machine: there is no --public-url",
			"give the address under which clients reach the server")
	case u.Scheme == "http" && !isLocal(net.JoinHostPort(u.Hostname(), "80")) && e.TLSCert != "":
		e.fault("--public-url "+e.PublicURL, "the server speaks HTTPS, and its links begin with http",
			"write https://"+u.Host)
	case u.Scheme == "http" && !isLocal(net.JoinHostPort(u.Hostname(), "80")):
		e.warn("--public-url "+e.PublicURL, "links and what they lead to travel unencrypted", "let it begin with https")
	}
	for _, host := range e.AllowedHosts {
		_, isNumber := netip.ParseAddr(strings.Trim(host, "[]"))
		if host == "" || strings.ContainsAny(host, "/*") || strings.Contains(host, ":") && isNumber != nil {
			e.fault("--allowed-host "+host, "it is no name, and no request has it", "write a name without scheme and "+
				"port, such as git.example.com")
		}
	}
	if e.quiet() {
		e.ok("understood")
	}
}
