package httpx

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/base/loopback"
	"github.com/repomcp/repomcp/internal/base/weborigin"
	"github.com/repomcp/repomcp/internal/httpx/conns"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// checkHost refuses foreign Host headers with 403: a page that rebinds its own name to this
// server's address sends that name. An address cannot be rebound, so every address is accepted
// unless the request came over the loopback interface. Health probes may send any Host, since the
// reply has nothing to protect.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := hostName(c.Request().Host)
		_, err := netip.ParseAddr(host)
		literal := err == nil
		switch {
		case isHealth(c) || loopback.Is(host):
		case slices.ContainsFunc(s.options.AllowedHosts, func(allowed string) bool {
			return strings.EqualFold(allowed, host)
		}):
		case literal && !overLoopback(c.Request()):
		default:
			return refuse(c, http.StatusForbidden,
				fmt.Sprintf("The Host %.100q is not served. Use the address that the server printed, or start it "+
					"with --allowed-host %s.", host, flagValue(host)))
		}
		return next(c)
	}
}

// checkOrigin refuses requests from pages of other web sites with 403, as the specification of the
// transport demands. That includes requests that a browser sends without an Origin, such as those
// for images; the policy header keeps other pages from showing the replies. isForAnyPage lists the
// exceptions.
func (s *Server) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if isForAnyPage(c) {
			return next(c)
		}
		c.Response().Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		if !weborigin.Foreign(r.Header.Get, r.Host, s.options.AllowedOrigins) {
			return next(c)
		}
		if r.Header.Get("Origin") == "" {
			return refuse(c, http.StatusForbidden,
				"Pages of other sites may not use the server. Type the address, or start the server with "+
					"--allowed-origin and send requests with an Origin.")
		}
		return refuse(c, http.StatusForbidden,
			"Pages of this Origin may not use the server. Start it with --allowed-origin to let them.")
	}
}

// singular are the headers that must not be given twice, since two readers might pick different
// values.
var singular = []string{
	"Accept-Encoding", "Content-Type", "Content-Encoding", "Origin",
	mcp.HeaderSession, mcp.HeaderVersion, mcp.HeaderMethod, mcp.HeaderName,
	mcp.HeaderEventID,
	"Range", "If-Range", "If-Modified-Since", "If-Unmodified-Since",
}

func checkHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		for _, name := range singular {
			if len(c.Request().Header.Values(name)) > 1 {
				return refuse(c, http.StatusBadRequest,
					fmt.Sprintf("The header %s is given more than once. Send it once.", name))
			}
		}
		return next(c)
	}
}

// checkCrowd refuses a request for which there is no room among the connections. Health probes need
// no room.
func (s *Server) checkCrowd(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if isHealth(c) || conns.Of(r).BeginRequest(s.connectionClient(r.RemoteAddr)) {
			return next(c)
		}
		return refuseCrowd(c)
	}
}

// errCrowd says that a request lost its place among the connections.
var errCrowd = errors.New("too many connections are open")

// refuseCrowd replies to a request that has no room among the connections.
func refuseCrowd(c echo.Context) error {
	defer conns.Of(c.Request()).Dismiss()
	h := c.Response().Header()
	h.Set("Retry-After", retryAfter)
	h.Set("Connection", "close")
	return refuse(c, http.StatusServiceUnavailable,
		"Too many connections are open, by your address or by all. Try again in a few seconds.")
}

// connectionClient returns the client that a connection from an address counts for. Trusted proxies
// share one name, since their connections carry requests of many clients.
func (s *Server) connectionClient(remote string) string {
	if s.options.Proxies.trusts(remote) {
		return conns.Proxies
	}
	return clientNetwork(remote)
}

// keyBodyRead is set in the echo context once the body has been read.
const keyBodyRead = "body read"

// boundBody keeps an unread body from holding the connection. net/http waits for the rest of an
// unread body twice, without a deadline: before it sends the reply, unless the connection is to be
// closed, and after it.
func boundBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().ContentLength == 0 {
			return next(c)
		}
		c.Response().Header().Set("Connection", "close")
		err := next(c)
		if c.Get(keyBodyRead) == nil {
			// httptest's recorder has no deadlines.
			_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(lingerTimeout))
		}
		return err
	}
}

// refuse replies with a message that says what to do. The reply to a POST of a message is a
// JSON-RPC error: a client of resources/stream tells bytes from failures by the content type alone
// (SEP-2532).
func refuse(c echo.Context, status int, text string) error {
	if c.Request().Method != http.MethodPost || c.Request().URL.Path != mcpPath {
		return c.String(status, text+"\n")
	}
	failure := &mcp.Error{Reason: mcp.ReasonRequest, Message: text}
	switch {
	case status == http.StatusServiceUnavailable:
		failure.Reason = resources.ReasonBusy
	case status >= http.StatusInternalServerError:
		failure.Reason = resources.ReasonInternal
	}
	return c.Blob(status, typeJSON, mcp.ErrorReply(nil, failure, eraOf(c.Request())))
}

// hostName drops the port and the brackets of an IPv6 address.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func overLoopback(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && loopback.Is(hostName(address.String()))
}

// flagValue returns a host as the value of a flag, or a placeholder if it cannot be one.
func flagValue(host string) string {
	if host == "" || strings.ContainsFunc(host, func(r rune) bool {
		return !strings.ContainsRune("-._:", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "NAME"
	}
	return host
}
