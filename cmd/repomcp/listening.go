package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/repomcp/repomcp/internal/commands/cli"
)

const (
	// unixPrefix is the prefix of the address of a Unix socket.
	unixPrefix = "unix:"
	// adminSocket is the FileDescriptorName of the operator's systemd socket. Sockets with other
	// names are for clients.
	adminSocket = "admin"
)

// listenAddress is a flag for an address to listen at: TCP or a Unix socket.
type listenAddress struct {
	address *string
	preset  string // "" if listening is optional
}

func newListenAddress(address *string, preset string) listenAddress {
	*address = preset
	return listenAddress{address, preset}
}

// Set implements [pflag.Value]. A port alone means [thisMachine]. Set does not resolve the host;
// listening does.
func (l listenAddress) Set(text string) error {
	if _, address, isURL := strings.Cut(text, "://"); isURL {
		address, _, _ = strings.Cut(address, "/")
		return fmt.Errorf("it is a URL: write %s", address)
	}
	if text == l.preset || strings.HasPrefix(text, unixPrefix) {
		*l.address = text
		return nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = thisMachine, text
		if strings.Trim(port, "0123456789") != "" || port == "" {
			return errors.New("it has no port: write HOST:PORT such as 127.0.0.1:8080, a port, or unix:PATH")
		}
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil {
		return fmt.Errorf("%q is no port from 0 to 65535", port)
	}
	*l.address = net.JoinHostPort(host, port)
	return nil
}

// String implements [pflag.Value].
func (l listenAddress) String() string {
	if l.address == nil {
		return ""
	}
	return *l.address
}

// Type implements [pflag.Value].
func (l listenAddress) Type() string { return "address" }

// sockets are the server's listeners; the operator's may be nil.
type sockets struct{ clients, admin net.Listener }

// inheritSockets returns the sockets that systemd opened for the process (sd_listen_fds(3)), which
// replace the addresses of the flags.
func inheritSockets() (found sockets, err error) {
	passed, err := activation.ListenersWithNames()
	if err != nil {
		return found, fmt.Errorf("sockets of systemd: %w", err)
	}
	for name, listeners := range passed {
		for _, listener := range listeners {
			place := &found.clients
			if name == adminSocket {
				place = &found.admin
			}
			if listener == nil || *place != nil {
				return found, cli.Misused(fmt.Errorf("systemd passed a socket %q that has no use: one stream "+
					"socket is for clients, and one with FileDescriptorName=%s for the operator", name, adminSocket))
			}
			*place = listener
		}
	}
	return found, nil
}

// listen listens at a TCP address, or at a Unix socket.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		network, address = "unix", path
		if err := removeStale(ctx, path); err != nil {
			return nil, err
		}
	}
	return (&net.ListenConfig{}).Listen(ctx, network, address)
}

// removeStale removes the socket of a dead process. It keeps sockets in use, and files that are no
// socket.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil // listening reports the error
	}
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(errors.New("another process listens there"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// isUnix reports whether a listener is a Unix socket.
func isUnix(address net.Addr) bool {
	return slices.Contains([]string{"unix", "unixpacket"}, address.Network())
}

// openSockets listens for clients and, if configured, for the operator.
func (f serveFlags) openSockets(ctx context.Context) (open sockets, err error) {
	if open, err = inheritSockets(); err != nil {
		open.close()
		return open, err
	}
	for _, at := range []struct {
		place         *net.Listener
		flag, address string
	}{{&open.clients, "--listen", f.listen}, {&open.admin, "--admin-listen", f.adminListen}} {
		if *at.place != nil || at.address == "" {
			continue
		}
		if *at.place, err = listen(ctx, at.address); err != nil {
			*at.place = nil
			open.close()
			return open, fmt.Errorf("listening on %s %s: %w", at.flag, at.address, err)
		}
	}
	return open, nil
}

// close closes what the servers have not closed.
func (i sockets) close() {
	for _, listener := range []net.Listener{i.clients, i.admin} {
		if listener != nil {
			_ = listener.Close() // usually closed by a server
		}
	}
}

// notifySystemd reports a state to the service manager, if there is one (sd_notify(3)).
func notifySystemd(logger *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		logger.Warn("systemd was not told of a state", "state", state, "error", err)
	}
}
