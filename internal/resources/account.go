package resources

import (
	"context"
	"log/slog"
	"sync"
)

// Account is what the log says of a request beside its HTTP: what was asked for,
// and whether it was had. Who serves the request fills it in.
type Account struct {
	mu                            sync.Mutex
	tool, repository, ref, commit string
	failed, stale                 bool
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

// Call notes which tool was called, and on what.
func (a *Account) Call(tool, repository, ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tool, a.repository, a.ref = tool, repository, ref
}

// ask notes which resource was asked for.
func (a *Account) ask(repository, ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.repository, a.ref = repository, ref
}

// Find notes the commit that was found; of several, the last.
func (a *Account) Find(commit string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.commit = commit
}

// outdate notes that the mirror that is answered from is older than it should be.
func (a *Account) outdate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stale = true
}

// Stale reports whether it is.
func (a *Account) Stale() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stale
}

// Failed reports whether the request was answered with an error of MCP or of a
// tool, which HTTP knows nothing of.
func (a *Account) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Tool is the tool that was called, which exists; "" where none was.
func (a *Account) Tool() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tool
}

// Attributes are the facts for a line of the log, without those that nobody
// knows.
func (a *Account) Attributes() []slog.Attr {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []slog.Attr
	for _, fact := range []struct{ name, value string }{
		{"tool", a.tool}, {"repository", a.repository}, {"ref", a.ref}, {"commit", a.commit},
	} {
		if fact.value != "" {
			list = append(list, slog.String(fact.name, Clip(Text(fact.value))))
		}
	}
	if a.stale {
		list = append(list, slog.Bool("stale", true))
	}
	return list
}
