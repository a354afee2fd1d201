package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/resources"
)

// streamable marks resources that resources/stream serves, as members of _meta; nil if the method
// is not available.
func (s *Server) streamable() map[string]any {
	if !s.resources.Downloads() {
		return nil
	}
	return map[string]any{resources.MetaStreamable: true}
}

// howToFetch names the method that fetches large content.
func (s *Server) howToFetch() string {
	if s.resources.Downloads() {
		return "Download it with resources/stream."
	}
	return fmt.Sprintf("Read it with resources/read, which returns up to %d bytes.", s.options.ReadLimit)
}

// Stream has the bytes that answer a resources/stream request (SEP-2532).
type Stream struct {
	*resources.Body
	// Redirects says that the client may be sent to where the bytes are kept.
	Redirects bool
}

// Close releases the bytes and the resource.
func (s *Stream) Close() error { return errors.Join(s.Body.Close(), s.Found.Close()) }

// Stream answers a resources/stream request: with bytes in [Reply.Stream], or with a message, which
// has a link or an error. acceptsBytes reports whether the request admits bytes of a type; nil
// means that the transport has no place for bytes.
func (s *Server) Stream(ctx context.Context, r *Request, acceptsBytes func(mimeType string) bool) Reply {
	if failure := r.refusesStreams(); failure != nil {
		return r.reply(ctx, nil, failure.With(paramURI, r.Params.URI))
	}
	found, err := s.resources.Find(ctx, r.Params.URI)
	if err != nil {
		return r.reply(ctx, nil, s.resources.Failure(ctx, err, r.Params.URI))
	}
	stream, link, failure := s.deliver(ctx, r, found, acceptsBytes)
	if stream != nil {
		return Reply{Stream: stream}
	}
	s.close(ctx, found)
	return r.reply(ctx, link, failure)
}

// deliver opens what was found, or makes a link to it.
func (s *Server) deliver(
	ctx context.Context, r *Request, found *resources.Found, acceptsBytes func(mimeType string) bool,
) (*Stream, any, *Error) {
	if !found.Streamable {
		return nil, nil, (&Error{Reason: ReasonNotStreamable, Message: "The resource is a description, not a file or " +
			"an archive. Use resources/read for it."}).With("suggestion", MethodRead)
	}
	want := resources.Want{Limit: r.Stream.MaxSize}
	look, err := found.Open(ctx, want)
	if err != nil {
		return nil, nil, s.refusesStream(ctx, err, found)
	}
	s.close(ctx, look)
	way, failure := DeliveryURL, (*Error)(nil)
	if acceptsBytes != nil {
		way, failure = s.deliveryOf(ctx, r, acceptsBytes(look.MIMEType))
	}
	if failure != nil {
		return nil, nil, failure
	}
	if way == DeliveryURL {
		link, failure := s.link(ctx, r, look)
		return nil, link, failure
	}
	want.Method = resources.Get
	body, err := found.Open(ctx, want)
	if err != nil {
		return nil, nil, s.refusesStream(ctx, err, found)
	}
	return &Stream{body, way != DeliveryDirect}, nil, nil
}

func (s *Server) close(ctx context.Context, content io.Closer) {
	if err := content.Close(); err != nil {
		s.logger.ErrorContext(ctx, "closing a resource failed", "error", err)
	}
}

// refusesStreams returns why the client gets no stream at all, or nil.
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

// refusesStream returns why what was found cannot be streamed to the client.
func (s *Server) refusesStream(ctx context.Context, err error, found *resources.Found) *Error {
	excess := (*resources.TooLargeError)(nil)
	if !errors.As(err, &excess) {
		return s.resources.Failure(ctx, err, found.URI)
	}
	failure := &Error{Reason: resources.ReasonTooLarge}
	if excess.Size == resources.UnknownSize {
		failure.Message = fmt.Sprintf("The resource has more bytes than the maxStreamSize of %d that the client "+
			"declared: an earlier stream got that far. Declare a larger one.", excess.Limit)
	} else {
		failure = failure.With("size", excess.Size)
		failure.Message = fmt.Sprintf("The resource has %d bytes, more than the maxStreamSize of %d that the client "+
			"declared. Declare a larger one.", excess.Size, excess.Limit)
	}
	return failure.With("limit", excess.Limit)
}
