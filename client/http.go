package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// overHTTP sends each message in a separate request. It implements [transport].
type overHTTP struct{ c *Client }

func (h overHTTP) close() error { return nil }

// post sends a message with additional headers. p is the part of the bytes that is wanted.
func (h overHTTP) post(ctx context.Context, s session, m outgoing, p part, header map[string]string) (
	reply *http.Response, id int64, err error,
) {
	body, id := h.c.encode(s, m)
	request, err := h.c.request(ctx, s, http.MethodPost, body)
	if err != nil {
		return nil, id, err
	}
	if s.protocol == stateless {
		request.Header.Set("Mcp-Method", m.method)
		if uri, ok := m.params["uri"].(string); ok {
			request.Header.Set("Mcp-Name", headerText(uri))
		}
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if reply, err = h.c.send(request, p); err != nil {
		return nil, id, fmt.Errorf("%s: %w", m.operation(), err)
	}
	return reply, id, nil
}

func (h overHTTP) exchange(ctx context.Context, s session, m outgoing, result any) (http.Header, error) {
	reply, id, err := h.post(ctx, s, m, part{}, nil) //nolint:bodyclose // readResult closes it
	if err != nil {
		return nil, err
	}
	return reply.Header, readResult(ctx, reply, id, m.operation(), result)
}

func (h overHTTP) stream(ctx context.Context, s session, uri string, p part) (*http.Response, error) {
	m := outgoing{methodStream, map[string]any{"uri": uri}}
	reply, id, err := h.post(ctx, s, m, p, map[string]string{
		"Accept": "*/*", "Accept-Encoding": "identity", headerWanted: wantedDigest,
	})
	if err != nil {
		return nil, err
	}
	if reply.Request.Method != http.MethodPost || !isMessage(reply) {
		return bytesOf(reply, m.operation())
	}
	var result struct{ DownloadURL string }
	if err := readResult(ctx, reply, id, m.operation(), &result); err != nil {
		return nil, err
	}
	if result.DownloadURL == "" {
		return nil, &Error{Operation: m.operation(), Status: reply.StatusCode}
	}
	return h.c.openDownloadURL(ctx, result.DownloadURL, uri, p)
}

// openDownloadURL follows a downloadUrl. A relative one is resolved against the endpoint. If the
// server fails to deliver there, another downloadUrl may work (SEP-2532).
func (c *Client) openDownloadURL(ctx context.Context, to, uri string, p part) (*http.Response, error) {
	operation := "download of " + uri
	address, err := c.server.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: a downloadUrl that is no URL", operation, ErrDamaged)
	}
	reply, err := c.get(ctx, address, operation, p)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Status >= http.StatusInternalServerError {
		refused.transient = true
	}
	return reply, err
}

func (h overHTTP) beside(ctx context.Context, s session, uri string) (*http.Response, error) {
	m := reading(uri)
	reply, id, err := h.post(ctx, s, m, part{}, map[string]string{
		"Accept": typeJSON + ", " + typeEvents + ", " + binary.TypeMultipart, "Accept-Encoding": "identity",
	})
	if err != nil {
		return nil, err
	}
	if isKind(reply, binary.TypeMultipart) {
		return h.parts(ctx, reply, id, uri)
	}
	var result contents
	if err := readResult(ctx, reply, id, m.operation(), &result); err != nil {
		return nil, err
	}
	return h.c.within(uri, result)
}

