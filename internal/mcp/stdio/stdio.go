package stdio

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/duplex"
)

const (
	// maxMessageBytes is the limit of the other transports. MCP's requests are a few hundred bytes.
	maxMessageBytes = 1 << 20
	// bufferBytes is the capacity of a pipe in Linux.
	bufferBytes = 64 << 10
	// defaultDrain is long enough for a slow answer. Clients that want the process to end sooner
	// send SIGTERM.
	defaultDrain = 30 * time.Second
	// transport is the name in the log, and for observers.
	transport = "stdio"
)

// Options of [Serve]. MCP, In and Out are required.
type Options struct {
	// MCP answers messages.
	MCP *mcp.Server
	// In and Out are the client's. A Read or Write that blocks is abandoned once Serve has to
	// return: close both, or end the process.
	In  io.Reader
	Out io.Writer
	// Drain is how long requests may take after the end of the input, or of the context; 0 means 30
	// s.
	Drain time.Duration
	// Observer is told of messages; it may be nil. With Stages it also gets what they spent their
	// time on.
	Observer mcp.Observer
	Stages   bool
	Logger   *slog.Logger
}

var (
	errLeft = errors.New("all has been answered")
	errGone = errors.New("the client reads no more")
)

// ErrCutOff says that requests were in flight when the time was up.
var ErrCutOff = errors.New("requests were cut off")

// Serve answers a client until its input ends, it reads no more, or ctx ends, and first answers the
// requests in flight. It fails when it could not answer one, or when a stream breaks.
func Serve(ctx context.Context, options Options) error {
	options.Drain = cmp.Or(options.Drain, defaultDrain)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	p := &pipes{
		lines: lines{bufio.NewReaderSize(options.In, bufferBytes), maxMessageBytes},
		out:   options.Out, buffer: bufio.NewWriterSize(nil, bufferBytes),
		drain: options.Drain, running: running, end: end,
	}
	defer context.AfterFunc(ctx, p.hurry)()
	err := duplex.New(duplex.Options{
		Client: options.MCP.Connect("", ""), Mode: binary.ModeChunks, Stopping: ctx, Logger: options.Logger,
		Place: slog.String("transport", transport), Transport: transport, Observer: options.Observer,
		Stages: options.Stages,
	}, p).Serve(running)
	switch cause := context.Cause(running); {
	case errors.Is(cause, errLeft):
		return nil
	case errors.Is(cause, errGone):
		options.Logger.Info("the client reads no more")
		return nil
	case cause != nil:
		return cause
	default:
		return err
	}
}

// pipes is the pair of streams. It implements [duplex.Transport].
type pipes struct {
	lines   lines
	out     io.Writer
	buffer  *bufio.Writer
	drain   time.Duration
	running context.Context // until the client is no longer served
	end     context.CancelCauseFunc

	hurried atomic.Bool
}

// hurry bounds how long the requests in flight may take. A client that closes its input and sends a
// signal as well wants no more answers.
func (p *pipes) hurry() {
	if !p.hurried.CompareAndSwap(false, true) {
		p.end(ErrCutOff)
		return
	}
	timer := time.AfterFunc(p.drain, func() { p.end(ErrCutOff) })
	context.AfterFunc(p.running, func() { timer.Stop() })
}

// Read implements [duplex.Transport].
func (p *pipes) Read(ctx context.Context) ([]byte, error) {
	line, err := wait(ctx, p.lines.next)
	switch {
	case errors.Is(err, errLong):
		return nil, &mcp.Error{Reason: mcp.ReasonRequest, Message: fmt.Sprintf("The message has more than %d bytes, "+
			"and was passed over. Send less at a time.", p.lines.most)}
	case errors.Is(err, io.EOF):
		p.hurry()
		return nil, duplex.ErrEnd
	case err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("reading from the client: %w", err)
	default:
		return line, err
	}
}

// Write implements [duplex.Transport].
func (p *pipes) Write(ctx context.Context, fill func(io.Writer) error) error {
	line := &lineWriter{ctx: ctx, out: p.out}
	p.buffer.Reset(line)
	err := fill(p.buffer)
	if err == nil && (p.buffer.Buffered() > 0 || line.begun) {
		_ = p.buffer.WriteByte('\n') // Flush returns the error again
		err = p.buffer.Flush()
	}
	return p.endIf(ctx, err)
}

// endIf ends the connection when nothing more can be written.
func (p *pipes) endIf(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		p.end(errGone)
	default:
		p.end(fmt.Errorf("writing to the client: %w", err))
	}
	return err
}

// Leave implements [duplex.Transport].
func (p *pipes) Leave() { p.end(errLeft) }

// lineWriter writes until a context ends.
type lineWriter struct {
	ctx   context.Context
	out   io.Writer
	begun bool
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.begun = true
	return wait(w.ctx, func() (int, error) { return w.out.Write(b) })
}

// wait returns the result of a function that cannot be interrupted, or fails when ctx ends first.
// The function is then abandoned, and its result is not used.
func wait[T any](ctx context.Context, function func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = panics.Catch(func() (err error) {
			o.value, err = function()
			return err
		})
		done <- o
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
