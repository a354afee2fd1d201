package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/panics"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	socketPath = "/ws"
	// socketProtocol is what MCP's clients name; some insist on it.
	socketProtocol = "mcp"
	// socketRequests is how many requests of a connection run at a time. While
	// they do nothing more is read, so that others wait in the client.
	socketRequests = 16
	// socketPing keeps connections open through proxies, whose usual timeout is
	// a minute, and finds clients that are gone.
	socketPing = 30 * time.Second
	// socketSendBuffer is what waits in the kernel before a ping. A client that
	// takes 10 KB/s answers one in time.
	socketSendBuffer = 64 << 10
)

// websocket answers GET /ws: MCP over WebSocket, one JSON-RPC message in each
// text frame. Host and Origin were checked in front.
func (s *Server) websocket(c echo.Context) error {
	r := c.Request()
	if r.ContentLength != 0 {
		return refuse(c, http.StatusBadRequest, "Send GET without a body.")
	}
	address := clientNetwork(r)
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
	boundSendBuffer(r)
	conn, err := websocket.Accept(c.Response(), r, &websocket.AcceptOptions{
		Subprotocols: []string{socketProtocol},
		// checkOrigin was stricter: it compares schemes and ports as well.
		InsecureSkipVerify: true,
	})
	if err != nil {
		s.logger.Debug("a WebSocket handshake failed", "error", err)
		return nil // it has been replied to
	}
	conn.SetReadLimit(maxBodyBytes)
	(&socket{
		server: s, conn: conn, client: s.options.MCP.Connect(address, r.Header.Get(mcp.HeaderTools)),
		slots: make(chan struct{}, socketRequests),
		from:  append(client(r), slog.String("request_id", c.Response().Header().Get(headerRequestID))),
	}).serve(r.Context())
	return nil
}

// boundSendBuffer keeps the kernel from taking megabytes for a client that is
// slow: a ping would come after them.
func boundSendBuffer(r *http.Request) {
	if t := connOf(r); t != nil {
		if conn, ok := t.Conn.(*net.TCPConn); ok {
			_ = conn.SetWriteBuffer(socketSendBuffer) // it only fails for a connection that is gone
		}
	}
}

// socket is one WebSocket connection.
type socket struct {
	server *Server
	conn   *websocket.Conn
	client *mcp.Connection
	from   []slog.Attr // what the log says of the client

	helpers *panics.Group
	slots   chan struct{} // taken by requests that run, and by the reader
	stalls  atomic.Int64  // odd while the reader waits for a slot
	writing sync.Mutex    // held from the first to the last byte of a message

	mu       sync.Mutex
	running  sync.WaitGroup // added to with mu held, and not once it stops
	stopping bool
}

// serve reads until the connection ends, and returns when nothing runs for it
// any more.
func (s *socket) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.client.Close()
	defer func() { _ = s.conn.CloseNow() }() // it has mostly been closed
	s.helpers = panics.NewGroup(cancel)
	defer s.helpers.Wait()
	defer s.running.Wait()
	defer cancel()
	defer context.AfterFunc(s.server.sockets.ended, cancel)()
	s.helpers.Go(func() { s.client.Pump(ctx, func(message []byte) error { return s.write(ctx, message) }) })
	s.helpers.Go(func() { s.keepAlive(ctx) })
	s.helpers.Go(func() { s.drain(ctx) })
	for s.await(ctx) {
		body, err := s.read(ctx)
		if err != nil {
			s.refuse(err)
			return
		}
		s.take(ctx, body)
	}
}

// await takes a slot for the next message.
func (s *socket) await(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	s.stalls.Add(1)
	defer s.stalls.Add(1)
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// errBinary says that a frame was not of text.
var errBinary = errors.New("binary frames are not part of MCP")

// read waits for a message, which then has readBodyTimeout to come whole.
func (s *socket) read(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kind, body, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	defer time.AfterFunc(readBodyTimeout, cancel).Stop()
	return io.ReadAll(body)
}

// refuse closes a connection whose client did something that the transport does
// not allow.
func (s *socket) refuse(err error) {
	switch {
	case errors.Is(err, errBinary):
		_ = s.conn.Close(websocket.StatusUnsupportedData, "Send JSON-RPC messages in text frames.")
	case errors.Is(err, websocket.ErrMessageTooBig):
		_ = s.conn.Close(websocket.StatusMessageTooBig, "A message may have 1 MiB.")
	}
}

// enter counts a message that is about to be handled, unless the server stops:
// what comes then has no reply, and the client hears why.
func (s *socket) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.running.Add(1)
	}
	return !s.stopping
}

// take handles what was read, and has the slot given back. Only requests are
// left to other goroutines: what follows an initialize or a notification may
// depend on it.
func (s *socket) take(ctx context.Context, body []byte) {
	free := sync.OnceFunc(func() { <-s.slots })
	if !s.enter() {
		free()
		return
	}
	messages, batch, failure := mcp.ParseMessages(body)
	var work func()
	switch {
	case failure != nil:
		s.fail(ctx, nil, failure, mcp.SessionEra)
	case batch:
		work = s.batch(ctx, messages)
	default:
		work = s.single(ctx, messages[0], free)
	}
	finish := func() {
		free()
		s.running.Done()
	}
	if work == nil {
		finish()
		return
	}
	s.helpers.Go(func() {
		defer finish()
		work()
	})
}

