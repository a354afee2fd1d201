package resources

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
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

// reported are the failures that only an operator can mend.
var reported = []Reason{ReasonInternal, ReasonCorruptRepo, ReasonUnreadableRepo, ReasonIncompleteRepo}

// report logs what an operator must know of.
func (s *Server) report(ctx context.Context, failure *Error) {
	if slices.Contains(reported, failure.Reason) {
		if errors.Is(failure.Cause, context.Canceled) {
			return
		}
		s.logger.ErrorContext(ctx, "a request failed", "reason", failure.Reason, "uri", failure.Data["uri"], "error", failure.Cause)
	}
}

func (s *Server) readContents(ctx context.Context, uri string) (mcp.ResourceContents, error) {
	resource, err := Parse(uri, names{s.catalogue})
	if err != nil {
		return nil, err
	}
	resource.paged = true
	content, err := s.openResource(ctx, resource)
	if err != nil {
		return nil, err
	}
	whole, err := content.readAll(ctx, s.options.ReadLimit)
	content.Meta = mergeMeta(content.Meta, s.httpMeta(ctx, content))
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
	if url, ok := content.Meta[metaHTTP]; ok {
		// Few clients know resources/stream, and all can hand on a URL.
		failure = failure.with(fieldHTTP, url).with(fieldHTTPExpires, content.Meta[metaHTTPExpires])
	}
	return failure
}
