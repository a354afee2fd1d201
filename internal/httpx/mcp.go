package httpx

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	mcpPath = "/mcp"

	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// post answers POST /mcp: one message, or a batch of them.
func (s *Server) post(c echo.Context) error {
	r := c.Request()
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != typeJSON {
		return refuse(c, http.StatusUnsupportedMediaType, "Send the message with Content-Type: application/json.")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return refuse(c, http.StatusUnsupportedMediaType, "Send the message without Content-Encoding.")
	}
	body, err := s.readBody(c)
	if refusal := limits.RefusalOf(err); refusal != nil {
		return s.fail(c, nil, resources.Refused(refusal), eraOf(r))
	}
	if errors.Is(err, errCrowd) {
		return refuseCrowd(c)
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refuse(c, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("The message has more than %d bytes. Ask for less at once.", maxBodyBytes))
	}
	if err != nil {
		return err
	}
	messages, batch, failure := mcp.ParseMessages(body)
	switch {
	case failure != nil:
		return s.fail(c, mcp.IDOf(messages), failure, eraOf(r))
	case batch:
		return s.batch(c, messages)
	default:
		return s.single(c, messages[0])
	}
}

func eraOf(r *http.Request) mcp.Era {
	if mcp.IsModern(r.Header.Get(mcp.HeaderVersion)) {
		return mcp.ModernEra
	}
	return mcp.SessionEra
}

func (s *Server) single(c echo.Context, message mcp.Message) error {
	request, done, err := s.admit(c, message, message.ID)
	c.Set(keyRequest, request)
	request.Mode, request.AcceptsBinary = binary.ModeMultipart, accepts(c.Request(), binary.TypeMultipart)
	if done {
		return err
	}
	if !admitsReply(c.Request(), message) {
		return refuse(c, http.StatusNotAcceptable, "Send Accept: application/json, text/event-stream.")
	}
	if !message.IsRequest() {
		s.options.MCP.Notified(request)
		return c.NoContent(http.StatusAccepted)
	}
	ctx, end := s.options.MCP.Begin(c.Request().Context(), request)
	defer end()
	c.SetRequest(c.Request().WithContext(ctx))
	switch {
	case message.Method == mcp.MethodStream:
		return s.stream(c, request)
	case request.IsListen():
		return s.listen(c, request)
	default:
		return s.answer(c, request)
	}
}

// admitsReply checks the Accept header. Requests need both kinds of reply, since the server may
// choose. A stream is bytes; only the type of its errors is known beforehand.
func admitsReply(r *http.Request, message mcp.Message) bool {
	return accepts(r, typeJSON) && (message.Method == mcp.MethodStream || accepts(r, typeEvents))
}

// sessionStatus are the statuses of the transport for sessions, with messages that say what to do.
var sessionStatus = map[mcp.SessionState]struct {
	status int
	text   string
}{
	mcp.SessionMissing: {http.StatusBadRequest,
		"The header Mcp-Session-Id is missing. Send initialize first and repeat the id of its reply."},
	mcp.SessionUnknown: {http.StatusNotFound, "The session is unknown or has expired. Send initialize again."},
}

// admit applies the rules of the transport. It replies, with the given id, when the message breaks
// a rule or its session cannot be used.
func (s *Server) admit(
	c echo.Context, message mcp.Message, id json.RawMessage,
) (request *mcp.Request, done bool, err error) {
	r := c.Request()
	request, session, failure := s.options.MCP.Admit(r.Context(), message, r.Header.Get)
	if problem := sessionStatus[session]; problem.status != 0 {
		failure = &mcp.Error{Reason: mcp.ReasonRequest, Message: problem.text}
		return request, true, s.reply(c, problem.status, mcp.ErrorReply(id, failure, mcp.SessionEra))
	}
	request.Address = clientNetwork(r.RemoteAddr)
	if failure != nil {
		return request, true, s.fail(c, id, failure, request.Era)
	}
	return request, false, nil
}

