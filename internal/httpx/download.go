package httpx

import (
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

// retryAfter, in seconds, is when a server that ran out of descriptors may have
// some again: as long as a small download takes.
const retryAfter = "5"

// downloadStatus is the one table of statuses for what goes wrong before the
// first byte of a plain download.
var downloadStatus = map[resources.Reason]int{
	resources.ReasonURI:             http.StatusBadRequest,
	resources.ReasonNotFound:        http.StatusNotFound,
	resources.ReasonAmbiguous:       http.StatusConflict,
	resources.ReasonFullNeeded:      http.StatusConflict,
	resources.ReasonTooLarge:        http.StatusForbidden, // 413 is about what a client sends
	resources.ReasonUnsupportedRepo: http.StatusNotImplemented,
	resources.ReasonCorruptRepo:     http.StatusInternalServerError,
	resources.ReasonUnreadableRepo:  http.StatusInternalServerError,
	resources.ReasonIncompleteRepo:  http.StatusNotImplemented,
	resources.ReasonBusy:            http.StatusServiceUnavailable,
	resources.ReasonCancelled:       http.StatusInternalServerError, // which nobody reads
	resources.ReasonInternal:        http.StatusInternalServerError,
}

// refusalStatus is that of a request that was not let in.
var refusalStatus = map[limits.Reason]int{
	limits.Client:     http.StatusTooManyRequests,
	limits.Repository: http.StatusServiceUnavailable,
	limits.Server:     http.StatusServiceUnavailable,
}

// refusalHeaders say when to come again. It returns the status.
func refusalHeaders(h http.Header, refusal *limits.Refusal) (status int) {
	h.Set("Retry-After", strconv.Itoa(int(refusal.RetryAfter.Seconds())))
	return refusalStatus[refusal.Reason]
}

// grammar ends the messages for what cannot be found by its URL.
const grammar = "Plain downloads are /archive/{repository}/{ref}.{format}, /raw/{repository}/{ref}/{path}, " +
	"/refs/{repository} and /repositories."

// pageMemory is what the status page takes: it opens the repositories that it shows, one
// after another.
const pageMemory = 4 << 20

// home answers GET and HEAD of /: a page to browsers, which name HTML, and a text to
// all else.
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
	h.Set("Cache-Control", "no-store") // it is for who asked, and of this moment
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return c.HTMLBlob(http.StatusOK, body)
}

// overview is what GET / says to programs.
const overview = `repomcp serves git repositories: to agents over MCP (Model Context Protocol), and
as plain downloads.

  /mcp                                     the address to give to an agent, as "HTTP" or "streamable HTTP"
  /repositories                            all repositories, as JSON
  /refs/{repository}                       branches and tags with their commits, as JSON
  /archive/{repository}/{ref}.{format}     all files; formats: tar.gz, tar.zst, tar.xz, tar, zip, manifest.json;
                                           with .sha256 behind it the checksum, for sha256sum -c
  /raw/{repository}/{ref}/{path}           one file
  /git/{repository}                        for git clone and git fetch, where the server has git
  /healthz                                 "ok", or 503 and why not
`

// download answers GET and HEAD of a plain route, such as /archive/. The reply
// to HEAD has the headers of that to GET; nothing is generated for it, unless it is
// asked for the digest.
func (s *Server) download(kind resources.Plain) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength != 0 {
			// While a body is unread, net/http does not notice that a client
			// went away.
			return refuse(c, http.StatusBadRequest, "Send "+r.Method+" without a body.")
		}
		if kind == resources.PlainArchive {
			// A crawler would have every commit of every repository packed.
			c.Response().Header().Set("X-Robots-Tag", "noindex")
		}
		if strings.Contains(r.RequestURI, "#") {
			return s.refuseDownload(c, &resources.Error{
				Reason: resources.ReasonURI, Message: "The URL has a fragment. Write # as %23.",
			})
		}
		// The path as it was sent: net/http and echo have decoded copies of it,
		// and who decodes twice finds what was never asked for.
		rawPath := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/"+string(kind)), "/")
		content, failure := s.options.Resources.OpenDownload(r.Context(), kind, rawPath, r.URL.RawQuery,
			r.URL.RawQuery != "" || r.URL.ForceQuery)
		if failure != nil {
			return s.refuseDownload(c, failure)
		}
		defer s.close(content)
		return s.deliver(c, kind, content)
	}
}

