package httpx

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/resources"
)

const typePlain = "text/plain; charset=utf-8"

// retryAfter, in seconds, is when a server that ran out of descriptors may have some again: as long
// as a small download takes.
const retryAfter = "5"

// downloadStatus is the one table of statuses for failures before the first byte of a plain
// download.
var downloadStatus = map[resources.Reason]int{
	resources.ReasonURI:             http.StatusBadRequest,
	resources.ReasonNotFound:        http.StatusNotFound,
	resources.ReasonAmbiguous:       http.StatusConflict,
	resources.ReasonFullNeeded:      http.StatusConflict,
	resources.ReasonTooLarge:        http.StatusForbidden, // 413 is about the size of a request
	resources.ReasonUnsupportedRepo: http.StatusNotImplemented,
	resources.ReasonCorruptRepo:     http.StatusInternalServerError,
	resources.ReasonUnreadableRepo:  http.StatusInternalServerError,
	resources.ReasonIncompleteRepo:  http.StatusNotImplemented,
	resources.ReasonBusy:            http.StatusServiceUnavailable,
	resources.ReasonCancelled:       http.StatusInternalServerError, // which no client reads
	resources.ReasonInternal:        http.StatusInternalServerError,
}

// refusalStatus is the status of a request that the limits refused.
var refusalStatus = map[limits.Reason]int{
	limits.Client:     http.StatusTooManyRequests,
	limits.Repository: http.StatusServiceUnavailable,
	limits.Server:     http.StatusServiceUnavailable,
}

// refusalHeaders sets Retry-After and returns the status.
func refusalHeaders(h http.Header, refusal *limits.Refusal) (status int) {
	h.Set("Retry-After", strconv.Itoa(int(refusal.RetryAfter.Seconds())))
	return refusalStatus[refusal.Reason]
}

// grammar ends the messages for URLs that are not found.
const grammar = "Plain downloads are /archive/{repository}/{ref}.{format}, /raw/{repository}/{ref}/{path}, " +
	"/compare/{repository}/{base}...{head}.diff, /commit/{repository}/{commit}.diff, /refs/{repository} and " +
	"/repositories."

// pageMemory is the memory of the status page, which opens its repositories one after another.
const pageMemory = 4 << 20

// home answers GET and HEAD of /: with a page for browsers, which accept HTML, and with plain text
// for other clients.
func (s *Server) home(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	h.Set("Vary", "Accept")
	html, named := preference(r, "text/html")
	if s.options.Page == nil || !html || !named {
		return c.String(http.StatusOK, overview)
	}
	grant, err := s.options.Limits.Call(r.Context(), "", pageMemory)
	if refusal := limits.RefusalOf(err); refusal != nil {
		return s.refuseDownload(c, resources.Refused(refusal))
	}
	if err != nil {
		return err
	}
	defer grant.Release()
	base := s.base(r)
	body, err := s.options.Page.Render(r.Context(), base, base+mcpPath, r.URL.Query())
	if err != nil {
		return err
	}
	h.Set("Content-Security-Policy", s.options.Page.Policy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store") // it is for one principal, at this moment
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return c.HTMLBlob(http.StatusOK, body)
}

// overview is the reply to GET / for programs.
const overview = `repomcp serves git repositories: to agents over MCP (Model Context Protocol), and
as plain downloads.

  /mcp                                     the address to give to an agent, as "HTTP" or "streamable HTTP"
  /repositories                            all repositories, as JSON
  /refs/{repository}                       branches and tags with their commits, as JSON
  /archive/{repository}/{ref}.{format}     all files; formats: tar.gz, tar.zst, tar.xz, tar, zip, manifest.json;
                                           with .sha256 behind it the checksum, for sha256sum -c
  /raw/{repository}/{ref}/{path}           one file
  /compare/{repository}/{base}...{head}.diff
                                           what git diff says; with .patch what git format-patch makes, for git am
  /commit/{repository}/{commit}.diff       the same of one commit; with .patch for git am
  /git/{repository}                        for git clone and git fetch, where the server has git
  /healthz                                 "ok", or 503 and why not
`

// download answers GET and HEAD of a plain route, such as /archive/. The reply to HEAD has the
// headers of the reply to GET; nothing is generated for it unless the client asks for the digest.
func (s *Server) download(kind resources.Plain) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength != 0 {
			// While a body is unread, net/http does not notice that a client disconnected.
			return refuse(c, http.StatusBadRequest, "Send "+r.Method+" without a body.")
		}
		if kind == resources.PlainArchive || kind == resources.PlainCompare || kind == resources.PlainCommit {
			// A crawler would cause every commit of every repository to be packed and compared.
			c.Response().Header().Set("X-Robots-Tag", "noindex")
		}
		if strings.Contains(r.RequestURI, "#") {
			return s.refuseDownload(c, &resources.Error{
				Reason: resources.ReasonURI, Message: "The URL has a fragment. Write # as %23.",
			})
		}
		// The path is used as it was sent: net/http and echo keep decoded copies, and decoding
		// twice would find something that was not asked for.
		rawPath := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/"+string(kind)), "/")
		found, failure := s.options.Resources.FindDownload(r.Context(), kind, rawPath, r.URL.RawQuery,
			r.URL.RawQuery != "" || r.URL.ForceQuery)
		if failure != nil {
			return s.refuseDownload(c, failure)
		}
		defer s.close(found)
		return s.deliver(c, kind, found)
	}
}

