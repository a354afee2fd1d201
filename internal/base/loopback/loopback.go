// Package loopback tells what stays on the machine that a program runs on.
package loopback

import (
	"net/netip"
	"net/url"
	"strings"
)

// Is reports whether a host, which has neither a port nor brackets, is one of the loopback
// interface: by its address or as localhost. Nothing is looked up.
func Is(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}

// Private reports whether nobody between can read, or change, what is sent to an address
// and what it answers: by TLS, or because it is of the loopback interface.
func Private(at *url.URL) bool {
	return at.Scheme == "https" || at.Scheme == "http" && Is(at.Hostname())
}
