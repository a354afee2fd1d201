package httpx

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/httpx/conns"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/uploadpack"
)

// The smart protocol of git over HTTP: gitprotocol-http(5). It is read only.
const (
	gitPath          = "/git/"
	infoRefs         = "/info/refs"
	uploadPack       = "git-upload-pack"
	receivePack      = "git-receive-pack"
	typeGitRequest   = "application/x-git-upload-pack-request"
	typeGitResult    = "application/x-git-upload-pack-result"
	typeGitRefs      = "application/x-git-upload-pack-advertisement"
	headerGitVersion = "Git-Protocol"
	// gitBodyTimeout bounds the pauses in a client's request. All of it must come within twice that time, and a second
	// more for each gitBodyRate bytes, or slow requests would hold places and files for years.
	gitBodyTimeout = 30 * time.Second
	gitBodyRate    = 4 << 10
)

// dumbPaths are the files that a client of the older protocol, or one that falls back to it, requests.
var dumbPaths = []string{"/HEAD", "/objects/"}

// routeGit adds the addresses of git clients if the server has git.
func (s *Server) routeGit(e *echo.Echo) {
	if s.options.Git == nil {
		return
	}
	e.GET(gitPath+"*", s.gitGet)
	e.POST(gitPath+"*", s.gitPost)
}

// gitGet lists refs, or refuses with the alternative.
func (s *Server) gitGet(c echo.Context) error {
	r := c.Request()
	path := strings.TrimPrefix(r.URL.EscapedPath(), gitPath)
	if r.ContentLength != 0 {
		return refuse(c, http.StatusBadRequest, "Send GET without a body.")
	}
	name, ok := strings.CutSuffix(path, infoRefs)
	if !ok {
		return s.gitPage(c, path)
	}
	switch r.URL.Query().Get("service") {
	case uploadPack:
		return s.advertise(c, name)
	case receivePack:
		return s.refusePush(c, name)
	default:
		return s.refuseDumb(c, name)
	}
}

// gitPost answers a request for objects, or for refs in version 2 of the protocol.
func (s *Server) gitPost(c echo.Context) error {
	path := strings.TrimPrefix(c.Request().URL.EscapedPath(), gitPath)
	if name, ok := strings.CutSuffix(path, "/"+receivePack); ok {
		return s.refusePush(c, name)
	}
	name, ok := strings.CutSuffix(path, "/"+uploadPack)
	if !ok {
		return s.gitPage(c, path)
	}
	if kind, _, _ := mime.ParseMediaType(c.Request().Header.Get("Content-Type")); kind != typeGitRequest {
		return refuse(c, http.StatusUnsupportedMediaType, "Send a git request as "+typeGitRequest+".")
	}
	return s.uploadPack(c, name)
}

// gitPage explains the address to a browser, and the missing protocol to an old client.
func (s *Server) gitPage(c echo.Context, path string) error {
	_, failure := s.options.Resources.OpenGit(c.Request().Context(), path)
	if failure == nil {
		return refuse(c, http.StatusNotFound, "This is an address for git: git clone "+s.base(c.Request())+
			strings.TrimSuffix(c.Request().URL.EscapedPath(), "/"))
	}
	for _, dumb := range dumbPaths {
		if name, _, ok := strings.Cut(path, dumb); ok {
			return s.refuseDumb(c, name)
		}
	}
	return s.refuseDownload(c, failure)
}

// refuseDumb refuses the older protocol, which fetches the repository's files.
func (s *Server) refuseDumb(c echo.Context, name string) error {
	if _, failure := s.options.Resources.OpenGit(c.Request().Context(), name); failure != nil {
		return s.refuseDownload(c, failure)
	}
	return refuse(c, http.StatusForbidden,
		"The dumb protocol of git is not served. Use git 1.6.6 or later, without GIT_SMART_HTTP=0.")
}

// refusePush refuses with the address to push to.
func (s *Server) refusePush(c echo.Context, name string) error {
	repository, failure := s.options.Resources.OpenGit(c.Request().Context(), name)
	if failure != nil {
		return s.refuseDownload(c, failure)
	}
	where := "the repository that this mirror copies"
	if origin, err := repository.Origin(); err == nil && origin != "" {
		where = origin + " (git remote set-url --push origin " + origin + ")"
	}
	return refuse(c, http.StatusForbidden, "This address is read only. Push to "+where+".")
}

// openGit opens the session of a request; it returns nil after replying with a refusal.
func (s *Server) openGit(c echo.Context, name string) (*uploadpack.Session, error) {
	r := c.Request()
	repository, failure := s.options.Resources.OpenGit(r.Context(), name)
	if failure != nil {
		return nil, s.refuseDownload(c, failure)
	}
	session, err := s.options.Git.Open(r.Context(), repository, r.Header.Get(headerGitVersion))
	if err != nil {
		return nil, s.refuseGit(c, err)
	}
	return session, nil
}

func (s *Server) advertise(c echo.Context, name string) error {
	session, err := s.openGit(c, name)
	if session == nil {
		return err
	}
	defer session.Close()
	reply, err := session.Advertise()
	if err != nil {
		return s.refuseGit(c, err)
	}
	defer s.close(reply)
	return s.sendGit(c, typeGitRefs, reply, !session.IsV2())
}

func (s *Server) uploadPack(c echo.Context, name string) error {
	session, err := s.openGit(c, name)
	if session == nil {
		return err
	}
	defer session.Close()
	body, err := s.gitBody(c)
	if body == nil {
		return err
	}
	reply, err := session.Serve(body)
	switch {
	case err != nil && conns.Of(c.Request()).Expelled():
		return refuseCrowd(c)
	case err != nil:
		return s.refuseGit(c, err)
	}
	defer s.close(reply)
	return s.sendGit(c, typeGitResult, reply, false)
}