// refuseDownload replies with plain text that says what to do.
func (s *Server) refuseDownload(c echo.Context, failure *resources.Error) error {
	staleHeader(c)
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	text := failure.Message
	if failure.Reason == resources.ReasonNotFound || failure.Reason == resources.ReasonURI {
		text += "\n" + grammar
	}
	status := downloadStatus[failure.Reason]
	if refusal := limits.RefusalOf(failure); refusal != nil {
		status = refusalHeaders(h, refusal)
	} else if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter)
	}
	return refuse(c, status, text)
}

// deliver replies with what was found.
func (s *Server) deliver(c echo.Context, kind resources.Plain, found *resources.Found) error {
	r, h := c.Request(), c.Response().Header()
	v := validatorsOf(found)
	status := precondition(r.Header, v)
	if status == http.StatusPreconditionFailed {
		h.Set("Cache-Control", "no-store")
		return refuse(c, status,
			"The content is another one by now. Download it without If-Match and If-Unmodified-Since.")
	}
	var body *resources.Body
	var err error
	if status != http.StatusNotModified {
		body, err = found.Open(r.Context(), wantOf(r, found))
		defer s.close(body)
	}
	beyond := (*resources.RangeError)(nil)
	if err != nil && !errors.As(err, &beyond) {
		return s.refuseDownload(c, s.options.Resources.Failure(r.Context(), err, found.URI))
	}
	if done, err := redirect(c, body); done {
		return err
	}
	validatorHeaders(h, found, found.ETag)
	fetchedHeader(c, found)
	s.linkHeader(h, r, found)
	v.sendDate(h)
	switch {
	case status == http.StatusNotModified:
		return c.NoContent(status)
	case beyond != nil:
		return refuseRange(c, beyond)
	}
	if kind == resources.PlainRaw {
		return s.deliverBody(c, typeHeaders, body)
	}
	return s.deliverBody(c, ownType, body)
}

func wantOf(r *http.Request, found *resources.Found) resources.Want {
	want := resources.Want{Method: resources.Method(r.Method), Digest: r.Method == http.MethodHead && wantsDigest(r)}
	header := r.Header.Get("Range")
	if header == "" || r.Method != http.MethodGet || found.Weak || !rangeHolds(r.Header, entityTag(found, found.ETag)) {
		return want
	}
	if asked, ok := parseRange(header); ok {
		want.Range = &asked
	}
	return want
}

