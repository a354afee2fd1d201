package httpx

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// Observer is told what is served, by many goroutines at a time, and must not wait.
type Observer interface {
	// RequestBegan tells of an HTTP request, and Request of its end.
	RequestBegan()
	Request(Request)
	// Observer is told of messages of MCP, whether they came as HTTP requests, in a
	// batch of one or over WebSocket.
	mcp.Observer
	// StreamBegan tells that bytes of a resource begin, and StreamEnded that they
	// ended; those that are not whole were aborted.
	StreamBegan()
	StreamEnded(whole bool)
}

// Request is an HTTP request that has ended.
type Request struct {
	// Route is the beginning of the paths of a route, such as /archive/; "" where the
	// request was refused before its route was looked for, or there is none.
	Route  string
	Method string // as the client wrote it
	// Outcome is done, error or aborted.
	Outcome string
	Status  int
	Bytes   int64 // of the reply's body
	Took    time.Duration
	Details RequestDetails
}

// RequestDetails are what else is known of a request. Nothing of them is made for it:
// who wants none of it pays nothing.
type RequestDetails struct {
	HTTP *http.Request
	// Pattern is that of the route, such as /archive/*; "" where Route is.
	Pattern string
	Account *resources.Account
	Origin  mcp.Origin
	// Told says that observers are told of a message that the request carried, too. One
	// that was refused before it was read has none.
	Told bool
}

// Path is that of the URL, as it may be logged: without secrets. So is Query.
func (d RequestDetails) Path() string { return logged(withoutToken(d.HTTP.URL.Path)) }

// Query is "" where there is none.
func (d RequestDetails) Query() string { return logged(withoutSecrets(d.HTTP.URL.RawQuery)) }

// Host is the name under which the server was asked, without a port.
func (d RequestDetails) Host() string { return logged(hostName(d.HTTP.Host)) }

// CarriesMessages reports whether the request was one for messages of MCP.
func (d RequestDetails) CarriesMessages() bool {
	return d.HTTP.URL.Path == mcpPath || d.HTTP.URL.Path == socketPath
}

// Probes reports whether somebody asked how the server is.
func (d RequestDetails) Probes() bool { return d.HTTP.URL.Path == healthPath }

// Observers are told everything, each in turn.
type Observers []Observer

func (o Observers) each(tell func(Observer)) {
	for _, observer := range o {
		tell(observer)
	}
}

// RequestBegan implements [Observer].
func (o Observers) RequestBegan() { o.each(Observer.RequestBegan) }

// Request implements [Observer].
func (o Observers) Request(r Request) { o.each(func(each Observer) { each.Request(r) }) }

// Message implements [mcp.Observer].
func (o Observers) Message(m mcp.Exchange) { o.each(func(each Observer) { each.Message(m) }) }

// Session implements [mcp.Observer].
func (o Observers) Session(ended mcp.Session) { o.each(func(each Observer) { each.Session(ended) }) }

// StreamBegan implements [Observer].
func (o Observers) StreamBegan() { o.each(Observer.StreamBegan) }

// StreamEnded implements [Observer].
func (o Observers) StreamEnded(whole bool) { o.each(func(each Observer) { each.StreamEnded(whole) }) }

// The transports of messages.
const (
	transportHTTP   = "http"
	transportSocket = "websocket"
)

// keyRequest of the echo context is the message of MCP that an HTTP request carries.
const keyRequest = "request"

// origin is where a request came from.
func origin(c echo.Context) mcp.Origin {
	r := c.Request()
	return mcp.Origin{
		Client: hostName(r.RemoteAddr), RequestID: c.Response().Header().Get(headerRequestID),
		Principal: access.PrincipalOf(r.Context()).ID, Trace: traceContext(r.Header),
	}
}

// traceContext is what the headers of W3C Trace Context say. A parent that is given
// twice is none.
func traceContext(h http.Header) mcp.TraceContext {
	parents := h["Traceparent"]
	if len(parents) != 1 {
		return mcp.TraceContext{}
	}
	return mcp.TraceContext{Parent: parents[0], State: strings.Join(h["Tracestate"], ",")}
}

// observe tells of a request over HTTP, and of the message in it.
func (s *Server) observe(c echo.Context, account *resources.Account, outcome string, took time.Duration) {
	r := Request{
		Method: c.Request().Method, Outcome: outcome, Status: c.Response().Status, Bytes: c.Response().Size, Took: took,
		Details: RequestDetails{HTTP: c.Request(), Account: account, Origin: origin(c)},
	}
	// A path that no route has keeps what the router compared last.
	if route := c.Path(); s.paths[route] {
		r.Route, r.Details.Pattern = strings.TrimSuffix(route, "*"), route
	}
	request, ok := c.Get(keyRequest).(*mcp.Request)
	r.Details.Told = ok
	s.observer.Request(r)
	if ok {
		s.observeMessage(c, request, account, outcome, r.Bytes, took)
	}
}

// observeMessage tells of a message over HTTP.
func (s *Server) observeMessage(
	c echo.Context, request *mcp.Request, account *resources.Account, outcome string, length int64, took time.Duration,
) {
	s.observer.Message(mcp.Exchange{
		Transport: transportHTTP, Method: request.Method, Tool: account.Facts().Tool, Outcome: outcome, Bytes: length,
		Took:    took,
		Details: mcp.Details{Request: request, Account: account, Origin: origin(c), Status: c.Response().Status},
	})
}

// Connections is how many connections are open.
func (s *Server) Connections() int { return s.conns.Count() }

// Sockets counts the connections over WebSocket.
func (s *Server) Sockets() int { return s.sockets.count() }