// gitBody is the decompressed request, or nil after replying with a refusal. The session bounds its size.
func (s *Server) gitBody(c echo.Context) (io.Reader, error) {
	r := c.Request()
	body := &pacedBody{c: c, control: http.NewResponseController(c.Response()), begun: time.Now()}
	body.came = conns.Of(r).AwaitBody()
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		inflated, err := gzip.NewReader(body)
		if err != nil {
			return nil, refuse(c, http.StatusBadRequest, "The header says gzip, but the request is not.")
		}
		return inflated, nil
	default:
		return nil, refuse(c, http.StatusUnsupportedMediaType, "Send the request plain or compressed with gzip.")
	}
}

// pacedBody reads the body of a request with a deadline for each read, and for what has come.
type pacedBody struct {
	c        echo.Context
	control  *http.ResponseController
	came     func() // is called at the end
	begun    time.Time
	received int64
}

// Read implements [io.Reader].
func (b *pacedBody) Read(p []byte) (int, error) {
	deadline := time.Now().Add(gitBodyTimeout)
	all := b.begun.Add(2*gitBodyTimeout + time.Duration(b.received/gitBodyRate)*time.Second)
	if all.Before(deadline) {
		deadline = all
	}
	// The response recorders of tests have no deadlines.
	_ = b.control.SetReadDeadline(deadline)
	n, err := b.c.Request().Body.Read(p)
	b.received += int64(n)
	if err != nil {
		b.came()
	}
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // or net/http would take the client for gone later
		b.c.Set(keyBodyRead, true)
		b.c.Response().Header().Del("Connection")
	}
	return n, err
}

// refuseGit replies to a request that failed before git's first byte. What git refuses is an error in its protocol,
// since clients do not show the body of an HTTP error.
func (s *Server) refuseGit(c echo.Context, err error) error {
	var want *uploadpack.WantError
	var refused *uploadpack.RefusedError
	var request *uploadpack.RequestError
	var failure *uploadpack.FailureError
	switch {
	case errors.As(err, &want), errors.As(err, &refused):
		gitHeaders(c.Response().Header(), typeGitResult)
		c.Response().WriteHeader(http.StatusOK)
		resources.AccountOf(c.Request().Context()).Fail(0)
		return pktline.NewEncoder(c.Response()).Encodef("ERR %s\n", err)
	case errors.As(err, &request) && request.TooLarge:
		return refuse(c, http.StatusRequestEntityTooLarge, "The request wants too many objects. Fetch in parts.")
	case errors.As(err, &request):
		return refuse(c, http.StatusBadRequest, "The request is malformed or truncated.")
	case errors.Is(err, uploadpack.ErrClosed):
		c.Response().Header().Set("Retry-After", retryAfter)
		return refuse(c, http.StatusServiceUnavailable, "The server is about to stop. Try again in a few seconds.")
	case errors.As(err, &failure):
		s.logger.Error("a request of git failed", "path", c.Request().URL.Path, "error", err)
		return refuse(c, http.StatusInternalServerError, "The server's git failed: the mirror is damaged, or git does "+
			"not understand the request. The operator finds the cause in the server's log.")
	default:
		if machine := (*uploadpack.MachineError)(nil); errors.As(err, &machine) {
			s.logger.Warn("a request of git was refused for the state of the machine", "error", err)
		}
		ctx := c.Request().Context()
		return s.refuseDownload(c, s.options.Resources.Failure(ctx, err, c.Request().URL.Path))
	}
}

// gitHeaders sets the headers of gitprotocol-http(5). Caching is off, as it wants.
func gitHeaders(h http.Header, mimeType string) {
	h.Set("Content-Type", mimeType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no")
}

// sendGit streams git's reply. A failure breaks the connection.
func (s *Server) sendGit(c echo.Context, mimeType string, reply io.Reader, announce bool) error {
	ctx := c.Request().Context()
	gitHeaders(c.Response().Header(), mimeType)
	s.observer.StreamBegan()
	whole := false
	defer func() { s.observer.StreamEnded(whole) }()
	account := resources.AccountOf(ctx)
	defer account.Stage("send")()
	w := &streamWriter{response: c.Response(), account: account}
	defer unblockAfter(ctx, c)()
	w.response.WriteHeader(http.StatusOK)
	err := announceService(w, announce)
	if err == nil {
		err = copyGit(ctx, w, reply)
	}
	if err != nil {
		s.logger.Warn("a reply of git was aborted", "path", c.Request().URL.Path, "bytes", w.written, "error", err)
		abort(c)
	}
	whole = true
	return nil
}

// announceService writes the announcement before the refs in versions 0 and 1 of the protocol.
func announceService(w io.Writer, announce bool) error {
	if !announce {
		return nil
	}
	lines := pktline.NewEncoder(w)
	if err := lines.EncodeString("# service=" + uploadPack + "\n"); err != nil {
		return err
	}
	return lines.Flush()
}

const (
	// gitBuffer is the size of one write.
	gitBuffer = 64 << 10
	// smallPiece is the size of net/http's buffer, which would delay smaller pieces.
	smallPiece = 4 << 10
)

// copyGit flushes small pieces, such as progress messages.
func copyGit(ctx context.Context, w *streamWriter, reply io.Reader) error {
	buffer := make([]byte, gitBuffer)
	for {
		n, err := reply.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if n > 0 && n < smallPiece {
			if err := http.NewResponseController(w.response).Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil:
			return err
		}
	}
}
