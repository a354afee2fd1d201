package httpx

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	headerRequestID = "X-Request-Id"
	// mostLogged bounds the length of one logged field, in bytes.
	mostLogged = 300
	// maxRequestID bounds the length of an id that a client gives its request.
	maxRequestID = 128
)

// saneCharacters are those of a request id that may stand in a log and in headers of other
// programs. The length is checked separately: a count in the expression would be compiled into as
// many states whenever any command starts.
var saneCharacters = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]+$`)

// logRequest writes one line per request, at its end, and sets the header with the id of the line.
func (s *Server) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start, outcome := time.Now(), mcp.OutcomeAborted
		// All limits by address use the address of the client.
		c.Request().RemoteAddr = s.options.Proxies.clientAddress(c.Request())
		id := c.Request().Header.Get(headerRequestID)
		if len(id) > maxRequestID || !saneCharacters.MatchString(id) {
			id = rand.Text()
		}
		c.Response().Header().Set(headerRequestID, id)
		ctx, account := resources.WithAccount(
			access.WithAddress(c.Request().Context(), clientNetwork(c.Request().RemoteAddr)), s.options.Stages)
		ctx, release := limits.WithKept(ctx)
		defer release()
		c.SetRequest(c.Request().WithContext(ctx))
		s.observer.RequestBegan()
		defer func() {
			r, took := c.Request(), time.Since(start)
			s.observe(c, account, outcome, took)
			attributes := []slog.Attr{
				slog.String("method", r.Method), slog.String("path", withoutToken(r.URL.Path)),
				slog.Int("status", c.Response().Status), slog.String("outcome", outcome),
				slog.Int64("bytes", c.Response().Size), slog.Float64("seconds", took.Seconds()),
			}
			if request, ok := c.Get(keyRequest).(*mcp.Request); ok {
				attributes = append(attributes, slog.String("rpc", logged(request.Method)))
			}
			if why, ok := c.Get(keyDenied).(string); ok {
				attributes = append(attributes, slog.String("denied", logged(why)))
			}
			attributes = append(append(attributes, account.Attributes()...), client(r)...)
			s.logger.LogAttrs(ctx, slog.LevelInfo, "request", append(attributes, slog.String("request_id", id))...)
		}()
		if err := next(c); err != nil {
			c.Error(err)
		}
		outcome = mcp.OutcomeOf(account)
		if c.Response().Status >= http.StatusBadRequest {
			outcome = mcp.OutcomeError
		}
		return nil
	}
}

// client returns the log attributes of the client.
func client(r *http.Request) []slog.Attr {
	list := []slog.Attr{slog.String("client", hostName(r.RemoteAddr))}
	for _, f := range []struct{ name, value string }{
		{"principal", access.PrincipalOf(r.Context()).ID},
		{"forwarded_for", r.Header.Get("X-Forwarded-For")}, {"user_agent", r.UserAgent()},
		{"query", withoutSecrets(r.URL.RawQuery)},
	} {
		if f.value != "" {
			list = append(list, slog.String(f.name, logged(f.value)))
		}
	}
	return list
}

// logged shortens what a client sent.
func logged(value string) string {
	if len(value) > mostLogged {
		value = value[:mostLogged] + "…"
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}

// withoutSecrets keeps the values of options that the server knows. Any other part of a query may
// be a password.
func withoutSecrets(rawQuery string) string {
	if rawQuery == "" {
		return ""
	}
	pairs := strings.Split(rawQuery, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); !ok || !resources.IsOption(name) {
			pairs[i] = "-"
			if ok {
				pairs[i] = name + "=-"
			}
		}
	}
	return strings.Join(pairs, "&")
}

// keyDenied is the reason in the echo context why a request was denied, for the log.
const keyDenied = "denied"
