package httpx

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/resources"
)

// linkPath begins the URLs of links: /dl/{token}/{filename}.
const linkPath = "/dl/"

// linkFailures is the one table of what is wrong with a link. A link that is
// forged and one whose key was withdrawn look the same.
var linkFailures = []struct {
	is     error
	status int
	text   string
}{
	{links.ErrTooLong, http.StatusNotFound, "There is no such link."},
	{links.ErrForged, http.StatusForbidden, "The link is not one of this server's, or not for this request."},
	{links.ErrExpired, http.StatusGone, "The link has expired. Ask resources/stream again for a new one."},
	{links.ErrUsed, http.StatusGone, "The link was used. Ask resources/stream again for a new one."},
	{links.ErrRevoked, http.StatusGone, "The link was withdrawn. Ask resources/stream again for a new one."},
	{links.ErrCredentials, http.StatusUnauthorized, "The link needs the credentials of whom it was made for."},
	{links.ErrUnavailable, http.StatusServiceUnavailable, "It cannot be found out whether the link was used. Try again in a few seconds."},
	{resources.ErrLinkGone, http.StatusServiceUnavailable, "This server does not have the commit yet. Try again in a few seconds."},
}

// link answers GET and HEAD of a signed link. A link that is looked at, or
// compared, is not used: only bytes use it.
func (s *Server) link(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	token, name, ok := splitLink(r)
	if !ok {
		return s.refuseLink(c, links.ErrTooLong)
	}
	tag, resume := resumed(r)
	linked, err := s.options.Resources.OpenLink(r.Context(), token, resources.LinkUse{
		Method: r.Method, FileName: name, Session: r.Header.Get(resources.HeaderSession), Resume: resume,
	})
	if err != nil {
		return s.refuseLink(c, err)
	}
	defer s.close(linked.Content)
	if resume != "" {
		if tag != linked.ETag || linked.Weak {
			return s.refuseLink(c, links.ErrUsed) // the rest would be of something else
		}
		r.Header.Set("If-Range", entityTag(linked.Content))
	}
	return s.deliverLink(c, linked)
}

// splitLink takes the URL apart as it was sent.
func splitLink(r *http.Request) (token, name string, ok bool) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), linkPath)
	token, escaped, ok := strings.Cut(path, "/")
	name, err := url.PathUnescape(escaped)
	ok = ok && err == nil && token != "" && !strings.Contains(escaped, "/") && r.URL.RawQuery == "" && !r.URL.ForceQuery && r.ContentLength == 0
	return token, name, ok
}

// resumed finds the secret of a download in the If-Range of a request that goes
// on with it.
func resumed(r *http.Request) (tag, secret string) {
	condition := strings.Trim(r.Header.Get("If-Range"), " \t")
	opaque, ok := strings.CutPrefix(condition, `"`)
	if !ok || r.Method != http.MethodGet || r.Header.Get("Range") == "" {
		return "", ""
	}
	return links.SplitETag(strings.TrimSuffix(opaque, `"`))
}

// refuseLink replies with a plain text.
func (s *Server) refuseLink(c echo.Context, err error) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for _, f := range linkFailures {
		if !errors.Is(err, f.is) {
			continue
		}
		if f.status == http.StatusServiceUnavailable {
			h.Set("Retry-After", retryAfter)
		}
		return refuse(c, f.status, f.text)
	}
	return s.refuseDownload(c, s.options.Resources.Failure(c.Request().Context(), err, linkPath))
}

// deliverLink answers with what the link names. The link is used as late as
// nothing but the client can keep the bytes from being sent.
func (s *Server) deliverLink(c echo.Context, linked resources.Linked) error {
	r, h, content := c.Request(), c.Response().Header(), linked.Content
	etag := content.ETag
	v := validators{etag: entityTag(content), modified: lastModified(content, time.Now()), pinned: content.Immutable && !content.Weak}
	h.Set("Cache-Control", "no-store")
	switch precondition(unmarked(r.Header), v) {
	case http.StatusPreconditionFailed:
		return refuse(c, http.StatusPreconditionFailed, "The content is another one. Download it without If-Match and If-Unmodified-Since.")
	case http.StatusNotModified:
		h.Set("ETag", v.etag)
		return c.NoContent(http.StatusNotModified)
	}
	d, err := selectPart(r, content)
	if err != nil {
		return s.refuseLink(c, err)
	}
	if linked.Resume != "" && d.status != http.StatusPartialContent {
		return s.refuseLink(c, links.ErrUsed) // the whole is a second use
	}
	if r.Method == http.MethodGet && d.status != http.StatusRequestedRangeNotSatisfiable {
		redemption, err := s.options.Resources.Redeem(r.Context(), linked)
		if err != nil {
			return s.refuseLink(c, err)
		}
		etag = links.TagETag(etag, redemption)
	}
	if err := d.fetch(r, content); err != nil {
		return s.refuseLink(c, err)
	}
	if done, err := redirect(c, content, d); done {
		return err
	}
	content.ETag = etag
	if !v.modified.IsZero() {
		h.Set("Last-Modified", v.modified.UTC().Format(http.TimeFormat))
	}
	d.secret = true
	return s.deliverPart(c, resources.PlainArchive, content, d)
}

// unmarked are the headers with the secrets of downloads taken out of entity
// tags: conditions are about the content.
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

// withoutToken is a path as it may be logged: who reads a log must not be able
// to download.
func withoutToken(path string) string {
	rest, ok := strings.CutPrefix(path, linkPath)
	if !ok {
		return path
	}
	_, name, _ := strings.Cut(rest, "/")
	return linkPath + "-/" + name
}
