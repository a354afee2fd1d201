package duplex

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// noticed logs a notification, which takes no time. Replies of the client are not logged.
func (c *Conversation) noticed(ctx context.Context, message mcp.Message) {
	if message.IsReply() {
		return
	}
	c.log(ctx, &mcp.Request{Message: message, Version: c.client.Protocol()}, mcp.OutcomeDone, 0, 0)
}

// refuse replies with a failure to a message that is not handled, and logs it.
func (c *Conversation) refuse(ctx context.Context, request *mcp.Request, failure *mcp.Error) {
	start := time.Now()
	resources.AccountOf(ctx).Fail(mcp.Code(failure, request.Era))
	length := c.fail(ctx, request.ID, failure, request.Era)
	c.log(ctx, request, mcp.OutcomeError, length, time.Since(start))
}

// tellOfEnd reports the end of the connection to the observer, if it was a session.
func (c *Conversation) tellOfEnd(began time.Time) {
	if version := c.client.Protocol(); version != "" && c.options.Observer != nil {
		c.options.Observer.Session(mcp.Session{
			Transport: c.options.Transport, Version: version, Took: time.Since(began), Origin: c.options.Origin,
		})
	}
}

// log writes one line per message, and reports it to the observer.
func (c *Conversation) log(
	ctx context.Context, request *mcp.Request, outcome string, length int64, took time.Duration,
) {
	account := resources.AccountOf(ctx)
	if c.options.Observer != nil {
		c.options.Observer.Message(mcp.Exchange{
			Transport: c.options.Transport, Method: request.Method, Tool: account.Summary().Tool,
			Outcome: outcome, Bytes: length, Took: took,
			Details: mcp.Details{Request: request, Account: account, Origin: c.options.Origin},
		})
	}
	attributes := []slog.Attr{
		c.options.Place, slog.String("rpc", strings.ToValidUTF8(resources.ClipLong(request.Method), "\uFFFD")),
		slog.String("outcome", outcome), slog.Int64("bytes", length), slog.Float64("seconds", took.Seconds()),
	}
	attributes = append(append(attributes, account.Attributes()...), c.options.From...)
	c.options.Logger.LogAttrs(ctx, slog.LevelInfo, "request", attributes...)
}
