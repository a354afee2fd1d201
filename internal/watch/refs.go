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
	// lookEvery is the polling interval without the kernel's help: together with settle it is well
	// below a second.
	lookEvery = 500 * time.Millisecond
	// confirmEvery is the polling interval with the kernel's help, which may miss changes in file
	// systems shared with other machines.
	confirmEvery = 10 * time.Second
	// costShare bounds the time of polling: after a poll, a repository rests for so many times its
	// duration.
	costShare = 20

	// settle is the pause that ends a push: git writes refs one by one, some ten thousand per
	// second.
	settle = 100 * time.Millisecond
	// patience bounds the wait for that pause, so that a change is reported within a second even if
	// others follow.
	patience = 700 * time.Millisecond

	// lookers is the number of repositories polled in parallel: one slow disk must not delay all
	// others.
	lookers = 4
)

// refWatcher watches the refs of repositories. It is safe for concurrent use.
type refWatcher struct {
	options Options
	logger  *slog.Logger
	started chan struct{} // receives when there is something to watch
	arming  sync.Mutex    // serializes changes of the kernel's watches and of folders

	mu       sync.Mutex
	watched  map[string]*watched // by the repository's name
	folders  map[string]*watched // by path
	events   *fsnotify.Watcher   // nil without notifications
	reported bool                // the refusal of watches was logged

	// watchFolder requests one watch from the kernel; tests replace it.
	watchFolder func(events *fsnotify.Watcher, folder string) error
}

// watched is one repository.
type watched struct {
	name  string
	users int // guarded by refWatcher.mu

	mu         sync.Mutex
	repository *repos.Repository
	seen       [sha256.Size]byte // stamp of the last poll
	told       [sha256.Size]byte // stamp of the last report
	folders    map[string]bool   // watched by the kernel
	trusted    bool              // the kernel reports all changes
	removed    bool
	due        time.Time // time of the next poll without an event
	first      time.Time // time of the first unreported change; zero: none
	last       time.Time
}

// newRefWatcher uses the options NoEvents and Logger.
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
		w.takeStamp(entry)
		entry.told, entry.first = entry.seen, time.Time{}
	} else {
		entry.mu.Lock() // until the first poll is done
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
	entry.removed = true // a concurrent round may still use it
	w.disarm(entry, nil)
}

// Len returns the number of watched repositories.
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
	// soon schedules the next round for the moment when a change may be reported.
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

// pause returns the time until the next round. Without repositories there is none.
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

// round polls due repositories. It returns those whose changes have ended, and whether others are
// still changing.
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

// lookAtEach calls look in parallel, for at most lookers items at a time.
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

func (w *refWatcher) all() []*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.watched))
}

// isDue reports whether a repository has to be polled.
func (e *watched) isDue(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.first.IsZero() || !now.Before(e.due)
}

// step polls a due repository, and decides whether to report it.
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
	// For a trusted repository, the kernel already reported what is seen now.
	if w.takeStamp(e); e.seen != before && (!resting || !e.trusted) {
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

// touch records a change; the caller holds e.mu.
func (e *watched) touch(now time.Time) {
	if e.first.IsZero() {
		e.first = now
	}
	e.last = now
}

// takeStamp takes the stamp of a repository, and makes the kernel watch new folders. Changes in these
// before the watch are in the stamp that is taken after it. The caller holds e.mu.
func (w *refWatcher) takeStamp(e *watched) {
	start := time.Now()
	const folderRaces = 3 // rounds for folders that appear meanwhile; the next poll finds more
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
