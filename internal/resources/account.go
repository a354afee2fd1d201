package resources

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

// Account is what logs and traces say of a request beyond HTTP: the resource that it asked for, and
// the result. The code that serves the request fills it in.
type Account struct {
	mu      sync.Mutex
	summary Summary
	timed   bool
	stages  []Stage
}

// Summary is the content of an account; zero values are unknown.
type Summary struct {
	// Tool is the called tool, which exists. Repository and Ref are those that were asked for, and
	// Commit the one that was found; of several, the last.
	Tool, Repository, Ref, Commit string
	// Path is the path of a file or folder in the repository, as far as one was asked for.
	Path string
	// Reader is the principal whose rights counted for the repository: that of the link where a link
	// was redeemed.
	Reader access.Principal
	// Reads are what the reply has contents of, if that is several commits or files.
	Reads []Read
	// Failed says that the reply is an error of MCP or of a tool, which HTTP does not show. Code is
	// the code of the error, if it has one in the protocol.
	Failed bool
	Code   int
	// Stale says that the mirror used for the answer is older than it should be.
	Stale bool
}

// Read is a commit of which a reply has contents. Path is "" for those that a search found.
type Read struct{ Repository, Commit, Path string }

// maxStages bounds the stages of one request, which may open many resources.
const maxStages = 32

// Stage is a part of the work for a request, or a moment without an end.
type Stage struct {
	Name       string
	Begin, End time.Time
}

type keyAccount struct{}

// WithAccount adds an account to a request's context. It records stages only if stages is set;
// otherwise it allocates nothing for them.
func WithAccount(ctx context.Context, stages bool) (context.Context, *Account) {
	a := &Account{timed: stages}
	return context.WithValue(ctx, keyAccount{}, a), a
}

// AccountOf returns the account of a context, or one that is discarded.
func AccountOf(ctx context.Context) *Account {
	if a, ok := ctx.Value(keyAccount{}).(*Account); ok {
		return a
	}
	return &Account{}
}

// maxNoted bounds a noted name, in bytes: Linux's longest path. Logs and traces clip it further.
const maxNoted = 4096

func noted(name string) string { return quoting.Clip(Text(name), maxNoted) }

// Summary returns what is known so far.
func (a *Account) Summary() Summary {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.summary
}

func (a *Account) note(change func(*Summary)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.summary)
}

// Fail says that the reply is an error. code is its code in the protocol, or 0.
func (a *Account) Fail(code int) {
	a.note(func(s *Summary) { s.Failed, s.Code = true, code })
}

// Call notes the called tool and its subject.
func (a *Account) Call(ctx context.Context, tool, repository, ref, path string) {
	a.note(func(s *Summary) { s.Tool = tool })
	a.ask(ctx, repository, ref, path)
}

// ask notes the requested resource, and the principal of the context.
func (a *Account) ask(ctx context.Context, repository, ref, path string) {
	a.note(func(s *Summary) {
		s.Repository, s.Ref, s.Path = noted(repository), noted(ref), noted(path)
		s.Reader = access.PrincipalOf(ctx)
	})
}

// Open notes the full name of the repository that a tool reads.
func (a *Account) Open(repository string) { a.note(func(s *Summary) { s.Repository = repository }) }

// Read notes the commits and files that the reply has contents of.
func (a *Account) Read(list []Read) { a.note(func(s *Summary) { s.Reads = list }) }

// ReadFor is Read that also notes the principal of the context.
func (a *Account) ReadFor(ctx context.Context, list []Read) {
	a.note(func(s *Summary) { s.Reads, s.Reader = list, access.PrincipalOf(ctx) })
}

// Find notes the commit that was found.
func (a *Account) Find(commit string) { a.note(func(s *Summary) { s.Commit = commit }) }

// outdate notes that the mirror is stale.
func (a *Account) outdate() { a.note(func(s *Summary) { s.Stale = true }) }

// Join adds the summary of another account: that of a request which is a part of this one.
func (a *Account) Join(part *Account) {
	added := part.Summary()
	a.note(func(s *Summary) {
		s.Tool, s.Repository, s.Ref, s.Commit = added.Tool, added.Repository, added.Ref, added.Commit
		s.Failed = s.Failed || added.Failed
	})
}

// Attributes returns what is known as attributes of a log line, with names clipped.
func (a *Account) Attributes() []slog.Attr {
	summary := a.Summary()
	var list []slog.Attr
	for _, fact := range []struct{ name, value string }{
		{"tool", summary.Tool}, {"repository", summary.Repository}, {"ref", summary.Ref}, {"commit", summary.Commit},
	} {
		if fact.value != "" {
			list = append(list, slog.String(fact.name, Clip(fact.value)))
		}
	}
	if summary.Stale {
		list = append(list, slog.Bool("stale", true))
	}
	return list
}

// Stage begins a stage, which end ends.
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

// Stages returns the recorded stages in the order of their beginnings.
func (a *Account) Stages() []Stage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.stages)
}