// listen opens an event stream, as a long-lived reply. It has its own session, since a session has
// only one stream; subscriptions end with it.
func (h overHTTP) listen(ctx context.Context, uris []string) (events, session, error) {
	s := h.c.current()
	if s.protocol == stateless {
		reply, id, err := h.post(ctx, s, listening(uris), part{}, nil) //nolint:bodyclose // it ends with ctx
		switch {
		case err != nil:
			return nil, s, err
		case !isKind(reply, typeEvents):
			return nil, s, cmp.Or(readResult(ctx, reply, id, methodListen, nil), errNoEvents)
		}
		return newEvents(eventBody(reply), func() {}), s, nil
	}
	s, err := h.c.initialize(ctx)
	if err != nil {
		return nil, s, err
	}
	request, err := h.c.request(ctx, s, http.MethodGet, nil)
	if err != nil {
		return nil, s, err
	}
	request.Header.Set("Accept", typeEvents)
	reply, err := h.c.send(request, part{}) //nolint:bodyclose // it ends with ctx
	switch {
	case err != nil:
		return nil, s, fmt.Errorf("events: %w", err)
	case reply.StatusCode != http.StatusOK:
		return nil, s, refusal(reply, "events")
	case !isKind(reply, typeEvents):
		return nil, s, errNoEvents
	}
	return newEvents(eventBody(reply), func() {}), s, nil
}

// eventBody returns the body of an event stream, which may be silent for longer than a download.
func eventBody(reply *http.Response) io.Reader {
	if body, ok := reply.Body.(*idleTimeoutBody); ok {
		body.idle = max(body.idle, defaultIdle)
	}
	return reply.Body
}

// parts reads the message of a multipart reply, up to the bytes of the first content. It closes any
// other reply.
func (h overHTTP) parts(ctx context.Context, reply *http.Response, id int64, uri string) (*http.Response, error) {
	body, first, err := firstPart(reply, id, uri)
	if err == nil {
		whole := h.c.replyOf(uri, first, body)
		body.trailer = whole.Trailer
		return whole, nil
	}
	_ = reply.Body.Close()
	if refused, ok := errors.AsType[*Error](err); ok {
		return nil, refused
	}
	return nil, fmt.Errorf("%s: %w", reading(uri).operation(), failed(ctx, damaged(err)))
}

func firstPart(reply *http.Response, id int64, uri string) (_ *partBody, first content, err error) {
	in := &capped{Reader: reply.Body, left: maxMessage}
	parts, err := binary.NewReplyReader(in, reply.Header.Get("Content-Type"))
	if err != nil {
		return nil, first, err
	}
	text, err := parts.Message()
	if err != nil {
		return nil, first, err
	}
	in.left = math.MaxInt64 // the streams have lengths of their own
	var answer message
	if json.Unmarshal(text, &answer) != nil || !answer.answers(id) {
		return nil, first, fmt.Errorf("%w: the first part is no answer", ErrDamaged)
	}
	var result contents
	if err = answer.outcome(reply, reading(uri).operation(), &result); err == nil {
		first, err = result.first(uri)
	}
	switch {
	case err != nil:
		return nil, first, fmt.Errorf("%w: %w", ErrDamaged, err)
	case first.BinaryRef == nil:
		return nil, first, fmt.Errorf("%w: a reply of parts whose message names none", ErrDamaged)
	}
	for _, ref := range result.refs() {
		if err := parts.Expect(ref); err != nil {
			return nil, first, err
		}
	}
	stream, err := parts.Next()
	switch {
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case err == nil && stream.Stream != first.BinaryRef.Stream:
		err = fmt.Errorf("%w: its streams are not in the order of the message", ErrDamaged)
	}
	return &partBody{stream: stream, parts: parts, closer: reply.Body}, first, err
}

// partBody is a stream of a multipart reply. It ends when the reply does: a stream whose reply is
// truncated after it may have been aborted by the server.
type partBody struct {
	stream  *binary.ReplyStream
	parts   *binary.ReplyReader
	closer  io.Closer
	trailer http.Header // receives the SHA-256
}

func (b *partBody) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if errors.Is(err, io.EOF) {
		if _, behind := b.parts.Next(); behind != nil {
			err = behind // io.EOF for a complete reply
		}
		if sum := b.stream.Checksum; sum != nil {
			b.trailer.Set("Repr-Digest", reprDigest(*sum))
		}
	}
	return n, damaged(err)
}

func (b *partBody) Close() error { return b.closer.Close() }
