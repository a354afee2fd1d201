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
	mu     sync.Mutex
	facts  Facts
	timed  bool
	stages []Stage
}

// Facts are what an account says of a request; the zero values are what is not known.
type Facts struct {
	// Tool is the tool that was called, which exists. Repository and Ref are what was
	// asked for, and Commit is what was found; of several, the last.
	Tool, Repository, Ref, Commit string
	// Failed says that the request was answered with an error of MCP or of a tool, which
	// HTTP knows nothing of. Code is that of the error, if it has one in the protocol.
	Failed bool
	Code   int
	// Stale says that the mirror that is answered from is older than it should be.
	Stale bool
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

// Facts are those that are known so far. Names are cut to what a line of a log has room
// for.
func (a *Account) Facts() Facts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.facts
}

func (a *Account) note(change func(*Facts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.facts)
}

// Fail says that the request is answered with an error. The code is the one that it has
// in the protocol, or 0.
func (a *Account) Fail(code int) {
	a.note(func(f *Facts) { f.Failed, f.Code = true, code })
}

// Call notes which tool was called, and on what.
func (a *Account) Call(tool, repository, ref string) {
	a.note(func(f *Facts) { f.Tool, f.Repository, f.Ref = tool, Clip(Text(repository)), Clip(Text(ref)) })
}

// ask notes which resource was asked for.
func (a *Account) ask(repository, ref string) {
	a.note(func(f *Facts) { f.Repository, f.Ref = Clip(Text(repository)), Clip(Text(ref)) })
}

// Find notes the commit that was found.
func (a *Account) Find(commit string) { a.note(func(f *Facts) { f.Commit = commit }) }

// outdate notes that the mirror is old.
func (a *Account) outdate() { a.note(func(f *Facts) { f.Stale = true }) }

// Join takes over what another account says: that of a request which is a part of
// this one.
func (a *Account) Join(part *Account) {
	added := part.Facts()
	a.note(func(f *Facts) {
		f.Tool, f.Repository, f.Ref, f.Commit = added.Tool, added.Repository, added.Ref, added.Commit
		f.Failed = f.Failed || added.Failed
	})
}

// Attributes are the facts for a line of the log, without those that nobody
// knows.
func (a *Account) Attributes() []slog.Attr {
	facts := a.Facts()
	var list []slog.Attr
	for _, fact := range []struct{ name, value string }{
		{"tool", facts.Tool}, {"repository", facts.Repository}, {"ref", facts.Ref}, {"commit", facts.Commit},
	} {
		if fact.value != "" {
			list = append(list, slog.String(fact.name, fact.value))
		}
	}
	if facts.Stale {
		list = append(list, slog.Bool("stale", true))
	}
	return list
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
func (a *Account) Mark(name string) { a.Stage(name) }

// Stages are those that were kept, in the order in which they began.
func (a *Account) Stages() []Stage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.stages)
}
