package httpx

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/loopback"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// linkPath begins the URLs of links: /dl/{token}. The token is opaque.
const linkPath = "/dl/"

// linkFailures is the one table of faults of links, with the statuses of SEP-2532: 404 for content
// that is missing, 410 for an expired link. A forged link and one whose key was withdrawn look the
// same.
var linkFailures = []struct {
	is     error
	status int
	text   string
}{
	{links.ErrTooLong, http.StatusNotFound, "There is no such link."},
	{links.ErrForged, http.StatusNotFound,
		"There is no such link. Take it whole from the result, without a file name behind it."},
	{links.ErrExpired, http.StatusGone, "The link has expired. Ask resources/stream again for a new one."},
	{links.ErrUsed, http.StatusNotFound, "The link was used. Ask resources/stream again for a new one."},
	{links.ErrCredentials, http.StatusUnauthorized,
		"The link is for the principal who asked for it. Send the same credentials, or ask resources/stream again " +
			"with your own."},
	{links.ErrUnavailable, http.StatusServiceUnavailable,
		"It cannot be found out whether the link was used. Try again in a few seconds."},
	{resources.ErrLinkGone, http.StatusServiceUnavailable,
		"This server does not have the commit yet. Try again in a few seconds."},
}

// link answers GET and HEAD of a signed link. Only sending bytes uses a link up, HEAD and 304 do
// not.
func (s *Server) link(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // for pages that have the link

	token := strings.TrimPrefix(r.URL.EscapedPath(), linkPath) // as it was sent
	if r.URL.RawQuery != "" || r.URL.ForceQuery || r.ContentLength != 0 {
		return s.refuseLink(c, links.ErrForged)
	}
	tag, resume := resumed(r)
	linked, err := s.options.Resources.FindLink(r.Context(), token, links.Use{
		Method: r.Method, Principal: access.PrincipalOf(r.Context()).ID, Resume: resume,
	})
	if err != nil {
		return s.refuseLink(c, err)
	}
	defer s.close(linked.Found)
	if resume != "" {
		if tag != linked.ETag || linked.Weak {
			return s.refuseLink(c, links.ErrUsed) // the rest would belong to other content
		}
		r.Header.Set("If-Range", entityTag(linked.Found, linked.ETag))
	}
	return s.deliverLink(c, linked)
}

// resumed returns the secret of a download from the If-Range header of the request that resumes it.
func resumed(r *http.Request) (tag, secret string) {
	condition := strings.Trim(r.Header.Get("If-Range"), " \t")
	opaque, ok := strings.CutPrefix(condition, `"`)
	if !ok || r.Method != http.MethodGet || r.Header.Get("Range") == "" {
		return "", ""
	}
	return links.SplitETag(strings.TrimSuffix(opaque, `"`))
}

func (s *Server) refuseLink(c echo.Context, err error) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for _, f := range linkFailures {
		if !errors.Is(err, f.is) {
			continue
		}
		switch f.status {
		case http.StatusServiceUnavailable:
			h.Set("Retry-After", retryAfter)
		case http.StatusUnauthorized:
			s.challenge(c, "")
		}
		return refuse(c, f.status, f.text)
	}
	return s.refuseDownload(c, s.options.Resources.Failure(c.Request().Context(), err, linkPath))
}

// deliverLink replies with the content of the link.
func (s *Server) deliverLink(c echo.Context, linked resources.Linked) error {
	r, h := c.Request(), c.Response().Header()
	v := validatorsOf(linked.Found)
	h.Set("Cache-Control", "no-store")
	fetchedHeader(c, linked.Found)
	switch precondition(unmarked(r.Header), v) {
	case http.StatusPreconditionFailed:
		return refuse(c, http.StatusPreconditionFailed,
			"The content is another one. Download it without If-Match and If-Unmodified-Since.")
	case http.StatusNotModified:
		h.Set("ETag", v.etag)
		return c.NoContent(http.StatusNotModified)
	}
	body, err := linked.Open(r.Context(), wantOf(r, linked.Found))
	defer s.close(body)
	beyond := (*resources.RangeError)(nil)
	if err != nil && !errors.As(err, &beyond) {
		return s.refuseLink(c, err)
	}
	// The address in object storage could be used again, and not resumed.
	if !linked.Link.SingleUse {
		if done, err := redirect(c, body); done {
			return err
		}
	}
	v.sendDate(h)
	if beyond != nil {
		return refuseRange(c, beyond)
	}
	// A link of resources/stream has the same headers as its reply; a client with an httpUrl
	// compares the type with that of the resource.
	if linked.Link.Kind == links.Download {
		return s.deliverBody(c, streamType, body)
	}
	return s.deliverBody(c, ownType, body)
}

