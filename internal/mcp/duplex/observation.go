package duplex

import (
	"context"
	"time"

	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// account gives a request an account, with its stages where somebody wants them.
func (c *Conversation) account(ctx context.Context) context.Context {
	ctx, account := resources.WithAccount(ctx)
	if c.options.Stages {
		account.KeepStages()
	}
	return ctx
}

// tell has the observer know what became of a message.
func (c *Conversation) tell(
	ctx context.Context, request *mcp.Request, outcome string, length int64, took time.Duration,
) {
	if c.options.Observer == nil {
		return
	}
	account := resources.AccountOf(ctx)
	c.options.Observer.Message(mcp.Exchange{
		Transport: c.options.Transport, Method: request.Method, Tool: account.Facts().Tool, Outcome: outcome, Bytes: length,
		Took: took, Details: mcp.Details{Request: request, Account: account, Origin: c.options.Origin},
	})
}

// noticed logs a notification, which takes no time. What a client answers to the server
// is none.
func (c *Conversation) noticed(ctx context.Context, message mcp.Message) {
	if message.IsReply() {
		return
	}
	c.log(ctx, &mcp.Request{Message: message, Version: c.client.Protocol()}, mcp.OutcomeDone, 0, 0)
}

// refuse replies to a message that is not answered, and logs it.
func (c *Conversation) refuse(ctx context.Context, request *mcp.Request, failure *mcp.Error) {
	start := time.Now()
	resources.AccountOf(ctx).Fail(mcp.Code(failure, request.Era))
	length := c.fail(ctx, request.ID, failure, request.Era)
	c.log(ctx, request, mcp.OutcomeError, length, time.Since(start))
}

// tellOfEnd has the observer know that the connection has ended, if it was a session.
func (c *Conversation) tellOfEnd(began time.Time) {
	if version := c.client.Protocol(); version != "" && c.options.Observer != nil {
		c.options.Observer.Session(mcp.Session{
			Transport: c.options.Transport, Version: version, Took: time.Since(began), Origin: c.options.Origin,
		})
	}
}
