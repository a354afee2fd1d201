// Package quarantine remembers which repositories cannot be read. Requests to them are refused at
// once, and so cost other repositories nothing, until their files change or a pause has ended.
// Then one request examines the repository while all others are still refused. The pauses grow from
// a second to a minute, so that a disk that fails for a moment costs little more than that moment.
package quarantine

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
)

const (
	// maxPause bounds how long a repository is refused without an examination: a disk may recover
	// without any file changing.
	maxPause = time.Minute
	// Damage that is found damageLimit times within damageWindow causes an examination: a repository
	// that is just being changed looks damaged for a moment.
	damageLimit  = 3
	damageWindow = time.Minute
	// examineEvery bounds the cost of a repository that is damaged in part and stays readable: an
	// examination reads a few objects. It is also the first pause of one that does not.
	examineEvery = time.Second
)

// Repository is what may be quarantined.
type Repository interface {
	// Key identifies the files of the repository, which may have several names.
	Key() string
	// Name is for the operator.
	Name() string
	// Stamp differs after the files were changed, as far as a look at them shows.
	Stamp() [sha256.Size]byte
	// Examine fails if nothing of the repository can be read.
	Examine() error
}

// Quarantine remembers one failure per repository. It may be used by any number of goroutines.
type Quarantine struct {
	// Panics and Damages count the quarantines since New, by cause.
	Panics, Damages atomic.Int64

	logger  *slog.Logger
	mu      sync.Mutex
	entries map[string]entry // also of deleted repositories: damage is rare
}

// entry is the last failure of a repository.
type entry struct {
	held  bool              // false: the repository is damaged in part and stays readable
	since time.Time         // of the quarantine, of its end, or of the first damage
	found int               // damage since then
	stamp [sha256.Size]byte // of the files that failed
	due   time.Time         // of the next examination
	pause time.Duration     // until then; of an ended quarantine, the last one
}

// held returns the entry of a repository that is quarantined for a pause from now on, within the bounds of pauses.
func held(since time.Time, stamp [sha256.Size]byte, pause time.Duration) entry {
	pause = min(max(pause, examineEvery), maxPause)
	return entry{held: true, since: since, stamp: stamp, pause: pause, due: time.Now().Add(pause)}
}

// New returns an empty quarantine. It logs the begin and the end of each quarantine.
func New(logger *slog.Logger) *Quarantine {
	return &Quarantine{logger: logger, entries: make(map[string]entry)}
}

// Admits reports whether the repository may be read. It examines a quarantined one if its files
// have changed or the pause has ended.
func (q *Quarantine) Admits(r Repository) bool {
	if !q.Holds(r.Key()) {
		return true
	}
	stamp := r.Stamp() // before the examination, so that a later change causes another one
	q.mu.Lock()
	e := q.entries[r.Key()]
	waited := !time.Now().Before(e.due)
	due := e.held && (waited || stamp != e.stamp)
	if due { // other requests do not wait for the examination
		pause := e.pause
		if waited { // the stamps of a failing disk differ all the time
			pause *= 2
		}
		q.entries[r.Key()] = held(e.since, stamp, pause)
	}
	q.mu.Unlock()
	if !due || panics.Catch(r.Examine) != nil {
		return !e.held
	}
	q.release(r)
	return true
}

// release ends the quarantine of a repository that can be read again.
func (q *Quarantine) release(r Repository) {
	q.mu.Lock()
	e := q.entries[r.Key()]
	if e.held { // else another request released it
		q.entries[r.Key()] = entry{since: time.Now(), pause: e.pause}
	}
	q.mu.Unlock()
	if e.held {
		q.logger.Info("a repository is no longer quarantined", "repository", r.Name(),
			"seconds", time.Since(e.since).Seconds())
	}
}

// Damaged notes that damage was found. It examines a repository in which that happens often, and
// quarantines it if nothing of it can be read.
func (q *Quarantine) Damaged(r Repository) {
	q.mu.Lock()
	e, now := q.entries[r.Key()], time.Now()
	if !e.held && now.Sub(e.since) > damageWindow {
		e = entry{since: now}
	}
	e.found++
	due := !e.held && e.found >= damageLimit && !now.Before(e.due)
	if due {
		e.found, e.due = 0, now.Add(examineEvery)
	}
	q.entries[r.Key()] = e
	q.mu.Unlock()
	if !due {
		return
	}
	stamp := r.Stamp()
	if err := panics.Catch(r.Examine); err != nil {
		q.hold(r, stamp, err, &q.Damages)
	}
}

// Panicked quarantines a repository whose files caused a panic, for the longest pause: an examination
// reads too little to tell whether the next reader would panic too.
func (q *Quarantine) Panicked(r Repository, err error) { q.hold(r, r.Stamp(), err, &q.Panics) }

// hold quarantines a repository, counts that and logs it, unless another request already did.
func (q *Quarantine) hold(r Repository, stamp [sha256.Size]byte, cause error, count *atomic.Int64) {
	q.mu.Lock()
	e := q.entries[r.Key()]
	if e.held {
		q.mu.Unlock()
		return
	}
	if count == &q.Panics {
		e.pause = maxPause
	}
	q.entries[r.Key()] = held(time.Now(), stamp, e.pause)
	q.mu.Unlock()
	count.Add(1)
	q.logger.Error("a repository is quarantined: requests to it are refused until its files change, or it can be "+
		"read again; run git fsck on the mirror", "repository", r.Name(), "panic", count == &q.Panics, "error", cause)
}

// Holds reports whether the repository with this key is quarantined.
func (q *Quarantine) Holds(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.entries[key].held
}
