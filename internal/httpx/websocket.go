package httpx

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/base/ticks"
	"github.com/repomcp/repomcp/internal/httpx/conns"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
)

const (
	socketPath = "/ws"
	// socketProtocol is the subprotocol that MCP clients name; some insist on it.
	socketProtocol = "mcp"
	// socketPing keeps connections open through proxies, whose usual timeout is a minute, and finds
	// clients that are gone.
	socketPing = 30 * time.Second
	// socketSendBuffer bounds the bytes in the kernel that precede a ping. A client that reads 10
	// KB/s answers a ping in time.
	socketSendBuffer = 64 << 10
)

// websocket answers GET /ws: MCP over WebSocket, one JSON-RPC message in each text frame. Host and
// Origin have been checked before.
func (s *Server) websocket(c echo.Context) (err error) {
	r := c.Request()
	if r.ContentLength != 0 {
		return refuse(c, http.StatusBadRequest, "Send GET without a body.")
	}
	address := clientNetwork(r.RemoteAddr)
	if !s.sockets.open(address) {
		c.Response().Header().Set("Retry-After", retryAfter)
		return refuse(c, http.StatusServiceUnavailable,
			"Too many WebSocket connections are open, by your address or by all. Close one, try again in a few "+
				"seconds, or use POST /mcp.")
	}
	defer s.sockets.close(address)
	if s.draining.Err() != nil {
		return refuse(c, http.StatusServiceUnavailable, "The server is about to stop. Try again in a few seconds.")
	}
	if conn := conns.Of(r); conn != nil {
		conn.BoundSendBuffer(socketSendBuffer) // or megabytes would precede a ping
	}
	opened := newSocket(s)
	opened.conn, err = websocket.Accept(c.Response(), r, &websocket.AcceptOptions{
		Subprotocols: []string{socketProtocol},
		// checkOrigin was stricter: it compares schemes and ports as well.
		InsecureSkipVerify: true,
		OnPingReceived:     func(context.Context, []byte) bool { return opened.allowControl() },
		OnPongReceived:     func(context.Context, []byte) { opened.allowControl() },
	})
	if err != nil {
		s.logger.Debug("a WebSocket handshake failed", "error", err)
		return nil // the library has replied
	}
	opened.conn.SetReadLimit(maxBodyBytes)
	defer s.endWhenRevoked(c, func() { opened.refuse(errRevoked) })()
	// The log entry of the request that opened the connection has the same id.
	from := append(client(r), slog.String("request_id", c.Response().Header().Get(headerRequestID)))
	opened.serve(r.Context(), s.options.MCP.Connect(address, r.Header.Get(mcp.HeaderTools)), origin(c), from)
	return nil
}

// socket is one WebSocket connection.
type socket struct {
	server  *Server
	conn    *websocket.Conn
	talk    *duplex.Conversation
	streams *socketStreams
	control controlFrames
	closing *panics.Group // goroutines that close the connection
}

func newSocket(s *Server) *socket {
	opened := &socket{server: s}
	opened.streams = newSocketStreams(s.options.WriteTimeout, func(ctx context.Context, frame []byte) error {
		return opened.dropIf(opened.conn.Write(ctx, websocket.MessageBinary, frame))
	})
	return opened
}

// serve returns when the connection has ended and none of its goroutines runs any more.
func (s *socket) serve(ctx context.Context, client *mcp.Connection, of mcp.Origin, from []slog.Attr) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.closing = panics.NewGroup(cancel)
	defer s.closing.Wait()
	defer func() { _ = s.conn.CloseNow() }() // it has mostly been closed
	defer context.AfterFunc(s.server.sockets.ended, cancel)()
	s.talk = duplex.New(duplex.Options{
		Client: client, Mode: binary.ModeFrames, Stopping: s.server.draining, Beside: s.keepAlive,
		Logger: s.server.logger, Place: slog.String("path", socketPath), From: from,
		Observer: s.server.observer, Transport: transportSocket, Origin: of, Stages: s.server.options.Stages,
	}, s)
	_ = s.talk.Serve(ctx) // the client was told the cause, if possible
}

// breach is a violation of the transport's rules, with the status that closes the connection.
type breach struct {
	status websocket.StatusCode
	reason string // 123 bytes at most
}

// Error implements error.
func (b *breach) Error() string { return b.reason }

// errRevoked closes a connection whose token was revoked (IANA, WebSocket Close Code Numbers).
var errRevoked = &breach{3000, "The token is not valid any more. Connect again with another one."}

var errBinary = &breach{websocket.StatusUnsupportedData, "Send JSON-RPC messages in text frames."}

// Read implements [duplex.Transport].
func (s *socket) Read(ctx context.Context) ([]byte, error) {
	for {
		kind, body, err := s.read(ctx)
		if err == nil && kind == websocket.MessageBinary {
			if err = s.streams.receive(body); err == nil {
				continue
			}
		}
		if err != nil {
			s.refuse(err)
		}
		return body, err
	}
}

// read waits for a message, which must then arrive within readBodyTimeout. It reads a binary
// message only far enough to see that it is too long.
func (s *socket) read(ctx context.Context) (websocket.MessageType, []byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, body, err := s.conn.Reader(ctx)
	if err != nil {
		return kind, nil, err
	}
	if kind == websocket.MessageBinary {
		if !s.streams.begun() {
			return kind, nil, errBinary
		}
		body = io.LimitReader(body, maxFrameBytes+1)
	}
	defer time.AfterFunc(readBodyTimeout, cancel).Stop()
	ctx, release := limits.WithKept(ctx)
	defer release()
	whole, err := readBounded(ctx, s.server.options.Limits, body, maxBodyBytes, maxBodyBytes)
	return kind, whole, err
}

// refuse closes a connection whose client violated the rules of the transport.
func (s *socket) refuse(err error) {
	var b *breach
	switch {
	case errors.As(err, &b):
		_ = s.conn.Close(b.status, b.reason) // the client may be gone
	case limits.RefusalOf(err) != nil:
		_ = s.conn.Close(websocket.StatusTryAgainLater, "The server is busy. Connect again in a few seconds.")
	case errors.Is(err, websocket.ErrMessageTooBig):
		_ = s.conn.Close(websocket.StatusMessageTooBig, "A message may have 1 MiB.")
	}
}

// allowControl counts a ping or pong, and closes the connection after too many. It is called during
// a read and so must not wait for the client.
func (s *socket) allowControl() bool {
	allowed, first := s.control.take(time.Now())
	if first {
		s.closing.Go(func() { s.refuse(errControlFlood) })
	}
	return allowed
}

// keepAlive sends pings, and drops a client that does not answer although its answer would have
// been read.
func (s *socket) keepAlive(ctx context.Context) {
	for range ticks.Every(ctx, socketPing) {
		if s.talk.Writing() {
			continue // the write in progress has a bound of its own
		}
		stalls := s.talk.Stalls()
		pinging, cancel := context.WithTimeout(ctx, s.server.options.WriteTimeout)
		err := s.conn.Ping(pinging)
		cancel()
		if err != nil && stalls%2 == 0 && stalls == s.talk.Stalls() {
			_ = s.conn.CloseNow() // it may have been closed
			return
		}
	}
}

// Leave implements [duplex.Transport].
func (s *socket) Leave() {
	_ = s.conn.Close(websocket.StatusGoingAway, "The server stops. Connect again.") // the client may be gone
}
