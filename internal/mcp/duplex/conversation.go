package duplex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// requests is how many requests of a connection run at a time. The next one waits, and later input
// waits in the client. A request whose reply was sent no longer counts: its streams have a limit of
// their own.
const requests = 16

// ErrEnd says that the client sends nothing more, but still reads.
var ErrEnd = errors.New("the client sends nothing more")

// Transport carries the messages of one client.
type Transport interface {
	// Read waits for the next message. An [*mcp.Error] is reported to the client, and the next
	// message is read. After [ErrEnd] the requests in flight are answered; any other error ends the
	// connection.
	Read(ctx context.Context) ([]byte, error)
	// Write sends the output of fill as one message, or nothing if the output is empty. It is not
	// called concurrently, nor after a failure: half a message cannot be followed by another.
	Write(ctx context.Context, fill func(io.Writer) error) error
	// Open registers a stream whose message is about to be sent. cancel ends the stream early, and
	// its cause is what the client is told.
	Open(ref binary.Ref, cancel context.CancelCauseFunc) Stream
	// Bare begins a stream of which only the bytes are sent, right after the message that names it,
	// and returns the writer of the bytes. Bare and the writes are called under the rules of Write.
	Bare(ctx context.Context, declared binary.Ref) (io.Writer, error)
	// Fail ends the connection because a bare stream broke: the client has no other way to see
	// that.
	Fail(err error)
	// Leave is called once all requests have been answered and no more are accepted. Write is not
	// called again, and messages from Read are ignored. A waiting Read has to fail then.
	Leave()
}

// Options of a [Conversation]. All but Beside and From are required.
type Options struct {
	Client *mcp.Connection
	// Mode is how the transport carries streams.
	Mode binary.Mode
	// Stopping ends when the server is about to stop: the requests in flight are answered then, and
	// later ones are not.
	Stopping context.Context
	// Beside runs until its context ends with the connection.
	Beside func(ctx context.Context)
	Logger *slog.Logger
	// Place and From describe the connection and its client in the log.
	Place slog.Attr
	From  []slog.Attr
	// Observer is told of each handled message, and of the end of the session; it may be nil. It
	// gets Transport and Origin as the source of messages, and with Stages also what they spent
	// their time on.
	Observer  mcp.Observer
	Transport string
	Origin    mcp.Origin
	Stages    bool
}

// Conversation serves one connection.
type Conversation struct {
	options   Options
	client    *mcp.Connection
	transport Transport

	draining context.Context // Stopping, or the end of the client's input
	drain    context.CancelFunc
	end      context.CancelFunc // of the connection and all its goroutines
	helpers  *panics.Group
	slots    chan struct{} // taken by running requests
	stalls   atomic.Int64  // odd while the reader waits for a slot
	turn     chan struct{} // held from the first to the last byte of a message
	left     chan struct{} // closed when the connection has been left

	mu       sync.Mutex
	running  sync.WaitGroup // added to with mu held, and not after the stop
	stopping bool
}

// New makes a conversation; Serve has to follow.
func New(options Options, transport Transport) *Conversation {
	return &Conversation{
		options: options, client: options.Client, transport: transport,
		slots: make(chan struct{}, requests), turn: make(chan struct{}, 1),
		left: make(chan struct{}),
	}
}

// Writing reports whether a message is being written.
func (c *Conversation) Writing() bool { return len(c.turn) > 0 }

// Stalls counts how often reading began and ceased to wait for running requests: it is odd while
// reading waits.
func (c *Conversation) Stalls() int64 { return c.stalls.Load() }

// Serve reads until the connection ends, and returns when none of its goroutines runs any more. The
// error is that of the last Read, or nil after [ErrEnd]; the end of ctx ends everything at once.
func (c *Conversation) Serve(ctx context.Context) error {
	defer c.tellOfEnd(time.Now())
	ctx, c.end = context.WithCancel(ctx)
	c.draining, c.drain = context.WithCancel(c.options.Stopping)
	defer c.drain()
	defer c.client.Close()
	c.helpers = panics.NewGroup(c.end)
	defer c.helpers.Wait()
	defer c.running.Wait()
	defer c.end()
	c.helpers.Go(func() { c.client.Pump(ctx, func(message []byte) error { return c.write(ctx, message) }) })
	c.helpers.Go(func() { c.leave(ctx) })
	if c.options.Beside != nil {
		c.helpers.Go(func() { c.options.Beside(ctx) })
	}
	return c.readAll(ctx)
}

func (c *Conversation) readAll(ctx context.Context) error {
	for ctx.Err() == nil {
		body, err := c.transport.Read(ctx)
		var refusal *mcp.Error
		switch {
		case err == nil:
			c.take(ctx, body)
		case errors.As(err, &refusal):
			c.refuse(ctx, &mcp.Request{Era: mcp.SessionEra}, refusal)
		case errors.Is(err, ErrEnd):
			c.drain()
			select {
			case <-c.left:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			return err
		}
	}
	return ctx.Err()
}

// await takes a slot for a request.
func (c *Conversation) await(ctx context.Context) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	c.stalls.Add(1)
	defer c.stalls.Add(1)
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// enter counts a message that is about to be handled, unless the server stops: later messages get
// no reply, and the client is told why.
func (c *Conversation) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.running.Add(1)
	}
	return !c.stopping
}

// stop makes enter refuse all further messages.
func (c *Conversation) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
}

// leave ends the connection once the server stops, or the client sends nothing more, and all
// requests in flight have been answered.
func (c *Conversation) leave(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-c.draining.Done():
	}
	c.stop()
	c.running.Wait()
	select {
	case c.turn <- struct{}{}: // held for ever
		c.transport.Leave()
		close(c.left)
	case <-ctx.Done():
	}
}

// write sends one message.
func (c *Conversation) write(ctx context.Context, message []byte) error {
	return c.message(ctx, fill(message))
}

// fill returns a function that writes a given message.
func fill(message []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(message)
		return err
	}
}

func (c *Conversation) message(ctx context.Context, fill func(io.Writer) error) error {
	return c.inTurn(ctx, func() error { return c.transport.Write(ctx, fill) })
}

// inTurn sends something when it is its turn. Goroutines that wait for a channel are served in
// order of arrival, so a busy sender cannot starve others. A failure ends the connection, since
// nothing can follow half a message; so ctx has to be that of the connection and not of a request.
func (c *Conversation) inTurn(ctx context.Context, send func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	whole := false // also after a panic
	defer func() {
		if !whole {
			c.end()
		}
		<-c.turn
	}()
	if ctx.Err() != nil {
		return ctx.Err() // the previous sender may have failed
	}
	err := send()
	whole = err == nil
	return err
}

// fail replies with a JSON-RPC error, and returns its length.
func (c *Conversation) fail(ctx context.Context, id json.RawMessage, failure *mcp.Error, era mcp.Era) int64 {
	reply := bytes.TrimSpace(mcp.ErrorReply(id, failure, era))
	_ = c.write(ctx, reply) // a failure has ended the connection
	return int64(len(reply))
}