// refuseDownload replies with a plain text that says what to do.
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

// deliver answers with a content that was found.
func (s *Server) deliver(c echo.Context, kind resources.Plain, content *resources.Content) error {
	r, h := c.Request(), c.Response().Header()
	v := validatorsOf(content)
	status := precondition(r.Header, v)
	if status == http.StatusPreconditionFailed {
		h.Set("Cache-Control", "no-store")
		return refuse(c, status,
			"The content is another one by now. Download it without If-Match and If-Unmodified-Since.")
	}
	var d delivery
	if status != http.StatusNotModified {
		var err error
		if d, err = prepare(r, content); err != nil {
			return s.refuseDownload(c, s.options.Resources.Failure(r.Context(), err, content.URI))
		}
		if done, err := redirect(c, content, d); done {
			return err
		}
	}
	validatorHeaders(h, content)
	fetchedHeader(c, content)
	s.linkHeader(h, r, content)
	v.sendDate(h)
	if status == http.StatusNotModified {
		return c.NoContent(status)
	}
	typed := ownType
	if kind == resources.PlainRaw {
		typed = typeHeaders
	}
	return s.deliverPart(c, typed, content, d)
}

// deliverPart writes the headers that tell of bytes, typed as the route does,
// and those bytes.
func (s *Server) deliverPart(
	c echo.Context, typed func(h http.Header, mimeType string), content *resources.Content, d delivery,
) error {
	h := c.Response().Header()
	if !content.Weak {
		h.Set("Accept-Ranges", "bytes")
	}
	if d.status == http.StatusRequestedRangeNotSatisfiable {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", content.Size))
		h.Set("Cache-Control", "no-store")
		return refuse(c, d.status,
			"The range begins beyond the end: there are "+strconv.FormatInt(content.Size, 10)+" bytes.")
	}
	contentHeaders(h, content)
	if d.secret {
		h.Set("Cache-Control", "no-store")
	}
	typed(h, content.MIMEType)
	if d.length != resources.UnknownSize {
		h.Set("Content-Length", strconv.FormatInt(d.length, 10))
	}
	if d.status == http.StatusPartialContent {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", d.offset, d.offset+d.length-1, content.Size))
	}
	if c.Request().Method == http.MethodHead {
		announceDigest(c.Request(), h, content, d)
		return c.NoContent(d.status)
	}
	s.send(c, content, d)
	return nil
}

// prepare decides which bytes are sent, and begins to fetch them if they are all.
// What is kept has a length that need not be measured.
func prepare(r *http.Request, content *resources.Content) (delivery, error) {
	_, ranged := askedRange(r, content)
	if err := reserve(r, content, ranged); err != nil {
		return delivery{}, err
	}
	if !ranged && r.Method == http.MethodGet {
		if err := content.Fetch(r.Context()); err != nil {
			return delivery{}, err
		}
	}
	d, err := selectPart(r, content)
	if err != nil {
		return delivery{}, err
	}
	return d, d.fetch(r, content)
}

// reserve takes what sending a content needs. A HEAD sends none, and makes one only for
// its digest.
func reserve(r *http.Request, content *resources.Content, ranged bool) error {
	if r.Method == http.MethodHead {
		if wantsDigest(r) {
			return content.Hash(r.Context())
		}
		return nil
	}
	return content.Reserve(r.Context(), ranged)
}

// fetch begins to fetch a whole content, when it is sure that its bytes will be
// sent.
func (d *delivery) fetch(r *http.Request, content *resources.Content) error {
	if r.Method != http.MethodGet || d.status != http.StatusOK {
		return nil
	}
	if err := content.Fetch(r.Context()); err != nil {
		return err
	}
	d.length = content.Size
	return nil
}