// refuseRange replies to a range that begins beyond the end.
func refuseRange(c echo.Context, beyond *resources.RangeError) error {
	h := c.Response().Header()
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Range", fmt.Sprintf("bytes */%d", beyond.Size))
	h.Set("Cache-Control", "no-store")
	return refuse(c, http.StatusRequestedRangeNotSatisfiable,
		"The range begins beyond the end: there are "+strconv.FormatInt(beyond.Size, 10)+" bytes.")
}

// deliverBody writes the headers that describe the body, with the type that typed sets, and the
// body.
func (s *Server) deliverBody(c echo.Context, typed func(h http.Header, mimeType string), body *resources.Body) error {
	h := c.Response().Header()
	if !body.Found.Weak {
		h.Set("Accept-Ranges", "bytes")
	}
	contentHeaders(h, body)
	if isLink(c) {
		h.Set("Cache-Control", "no-store") // the URL is a secret
	}
	typed(h, body.MIMEType)
	if body.Part {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", body.Offset, body.Offset+body.Length-1, body.Size))
	}
	if c.Request().Method == http.MethodHead {
		announceDigest(c.Request(), h, body)
		return c.NoContent(http.StatusOK)
	}
	s.send(c, body)
	return nil
}

func validatorsOf(found *resources.Found) validators {
	return validators{
		etag: entityTag(found, found.ETag), modified: lastModified(found, time.Now()),
		pinned: found.Immutable && !found.Weak,
	}
}

// lastModified returns the date of the commit, or zero if a header may not state it: a future date
// (RFC 9110, section 8.8.2.1), or one before 1970, which is also how git reads a damaged date.
// Content that depends on more than the commit has no date.
func lastModified(found *resources.Found, now time.Time) time.Time {
	date := found.Modified
	if found.Weak || date.Unix() <= 0 {
		return time.Time{}
	}
	if date.After(now) {
		date = now
	}
	return date.Truncate(time.Second)
}

// linkHeader names the same bytes for lock files, as Nix's Lockable HTTP Tarball Protocol asks. The
// protocol requires an absolute URL.
func (s *Server) linkHeader(h http.Header, r *http.Request, found *resources.Found) {
	if found.Permalink == "" || found.Weak {
		return
	}
	h.Set("Link", "<"+s.base(r)+found.Permalink+`>; rel="immutable"`)
}

// headerFetched says when git last fetched into the mirror. It is a date because a cached age would
// become wrong.
const headerFetched = "X-Repomcp-Mirror-Fetched"

// headerStale is "true" when the mirror is older than it should be and is about to be fetched.
const headerStale = "X-Repomcp-Mirror-Stale"

func staleHeader(c echo.Context) {
	if resources.AccountOf(c.Request().Context()).Summary().Stale {
		c.Response().Header().Set(headerStale, "true")
	}
}

func fetchedHeader(c echo.Context, found *resources.Found) {
	staleHeader(c)
	if fetched := found.Fetched(); !fetched.IsZero() {
		c.Response().Header().Set(headerFetched, fetched.UTC().Format(http.TimeFormat))
	}
}

// base returns the address at which the client reached the server. The Host was checked;
// X-Forwarded headers are ignored, since any client can send them.
func (s *Server) base(r *http.Request) string {
	switch {
	case s.options.PublicURL != "":
		return strings.TrimSuffix(s.options.PublicURL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// typeHeaders keep a browser from running a file of a repository: every text type is sent as
// text/plain. MCP-Resource-Type has the real type.
func typeHeaders(h http.Header, mimeType string) {
	ownType(h, mimeType)
	if base, _, _ := strings.Cut(mimeType, ";"); base != "text/plain" && isText(base) {
		h.Set("Content-Type", typePlain)
		h.Set(headerResourceType, mimeType)
	}
}

// textTypes are text types that do not begin with text/. The content of a symbolic link is a path.
var textTypes = []string{
	"application/ecmascript", "application/javascript", "application/json", "application/toml", "application/xml",
	"application/yaml", "inode/symlink",
}

func isText(mimeType string) bool {
	return strings.HasPrefix(mimeType, "text/") || strings.HasSuffix(mimeType, "+xml") ||
		strings.HasSuffix(mimeType, "+json") || slices.Contains(textTypes, mimeType)
}
