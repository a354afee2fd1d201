package duplex

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// take handles what was read, and has the slot given back. Only requests are
// left to other goroutines: what follows an initialize or a notification may
// depend on it.
func (c *Conversation) take(ctx context.Context, body []byte) {
	free := sync.OnceFunc(func() { <-c.slots })
	if !c.enter() {
		free()
		return
	}
	messages, batch, failure := mcp.ParseMessages(body)
	var work func()
	switch {
	case failure != nil:
		c.fail(ctx, nil, failure, mcp.SessionEra)
	case batch:
		work = c.batch(ctx, messages)
	default:
		work = c.single(ctx, messages[0], free)
	}
	finish := func() {
		free()
		c.running.Done()
	}
	if work == nil {
		finish()
		return
	}
	c.helpers.Go(func() {
		defer finish()
		work()
	})
}

// single handles one message and returns what is left to do. A stream of
// notifications lasts, and so does not keep its slot: their number has a limit
// of its own.
func (c *Conversation) single(ctx context.Context, message mcp.Message, free func()) (work func()) {
	ctx, _ = resources.WithAccount(ctx)
	if !message.IsRequest() {
		c.client.Notified(message)
		return nil
	}
	request, failure := c.client.Admit(message)
	var answer mcp.Answer
	running, end := context.WithCancel(ctx)
	if failure == nil {
		answer, failure = c.client.Start(running, request)
	}
	if failure != nil {
		end()
		c.fail(ctx, message.ID, failure, request.Era)
		return nil
	}
	work = func() {
		defer end()
		if request.IsListen() {
			free()
			defer context.AfterFunc(c.draining, end)()
		}
		if reply := c.answer(ctx, request, answer); reply != nil {
			_ = c.write(ctx, reply) // a failure has ended the connection
		}
	}
	if message.Method == mcp.MethodInitialize {
		work()
		return nil
	}
	return work
}

// batch handles several messages. They are answered one after the other, so that
// no more than one reply is in memory, and nothing else is written meanwhile.
// Later versions than 2025-03-26 have no batches.
func (c *Conversation) batch(ctx context.Context, messages []mcp.Message) (work func()) {
	admitted := make([]*mcp.Request, len(messages))
	for i, message := range messages {
		request, failure := c.client.Admit(message)
		if failure == nil {
			failure = request.AdmitBatched()
		}
		if failure != nil {
			c.fail(ctx, nil, failure, request.Era)
			return nil
		}
		admitted[i] = request
	}
	var replies []func() []byte
	for _, request := range admitted {
		if !request.IsRequest() {
			c.client.Notified(request.Message)
			continue
		}
		ctx, _ := resources.WithAccount(ctx)
		answer, failure := c.client.Start(ctx, request)
		replies = append(replies, func() []byte {
			if failure != nil {
				return bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))
			}
			return c.answer(ctx, request, answer)
		})
	}
	if replies == nil {
		return nil
	}
	return func() { _ = c.message(ctx, joined(replies)) } // a failure has ended the connection
}

// joined writes the replies that there are as an array.
func joined(replies []func() []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		separator := "["
		for _, reply := range replies {
			text := reply()
			if text == nil {
				continue
			}
			if _, err := w.Write(append([]byte(separator), text...)); err != nil {
				return err
			}
			separator = ","
		}
		if separator == "[" {
			return nil // all were cancelled
		}
		_, err := w.Write([]byte("]"))
		return err
	}
}

// The outcomes of a request, as the log has them.
const (
	outcomeDone     = "done"
	outcomeError    = "error" // the reply says that something failed
	outcomePanicked = "panicked"
)

// answer runs a request. What panics is one request, not the server.
func (c *Conversation) answer(ctx context.Context, request *mcp.Request, answer mcp.Answer) (reply []byte) {
	start, outcome := time.Now(), outcomePanicked
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Logger.Error("a handler panicked", "panic", cause)
			failure := &mcp.Error{
				Reason:  resources.ReasonInternal,
				Message: "Internal error. Try again; the operator finds the cause in the server's log.",
			}
			reply = bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))
		}
		c.log(ctx, request.Method, outcome, len(reply), time.Since(start))
	}()
	reply = answer(func(notification []byte) error { return c.write(ctx, notification) })
	outcome = outcomeDone
	if resources.AccountOf(ctx).Failed() {
		outcome = outcomeError
	}
	return reply
}

// log writes one line per request, and has it counted.
func (c *Conversation) log(ctx context.Context, method, outcome string, length int, took time.Duration) {
	if observe := c.options.Observe; observe != nil {
		observe(method, resources.AccountOf(ctx).Tool(), outcome, length, took)
	}
	attributes := []slog.Attr{
		c.options.Place, slog.String("rpc", strings.ToValidUTF8(resources.ClipLong(method), "\uFFFD")),
		slog.String("outcome", outcome), slog.Int("bytes", length), slog.Float64("seconds", took.Seconds()),
	}
	attributes = append(append(attributes, resources.AccountOf(ctx).Attributes()...), c.options.From...)
	c.options.Logger.LogAttrs(ctx, slog.LevelInfo, "request", attributes...)
}