// unmarked returns the headers with the secrets of downloads removed from entity tags: conditions
// are about the content.
func unmarked(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"If-Match", "If-None-Match"} {
		for i, line := range h[name] {
			h[name][i] = unmarkTags(line)
		}
	}
	return h
}

func unmarkTags(line string) string {
	tags := strings.Split(line, ",")
	for i, tag := range tags {
		trimmed := strings.Trim(tag, " \t")
		if opaque, ok := strings.CutSuffix(trimmed, `"`); ok {
			bare, _ := links.SplitETag(opaque)
			tags[i] = bare + `"`
		}
	}
	return strings.Join(tags, ",")
}

// withoutToken returns a path as it may be logged: a reader of a log must not be able to download.
// A link that was copied wrongly, or passed on by a proxy under another path, is still valid at its
// proper path.
func withoutToken(path string) string {
	for _, route := range []resources.Plain{
		resources.PlainArchive, resources.PlainRaw, resources.PlainCompare, resources.PlainCommit, resources.PlainRefs,
	} {
		if strings.HasPrefix(path, "/"+string(route)+"/") {
			return path // a folder of a repository may have this name
		}
	}
	if i := strings.Index(strings.ToLower(path), linkPath); i >= 0 {
		return path[:i+len(linkPath)] + "-"
	}
	return path
}

// fromHere reports whether a client reaches this server at the address that it listens on:
// directly, on the same port. Links would lead astray behind a proxy, a tunnel to another port or a
// container. The listener is on the loopback interface, and the Host was checked. nginx with a
// plain proxy_pass adds no header and names the server's own address as Host; it is recognised by
// HTTP/1.0, or because it closes each connection.
func fromHere(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) || r.Close {
		return false
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !loopback.Is(hostName(r.Host)) || !loopback.Is(hostName(local.String())) {
		return false
	}
	_, listening, err := net.SplitHostPort(local.String())
	_, asked, askedErr := net.SplitHostPort(r.Host)
	if askedErr != nil {
		asked = "80"
	}
	return err == nil && asked == listening
}

// noteOrigin notes how a request came, for code that makes links.
func noteOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); fromHere(r) {
			c.SetRequest(r.WithContext(resources.FromHere(r.Context())))
		}
		return next(c)
	}
}

// isLink reports whether a request is for a link. Pages of any site that have a link may follow it.
func isLink(c echo.Context) bool { return strings.HasPrefix(c.Request().URL.Path, linkPath) }

// isForAnyPage reports whether pages of all web sites may read the reply: the content of links, and
// the metadata about tokens. The metadata is public (RFC 9728), and clients in browsers need it
// before they can get access.
func isForAnyPage(c echo.Context) bool {
	path := c.Request().URL.Path
	return isLink(c) || path == metadataPath || path == hostMetadataPath
}

// openCORS lets pages of all origins read what isForAnyPage allows, without cookies.
func openCORS() echo.MiddlewareFunc {
	return middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper:       func(c echo.Context) bool { return !isForAnyPage(c) },
		AllowOrigins:  []string{"*"},
		AllowMethods:  []string{http.MethodGet, http.MethodHead},
		AllowHeaders:  append([]string{"Authorization", mcp.HeaderVersion}, conditionHeaders...),
		ExposeHeaders: exposedHeaders,
	})
}
