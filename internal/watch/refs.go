package watch

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// lookEvery is how often repositories are looked at of whose changes the
	// kernel does not tell: together with settle it is well below a second.
	lookEvery = 500 * time.Millisecond
	// confirmEvery is how often the others are: the kernel may be wrong about
	// file systems that it shares with other machines.
	confirmEvery = 10 * time.Second
	// costShare bounds the time that looking takes: a repository is left alone
	// for so many times as long as the last look at it took.
	costShare = 20

	// settle is for how long nothing happens at the end of a push: git writes
	// refs one by one, some ten thousand in a second.
	settle = 100 * time.Millisecond
	// patience bounds the wait for that, so that a change is reported within a
	// second however long others follow it.
	patience = 700 * time.Millisecond

	// lookers is how many repositories are looked at at once: a slow disk of
	// one must not hold up all.
	lookers = 4
)

// refWatcher knows the repositories that are watched. It may be used by any number
// of goroutines.
type refWatcher struct {
	options Options
	logger  *slog.Logger
	started chan struct{} // there is something to watch
	arming  sync.Mutex    // the kernel's watches and folders change together

	mu       sync.Mutex
	watched  map[string]*watched // by the repository's name
	folders  map[string]*watched // by path
	events   *fsnotify.Watcher   // nil while there are none
	reported bool                // that the kernel grants no more watches

	// watchFolder asks the kernel for one watch; tests have it refuse.
	watchFolder func(events *fsnotify.Watcher, folder string) error
}

// watched is one repository.
type watched struct {
	name  string
	users int // guarded by refWatcher.mu

	mu         sync.Mutex
	repository *repos.Repository
	seen       [sha256.Size]byte // stamp of the last look
	told       [sha256.Size]byte // stamp when it was last reported
	folders    map[string]bool   // that the kernel watches
	trusted    bool              // the kernel tells of all changes
	removed    bool
	due        time.Time // of the next look without an event
	first      time.Time // of the changes that were not reported yet; zero: there are none
	last       time.Time
}

// newRefWatcher makes one; of the options it has NoEvents and Logger.
func newRefWatcher(options Options) *refWatcher {
	return &refWatcher{
		options: options, logger: options.Logger, started: make(chan struct{}, 1),
		watched: make(map[string]*watched), folders: make(map[string]*watched), watchFolder: (*fsnotify.Watcher).Add,
	}
}

// Add watches a repository from now on.
func (w *refWatcher) Add(repository *repos.Repository) {
	w.mu.Lock()
	entry := w.watched[repository.Name()]
	isNew := entry == nil
	if isNew {
		entry = &watched{name: repository.Name(), repository: repository, folders: make(map[string]bool)}
		entry.mu.Lock()
		w.watched[entry.name] = entry
	}
	entry.users++
	w.mu.Unlock()
	if isNew {
		w.look(entry)
		entry.told, entry.first = entry.seen, time.Time{}
	} else {
		entry.mu.Lock() // until the first look is done
	}
	entry.mu.Unlock()
	select {
	case w.started <- struct{}{}:
	default:
	}
}

// Remove undoes one Add.
func (w *refWatcher) Remove(name string) {
	w.mu.Lock()
	entry := w.watched[name]
	if entry == nil {
		w.mu.Unlock()
		return
	}
	if entry.users--; entry.users > 0 {
		w.mu.Unlock()
		return
	}
	delete(w.watched, name)
	w.mu.Unlock()
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.removed = true // a round may have it in hand
	w.disarm(entry, nil)
}

// Len is the number of repositories that are watched.
func (w *refWatcher) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched)
}

// Run reports changes until ctx ends. It runs once.
func (w *refWatcher) Run(ctx context.Context, changed func(names []string)) {
	events, failures := w.open()
	defer w.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	pending := false
	// soon has the next round come as soon as a change may be reported.
	soon := func() {
		if !pending {
			pending = true
			timer.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-events:
			if w.note(event) {
				soon()
			}
			continue
		case err := <-failures:
			w.overflow(err)
			soon()
			continue
		case <-w.started:
		case <-timer.C:
		}
		var names []string
		if names, pending = w.round(time.Now()); len(names) > 0 {
			changed(names)
		}
		timer.Reset(w.pause(pending))
	}
}

// pause until the next round. Without repositories there is none.
func (w *refWatcher) pause(pending bool) time.Duration {
	switch {
	case w.Len() == 0:
		return confirmEvery
	case pending:
		return settle / 2
	default:
		return lookEvery
	}
}

// round looks at what is due, and returns what has come to rest since it
// changed, and whether there are changes that have not.
func (w *refWatcher) round(now time.Time) (names []string, pending bool) {
	due := slices.DeleteFunc(w.all(), func(e *watched) bool { return !e.isDue(now) })
	var mu sync.Mutex
	lookAtEach(due, func(entry *watched) {
		report, wait := w.step(entry)
		mu.Lock()
		defer mu.Unlock()
		if report {
			names = append(names, entry.name)
		}
		pending = pending || wait
	})
	return names, pending
}

// lookAtEach returns when all are looked at, so many at once.
func lookAtEach[T any](list []T, look func(T)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, lookers)
	for _, each := range list {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			look(each)
		})
	}
	running.Wait()
}

// all lists what is watched.
func (w *refWatcher) all() []*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.watched))
}

// isDue reports whether a repository has to be looked at.
func (e *watched) isDue(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.first.IsZero() || !now.Before(e.due)
}

// step looks at a repository that is due, and decides whether to report it.
func (w *refWatcher) step(e *watched) (report, pending bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.removed {
		return false, false
	}
	now := time.Now()
	resting := !e.first.IsZero() && now.Sub(e.last) >= settle
	if !e.first.IsZero() && !resting && now.Sub(e.first) < patience {
		return false, true
	}
	before := e.seen
	// Where the kernel tells of changes, what is seen now it told of.
	if w.look(e); e.seen != before && (!resting || !e.trusted) {
		e.touch(time.Now())
		resting = false
	}
	if e.first.IsZero() {
		return false, false
	}
	if !resting && time.Since(e.first) < patience {
		return false, true
	}
	report = e.seen != e.told
	e.told, e.first = e.seen, time.Time{}
	return report, false
}

// touch notes a change; the caller holds e.mu.
func (e *watched) touch(now time.Time) {
	if e.first.IsZero() {
		e.first = now
	}
	e.last = now
}

// look takes the stamp of a repository, and has the kernel watch the folders
// that are new: what changes in them before that is in the stamp taken after
// it. The caller holds e.mu.
func (w *refWatcher) look(e *watched) {
	start := time.Now()
	const folderRaces = 3 // folders that come meanwhile; the next look finds more
	for range folderRaces {
		stamp := e.repository.RefStamp()
		e.seen = stamp.Sum
		if !w.arm(e, stamp) {
			break
		}
	}
	pause := lookEvery
	if e.trusted {
		pause = confirmEvery
	}
	now := time.Now()
	e.due = now.Add(max(pause, costShare*now.Sub(start)))
}