// selectPart decides which bytes are sent. It finds their number as far as
// that is cheap, and further only where a part cannot be announced without.
func selectPart(r *http.Request, content *resources.Content) (delivery, error) {
	asked, ok := askedRange(r, content)
	if err := measure(r, content, ok); err != nil {
		return delivery{}, err
	}
	whole := delivery{status: http.StatusOK, length: content.Size}
	if !ok || content.Size == resources.UnknownSize && asked.whole() {
		return whole, nil
	}
	if err := content.Count(r.Context()); err != nil {
		return delivery{}, err
	}
	if content.Size == 0 {
		// No range of an empty file can be written down. Clients that always
		// ask for one get what there is.
		return delivery{status: http.StatusOK}, nil
	}
	offset, length, ok := asked.within(content.Size)
	if !ok {
		return delivery{status: http.StatusRequestedRangeNotSatisfiable}, nil
	}
	return delivery{status: http.StatusPartialContent, offset: offset, length: length}, nil
}

// measure finds the length as far as that is cheap. Parts are looked for where
// the whole is kept, and nothing but its length is for a HEAD.
func measure(r *http.Request, content *resources.Content, ranged bool) error {
	if ranged {
		if err := content.Find(r.Context()); err != nil {
			return err
		}
	}
	if err := content.Measure(r.Context()); err != nil {
		return err
	}
	if r.Method == http.MethodHead && content.Size == resources.UnknownSize {
		return content.Find(r.Context())
	}
	return nil
}

// askedRange is the range that must be honoured, if any.
func askedRange(r *http.Request, content *resources.Content) (byteRange, bool) {
	header := r.Header.Get("Range")
	if header == "" || r.Method != http.MethodGet || content.Weak || !rangeHolds(r.Header, entityTag(content)) {
		return byteRange{}, false
	}
	return parseRange(header)
}

func validatorsOf(content *resources.Content) validators {
	return validators{
		etag: entityTag(content), modified: lastModified(content, time.Now()),
		pinned: content.Immutable && !content.Weak,
	}
}

// lastModified is the date of the commit, or zero when it has none that a
// header may say: not the future (RFC 9110, section 8.8.2.1), and not before
// 1970, which is also what git takes a damaged date for. What depends on more
// than the commit has none.
func lastModified(content *resources.Content, now time.Time) time.Time {
	date := content.Modified
	if content.Weak || date.Unix() <= 0 {
		return time.Time{}
	}
	if date.After(now) {
		date = now
	}
	return date.Truncate(time.Second)
}

// linkHeader names the same bytes for lock files, as the Lockable HTTP Tarball
// Protocol of Nix has it, which wants an absolute URL.
func (s *Server) linkHeader(h http.Header, r *http.Request, content *resources.Content) {
	if content.Permalink == "" || content.Weak {
		return
	}
	h.Set("Link", "<"+s.base(r)+content.Permalink+`>; rel="immutable"`)
}

// headerFetched says when git last fetched into the mirror. A date stays true in
// caches, which an age would not.
const headerFetched = "X-Repomcp-Mirror-Fetched"

// headerStale is "true" where the mirror is older than it should be, and is about to be
// fetched.
const headerStale = "X-Repomcp-Mirror-Stale"

func staleHeader(c echo.Context) {
	if resources.AccountOf(c.Request().Context()).Facts().Stale {
		c.Response().Header().Set(headerStale, "true")
	}
}

func fetchedHeader(c echo.Context, content *resources.Content) {
	staleHeader(c)
	if fetched := content.Fetched(); !fetched.IsZero() {
		c.Response().Header().Set(headerFetched, fetched.UTC().Format(http.TimeFormat))
	}
}

// base is the address under which the client reached the server. The Host was
// checked; a proxy's own headers are not asked, anyone could send them.
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

// typeHeaders keep a browser from running a file of a repository: whatever is
// a text is sent as nothing but one. The type itself is in MCP-Resource-Type.
func typeHeaders(h http.Header, mimeType string) {
	ownType(h, mimeType)
	if base, _, _ := strings.Cut(mimeType, ";"); base != "text/plain" && isText(base) {
		h.Set("Content-Type", typePlain)
		h.Set(headerResourceType, mimeType)
	}
}

// textTypes are texts whose type does not begin with text/. A link's content is
// a path.
var textTypes = []string{
	"application/ecmascript", "application/javascript", "application/json", "application/toml", "application/xml",
	"application/yaml", "inode/symlink",
}

func isText(mimeType string) bool {
	return strings.HasPrefix(mimeType, "text/") || strings.HasSuffix(mimeType, "+xml") ||
		strings.HasSuffix(mimeType, "+json") || slices.Contains(textTypes, mimeType)
}
