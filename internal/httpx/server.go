package httpx

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/httpx/conns"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/uploadpack"
)

const (
	// readHeaderTimeout ends connections that send their request header too slowly.
	readHeaderTimeout = 10 * time.Second
	// readBodyTimeout is for a body of at most maxBodyBytes.
	readBodyTimeout = 30 * time.Second
	// lingerTimeout is how long a client may go on sending a body that was refused, so that it can
	// read the reply.
	lingerTimeout = time.Second
	// idleTimeout is the timeout of idle connections. It is longer than a proxy's usual 60 s: the
	// proxy must close first.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes has room for a URI in Mcp-Name and a large token.
	maxHeaderBytes = 32 << 10
	// maxBodyBytes bounds the body of a request. MCP requests are a few hundred bytes.
	maxBodyBytes = 1 << 20
	// defaultWriteTimeout is how long a client may read nothing of what is sent: see
	// [conns.Conn.Write]. It does not bound the length of a download. It is longer than the 100 s
	// for which curl pauses at most with --limit-rate.
	defaultWriteTimeout = 2 * time.Minute
)

// Page is an HTML page for browsers.
type Page interface {
	// Render returns the HTML for the principal of ctx. base is the address of the server, without
	// a slash at the end, and endpoint that of MCP. Render fails only when ctx ends.
	Render(ctx context.Context, base, endpoint string, query url.Values) ([]byte, error)
	// Policy returns the Content-Security-Policy of the page.
	Policy() string
}

// Options of a [Server]. MCP and Resources are required.
type Options struct {
	// MCP answers messages.
	MCP *mcp.Server
	// Resources serves plain downloads and links.
	Resources *resources.Service
	// Git answers git clients; nil means that their address is unknown.
	Git *uploadpack.Engine
	// Page is shown to browsers at /; with nil they get the text for programs.
	Page Page
	// AllowedHosts are names that the Host header may have besides those of the loopback interface,
	// without ports.
	AllowedHosts []string
	// AllowedOrigins are web origins, such as https://ide.example, whose pages
	// may use the server.
	AllowedOrigins []string
	// PublicURL is the address at which clients reach the server, such as https://git.example.com.
	// Links are made with it; "" uses the address of the request.
	PublicURL string
	// Proxies are those whose X-Forwarded-For is believed.
	Proxies Proxies
	// WriteTimeout is how long a client may read nothing of what is sent; 0 means 2 min. It applies
	// to connections that [Server.Serve] accepts.
	WriteTimeout time.Duration
	// MinRate is how many bytes a second a client has to read while others wait for room; 0 means
	// any. It applies to connections that [Server.Serve] accepts.
	MinRate int64
	// Connections is how many connections may have a request at a time: see [conns.Options]. It
	// applies to connections that [Server.Serve] accepts.
	Connections int
	// ClientShare is how much of Connections one client may have, in percent; 0 means all.
	ClientShare int
	// Health returns an error when the server cannot do its work; nil means that it always can.
	Health func() error
	// Limits reserves memory for large bodies; nil limits nothing.
	Limits *limits.Limiter
	// Sockets is how many WebSocket connections may be open; 0 means 512.
	Sockets int
	// Authentication says how clients are identified.
	Authentication Authentication
	// TLS enables HTTPS, and needs a certificate; nil means HTTP.
	TLS *tls.Config
	// Observer is told about requests; it may be nil.
	Observer Observer
	// Stages makes the server report to Observer how long the stages of requests took.
	Stages bool
	Logger *slog.Logger
}

// Server is the HTTP server. It has no global write timeout: a write lasts as long as the client
// keeps reading.
type Server struct {
	options  Options
	logger   *slog.Logger
	observer Observer
	paths    map[string]bool // of the routes
	http     *http.Server
	sockets  *sockets
	conns    *conns.Connections
	draining context.Context
	drain    context.CancelFunc
}

