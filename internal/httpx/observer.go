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

// Observer is told about requests, by many goroutines at a time, and must not block.
type Observer interface {
	// RequestBegan reports the beginning of an HTTP request, and Request its end.
	RequestBegan()
	Request(Request)
	// Observer is told about MCP messages, whether they came as HTTP requests, in a batch or over
	// WebSocket.
	mcp.Observer
	// StreamBegan reports that the bytes of a resource begin, and StreamEnded that they ended;
	// whole is false for an aborted stream.
	StreamBegan()
	StreamEnded(whole bool)
}

// Request is an HTTP request that has ended.
type Request struct {
	// Route is the beginning of the paths of a route, such as /archive/; "" where the request was
	// refused before routing, or no route fits.
	Route  string
	Method string // as the client wrote it
	// Outcome is done, error or aborted.
	Outcome string
	Status  int
	Bytes   int64 // in the body of the reply
	Took    time.Duration
	Details RequestDetails
}

// RequestDetails are further properties of a request. They are computed on demand, so observers
// that do not use them pay nothing.
type RequestDetails struct {
	HTTP *http.Request
	// Pattern is that of the route, such as /archive/*; "" where Route is.
	Pattern string
	Account *resources.Account
	Origin  mcp.Origin
	// Denied is why credentials did not admit the client; "" if they did, or if none are required.
	Denied string
	// Told says that observers are also told about a message that the request carried. A request
	// that was refused before it was read has no message.
	Told bool
}

// Path is the path of the URL without secrets, as it may be logged.
func (d RequestDetails) Path() string { return logged(withoutToken(d.HTTP.URL.Path)) }

// Query is the query of the URL without secrets, as it may be logged; "" if there is none.
func (d RequestDetails) Query() string { return logged(withoutSecrets(d.HTTP.URL.RawQuery)) }

// Host is the host name that the client used, without a port.
func (d RequestDetails) Host() string { return logged(hostName(d.HTTP.Host)) }

// CarriesMessages reports whether the request was for an MCP endpoint.
func (d RequestDetails) CarriesMessages() bool {
	return d.HTTP.URL.Path == mcpPath || d.HTTP.URL.Path == socketPath
}

// Probes reports whether the request was a health probe.
func (d RequestDetails) Probes() bool { return d.HTTP.URL.Path == healthPath }

// Observers passes everything to each of its members in turn.
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

// keyRequest is the MCP message in the echo context.
const keyRequest = "request"

// origin is where a request came from.
func origin(c echo.Context) mcp.Origin {
	r := c.Request()
	return mcp.Origin{
		Client: hostName(r.RemoteAddr), RequestID: c.Response().Header().Get(headerRequestID),
		Principal: access.PrincipalOf(r.Context()).ID, Trace: traceContext(r.Header),
	}
}

// traceContext reads the headers of W3C Trace Context. A parent that is given twice is ignored.
func traceContext(h http.Header) mcp.TraceContext {
	parents := h["Traceparent"]
	if len(parents) != 1 {
		return mcp.TraceContext{}
	}
	return mcp.TraceContext{Parent: parents[0], State: strings.Join(h["Tracestate"], ",")}
}

// observe reports an HTTP request and the message in it.
func (s *Server) observe(c echo.Context, account *resources.Account, outcome string, took time.Duration) {
	r := Request{
		Method: c.Request().Method, Outcome: outcome, Status: c.Response().Status, Bytes: c.Response().Size, Took: took,
		Details: RequestDetails{HTTP: c.Request(), Account: account, Origin: origin(c)},
	}
	// The router leaves the pattern that it compared last in a context whose path has no route.
	if route := c.Path(); s.paths[route] {
		r.Route, r.Details.Pattern = strings.TrimSuffix(route, "*"), route
	}
	request, ok := c.Get(keyRequest).(*mcp.Request)
	r.Details.Told = ok
	r.Details.Denied, _ = c.Get(keyDenied).(string)
	s.observer.Request(r)
	if ok {
		s.observeMessage(c, request, account, outcome, r.Bytes, took)
	}
}

// observeMessage reports a message over HTTP.
func (s *Server) observeMessage(
	c echo.Context, request *mcp.Request, account *resources.Account, outcome string, length int64, took time.Duration,
) {
	s.observer.Message(mcp.Exchange{
		Transport: transportHTTP, Method: request.Method, Tool: account.Summary().Tool, Outcome: outcome, Bytes: length,
		Took:    took,
		Details: mcp.Details{Request: request, Account: account, Origin: origin(c), Status: c.Response().Status},
	})
}

// Connections is how many connections are open.
func (s *Server) Connections() int { return s.conns.Count() }

// Sockets counts the connections over WebSocket.
func (s *Server) Sockets() int { return s.sockets.count() }
