package resources

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// readURI is the one resource that mcp-go knows. Every read is redirected to
// it before mcp-go looks at the URI: matching templates there takes seconds for
// long URIs, under a lock, and picks one of several that fit by chance.
const readURI = scheme

// uriArgument carries the URI that was asked for.
const uriArgument = "uri"

func redirectRead(_ context.Context, _ any, message *mcp.ReadResourceRequest) {
	message.Params.Arguments = map[string]any{uriArgument: message.Params.URI}
	message.Params.URI = readURI
}

// requestKey finds the [Request] in a context.
type requestKey struct{}

// Attach makes a request known to the handlers of its method.
func (r *Request) Attach(ctx context.Context) context.Context {
	r.account = AccountOf(ctx)
	return context.WithValue(ctx, requestKey{}, r)
}

// read answers resources/read.
func (s *Server) read(ctx context.Context, message mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri, _ := message.Params.Arguments[uriArgument].(string)
	contents, err := s.readContents(ctx, uri)
	if err == nil {
		return []mcp.ResourceContents{contents}, nil
	}
	failure := asError(err, uri)
	s.report(ctx, failure)
	fail(ctx, failure)
	return nil, failure
}

// fail has a request answered by a failure, whatever mcp-go makes of it.
func fail(ctx context.Context, failure *Error) {
	if request, ok := ctx.Value(requestKey{}).(*Request); ok {
		request.failure = failure
	}
}

// report logs what an operator must know of.
func (s *Server) report(ctx context.Context, failure *Error) {
	if failure.Reason == ReasonInternal || failure.Reason == ReasonCorruptRepo {
		if errors.Is(failure.Cause, context.Canceled) {
			return
		}
		s.logger.ErrorContext(ctx, "a request failed", "reason", failure.Reason, "uri", failure.Data["uri"], "error", failure.Cause)
	}
}

func (s *Server) readContents(ctx context.Context, uri string) (mcp.ResourceContents, error) {
	content, err := s.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	whole, err := content.readAll(ctx, s.options.ReadLimit)
	content.Meta = mergeMeta(content.Meta, s.httpMeta(content))
	err = errors.Join(err, content.Close())
	if errors.Is(err, errTooLarge) {
		return nil, s.tooLargeToRead(content)
	}
	if err != nil {
		return nil, err
	}
	// uri is repeated as it was asked for: clients look for it.
	if isText(whole) {
		return mcp.TextResourceContents{URI: uri, MIMEType: content.MIMEType, Text: string(whole), Meta: content.Meta}, nil
	}
	return mcp.BlobResourceContents{URI: uri, MIMEType: content.MIMEType, Blob: base64.StdEncoding.EncodeToString(whole), Meta: content.Meta}, nil
}

func (s *Server) tooLargeToRead(content *Content) *Error {
	failure := &Error{Reason: ReasonTooLarge, Message: fmt.Sprintf("The resource is larger than the %d bytes that resources/read returns. Download it with resources/stream.", s.options.ReadLimit)}
	failure = failure.with("limit", s.options.ReadLimit).with("suggestion", MethodStream)
	if content.Size != UnknownSize {
		failure = failure.with("size", content.Size)
	}
	return failure
}

// sessionResolver gives mcp-go signed session ids with what the client said in
// initialize.
type sessionResolver struct{ sessions *Sessions }

// ResolveSessionIdManager implements the interface of mcp-go, which calls it
// with nil where it has no request.
func (r sessionResolver) ResolveSessionIdManager(request *http.Request) server.SessionIdManager { //nolint:revive // mcp-go names it
	manager := sessionManager{sessions: r.sessions}
	if request != nil {
		if message, ok := request.Context().Value(requestKey{}).(*Request); ok {
			manager.claims = initializeClaims(message.Params)
		}
	}
	return manager
}

type sessionManager struct {
	sessions *Sessions
	claims   Claims
}

// Generate makes the id of a new session.
func (m sessionManager) Generate() string {
	id, err := m.sessions.Mint(m.claims)
	if err != nil {
		return "" // mcp-go then sends none, and the client's next request is told so
	}
	return id
}

// Validate accepts the ids of every server with the same key.
func (m sessionManager) Validate(id string) (terminated bool, err error) {
	_, err = m.sessions.Parse(id)
	return false, err
}

// Terminate is not possible: a signed id is valid until it expires, on every
// server.
func (m sessionManager) Terminate(string) (notAllowed bool, err error) { return true, nil }
