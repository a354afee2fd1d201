// Package forwarded determines the client of a request that came through proxies. Any client can send
// X-Forwarded-For, so only the entries of the operator's proxies are trusted.
package forwarded

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Socket means, in the list of proxies, programs that connect to a Unix socket.
const Socket = "unix"

// maxHops bounds the parsed entries of a header.
const maxHops = 32

// Proxies are the trusted proxies. The zero value trusts none.
type Proxies struct {
	networks []netip.Prefix
	socket   bool
}

// Parse reads addresses, networks such as 10.0.0.0/8, and [Socket].
func Parse(list []string) (Proxies, error) {
	var p Proxies
	for _, text := range list {
		if text == Socket {
			p.socket = true
			continue
		}
		network, err := netip.ParsePrefix(text)
		if address, addressErr := netip.ParseAddr(text); addressErr == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return Proxies{}, fmt.Errorf("%q is no address, no network such as 10.0.0.0/8 and not %s", text, Socket)
		}
		if network.Addr().Is4In6() {
			return Proxies{}, fmt.Errorf("%q is an IPv4 address in the form of IPv6: write it as IPv4", text)
		}
		p.networks = append(p.networks, network.Masked())
	}
	return p, nil
}

// Client returns the client's address as host and port: remote is that of the connection, and
// forwarded the values of X-Forwarded-For. Each proxy appends the address of its own client, so the
// list is read from its end, up to the first address that is no trusted proxy. Earlier entries may be
// forged. If an entry is no address, the proxy that wrote it counts as the client.
func (p Proxies) Client(remote string, forwarded []string) string {
	if !p.believes(remote) {
		return remote
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i, hop := range slices.Backward(hops) {
		address, ok := parse(strings.TrimSpace(hop))
		if !ok || len(hops)-i > maxHops {
			return remote
		}
		remote = netip.AddrPortFrom(address, 0).String()
		if !p.contains(address) {
			return remote
		}
	}
	return remote
}

// believes reports whether a connection is that of a proxy. The connection of a Unix socket has no
// address.
func (p Proxies) believes(remote string) bool {
	address, err := netip.ParseAddrPort(remote)
	if err != nil {
		return p.socket
	}
	return p.contains(address.Addr())
}

func (p Proxies) contains(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// parse reads an address, which some proxies write with a port.
func parse(hop string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return address.Unmap(), true
	}
	at, err := netip.ParseAddrPort(hop)
	return at.Addr().Unmap(), err == nil
}
