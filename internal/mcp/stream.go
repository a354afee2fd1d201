package mcp

import (
	"context"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/resources"
)

// streamable marks what resources/stream serves, as members of _meta; nil where
// there is no such method.
func (s *Server) streamable() map[string]any {
	if !s.resources.Downloads() {
		return nil
	}
	return map[string]any{resources.MetaStreamable: true}
}

// howToFetch says by which method what may have many bytes is had.
func (s *Server) howToFetch() string {
	if s.resources.Downloads() {
		return "Download it with resources/stream."
	}
	return fmt.Sprintf("Read it with resources/read, which returns up to %d bytes.", s.options.ReadLimit)
}

// Stream opens the resource of a resources/stream request (SEP-2532). The
// content is streamable and, as far as its size is known, within what the
// client accepts.
func (s *Server) Stream(ctx context.Context, r *Request) (*resources.Content, *Error) {
	if failure := r.refusesStreams(); failure != nil {
		return nil, failure.With(paramURI, r.Params.URI)
	}
	content, err := s.resources.Open(ctx, r.Params.URI)
	if err != nil {
		return nil, s.resources.Failure(ctx, err, r.Params.URI)
	}
	if failure := s.refusesMeasured(ctx, r, content); failure != nil {
		s.close(ctx, content)
		return nil, r.About(failure)
	}
	return content, nil
}

func (s *Server) close(ctx context.Context, content io.Closer) {
	if err := content.Close(); err != nil {
		s.logger.ErrorContext(ctx, "closing a resource failed", "error", err)
	}
}

// Fetch is [resources.Content.Fetch] for a resources/stream request, whose client
// may not accept what turns out to be there.
func (s *Server) Fetch(ctx context.Context, r *Request, content *resources.Content) *Error {
	err := content.Reserve(ctx, false)
	if err == nil {
		err = content.Fetch(ctx)
	}
	if err != nil {
		return s.resources.Failure(ctx, err, content.URI)
	}
	if failure := r.refuses(content); failure != nil {
		return failure.With(paramURI, content.URI)
	}
	return nil
}

// refusesStreams says why the client gets no stream at all, or nil.
func (r *Request) refusesStreams() *Error {
	switch {
	case !r.Stream.Declared:
		return &Error{
			Reason: ReasonCapability,
			Message: "Declare the client capability resourceStreaming, for example " +
				`{"resourceStreaming":{"maxStreamSize":1073741824}}, before using resources/stream.`,
			Data: map[string]any{"requiredCapabilities": map[string]any{paramStreaming: map[string]any{}}},
		}
	case r.Stream.BadSize:
		return badSize(paramStreaming, maxStreamSize)
	default:
		return nil
	}
}

// refusesMeasured is refuses with the length known where trees tell it, as
// plain downloads have it.
func (s *Server) refusesMeasured(ctx context.Context, r *Request, content *resources.Content) *Error {
	if failure := r.refuses(content); failure != nil {
		return failure
	}
	if err := content.Measure(ctx); err != nil {
		return s.resources.Failure(ctx, err, content.URI)
	}
	return r.refuses(content)
}

// refuses says why a content cannot be streamed to the client, or nil.
func (r *Request) refuses(content *resources.Content) *Error {
	limit := r.Stream.MaxSize
	switch {
	case !content.Streamable:
		return (&Error{Reason: ReasonNotStreamable, Message: "The resource is a description, not a file or an " +
			"archive. Use resources/read for it."}).With("suggestion", MethodRead)
	case limit == 0:
		return nil
	case content.Size > limit:
		failure := &Error{Reason: resources.ReasonTooLarge, Message: fmt.Sprintf("The resource has %d bytes, more "+
			"than the maxStreamSize of %d that the client declared. Declare a larger one.", content.Size, limit)}
		return failure.With("size", content.Size).With("limit", limit)
	case content.Size == resources.UnknownSize && content.AtLeast > limit:
		failure := &Error{Reason: resources.ReasonTooLarge, Message: fmt.Sprintf("The resource has more bytes than "+
			"the maxStreamSize of %d that the client declared: an earlier stream got that far. Declare a larger "+
			"one.", limit)}
		return failure.With("limit", limit)
	default:
		return nil
	}
}
