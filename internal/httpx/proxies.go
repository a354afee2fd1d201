package httpx

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

const (
	// trustUnix in the list of trusted proxies stands for every client of a Unix socket.
	trustUnix = "unix"
	// unixPeer is the address of the peer of a Unix socket, which has none: echo trusts only
	// addresses. No packet comes from it (RFC 6666).
	unixPeer = "100::"
)

// Proxies are the proxies whose X-Forwarded-For headers are believed. The zero value
// believes none.
type Proxies struct {
	unix     bool
	networks []*net.IPNet
	extract  echo.IPExtractor // nil in the zero value
}

// ParseProxies reads addresses, networks such as 10.0.0.0/8, and "unix" for a Unix socket.
func ParseProxies(list []string) (Proxies, error) {
	var p Proxies
	trusted := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, name := range list {
		address := name
		if name == trustUnix {
			p.unix, address = true, unixPeer
		}
		_, network, err := net.ParseCIDR(address)
		if ip := net.ParseIP(address); ip != nil {
			// A mask of IPv6 fits both families (net.IPNet.Contains).
			network, err = &net.IPNet{IP: ip, Mask: net.CIDRMask(128, 128)}, nil
		}
		if err != nil {
			return Proxies{}, fmt.Errorf("%q is no address, no network such as 10.0.0.0/8 and not %s", name, trustUnix)
		}
		p.networks = append(p.networks, network)
		trusted = append(trusted, echo.TrustIPRange(network))
	}
	p.extract = echo.ExtractIPFromXFFHeader(trusted...)
	return p, nil
}

// trusts reports whether the address of a connection is that of a trusted proxy. The peer of
// a Unix socket has no address.
func (p Proxies) trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return p.unix
	}
	ip := net.IP(at.Addr().Unmap().AsSlice())
	return slices.ContainsFunc(p.networks, func(n *net.IPNet) bool { return n.Contains(ip) })
}

// clientAddress returns the address of the client of a request, as host and port: the last one in
// X-Forwarded-For that is no trusted proxy. A client can write anything before it. echo finds it;
// this function adds Unix sockets, zones of link-local proxies, and the ports that some proxies
// append to addresses.
func (p Proxies) clientAddress(r *http.Request) string {
	sent := r.Header[echo.HeaderXForwardedFor]
	if len(sent) == 0 || !p.trusts(r.RemoteAddr) {
		return r.RemoteAddr
	}
	peer := unixPeer
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		peer = at.Addr().Unmap().WithZone("").String()
	}
	hops := strings.Split(strings.Join(sent, ","), ",")
	for i, hop := range hops {
		if at, err := netip.ParseAddrPort(strings.TrimSpace(hop)); err == nil {
			hops[i] = at.Addr().String()
		}
	}
	found := p.extract(&http.Request{
		RemoteAddr: net.JoinHostPort(peer, "0"), Header: http.Header{echo.HeaderXForwardedFor: hops},
	})
	address, err := netip.ParseAddr(found)
	if err != nil || found == peer {
		return r.RemoteAddr
	}
	return netip.AddrPortFrom(address.Unmap(), 0).String()
}
