package httpx

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/resources"
)

// Observer is told what is served, by many goroutines at a time, and must not wait.
type Observer interface {
	// RequestBegan tells of an HTTP request, and Request of its end.
	RequestBegan()
	Request(Request)
	// Message tells of the end of a message of MCP, which came as an HTTP request of
	// its own or over WebSocket.
	Message(Message)
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
}

// Message is a message of MCP that was answered.
type Message struct {
	Transport string // http or websocket
	Method    string // as the client wrote it
	Tool      string // that was called; "" for none
	Outcome   string
	Bytes     int64
	Took      time.Duration
}

// The transports of messages.
const (
	transportHTTP   = "http"
	transportSocket = "websocket"
)

// nobody is the observer of a server that has none.
type nobody struct{}

func (nobody) RequestBegan()    {}
func (nobody) Request(Request)  {}
func (nobody) Message(Message)  {}
func (nobody) StreamBegan()     {}
func (nobody) StreamEnded(bool) {}

// observe tells of a request over HTTP, and of the message in it.
func (s *Server) observe(c echo.Context, account *resources.Account, outcome string, took time.Duration) {
	r := Request{
		Method: c.Request().Method, Outcome: outcome, Status: c.Response().Status, Bytes: c.Response().Size, Took: took,
	}
	// A path that no route has keeps what the router compared last.
	if route := c.Path(); s.paths[route] {
		r.Route = strings.TrimSuffix(route, "*")
	}
	s.observer.Request(r)
	if rpc, ok := c.Get(keyRPC).(string); ok {
		s.observer.Message(Message{
			Transport: transportHTTP, Method: rpc, Tool: account.Tool(), Outcome: outcome, Bytes: r.Bytes, Took: took,
		})
	}
}

// observeSocket tells of a message over WebSocket.
func (s *Server) observeSocket(method, tool, outcome string, length int64, took time.Duration) {
	s.observer.Message(Message{
		Transport: transportSocket, Method: method, Tool: tool, Outcome: outcome, Bytes: length, Took: took,
	})
}

// Connections is how many connections are open, and Sockets how many of them speak
// WebSocket.
func (s *Server) Connections() int { return s.conns.Count() }

// Sockets counts the connections over WebSocket.
func (s *Server) Sockets() int { return s.sockets.count() }
