package doctor

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/repomcp/repomcp/internal/base/loopback"
)

// unixPrefix is the prefix of the address of a Unix socket.
const unixPrefix = "unix:"

// isLocal reports whether an address is reachable only from this machine.
func isLocal(address string) bool {
	if strings.HasPrefix(address, unixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopback.Is(host)
}

// claims are known reasons why listening at an address fails; other reasons are clear as they are.
var claims = []struct {
	is           error
	text, advice string
}{
	{syscall.EADDRINUSE, "another program listens there", "stop it, or choose another address"},
	{syscall.EACCES, "this user may not listen there", "choose a port from 1024 on, or have systemd open the socket"},
	{syscall.EADDRNOTAVAIL, "this machine has no such address", "name one that it has, such as 127.0.0.1"},
	{nil, "", "name an address of this machine, such as 127.0.0.1:8080, or unix:PATH"},
}

func (e *examination) checkListening(ctx context.Context) {
	adminDanger := "others than this machine reach metrics, profiles and all names of mirrors without a token"
	if e.AdminToken {
		adminDanger = ""
	}
	e.readers(e.AdminTokenFile)
	for _, at := range []struct {
		flag, address, danger string
		secure                bool
	}{
		{"--listen", e.Listen, e.Exposure, e.TLSCert != ""}, {"--admin-listen", e.AdminListen, adminDanger, false},
	} {
		if at.address == "" {
			continue
		}
		subject := at.flag + " " + at.address
		err := claim(ctx, at.address)
		if errors.Is(err, syscall.EADDRINUSE) && e.Probe(ctx, at.address, at.secure) == nil {
			e.ok(at.address + " is taken by a server that is well: this one, if it runs")
			err = nil
		}
		if err != nil {
			e.refuseAddress(subject, err)
		} else if !isLocal(at.address) && at.danger != "" {
			e.warn(subject, at.danger, "listen on 127.0.0.1, or let a proxy or a separate network decide which "+
				"clients reach it")
		}
	}
	switch {
	case !e.quiet():
	case isLocal(e.Listen):
		e.ok(e.Listen + " is reached from this machine alone")
	default:
		e.ok(e.Listen + " is reachable from other machines, and has authentication")
	}
}

func (e *examination) refuseAddress(subject string, err error) {
	for _, c := range claims {
		if c.is == nil || errors.Is(err, c.is) {
			e.fault(subject, cmp.Or(c.text, err.Error()), c.advice)
			return
		}
	}
}

// claim listens at an address for a moment. For a Unix socket it only tests whether a program
// listens, and creates no socket.
func claim(ctx context.Context, address string) error {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil
		}
		return errors.Join(syscall.EADDRINUSE, conn.Close())
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// publicHost returns the host of the public URL, "" if there is none.
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
	case err != nil: // the check of settings reports it
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
			e.fault("--allowed-host "+host, "it is not a name, and no request has it", "write a name without scheme "+
				"and port, such as git.example.com")
		}
	}
	if e.quiet() {
		e.ok("understood")
	}
}
