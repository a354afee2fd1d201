// Package loopback recognizes addresses of the loopback interface.
package loopback

import (
	"net/netip"
	"net/url"
	"strings"
)

// Is reports whether a host, without port and brackets, is a loopback address or localhost. It does
// not resolve names.
func Is(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}

// Private reports whether the traffic with an address is safe from eavesdropping and changes: by
// TLS, or because the address is on the loopback interface.
func Private(at *url.URL) bool {
	return at.Scheme == "https" || at.Scheme == "http" && Is(at.Hostname())
}