// single handles one message and returns what is left to do. A stream of
// notifications lasts, and so does not keep its slot: their number has a limit
// of its own.
func (s *socket) single(ctx context.Context, message mcp.Message, free func()) (work func()) {
	ctx, _ = resources.WithAccount(ctx)
	if !message.IsRequest() {
		s.client.Notified(message)
		return nil
	}
	request, failure := s.client.Admit(message)
	var answer mcp.Answer
	running, end := context.WithCancel(ctx)
	if failure == nil {
		answer, failure = s.client.Start(running, request)
	}
	if failure != nil {
		end()
		s.fail(ctx, message.ID, failure, request.Era)
		return nil
	}
	work = func() {
		defer end()
		if request.IsListen() {
			free()
			defer context.AfterFunc(s.server.draining, end)()
		}
		if reply := s.answer(ctx, request, answer); reply != nil {
			_ = s.write(ctx, reply) // a failure has ended the connection
		}
	}
	if message.Method == mcp.MethodInitialize {
		work()
		return nil
	}
	return work
}

// batch handles several messages. They are answered one after the other, so that
// no more than one reply is in memory, and nothing else is written meanwhile.
// Later versions than 2025-03-26 have no batches.
func (s *socket) batch(ctx context.Context, messages []mcp.Message) (work func()) {
	requests := make([]*mcp.Request, len(messages))
	for i, message := range messages {
		request, failure := s.client.Admit(message)
		if failure == nil {
			failure = request.AdmitBatched()
		}
		if failure != nil {
			s.fail(ctx, nil, failure, request.Era)
			return nil
		}
		requests[i] = request
	}
	var replies []func() []byte
	for _, request := range requests {
		if !request.IsRequest() {
			s.client.Notified(request.Message)
			continue
		}
		ctx, _ := resources.WithAccount(ctx)
		answer, failure := s.client.Start(ctx, request)
		replies = append(replies, func() []byte {
			if failure != nil {
				return bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))
			}
			return s.answer(ctx, request, answer)
		})
	}
	if replies == nil {
		return nil
	}
	return func() { _ = s.message(ctx, joined(replies)) } // a failure has ended the connection
}

// joined writes the replies that there are as an array.
func joined(replies []func() []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		separator := "["
		for _, reply := range replies {
			text := reply()
			if text == nil {
				continue
			}
			if _, err := w.Write(append([]byte(separator), text...)); err != nil {
				return err
			}
			separator = ","
		}
		if separator == "[" {
			return nil // all were cancelled
		}
		_, err := w.Write([]byte("]"))
		return err
	}
}

// answer runs a request. What panics is one request, not the server.
func (s *socket) answer(ctx context.Context, request *mcp.Request, answer mcp.Answer) (reply []byte) {
	start, outcome := time.Now(), "panicked"
	defer func() {
		if cause := recover(); cause != nil {
			s.server.logger.Error("a handler panicked", "panic", cause)
			failure := &mcp.Error{
				Reason:  resources.ReasonInternal,
				Message: "Internal error. Try again; the operator finds the cause in the server's log.",
			}
			reply = bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))
		}
		s.log(ctx, request.Method, outcome, len(reply), time.Since(start))
	}()
	reply = answer(func(notification []byte) error { return s.write(ctx, notification) })
	outcome = outcomeDone
	if resources.AccountOf(ctx).Failed() {
		outcome = outcomeError
	}
	return reply
}

// log writes one line per request, with the id of the request that opened the
// connection.
func (s *socket) log(ctx context.Context, method, outcome string, length int, took time.Duration) {
	attributes := []slog.Attr{
		slog.String("path", socketPath), slog.String("rpc", logged(method)), slog.String("outcome", outcome),
		slog.Int("bytes", length), slog.Float64("seconds", took.Seconds()),
	}
	attributes = append(append(attributes, resources.AccountOf(ctx).Attributes()...), s.from...)
	s.server.logger.LogAttrs(ctx, slog.LevelInfo, "request", attributes...)
}

// fail replies with a JSON-RPC error.
func (s *socket) fail(ctx context.Context, id json.RawMessage, failure *mcp.Error, era mcp.Era) {
	_ = s.write(ctx, bytes.TrimSpace(mcp.ErrorReply(id, failure, era))) // a failure has ended the connection
}

// keepAlive pings, and drops a client that does not answer although its answer
// would have been read.
func (s *socket) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(socketPing)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.writing.TryLock() {
			continue // what is being written has a bound
		}
		s.writing.Unlock()
		stalls := s.stalls.Load()
		pinging, cancel := context.WithTimeout(ctx, s.server.options.WriteTimeout)
		err := s.conn.Ping(pinging)
		cancel()
		if err != nil && stalls%2 == 0 && stalls == s.stalls.Load() {
			_ = s.conn.CloseNow() // it may have been closed
			return
		}
	}
}

// drain closes the connection once the server stops and all requests in flight
// have been answered.
func (s *socket) drain(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.server.draining.Done():
	}
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.running.Wait()
	_ = s.conn.Close(websocket.StatusGoingAway, "The server stops. Connect again.") // the client may be gone
}
