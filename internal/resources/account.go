package resources

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Account is what the log says of a request beside its HTTP: what was asked for,
// and whether it was had. Who serves the request fills it in.
type Account struct {
	mu                            sync.Mutex
	tool, repository, ref, commit string
	failed                        bool
}

type keyAccount struct{}

// WithAccount gives a request's context an account.
func WithAccount(ctx context.Context) (context.Context, *Account) {
	a := &Account{}
	return context.WithValue(ctx, keyAccount{}, a), a
}

// AccountOf is the account of a context, or one that nobody reads.
func AccountOf(ctx context.Context) *Account {
	if a, ok := ctx.Value(keyAccount{}).(*Account); ok {
		return a
	}
	return &Account{}
}

// Fail says that the request is answered with an error. Nobody need have asked
// for an account.
func (a *Account) Fail() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

// account changes the account of a request.
func account(ctx context.Context, change func(*Account)) {
	a := AccountOf(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

// Failed reports whether the request was answered with an error of MCP or of a
// tool, which HTTP knows nothing of.
func (a *Account) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Attributes are the facts for a line of the log, without those that nobody
// knows.
func (a *Account) Attributes() []slog.Attr {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []slog.Attr
	for _, fact := range []struct{ name, value string }{{"tool", a.tool}, {"repository", a.repository}, {"ref", a.ref}, {"commit", a.commit}} {
		if fact.value != "" {
			list = append(list, slog.String(fact.name, clip(text(fact.value))))
		}
	}
	return list
}

// Accounted makes tools tell of their calls.
func Accounted(tools []server.ServerTool) []server.ServerTool {
	list := make([]server.ServerTool, len(tools))
	for i, tool := range tools {
		list[i] = tool
		list[i].Handler = func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			account(ctx, func(a *Account) {
				a.tool, a.repository = request.Params.Name, request.GetString("repo", "")
				a.ref = request.GetString("ref", request.GetString("sha", ""))
			})
			result, err := tool.Handler(ctx, request)
			account(ctx, func(a *Account) { a.failed = a.failed || err != nil || result != nil && result.IsError })
			return result, err
		}
	}
	return list
}