// clientNetwork returns the address by which shares are counted: an IPv4 address, or the /64 of an
// IPv6 address, since one client has all addresses of it.
func clientNetwork(remote string) string {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	address := from.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

// answer replies to a request with one message.
func (s *Server) answer(c echo.Context, request *mcp.Request) error {
	ctx := c.Request().Context()
	reply := s.options.MCP.Answer(ctx, request)
	defer s.close(reply.Attachments)
	if failure := cancelled(ctx, request); failure != nil {
		return s.fail(c, request.ID, failure, request.Era)
	}
	if ctx.Err() != nil {
		return nil // the client is gone
	}
	if len(reply.Attachments.All()) > 0 {
		s.sendParts(c, reply)
		return nil
	}
	h, status := c.Response().Header(), http.StatusOK
	if reply.Session != "" {
		h.Set(mcp.HeaderSession, reply.Session)
	}
	if request.Era == mcp.ModernEra {
		status = statusOf(reply.Code, request.Era)
	}
	if reply.Refusal != nil {
		status = refusalHeaders(h, reply.Refusal)
	}
	h.Set("Content-Length", strconv.Itoa(len(reply.Message)))
	return s.reply(c, status, reply.Message)
}

// cancelled returns the reply to a request that its client has cancelled, or nil. HTTP requires a
// reply, which the client ignores.
func cancelled(ctx context.Context, request *mcp.Request) *mcp.Error {
	if !errors.Is(context.Cause(ctx), mcp.ErrCancelled) {
		return nil
	}
	return request.About(&mcp.Error{
		Reason: resources.ReasonCancelled, Message: "The request was cancelled.", Cause: mcp.ErrCancelled,
	})
}

// batch answers several messages, one after the other, so that only one reply is in memory.
// Versions after 2025-03-26 have no batches.
func (s *Server) batch(c echo.Context, messages []mcp.Message) error {
	requests := make([]*mcp.Request, len(messages))
	for i, message := range messages {
		request, done, err := s.admit(c, message, nil)
		if done {
			return err
		}
		if failure := request.AdmitBatched(); failure != nil {
			return s.fail(c, nil, failure, request.Era)
		}
		if !admitsReply(c.Request(), message) {
			return refuse(c, http.StatusNotAcceptable, "Send Accept: application/json, text/event-stream.")
		}
		requests[i] = request
	}
	return s.batchReplies(c, requests)
}

func (s *Server) batchReplies(c echo.Context, requests []*mcp.Request) error {
	w := c.Response()
	w.Header().Set("Content-Type", typeJSON)
	begun, err := mcp.WriteBatch(w, func(yield func([]byte) bool) {
		for _, request := range requests {
			if !request.IsRequest() {
				s.options.MCP.Notified(request)
				continue
			}
			reply, release := s.batched(c, request)
			more := yield(reply)
			release()
			if !more {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if !begun {
		w.Header().Del("Content-Type")
		return c.NoContent(http.StatusAccepted)
	}
	_, err = w.Write([]byte("\n"))
	return err
}

// batched answers one request of a batch. release gives back what was reserved for the reply.
func (s *Server) batched(c echo.Context, request *mcp.Request) (message []byte, release func()) {
	start, outcome := time.Now(), mcp.OutcomeAborted
	ctx, account := resources.WithAccount(c.Request().Context(), s.options.Stages)
	defer func() {
		resources.AccountOf(c.Request().Context()).Join(account)
		s.observeMessage(c, request, account, outcome, int64(len(message)), time.Since(start))
	}()
	ctx, release = limits.WithKept(ctx)
	ctx, end := s.options.MCP.Begin(ctx, request)
	defer end()
	answer := s.options.MCP.Answer(ctx, request)
	outcome = mcp.OutcomeOf(account)
	if failure := cancelled(ctx, request); failure != nil {
		outcome = mcp.OutcomeError
		return mcp.ErrorReply(request.ID, failure, request.Era), release
	}
	return answer.Message, release
}

// openEvents answers GET /mcp: the event stream of a session.
func (s *Server) openEvents(c echo.Context) error {
	r := c.Request()
	if r.ContentLength != 0 {
		// While a body is unread, net/http does not notice that a client disconnected.
		return refuse(c, http.StatusBadRequest, "Send GET without a body.")
	}
	if eraOf(r) == mcp.ModernEra {
		c.Response().Header().Set("Allow", http.MethodPost)
		http.Error(c.Response(), "GET is not supported in protocol version 2026-07-28: "+
			"server-to-client messages use subscriptions/listen", http.StatusMethodNotAllowed)
		return nil
	}
	if !accepts(r, typeEvents) {
		return refuse(c, http.StatusNotAcceptable, "Send Accept: text/event-stream.")
	}
	request, done, err := s.admit(c, sessionProbe, nil)
	if done {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := s.options.MCP.OpenEvents(ctx, request, r.Header.Get(mcp.HeaderEventID), cancel)
	defer events.Close()
	defer context.AfterFunc(s.draining, cancel)()
	defer s.endWhenRevoked(c, cancel)()
	c.Response().Header().Set("Connection", "keep-alive")
	stream := &eventStream{w: c.Response()}
	if err := stream.write(); err != nil {
		return err
	}
	events.Run(ctx, stream.sendWithID)
	return nil
}

// endSession answers DELETE /mcp. A signed session id cannot be revoked; the specification has a
// status for servers that do not allow it.
func (s *Server) endSession(c echo.Context) error {
	if eraOf(c.Request()) == mcp.ModernEra {
		c.Response().Header().Set("Allow", "POST")
		return refuse(c, http.StatusMethodNotAllowed,
			"There are no sessions since 2026-07-28. Send requests with POST only.")
	}
	if _, done, err := s.admit(c, sessionProbe, nil); done {
		return err
	}
	c.Response().Header().Set("Allow", "GET, POST")
	return refuse(c, http.StatusMethodNotAllowed, "Sessions end by themselves. Forget the id.")
}

// sessionProbe stands for a request without a body that needs a usable session.
var sessionProbe = mcp.Message{Method: "ping"}

// These are the statuses of JSON-RPC errors in the modern era (2026-07-28, transports); in the
// session era only malformed messages have one.
var (
	modernStatus = map[int]int{
		-32700: http.StatusBadRequest, -32600: http.StatusBadRequest, -32601: http.StatusNotFound,
		-32602: http.StatusBadRequest,
		-32020: http.StatusBadRequest, -32021: http.StatusBadRequest, -32022: http.StatusBadRequest,
	}
	sessionEraStatus = map[int]int{
		-32700: http.StatusBadRequest, -32600: http.StatusBadRequest, -32022: http.StatusBadRequest,
	}
)

func statusOf(code int, era mcp.Era) int {
	table := sessionEraStatus
	if era == mcp.ModernEra {
		table = modernStatus
	}
	return cmp.Or(table[code], http.StatusOK)
}

// fail replies with a JSON-RPC error.
func (s *Server) fail(c echo.Context, id json.RawMessage, failure *mcp.Error, era mcp.Era) error {
	code := mcp.Code(failure, era)
	resources.AccountOf(c.Request().Context()).Fail(code)
	status := statusOf(code, era)
	if refusal := limits.RefusalOf(failure); refusal != nil {
		status = refusalHeaders(c.Response().Header(), refusal)
	}
	return s.reply(c, status, mcp.ErrorReply(id, failure, era))
}

func (s *Server) reply(c echo.Context, status int, message []byte) error {
	return c.Blob(status, typeJSON, message)
}
