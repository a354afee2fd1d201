package resources

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Account is what logs and traces say of a request beside its HTTP: what was asked
// for, and whether it was had. Who serves the request fills it in.
type Account struct {
	mu                            sync.Mutex
	tool, repository, ref, commit string
	failed, stale                 bool
	code                          int
	timed                         bool
	stages                        []Stage
}

// maxStages bounds what is kept of one request, which may open many resources.
const maxStages = 32

// Stage is a part of the work that a request took, or a moment of it, which has no
// end.
type Stage struct {
	Name       string
	Begin, End time.Time
}

type keyAccount struct{}

// WithAccount gives a request's context an account, which keeps stages where somebody
// wants them: nothing is kept, or allocated, of those otherwise.
func WithAccount(ctx context.Context, stages bool) (context.Context, *Account) {
	a := &Account{timed: stages}
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

// FailWith is Fail with the code that the error has in the protocol.
func (a *Account) FailWith(code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed, a.code = true, code
}

// Code is that of the error that the request was answered with; 0 where that has
// none, or there was none.
func (a *Account) Code() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.code
}

// Stage begins a part of the work; end ends it.
func (a *Account) Stage(name string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.timed || len(a.stages) == maxStages {
		return func() {}
	}
	i := len(a.stages)
	a.stages = append(a.stages, Stage{Name: name, Begin: time.Now()})
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stages[i].End = time.Now()
	}
}

// Mark notes a moment.
func (a *Account) Mark(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timed && len(a.stages) < maxStages {
		a.stages = append(a.stages, Stage{Name: name, Begin: time.Now()})
	}
}

// Stages are those that were kept, in the order in which they began.
func (a *Account) Stages() []Stage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.stages)
}

// Join takes over what another account says: that of a request which is a part of
// this one.
func (a *Account) Join(part *Account) {
	part.mu.Lock()
	tool, repository, ref, commit, failed := part.tool, part.repository, part.ref, part.commit, part.failed
	part.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tool, a.repository, a.ref, a.commit = tool, repository, ref, commit
	a.failed = a.failed || failed
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

// Find notes the commit that was found; of several, the last. "" is none.
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

// Found is which repository was asked for, and the commit that it was about; "" for
// what is not known.
func (a *Account) Found() (repository, commit string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Clip(Text(a.repository)), a.commit
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
