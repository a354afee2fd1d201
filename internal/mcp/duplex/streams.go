package duplex

import (
	"bufio"
	"context"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/binary"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/panics"
	"github.com/repomcp/repomcp/internal/resources"
)

// Stream is how a [Transport] carries the bytes of one attachment. All but Credit
// and Close send something, and are called as [Transport.Write] is: one at a time,
// among messages and other streams as well, and not after a failure.
type Stream interface {
	// Credit waits until bytes may be sent, and takes some of them: at least 1, at
	// most as many as are asked for, and no more than may be sent at once. Its error
	// is what the client is told.
	Credit(ctx context.Context, most int) (int, error)
	// Data sends bytes. They are the caller's once it returned.
	Data(ctx context.Context, p []byte) error
	// End says that all bytes were sent.
	End(ctx context.Context, whole binary.Ref) error
	// Abort says that no more bytes come, and what to do.
	Abort(ctx context.Context, words string) error
	// Close forgets the stream.
	Close()
}

// stream is one that a reply names.
type stream struct {
	Stream
	attachment *resources.Attachment
	ctx        context.Context // until it is cancelled
	cancel     context.CancelCauseFunc
}

// open makes the streams of a reply known: a client may answer as soon as it has the
// message.
func (c *Conversation) open(call *mcp.Call, attachments *resources.Attachments) []stream {
	var streams []stream
	for _, attachment := range attachments.List() {
		ctx, cancel := context.WithCancelCause(call.Context())
		streams = append(streams, stream{c.transport.Open(attachment.Ref, cancel), attachment, ctx, cancel})
	}
	return streams
}

func (c *Conversation) close(streams []stream, attachments *resources.Attachments) {
	for _, s := range streams {
		s.cancel(nil)
		s.Close()
	}
	if err := attachments.Close(); err != nil {
		c.options.Logger.Error("closing a resource failed", "error", err)
	}
}

// carry sends the streams of a reply, each at the pace of its client. It returns how
// many bytes they had, and whether all are whole.
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

// send sends one stream, and how it ended, which end comes before. What panics is
// one stream, not the server.
func (c *Conversation) send(ctx context.Context, s stream, end func()) (sent int64, err error) {
	out := &pieces{conversation: c, connection: ctx, stream: s}
	var whole binary.Ref
	err = panics.Catch(func() (err error) {
		// Archives are written in small pieces, and files in large ones, which are not
		// copied.
		buffered := bufio.NewWriterSize(out, binary.MaxFrameData)
		if whole, err = s.attachment.WriteTo(s.ctx, buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if cause := context.Cause(s.ctx); err != nil && cause != nil {
		err = cause // whatever it has led to
	}
	end()
	if err == nil {
		return out.sent, c.inTurn(ctx, func() error { return s.End(ctx, whole) })
	}
	words := resources.AsError(err, s.attachment.Name()).Message
	_ = c.inTurn(ctx, func() error { return s.Abort(ctx, words) }) // a failure has ended the connection
	return out.sent, err
}

// sendBare sends a reply and the bytes of its streams in one turn: a client that knows
// the RFC alone finds a stream by its place after the message. It returns how many bytes
// the whole streams had, and whether all are whole.
func (c *Conversation) sendBare(ctx context.Context, reply mcp.Reply) (sent int64, whole bool) {
	defer resources.AccountOf(ctx).Stage("send")()
	err := c.inTurn(ctx, func() error {
		if err := c.transport.Write(ctx, fill(reply.Message)); err != nil {
			return err
		}
		for _, attachment := range reply.Attachments.List() {
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

// writeBare writes one stream. What panics is that stream, not the server.
func (c *Conversation) writeBare(ctx context.Context, attachment *resources.Attachment) error {
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

// pieces sends what is written to it, piece by piece, each of which waits for its
// turn.
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
