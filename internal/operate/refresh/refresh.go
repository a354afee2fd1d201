// Package refresh has mirrors refreshed that are asked for and old: it runs the
// operator's program, or calls an address, which fetches. Nobody waits for that: the
// answer is given from the mirror as it is, and says so.
//
// # Order of use
//
// Make a [Refresher] with [New], have [Refresher.Run] run until the server ends, and
// call [Refresher.Ask] for each request whose answer a fetch could change. A nil
// Refresher asks for nothing.
//
// # Promises
//
// Ask does not wait, and takes a repository of the catalogue, so that no name that a
// client made up gets to the hook. Of one mirror one call runs at a time, and one begins
// in each [Options.Age] at most; of all mirrors [Concurrency] run, and [maxWaiting] wait.
// A call has a time limit, and ends with the server, with all that it has started.
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
	// DefaultAge is how old a mirror may be: as old as the ones that cron fetches every
	// five minutes become.
	DefaultAge = 5 * time.Minute
	// Concurrency is how many calls run at a time: a fetch is work for this machine and
	// for the other side.
	Concurrency = 4
	// maxWaiting bounds the calls that wait. What does not fit is asked for again by the
	// next request.
	maxWaiting = 256
	// programTimeout ends a fetch that has got stuck; one of a large repository that was
	// not fetched for days may take minutes.
	programTimeout = 10 * time.Minute
	// addressTimeout is how long a reply may take, which need not wait for the fetch.
	addressTimeout = time.Minute
	// logEvery is how often the failure of one mirror is logged.
	logEvery = time.Minute
	// pruneFrom is how many mirrors are remembered before those are forgotten whose time
	// is over.
	pruneFrom = 10_000
)

// Options of a [Refresher]. Hook is required.
type Options struct {
	// Hook is the path of a program, or an address that begins with http:// or https://.
	Hook string
	// Age is from which age on a mirror is refreshed; 0 means [DefaultAge].
	Age time.Duration
	// Timeout ends a call; 0 means ten minutes for a program, and one for an address.
	Timeout time.Duration
	Logger  *slog.Logger
}

// hook asks for one mirror to be refreshed, and returns when it was, or will be.
type hook interface {
	call(ctx context.Context, m mirror) error
	close()
}

// mirror is what a hook is told.
type mirror struct {
	name    string
	folder  string    // of git, on this machine
	fetched time.Time // zero where that is not known
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

// record is what is known of the calls of one mirror.
type record struct {
	busy   bool      // it waits or runs
	asked  time.Time // when the last call was asked for
	logged time.Time // when a failure was last logged
}

// Stats count calls since the start.
type Stats struct {
	Done, Failed int64
	// Dropped were not made, since too many waited.
	Dropped int64
	// Running is how many run now, and Waiting how many are about to.
	Running, Waiting int64
}

// New makes a refresher. The error is for the operator.
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

// Ask has a mirror refreshed if it is old, and reports whether it is. A mirror whose last
// fetch did not end, or of which git noted none, is not known to be young. A nil Refresher
// reports that none is old.
func (r *Refresher) Ask(repository *repos.Repository) (stale bool) {
	if r == nil {
		return false
	}
	last, err := repository.LastFetch()
	if err != nil {
		return false // it has gone, or cannot be read: the request will say which
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

// enqueue has a call made unless there was one lately.
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

// prune forgets mirrors that may be asked for again in any case.
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

// Run makes the calls until ctx ends, and returns when none runs any more.
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

// end notes how a call ended. What the end of the server broke off is no failure.
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

// Stats returns the counts as they are now; none of a nil Refresher.
func (r *Refresher) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// withoutAddress drops what an error of net/http begins with: an address may have a
// secret in it.
func withoutAddress(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
