package admin

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// maxSaidBytes bounds the part of a health response that an error repeats.
const maxSaidBytes = 500

// Probe requests the health of the server at an address of this machine, and returns an error with
// the response if it is not healthy. The address is what the server listens at: host and port, or
// unix: and the path of a socket. secure selects HTTPS.
func Probe(ctx context.Context, address string, secure bool) error {
	dial, scheme := dialer(address), "http"
	if secure {
		scheme = "https"
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		// The certificate is for the public name; nothing secret is sent.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost/healthz", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("no answer at %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	// An unreadable body leaves the status.
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxSaidBytes))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not well: %d %s", response.StatusCode, strings.TrimSpace(string(said)))
	}
	return nil
}

// dialer returns a function that connects to the address of a server.
func dialer(address string) func(context.Context) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	} else if host, port, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			address = net.JoinHostPort("localhost", port) // resolves to all loopback addresses
		}
	}
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) }
}
