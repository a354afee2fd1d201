package duplex

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// take handles a message. Only requests go to other goroutines: messages after an initialize or a
// notification may depend on it.
func (c *Conversation) take(ctx context.Context, body []byte) {
	messages, batch, failure := mcp.ParseMessages(body)
	if failure == nil && !batch && !messages[0].IsRequest() {
		c.client.Notified(ctx, messages[0]) // the requests that it cancels may hold all slots, or delay the end
		c.noticed(ctx, messages[0])
		return
	}
	if !c.enter() {
		return
	}
	var work func()
	if failure != nil {
		c.refuse(ctx, &mcp.Request{Message: mcp.Message{ID: mcp.IDOf(messages)}, Era: mcp.SessionEra}, failure)
	} else {
		work = c.begin(ctx, messages, batch)
	}
	if work == nil {
		c.running.Done()
		return
	}
	c.helpers.Go(func() {
		defer c.running.Done()
		work()
	})
}

// begin waits until there is room for requests, starts them, and returns the work that remains.
func (c *Conversation) begin(ctx context.Context, messages []mcp.Message, batch bool) (rest func()) {
	if !c.await(ctx) {
		return nil
	}
	free := sync.OnceFunc(func() { <-c.slots })
	var work func()
	if batch {
		work = c.batch(ctx, messages)
	} else {
		work = c.single(ctx, messages[0], free)
	}
	if work == nil {
		free()
		return nil
	}
	return func() {
		defer free()
		work()
	}
}

// single starts one request and returns the work that remains. A stream of notifications does not
// keep its slot, since it lasts: the number of such streams has a limit of its own.
func (c *Conversation) single(ctx context.Context, message mcp.Message, free func()) (work func()) {
	ctx, _ = resources.WithAccount(ctx, c.options.Stages)
	ctx, release := limits.WithKept(ctx)
	request, failure := c.client.Admit(message)
	request.Mode, request.AcceptsBinary = c.options.Mode, true
	var call *mcp.Call
	running, end := context.WithCancel(ctx)
	if failure == nil {
		call, failure = c.client.Start(running, request)
	}
	if failure != nil {
		end()
		c.refuse(ctx, request, failure)
		return nil
	}
	work = func() {
		defer release()
		defer end()
		defer call.End()
		if request.IsListen() {
			free()
			defer context.AfterFunc(c.draining, end)()
		}
		c.reply(ctx, request, call, free)
	}
	if message.Method == mcp.MethodInitialize {
		work()
		return nil
	}
	return work
}

// batch handles several messages. They are answered one after the other, so that only one reply is
// in memory, and nothing else is written meanwhile. Versions after 2025-03-26 have no batches.
func (c *Conversation) batch(ctx context.Context, messages []mcp.Message) (work func()) {
	admitted := make([]*mcp.Request, len(messages))
	for i, message := range messages {
		request, failure := c.client.Admit(message)
		if failure == nil {
			failure = request.AdmitBatched()
		}
		if failure != nil {
			c.refuse(ctx, &mcp.Request{Message: mcp.Message{Method: message.Method}, Era: request.Era}, failure)
			return nil
		}
		admitted[i] = request
	}
	var replies []func() []byte
	for _, request := range admitted {
		if !request.IsRequest() {
			c.client.Notified(ctx, request.Message)
			c.noticed(ctx, request.Message)
			continue
		}
		ctx, _ := resources.WithAccount(ctx, c.options.Stages)
		call, failure := c.client.Start(ctx, request)
		replies = append(replies, func() []byte {
			ctx, release := limits.WithKept(ctx)
			defer release()
			if failure != nil {
				return bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))
			}
			start := time.Now()
			reply, outcome := c.answer(ctx, request, call)
			call.End()
			c.log(ctx, request, outcome, int64(len(reply.Message)), time.Since(start))
			return reply.Message
		})
	}
	if replies == nil {
		return nil
	}
	return func() {
		_ = c.message(ctx, func(w io.Writer) error { // a failure has ended the connection
			_, err := mcp.WriteBatch(w, func(yield func([]byte) bool) {
				for _, reply := range replies {
					if text := reply(); text != nil && !yield(text) { // nil: it was cancelled
						return
					}
				}
			})
			return err
		})
	}
}

// reply answers a request and sends the streams that its reply names. A stream that waits for its
// client does not keep the slot.
func (c *Conversation) reply(ctx context.Context, request *mcp.Request, call *mcp.Call, free func()) {
	start := time.Now()
	reply, outcome := c.answer(ctx, request, call)
	length := int64(len(reply.Message))
	defer func() { c.log(ctx, request, outcome, length, time.Since(start)) }()
	if reply.Message == nil {
		return
	}
	if reply.Attachments.Bare() {
		call.End() // the rest cannot be cancelled
		defer c.close(nil, reply.Attachments)
		sent, whole := c.sendBare(ctx, reply)
		if length += sent; !whole {
			outcome = mcp.OutcomeAborted
		}
		return
	}
	streams := c.open(call, reply.Attachments)
	defer c.close(streams, reply.Attachments)
	if len(streams) == 0 {
		call.End()
	}
	if c.write(ctx, reply.Message) != nil || len(streams) == 0 {
		return // a failure has ended the connection
	}
	free()
	defer resources.AccountOf(ctx).Stage("send")()
	sent, whole := c.carry(ctx, call, streams)
	length += sent
	if !whole {
		outcome = mcp.OutcomeAborted
	}
}

// answer runs a request. A panic fails the request, not the server.
func (c *Conversation) answer(
	ctx context.Context, request *mcp.Request, call *mcp.Call,
) (reply mcp.Reply, outcome string) {
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Logger.Error("a handler panicked", "panic", cause)
			failure := resources.Internal(nil)
			reply = mcp.Reply{Message: bytes.TrimSpace(mcp.ErrorReply(request.ID, failure, request.Era))}
			outcome = mcp.OutcomePanicked
		}
	}()
	reply = call.Answer(func(notification []byte) error { return c.write(ctx, notification) })
	return reply, mcp.OutcomeOf(resources.AccountOf(ctx))
}
