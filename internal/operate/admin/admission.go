package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/base/weborigin"
)

// maxProfileSeconds bounds a profile or a trace, which slows the process down and excludes other
// profiles.
const maxProfileSeconds = 60

// admit rejects requests that are not from the operator, before any work.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !s.isHost(r.Host):
			plain(w, http.StatusForbidden, "This Host is not allowed. Use the address, or start the server with "+
				"--allowed-host.\n")
		case weborigin.Foreign(r.Header.Get, r.Host, nil):
			plain(w, http.StatusForbidden, "Pages of other web sites may not use this. Type the address, or ask with "+
				"a program.\n")
		case !s.isAuthorized(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="repomcp operator"`)
			plain(w, http.StatusUnauthorized, "This is for the operator. Send the token that the server was started "+
				"with (--admin-token) as Authorization: Bearer TOKEN.\n")
		case !isShort(r):
			plain(w, http.StatusBadRequest, fmt.Sprintf("seconds is a number above 0 and of %d at most. Take several "+
				"profiles one after the other.\n", maxProfileSeconds))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isHost reports whether a Host header is safe from DNS rebinding.
func (s *Server) isHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" ||
		slices.ContainsFunc(s.options.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// isAuthorized reports whether a request has the token, or needs none. Load balancers often cannot
// send a token, and learn nothing but health.
func (s *Server) isAuthorized(r *http.Request) bool {
	path := r.URL.Path
	if s.options.Token == "" || path == healthPath || path == readyPath && !r.URL.Query().Has(verbose) {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Comparing digests takes the same time for every token, whatever its length.
	given, wanted := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(s.options.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// isShort reports whether the requested profile, if any, is short enough.
func isShort(r *http.Request) bool {
	text := r.URL.Query().Get("seconds")
	if text == "" || !strings.HasPrefix(r.URL.Path, profilePath) {
		return true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	return err == nil && seconds > 0 && seconds <= maxProfileSeconds
}
