package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
)

// endpoint describes how clients can connect to a listener.
type endpoint struct {
	// base is a working address, as the prefix of URLs.
	base string
	// names are accepted in the Host header, besides loopback names and those that the operator
	// allows.
	names []string
	// external reports that other machines can connect.
	external bool
	// socket is the path of a Unix socket, which base does not contain.
	socket string
}

// shown returns the address of the listener.
func (r endpoint) shown() string {
	if r.socket != "" {
		return unixPrefix + r.socket
	}
	return r.base
}

// scheme of the addresses of a server.
func scheme(cert *certificate) string {
	if cert == nil {
		return "http"
	}
	return "https"
}

// endpointAt returns the addresses of a listener. On the loopback interface it accepts only loopback
// names, because pages of other sites can make their own names resolve to it. Otherwise it accepts
// the names of this machine, which no page can claim.
func endpointAt(scheme string, address net.Addr) endpoint {
	if isUnix(address) {
		return endpoint{base: scheme + "://localhost", socket: address.String()}
	}
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || at.Addr().IsLoopback() {
		return endpoint{base: scheme + "://" + address.String()}
	}
	r := endpoint{external: true, names: machineNames()}
	host := at.Addr().Unmap()
	if host.IsUnspecified() {
		host = netip.IPv6Loopback()
		if first, ok := firstAddress(); ok {
			host = first
		}
	}
	r.base = scheme + "://" + netip.AddrPortFrom(host, at.Port()).String()
	return r
}

// machineNames returns the machine's own names and addresses.
func machineNames() []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		names = append(names, name, short)
	}
	for _, address := range addresses() {
		names = append(names, address.String())
	}
	return names
}

// firstAddress returns the address to print, preferably IPv4.
func firstAddress() (first netip.Addr, ok bool) {
	for _, address := range addresses() {
		if address.IsLoopback() || address.IsLinkLocalUnicast() {
			continue
		}
		if !ok || address.Is4() && !first.Is4() {
			first, ok = address, true
		}
	}
	return first, ok
}

func addresses() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			found = append(found, prefix.Addr().Unmap())
		}
	}
	return found
}

// Warnings about settings that may admit more clients than intended.
const (
	exposed = "other machines can connect, and the server has no authentication"
	inClear = "other machines can connect, and tokens can be read on their way: serve HTTPS (--tls-cert), or put a " +
		"proxy in front that does and tell its address (--public-url)"
)

// warningOf returns a warning, or "".
func warningOf(flags serveFlags, at endpoint, asks bool) string {
	switch {
	case !at.external:
		return ""
	case !asks:
		return exposed
	case flags.tlsCert == "" && !strings.HasPrefix(flags.publicURL, "https://"):
		return inClear
	default:
		return ""
	}
}

// greet writes what was started and how to use it: as text on a terminal, or as the first lines of
// a JSON log. Errors are ignored, because the server works without a reader of its output.
func greet(w io.Writer, flags serveFlags, at endpoint, asks bool, count int, logger *slog.Logger) {
	base := strings.TrimSuffix(flags.publicURL, "/")
	if base == "" {
		base = at.base
	}
	endpoint := base + "/mcp"
	if flags.logFormat == "json" {
		logger.Info("listening", "address", at.shown(), "mcp", endpoint, "repositories", count, "root", flags.root,
			"version", version())
		if warning := warningOf(flags, at, asks); warning != "" {
			logger.Warn(warning, "hosts", at.names)
		}
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "repomcp %s\nlistening on %s, serving %s below %s\n", version(), at.shown(), plural(count),
		flags.root)
	if warning := warningOf(flags, at, asks); warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	if at.external {
		fmt.Fprintf(&b, "clients that use another name than %s need --allowed-host NAME\n",
			strings.Join(at.names, ", "))
	}
	if asks {
		b.WriteString("clients have to send a token, as Authorization: Bearer TOKEN\n")
	}
	fmt.Fprintf(&b, `
Claude Code   claude mcp add --transport http repomcp %[1]s
others        repomcp connect CLIENT %[1]s

`, endpoint)
	_, _ = io.WriteString(w, b.String())
}

func plural(count int) string {
	if count == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", count)
}
