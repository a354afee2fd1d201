// Package refresh refreshes old mirrors on demand: it runs the operator's program, or calls an
// address, which fetches. No request waits for a fetch: the answer comes from the mirror as it is,
// and says so.
//
// # Order of use
//
// Create a [Refresher] with [New], keep [Refresher.Run] running until the server ends, and call
// [Refresher.Ask] for each request whose answer a fetch could change. A nil Refresher does nothing.
//
// # Promises
//
// Ask does not wait. It takes a repository of the catalogue, so that no name of a client's choice
// reaches the hook. A mirror has at most one running call, and one new call per [Options.Age]. At
// most [Concurrency] calls run and [maxWaiting] wait. A call has a time limit, and ends with the
// server, with all of its processes.
//
// # Decisions
//
// A stale answer is given at once, and marked: a fetch may take minutes. An empty FETCH_HEAD is no
// fetch, because git empties it before it contacts the other side.
package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// DefaultAge is the maximal age of a mirror: that of mirrors which cron fetches every five
	// minutes.
	DefaultAge = 5 * time.Minute
	// Concurrency is the number of parallel calls: a fetch is work for this machine and for the
	// other side.
	Concurrency = 4
	// maxWaiting bounds the queue. The next request asks again for calls that do not fit.
	maxWaiting = 256
	// programTimeout ends a fetch that hangs; a fetch of a large repository after days may take
	// minutes.
	programTimeout = 10 * time.Minute
	// addressTimeout bounds the response, which need not wait for the fetch.
	addressTimeout = time.Minute
	// logEvery limits the log of failures per mirror.
	logEvery = time.Minute
	// pruneFrom is the number of remembered mirrors at which expired ones are forgotten.
	pruneFrom = 10_000
)

// Options of a [Refresher]. Hook is required.
type Options struct {
	// Hook is the path of a program, or an address that begins with http:// or https://.
	Hook string
	// Age is the age from which a mirror is refreshed; 0 means [DefaultAge].
	Age time.Duration
	// Timeout ends a call; 0 means ten minutes for a program, and one for an address.
	Timeout time.Duration
	Logger  *slog.Logger
}

// hook requests a refresh of one mirror, and returns when that is done or accepted.
type hook interface {
	call(ctx context.Context, m mirror) error
	close()
}

// mirror is the input of a hook.
type mirror struct {
	name    string
	folder  string    // of git, on this machine
	fetched time.Time // zero if unknown
}

// Refresher decides which mirrors are refreshed when.
type Refresher struct {
	options Options
	hook    hook
	waiting chan mirror

	mu    sync.Mutex
	known map[string]*record // by name
	stats Stats
}

// record describes the calls of one mirror.
type record struct {
	busy   bool      // queued or running
	asked  time.Time // time of the last call's request
	logged time.Time // time of the last logged failure
}

// Stats counts calls since the start.
type Stats struct {
	Done, Failed int64
	// Dropped calls found a full queue.
	Dropped int64
	// Running and Waiting are current numbers.
	Running, Waiting int64
}

// New returns a refresher. The error is for the operator.
func New(options Options) (*Refresher, error) {
	options.Age = cmp.Or(options.Age, DefaultAge)
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Refresher{
		options: options, waiting: make(chan mirror, maxWaiting), known: make(map[string]*record),
	}
	var err error
	timeout := programTimeout
	if isAddress(options.Hook) {
		timeout = addressTimeout
		r.hook, err = newAddress(options.Hook)
	} else {
		r.hook, err = newProgram(options.Hook)
	}
	r.options.Timeout = cmp.Or(options.Timeout, timeout)
	return r, err
}

func isAddress(hook string) bool {
	return strings.HasPrefix(hook, "http://") || strings.HasPrefix(hook, "https://")
}

// Ask requests a refresh of an old mirror, and reports whether the mirror is old. A mirror whose
// last fetch failed or is unknown counts as old. A nil Refresher returns false.
func (r *Refresher) Ask(repository *repos.Repository) (stale bool) {
	if r == nil {
		return false
	}
	last, err := repository.LastFetch()
	if err != nil {
		return false // the request itself will report that it is gone or unreadable
	}
	m := mirror{name: repository.Name(), folder: repository.Folder()}
	if last.State == git.FetchDone {
		m.fetched = last.At
	}
	old := time.Since(last.At) >= r.options.Age
	if old {
		r.enqueue(m, time.Now())
	}
	return old || last.State == git.FetchUnfinished
}

// enqueue queues a call unless there was one recently.
func (r *Refresher) enqueue(m mirror, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known[m.name]
	if k == nil {
		r.prune(now)
		k = &record{}
		r.known[m.name] = k
	}
	if k.busy || !k.asked.IsZero() && now.Sub(k.asked) < r.options.Age {
		return
	}
	select {
	case r.waiting <- m:
		k.busy, k.asked = true, now
		r.stats.Waiting++
	default:
		r.stats.Dropped++
	}
}

// prune forgets mirrors whose interval has passed.
func (r *Refresher) prune(now time.Time) {
	if len(r.known) < pruneFrom {
		return
	}
	for name, k := range r.known {
		if !k.busy && now.Sub(k.asked) >= max(r.options.Age, logEvery) {
			delete(r.known, name)
		}
	}
}

// Run makes the calls until ctx ends, and returns after the last one.
func (r *Refresher) Run(ctx context.Context) {
	defer r.hook.close()
	var running sync.WaitGroup
	for range Concurrency {
		running.Go(func() { r.work(ctx) })
	}
	running.Wait()
}

func (r *Refresher) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-r.waiting:
			if ctx.Err() != nil {
				return
			}
			r.begin()
			err := panics.Catch(func() error { return r.call(ctx, m) })
			r.end(ctx, m, err)
		}
	}
}

func (r *Refresher) call(ctx context.Context, m mirror) error {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	err := r.hook.call(ctx, m)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %s, and was ended: %w", r.options.Timeout, err)
	}
	return err
}

func (r *Refresher) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Waiting--
	r.stats.Running++
}

// end records the result of a call. Interruption by the server's shutdown is no failure.
func (r *Refresher) end(ctx context.Context, m mirror, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Running--
	k := r.known[m.name]
	k.busy = false
	if err == nil {
		r.stats.Done++
		return
	}
	if ctx.Err() != nil {
		return
	}
	r.stats.Failed++
	if now := time.Now(); now.Sub(k.logged) >= logEvery {
		k.logged = now
		r.options.Logger.Error("the fetch hook failed; the mirror stays as it is", "repository", m.name, "error", err)
	}
}

// Stats returns the current counts; zero for a nil Refresher.
func (r *Refresher) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// withoutAddress removes the address from an error of net/http, because it may contain a secret.
func withoutAddress(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
