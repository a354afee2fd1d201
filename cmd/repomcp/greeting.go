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

// reach is how clients can connect to a listener.
type reach struct {
	// base is an address that works, as the beginning of URLs.
	base string
	// names are what the Host header may have beside the loopback names and
	// what the operator allows.
	names []string
	// everybody says that other machines can connect.
	everybody bool
	// socket is the path of a Unix socket, which base does not tell.
	socket string
}

// shown is where the listener is.
func (r reach) shown() string {
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

// reachOf finds the addresses of a listener. On the loopback interface only its
// own names are served: pages of other sites may make their names mean it.
// Otherwise those of this machine are, by which no page can name another one.
func reachOf(scheme string, address net.Addr) reach {
	if isUnix(address) {
		return reach{base: scheme + "://localhost", socket: address.String()}
	}
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || at.Addr().IsLoopback() {
		return reach{base: scheme + "://" + address.String()}
	}
	r := reach{everybody: true, names: machineNames()}
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

// machineNames returns the names and addresses that this machine knows of itself.
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

// firstAddress returns the address to print: one of IPv4 if there is one.
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

// addresses returns the addresses of the network interfaces.
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

// What a server is told that lets in more than it may be meant to.
const (
	exposed = "other machines can connect, and the server asks nobody who they are"
	inClear = "other machines can connect, and tokens can be read on their way: serve HTTPS (--tls-cert), or put a " +
		"proxy in front that does and tell its address (--public-url)"
)

// warningOf is what to warn of, or "".
func warningOf(flags serveFlags, at reach, asks bool) string {
	switch {
	case !at.everybody:
		return ""
	case !asks:
		return exposed
	case flags.tlsCert == "" && !strings.HasPrefix(flags.publicURL, "https://"):
		return inClear
	default:
		return ""
	}
}

// greet writes what was started and how to use it: on a terminal, or as the first
// lines of a log of JSON. Where nobody can read that the server serves all the same.
func greet(w io.Writer, flags serveFlags, at reach, asks bool, count int, logger *slog.Logger) {
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
	if at.everybody {
		fmt.Fprintf(&b, "clients that use another name than %s need --allowed-host NAME\n",
			strings.Join(at.names, ", "))
	}
	if asks {
		b.WriteString("clients have to send a token, as Authorization: Bearer TOKEN\n")
	}
	fmt.Fprintf(&b, `
Claude Code   claude mcp add --transport http repomcp %[1]s
VS Code       .vscode/mcp.json  {"servers": {"repomcp": {"type": "http", "url": "%[1]s"}}}
Cursor        ~/.cursor/mcp.json  {"mcpServers": {"repomcp": {"url": "%[1]s"}}}

`, endpoint)
	_, _ = io.WriteString(w, b.String())
}

func plural(count int) string {
	if count == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", count)
}
