package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Stream opens the resource of a resources/stream request (SEP-2532). The
// content is streamable and, as far as its size is known, within what the
// client accepts.
func (s *Server) Stream(ctx context.Context, r *Request) (*Content, *Error) {
	uri, failure := streamURI(r)
	if failure != nil {
		return nil, failure
	}
	content, err := s.Open(ctx, uri)
	if err != nil {
		failure := asError(err, uri)
		s.report(ctx, failure)
		return nil, failure
	}
	if failure := r.refusesMeasured(ctx, content); failure != nil {
		failure = r.About(failure)
		s.report(ctx, failure)
		if err := content.Close(); err != nil {
			s.logger.ErrorContext(ctx, "closing a resource failed", "error", err)
		}
		return nil, failure
	}
	return content, nil
}

// Fetch is [Content.Fetch] for a resources/stream request, whose client may not
// accept what turns out to be there.
func (s *Server) Fetch(ctx context.Context, r *Request, content *Content) *Error {
	if err := content.Fetch(ctx); err != nil {
		return s.Failure(ctx, err, content.URI)
	}
	failure := r.refuses(content)
	if failure == nil {
		return nil
	}
	failure = failure.with("uri", content.URI)
	s.report(ctx, failure)
	return failure
}

// refusesMeasured is refuses with the length known where trees tell it, as
// plain downloads have it.
func (r *Request) refusesMeasured(ctx context.Context, content *Content) *Error {
	if failure := r.refuses(content); failure != nil {
		return failure
	}
	if err := content.Measure(ctx); err != nil {
		return asError(err, content.URI)
	}
	return r.refuses(content)
}

func streamURI(r *Request) (string, *Error) {
	var params map[string]json.RawMessage
	var uri string
	if json.Unmarshal(r.Params, &params) != nil || json.Unmarshal(params[paramURI], &uri) != nil {
		return "", internal(errors.New("params were not checked"))
	}
	if !r.Stream.Declared {
		failure := &Error{
			Reason:  ReasonCapability,
			Message: `Declare the client capability resourceStreaming, for example {"resourceStreaming":{"maxStreamSize":1073741824}}, before using resources/stream.`,
			Data:    map[string]any{"requiredCapabilities": map[string]any{"resourceStreaming": map[string]any{}}},
		}
		return "", failure.with("uri", uri)
	}
	if r.Stream.BadSize {
		failure := &Error{Reason: ReasonParams, Message: "The maxStreamSize of the client capability resourceStreaming must be a number of bytes, 1 or more. Leave it out to accept any size."}
		return "", failure.with("uri", uri)
	}
	return uri, nil
}

// refuses says why a content cannot be streamed to the client, or nil.
func (r *Request) refuses(content *Content) *Error {
	if !content.Streamable {
		return (&Error{Reason: ReasonNotStreamable, Message: "The resource is a description, not a file or an archive. Use resources/read for it."}).with("suggestion", methodRead)
	}
	if limit := r.Stream.MaxSize; limit > 0 && content.Size > limit {
		failure := &Error{Reason: ReasonTooLarge, Message: fmt.Sprintf("The resource has %d bytes, more than the maxStreamSize of %d that the client declared. Declare a larger one.", content.Size, limit)}
		return failure.with("size", content.Size).with("limit", limit)
	}
	if limit := r.Stream.MaxSize; limit > 0 && content.Size == UnknownSize && content.AtLeast > limit {
		failure := &Error{Reason: ReasonTooLarge, Message: fmt.Sprintf("The resource has more bytes than the maxStreamSize of %d that the client declared: an earlier stream got that far. Declare a larger one.", limit)}
		return failure.with("limit", limit)
	}
	return nil
}
