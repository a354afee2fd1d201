package mcp

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/resources"
)

// This file is where mcp-go decides: it answers for tools, prompts, ping and the
// level of the log, and knows versions and headers. What it is relied on for
// beyond its documents has a test each.

// newDelegate makes the server of mcp-go. It knows nothing of resources.
func newDelegate(version string) *server.MCPServer {
	return server.NewMCPServer(serverName, version,
		server.WithTitle(serverTitle),
		server.WithToolCapabilities(false),
		server.WithToolFilter(chosenTools),
		server.WithPromptCapabilities(false),
		server.WithLogging(),
		server.WithPaginationLimit(pageSize),
	)
}

// delegate has mcp-go answer a request.
func (s *Server) delegate(ctx context.Context, r *Request) (any, *Error) {
	ctx = context.WithValue(s.mcp.WithContext(ctx, session{}), requestKey{}, r)
	switch reply := s.mcp.HandleMessage(ctx, r.Raw).(type) {
	case mcp.JSONRPCResponse:
		return reply.Result, nil
	case mcp.JSONRPCError:
		return nil, foreignError(reply.Error.Code, reply.Error.Message, r.Method)
	default:
		return nil, resources.Internal(nil)
	}
}

// requestKey finds the [Request] in the context of what mcp-go calls.
type requestKey struct{}

func requestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// session is all that mcp-go sees of a client. It is told of nothing, and nothing
// is kept of it: a level of the log is taken, since there are no messages of it.
type session struct{}

var _ server.SessionWithLogging = session{}

// SessionID implements [server.ClientSession], as do the following.
func (session) SessionID() string { return "" }

// NotificationChannel is never ready.
func (session) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// Initialize changes nothing.
func (session) Initialize() {}

// Initialized is true of all whose requests were admitted.
func (session) Initialized() bool { return true }

// SetLogLevel implements [server.SessionWithLogging].
func (session) SetLogLevel(mcp.LoggingLevel) {}

// GetLogLevel implements [server.SessionWithLogging].
func (session) GetLogLevel() mcp.LoggingLevel { return mcp.LoggingLevelError }

// foreignErrors are the words for errors that mcp-go found. Its own texts
// quote its types and Go's, which help nobody.
var foreignErrors = map[int]Error{
	mcp.PARSE_ERROR: {Reason: ReasonParse, Message: "The request body is not valid JSON. Send a JSON-RPC " +
		"2.0 message."},
	mcp.INVALID_REQUEST: {Reason: ReasonRequest, Message: "Invalid JSON-RPC message. See the specification of " +
		"MCP for its form."},
	mcp.METHOD_NOT_FOUND: {Reason: ReasonMethod, Message: "Method not found. The server's capabilities say which " +
		"methods it has."},
	mcp.INVALID_PARAMS: {Reason: ReasonParams, Message: "Invalid params. See the specification of MCP for the " +
		"params of this method; cursors must come from the result before."},
	mcp.HEADER_MISMATCH: {Reason: ReasonHeader, Message: "The headers Mcp-Method and Mcp-Name must be there and " +
		"say what the body says."},
	mcp.RESOURCE_NOT_FOUND: {Reason: resources.ReasonNotFound, Message: "Resource not found. List repositories " +
		"with resources/list."},
}

// missingMeta begins the one text of mcp-go that says what is missing, in words of
// MCP.
const missingMeta = "missing or invalid _meta field "

// foreignError is an error of mcp-go in this server's words.
func foreignError(code int, message, method string) *Error {
	failure, ok := foreignErrors[code]
	if !ok {
		failure = *resources.Internal(nil)
	}
	failure.Data = map[string]any{"method": method}
	if code == mcp.INVALID_PARAMS && strings.HasPrefix(message, missingMeta) {
		failure.Message = "Invalid params: " + message + "."
	}
	return &failure
}

// Versions of the protocol that are served, the newest first.
func Versions() []string { return mcp.ValidProtocolVersions }

// IsModern reports whether a version is without sessions.
func IsModern(version string) bool { return mcp.IsModernProtocol(version) }

// checkStandardHeaders compares Mcp-Method and Mcp-Name with the body. The
// name of a stream is its URI, as that of a read; since the header is not
// required for a method that its specification does not know, it may be left
// out.
func checkStandardHeaders(message Message, header headers) *Error {
	method := mcp.MCPMethod(message.Method)
	if message.Method == MethodStream {
		if header(HeaderMethod) != MethodStream {
			return mismatch("The header Mcp-Method is required and must be the method of the body.")
		}
		if header(HeaderName) == "" {
			return nil
		}
		inner := header
		method = mcp.MethodResourcesRead
		header = func(name string) string {
			if name == HeaderMethod {
				return MethodRead
			}
			return inner(name)
		}
	}
	if err := mcp.ValidateStandardHeaders(header, mcp.ProtocolVersion20260728, method, message.Params.Raw); err != nil {
		return mismatch("The headers Mcp-Method and Mcp-Name must be there and say what the body " +
			"says: " + resources.ClipLong(err.Error()) + ".")
	}
	return nil
}