// New makes a server. [Server.Serve] starts it.
func New(options Options) *Server {
	options.WriteTimeout = cmp.Or(options.WriteTimeout, defaultWriteTimeout)
	options.Sockets = cmp.Or(options.Sockets, defaultSockets)
	if options.Observer == nil {
		options.Observer = Observers{}
	}
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	s := &Server{
		options: options, logger: options.Logger, observer: options.Observer, paths: make(map[string]bool),
		sockets: newSockets(options.Sockets),
	}
	s.conns = conns.New(conns.Options{
		Most: options.Connections, Share: options.ClientShare, Timeout: options.WriteTimeout, MinRate: options.MinRate,
		Client: func(remote net.Addr) string { return s.connectionClient(remote.String()) },
	})
	options.Limits.WhenFull(s.conns.DropSlow)
	s.draining, s.drain = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       conns.WithConn,
		ConnState:         s.conns.Changed,
		TLSConfig:         options.TLS,
		Protocols:         protocols(),
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// protocols leaves HTTP/2 to proxies: aborts, write bounds and WebSocket all act here on a
// connection that carries one request at a time.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = s.plainError
	e.Pre(
		s.logRequest, s.recoverPanic, boundBody, s.checkCrowd, s.checkHost, s.checkOrigin, checkHeaders, noteOrigin,
		openCORS(),
	)
	if len(s.options.AllowedOrigins) > 0 {
		e.Pre(s.cors())
	}
	e.Pre(s.authenticate)
	e.POST(mcpPath, s.post)
	e.GET(mcpPath, s.openEvents)
	e.DELETE(mcpPath, s.endSession)
	e.GET(socketPath, s.websocket)
	for kind, below := range map[resources.Plain]string{
		resources.PlainArchive: "/*", resources.PlainRaw: "/*", resources.PlainCompare: "/*",
		resources.PlainCommit: "/*", resources.PlainRefs: "/*", resources.PlainRepositories: "",
	} {
		e.Match([]string{http.MethodGet, http.MethodHead}, "/"+string(kind)+below, s.download(kind))
	}
	e.GET("/repositories/", s.download(resources.PlainRepositories))
	s.routeGit(e)
	e.GET(healthPath, s.health)
	documents := map[string]echo.HandlerFunc{
		"/": s.home, linkPath + "*": s.link, cardPath: s.card, earlierCardPath: s.card, catalogPath: s.catalog,
	}
	if s.options.Authentication.Issuer != "" {
		documents[metadataPath], documents[hostMetadataPath] = s.metadata, s.metadata
	}
	for path, document := range documents {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, document)
	}
	for _, route := range e.Routes() {
		s.paths[route.Path] = true
	}
	return e
}

// cors lets pages of allowed origins read replies. checkOrigin has already refused other origins.
func (s *Server) cors() echo.MiddlewareFunc {
	exposed := exposedHeaders
	if s.options.Authentication.Verifier != nil {
		exposed = append([]string{"WWW-Authenticate"}, exposed...)
	}
	return middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper:      isForAnyPage,
		AllowOrigins: s.options.AllowedOrigins,
		AllowMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete},
		AllowHeaders: append([]string{
			"Accept", "Authorization", "Content-Type", mcp.HeaderSession, mcp.HeaderVersion,
			mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderEventID, mcp.HeaderTools,
		}, conditionHeaders...),
		ExposeHeaders: exposed,
	})
}

// Pages may send conditionHeaders to ask for ranges or with conditions, and may read exposedHeaders
// in replies.
var (
	conditionHeaders = []string{
		"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
	}
	exposedHeaders = []string{
		mcp.HeaderSession, headerResourceURI, headerResourceType, headerDigest, headerFetched, headerStale,
		headerEncodings, "Content-Location", "Accept-Ranges", "Content-Disposition", "Content-Length",
		"Content-Range", "ETag", "Last-Modified", "Link", "Retry-After",
	}
)

// Serve accepts connections until Shutdown.
func (s *Server) Serve(listener net.Listener) error {
	serve := func() error { return s.http.Serve(s.conns.Listener(listener)) }
	if s.options.TLS != nil {
		serve = func() error { return s.http.ServeTLS(s.conns.Listener(listener), "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops accepting connections, closes event streams and, after the requests in flight,
// WebSocket connections, and lets downloads finish until ctx ends. Requests that still run then are
// aborted, which their clients see, and reported as an error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("downloads were cut off at the end of the drain time: %w", err), s.http.Close())
	}
	return errors.Join(err, s.sockets.shutdown(ctx))
}

// plainError answers errors of routing, without details of the implementation.
func (s *Server) plainError(err error, c echo.Context) {
	if c.Response().Committed {
		// An error returned here would look like a clean end of the reply.
		abort(c)
	}
	status := http.StatusInternalServerError
	var known *echo.HTTPError
	if errors.As(err, &known) {
		status = known.Code
	} else {
		s.logger.Error("a request failed", "error", err)
	}
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if status == http.StatusNotFound {
		text += "\n" + grammar
	}
	if err := refuse(c, status, text); err != nil {
		s.logger.Debug("an error reply was not sent", "error", err)
	}
}

// recoverPanic keeps the process alive. It aborts a reply that has begun.
func (s *Server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler:
				panic(cause)
			default:
				s.logger.Error("a handler panicked", "panic", cause)
				if c.Response().Committed {
					abort(c)
				}
				err = echo.ErrInternalServerError
			}
		}()
		return next(c)
	}
}

const healthPath = "/healthz"

// isHealth reports whether a request is a health probe, which is answered for every Host and
// without credentials.
func isHealth(c echo.Context) bool { return c.Request().URL.Path == healthPath }

// health answers GET /healthz. The cause of a failure is only logged, since any client may ask.
func (s *Server) health(c echo.Context) error {
	if s.options.Health != nil {
		if err := s.options.Health(); err != nil {
			s.logger.Error("the server is not well", "error", err)
			return refuse(
				c, http.StatusServiceUnavailable,
				"The repositories cannot be read. The operator finds the cause in the server's log.",
			)
		}
	}
	return c.String(http.StatusOK, "ok\n")
}
