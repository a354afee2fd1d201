package duplex

import (
	"bufio"
	"context"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// Stream carries the bytes of one attachment over a [Transport]. All methods but Credit and Close
// send something and are called under the rules of [Transport.Write]: not concurrently with
// messages and other streams, and not after a failure.
type Stream interface {
	// Credit waits until bytes may be sent, and takes some of them: at least 1, at most as many as
	// asked for, and no more than may be sent at once. Its error is reported to the client.
	Credit(ctx context.Context, most int) (int, error)
	// Data sends bytes. It does not keep p.
	Data(ctx context.Context, p []byte) error
	// End says that all bytes were sent.
	End(ctx context.Context, whole binary.Ref) error
	// Abort says that no more bytes come, and what to do.
	Abort(ctx context.Context, words string) error
	// Close forgets the stream.
	Close()
}

// stream is a stream that a reply names.
type stream struct {
	Stream
	attachment *attachments.Attachment
	ctx        context.Context // ends when the stream is cancelled
	cancel     context.CancelCauseFunc
}

// open registers the streams of a reply: a client may answer as soon as it has the message.
func (c *Conversation) open(call *mcp.Call, list *attachments.List) []stream {
	var streams []stream
	for _, attachment := range list.All() {
		ctx, cancel := context.WithCancelCause(call.Context())
		streams = append(streams, stream{c.transport.Open(attachment.Ref, cancel), attachment, ctx, cancel})
	}
	return streams
}

func (c *Conversation) close(streams []stream, list *attachments.List) {
	for _, s := range streams {
		s.cancel(nil)
		s.Close()
	}
	if err := list.Close(); err != nil {
		c.options.Logger.Error("closing a resource failed", "error", err)
	}
}

// carry sends the streams of a reply, each at the pace of its client. It returns their number of
// bytes, and whether all are whole.
func (c *Conversation) carry(ctx context.Context, call *mcp.Call, streams []stream) (sent int64, whole bool) {
	var total, broken, over atomic.Int64
	end := func() {
		if over.Add(1) == int64(len(streams)) {
			call.End()
		}
	}
	group := panics.NewGroup(c.end)
	for _, s := range streams {
		group.Go(func() {
			n, err := c.send(ctx, s, end)
			total.Add(n)
			if err != nil {
				broken.Add(1)
				c.options.Logger.Warn("a stream was aborted", "uri", s.attachment.Name(), "bytes", n, "error", err)
			}
		})
	}
	group.Wait()
	return total.Load(), broken.Load() == 0
}

// send sends one stream and its end; end is called before that. A panic fails the stream, not the
// server.
func (c *Conversation) send(ctx context.Context, s stream, end func()) (sent int64, err error) {
	out := &pieces{conversation: c, connection: ctx, stream: s}
	var whole binary.Ref
	err = panics.Catch(func() (err error) {
		// Archives are written in small pieces; the large pieces of files are not copied.
		buffered := bufio.NewWriterSize(out, binary.MaxFrameData)
		if whole, err = s.attachment.WriteTo(s.ctx, buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if cause := context.Cause(s.ctx); err != nil && cause != nil {
		err = cause // whatever error it has caused
	}
	end()
	if err == nil {
		return out.sent, c.inTurn(ctx, func() error { return s.End(ctx, whole) })
	}
	words := resources.AsError(err, s.attachment.Name()).Message
	_ = c.inTurn(ctx, func() error { return s.Abort(ctx, words) }) // a failure has ended the connection
	return out.sent, err
}

// sendBare sends a reply and the bytes of its streams in one turn: a client that knows only the RFC
// finds a stream by its place after the message. It returns the number of bytes of the whole
// streams, and whether all are whole.
func (c *Conversation) sendBare(ctx context.Context, reply mcp.Reply) (sent int64, whole bool) {
	defer resources.AccountOf(ctx).Stage("send")()
	err := c.inTurn(ctx, func() error {
		if err := c.transport.Write(ctx, fill(reply.Message)); err != nil {
			return err
		}
		for _, attachment := range reply.Attachments.All() {
			if err := c.writeBare(ctx, attachment); err != nil {
				c.options.Logger.Warn("a stream was aborted", "uri", attachment.Name(), "error", err)
				c.transport.Fail(err)
				return err
			}
			sent += attachment.Size
		}
		return nil
	})
	return sent, err == nil
}

// writeBare writes one stream. A panic fails the stream, not the server.
func (c *Conversation) writeBare(ctx context.Context, attachment *attachments.Attachment) error {
	out, err := c.transport.Bare(ctx, attachment.Ref)
	if err != nil {
		return err
	}
	return panics.Catch(func() error {
		buffered := bufio.NewWriterSize(out, binary.MaxFrameData)
		if _, err := attachment.WriteTo(ctx, buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// pieces sends its input piece by piece, each in its turn.
type pieces struct {
	conversation *Conversation
	connection   context.Context
	stream       stream
	sent         int64
}

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (written int, err error) {
	for written < len(b) {
		n, err := p.stream.Credit(p.stream.ctx, len(b)-written)
		if err != nil {
			return written, err
		}
		piece := b[written : written+n]
		err = p.conversation.inTurn(p.connection, func() error { return p.stream.Data(p.connection, piece) })
		if err != nil {
			return written, err
		}
		written += n
		p.sent += int64(n)
	}
	return written, nil
}
