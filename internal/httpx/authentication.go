package httpx

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/ticks"
)

// Authentication says how the server identifies clients. The zero value has no authentication.
type Authentication struct {
	Verifier access.Verifier
	// Issuer is the authorization server that clients get tokens from; "" means that clients were
	// given their tokens.
	Issuer string
	// Scope is the scope that a token of the issuer must have; "" means any.
	Scope string
	// Recheck is the interval at which credentials are checked again while an event stream or a
	// WebSocket connection is open; 0 means 15 s. A download that has begun may finish.
	Recheck time.Duration
}

// defaultRecheck is how long a client may stay connected after its token was revoked: about as long
// as all replicas take to read a changed token file.
const defaultRecheck = 15 * time.Second

// metadataPath is the metadata that clients need to get a token (RFC 9728): that of the endpoint,
// and below it that of the whole host, which some clients ask for instead.
const (
	metadataPath     = "/.well-known/oauth-protected-resource" + mcpPath
	hostMetadataPath = "/.well-known/oauth-protected-resource"
)

// isPublic reports whether a request needs no token: one for health, the server's card or the
// metadata about tokens. Clients also probe paths below /.well-known/ that do not exist, and should
// get 404 and not 401.
func isPublic(r *http.Request) bool {
	path := r.URL.Path
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(path == healthPath || path == cardPath || strings.HasPrefix(path, "/.well-known/"))
}

var (
	errNoToken   = errors.New("there are no credentials")
	errMalformed = errors.New("the credentials are malformed")
)

// denials is the one table of replies to requests without valid credentials. Messages and statuses
// do not distinguish an unknown token from an expired or a revoked one.
var denials = []struct {
	is     error
	status int
	code   string // of RFC 6750
	text   string
}{
	{errNoToken, http.StatusUnauthorized, "",
		"The server requires a token. Send it as Authorization: Bearer TOKEN, or as the password of HTTP Basic with " +
			"any user name. Ask the operator for one."},
	{errMalformed, http.StatusBadRequest, "invalid_request",
		"The header Authorization is malformed. Send it once, as: Authorization: Bearer TOKEN."},
	{access.ErrInvalid, http.StatusUnauthorized, "invalid_token",
		"The token is not valid, or no longer. Send another one."},
	{access.ErrScope, http.StatusForbidden, "insufficient_scope",
		"The token was not given out for this server's contents. Get one for the scope that WWW-Authenticate names."},
	{access.ErrUnavailable, http.StatusServiceUnavailable, "",
		"The token cannot be checked now, for the authorization server does not answer. Try again in a few seconds."},
}

// authenticate identifies the client before any costly work on the request. The principal goes into
// the context; the credentials are not passed on.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.options.Authentication.Verifier == nil || isPublic(r) {
			return next(c)
		}
		token, err := tokenOf(r.Header)
		var asks access.Principal
		if err == nil {
			asks, err = s.options.Authentication.Verifier.Authenticate(r.Context(), token)
		}
		r.Header.Del("Authorization")
		switch {
		case err == nil:
			c.SetRequest(r.WithContext(access.WithPrincipal(r.Context(), asks)))
			c.Set(keyRecheck, func(ctx context.Context) error {
				_, err := s.options.Authentication.Verifier.Authenticate(ctx, token)
				return err
			})
		case !isLink(c): // a link is a credential itself, and may need another one as well
			return s.deny(c, err)
		}
		// Handlers that know more override this. A reply to one principal is not for others.
		c.Response().Header().Set("Cache-Control", "private, no-cache")
		return next(c)
	}
}

// keyRecheck is the function in the echo context that checks the credentials again.
const keyRecheck = "recheck"

// endWhenRevoked calls end once the credentials of a long-lived response are no longer valid. A
// check that fails for another reason ends nothing. stop ends the checks.
func (s *Server) endWhenRevoked(c echo.Context, end func()) (stop func()) {
	recheck, ok := c.Get(keyRecheck).(func(context.Context) error)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	helpers := panics.NewGroup(end)
	helpers.Go(func() {
		for range ticks.Every(ctx, cmp.Or(s.options.Authentication.Recheck, defaultRecheck)) {
			if err := recheck(ctx); errors.Is(err, access.ErrInvalid) || errors.Is(err, access.ErrScope) {
				end()
				return
			}
		}
	})
	return func() {
		cancel()
		helpers.Wait()
	}
}

// tokenOf returns the token in a request's Authorization header: that of Bearer (RFC 6750), or the
// password of Basic (RFC 7617), for programs that support nothing else. A token in a URL is not
// accepted: URLs get into logs and histories.
func tokenOf(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", errNoToken
	}
	if len(values) > 1 {
		return "", errMalformed
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	token := strings.Trim(rest, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
	case strings.EqualFold(scheme, "Basic"):
		_, password, ok := (&http.Request{Header: h}).BasicAuth()
		if !ok {
			return "", errMalformed
		}
		token = password
	default:
		return "", errNoToken // an unsupported scheme
	}
	if token == "" || strings.ContainsFunc(token, isNotTokenCharacter) {
		return "", errMalformed
	}
	return token, nil
}

// isNotTokenCharacter reports whether a character cannot be part of a token (RFC 6750, section 2.1).
func isNotTokenCharacter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}

// deny replies to a request without valid credentials. The cause is only logged.
func (s *Server) deny(c echo.Context, err error) error {
	for _, d := range denials {
		if !errors.Is(err, d.is) {
			continue
		}
		c.Set(keyDenied, err.Error())
		h := c.Response().Header()
		h.Set("Cache-Control", "no-store")
		if d.status == http.StatusServiceUnavailable {
			h.Set("Retry-After", retryAfter)
		} else {
			s.challenge(c, d.code)
		}
		return refuse(c, d.status, d.text)
	}
	return err
}

// challenge says how to authenticate: with a token, about which OAuth clients find more in the
// metadata, or with a password, which browsers and curl ask for when they download a file. The
// endpoints of agents get no Basic challenge: a browser that runs an agent would ask its user for a
// password.
func (s *Server) challenge(c echo.Context, code string) {
	h, r := c.Response().Header(), c.Request()
	bearer := []string{`realm="repomcp"`}
	if code != "" {
		bearer = append(bearer, `error="`+code+`"`)
	}
	if a := s.options.Authentication; a.Issuer != "" {
		bearer = append(bearer, `resource_metadata="`+s.base(r)+metadataPath+`"`)
		if a.Scope != "" {
			bearer = append(bearer, `scope="`+a.Scope+`"`)
		}
	}
	h.Add("WWW-Authenticate", "Bearer "+strings.Join(bearer, ", "))
	if r.URL.Path != mcpPath && r.URL.Path != socketPath && code != "insufficient_scope" {
		h.Add("WWW-Authenticate", `Basic realm="repomcp", charset="UTF-8"`)
	}
}

// protectedResource is the metadata of RFC 9728.
type protectedResource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// metadata replies with the authorization server that issues tokens.
func (s *Server) metadata(c echo.Context) error {
	a := s.options.Authentication
	document := protectedResource{
		Resource: s.base(c.Request()) + mcpPath, Servers: []string{a.Issuer}, Methods: []string{"header"},
		Name: s.options.MCP.Identity().Title,
	}
	if a.Scope != "" {
		document.Scopes = []string{a.Scope}
	}
	return publish(c, typeJSON, document)
}
