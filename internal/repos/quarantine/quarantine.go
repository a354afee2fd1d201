// Package quarantine sets repositories aside that nothing can be read of, or that
// reading panicked over: requests to them are refused at once, so that they cost the
// others nothing, until their files change or a pause has ended. Then one request
// examines the repository while the others are still refused.
//
// What is damaged in part stays: [Ward.Damaged] only has the whole looked at.
package quarantine

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/base/panics"
)

const (
	// strikes is how often damage is met within strikeWindow before the whole is
	// examined: a repository that is just being made or repacked looks damaged for a
	// moment.
	strikes      = 3
	strikeWindow = time.Minute
	// examineEvery bounds what damage in part costs: an examination reads a few objects.
	examineEvery = time.Second
	// lookEvery is how often the files of what is set aside are looked at, which lists
	// some folders. What is mended is served so soon.
	lookEvery = 200 * time.Millisecond
	// The pause doubles from time to time: a disk may get well without any file changing.
	firstPause   = time.Second
	longestPause = time.Minute
	// relapse is for how long the last pause is remembered: who panics again within it
	// is set aside for longer.
	relapse = 10 * time.Minute
)

// Stamp is to be compared only.
type Stamp [sha256.Size]byte

// Subject is a repository.
type Subject interface {
	// Key tells it from all others.
	Key() string
	// Stamp is another one when a file of it was touched.
	Stamp() Stamp
	// Examine fails when nothing of it can be read. It is not called twice at a time,
	// and reads without asking the ward.
	Examine() error
}

// Case is why and since when a repository is set aside.
type Case struct {
	Key   string
	Cause error
	Since time.Time
	// Again is when it is examined even though no file changes.
	Again time.Time
	// Panicked tells a panic from damage.
	Panicked bool
}

// Refusal is the error of what is set aside. Its text is for clients, and does not
// have the cause.
type Refusal struct {
	Since time.Time
	After time.Duration // until it is examined at the latest
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("it was set aside at %s and is examined again within %s", r.Since.UTC().Format(time.RFC3339),
		r.After.Round(time.Second))
}

// Counts are of all times.
type Counts struct{ Panics, Damages int64 }

// Ward knows what is set aside. It may be used by any number of goroutines.
type Ward struct {
	now     func() time.Time
	entered func(Case)
	left    func(Case)

	mu       sync.Mutex
	patients map[string]*patient
	counts   Counts
}

// patient is guarded by the ward's lock.
type patient struct {
	Case
	aside     bool
	examining bool // somebody does
	stamp     Stamp
	pause     time.Duration
	look      time.Time // when somebody may examine it again
	released  time.Time

	strikes int
	first   time.Time // of these strikes
}

// New makes an empty ward, which calls entered and left for each repository that is
// set aside or no longer.
func New(now func() time.Time, entered, left func(Case)) *Ward {
	return &Ward{now: now, entered: entered, left: left, patients: make(map[string]*patient)}
}

// Admit returns nil when the repository may be read, or a [*Refusal]. It examines the
// repository where that is due.
func (w *Ward) Admit(s Subject) error {
	w.mu.Lock()
	p, now := w.patients[s.Key()], w.now()
	if p == nil || !p.aside {
		w.mu.Unlock()
		return nil
	}
	if p.examining || now.Before(p.look) {
		defer w.mu.Unlock()
		return p.refusal(now)
	}
	p.examining, p.look = true, now.Add(lookEvery)
	due, before := !now.Before(p.Again), p.stamp
	w.mu.Unlock()

	stamp := s.Stamp() // before the examination: what changes meanwhile is looked at again
	changed := stamp != before
	var fault error
	if due || changed {
		fault = panics.Catch(s.Examine)
	}

	w.mu.Lock()
	p.examining, now = false, w.now()
	switch {
	case !due && !changed:
	case fault == nil:
		return w.release(p, now)
	case changed:
		p.stamp, p.Cause, p.pause = stamp, fault, firstPause
		p.Again = now.Add(p.pause)
	default:
		p.Cause, p.pause = fault, min(2*p.pause, longestPause)
		p.Again = now.Add(p.pause)
	}
	defer w.mu.Unlock()
	return p.refusal(now)
}

// release unlocks the ward.
func (w *Ward) release(p *patient, now time.Time) error {
	p.aside, p.released, p.strikes = false, now, 0
	ended := p.Case
	w.mu.Unlock()
	w.left(ended)
	return nil
}

func (p *patient) refusal(now time.Time) error {
	return &Refusal{Since: p.Since, After: max(p.Again.Sub(now), lookEvery)}
}

// Damaged says that damage was met. When that happens again and again the repository
// is examined, and set aside if nothing of it can be read.
func (w *Ward) Damaged(s Subject) {
	now := w.now()
	w.mu.Lock()
	p := w.patient(s.Key())
	if now.Sub(p.first) > strikeWindow {
		p.first, p.strikes = now, 0
	}
	p.strikes++
	if p.aside || p.examining || p.strikes < strikes || now.Before(p.look) {
		w.mu.Unlock()
		return
	}
	p.examining, p.look = true, now.Add(examineEvery)
	w.mu.Unlock()

	stamp := s.Stamp()
	fault := panics.Catch(s.Examine)

	w.mu.Lock()
	p.examining, p.strikes = false, 0
	if fault == nil || p.aside {
		w.mu.Unlock()
		return
	}
	w.counts.Damages++
	w.setAside(p, stamp, Case{Key: s.Key(), Cause: fault})
}

// Panicked sets a repository aside that reading panicked over: it would again.
func (w *Ward) Panicked(s Subject, cause error) {
	stamp := s.Stamp()
	w.mu.Lock()
	p := w.patient(s.Key())
	if p.aside { // by another request; this one had begun before
		w.mu.Unlock()
		return
	}
	w.counts.Panics++
	w.setAside(p, stamp, Case{Key: s.Key(), Cause: cause, Panicked: true})
}

// setAside unlocks the ward.
func (w *Ward) setAside(p *patient, stamp Stamp, c Case) {
	now := w.now()
	pause := firstPause
	if p.pause > 0 && now.Sub(p.released) < relapse {
		pause = min(2*p.pause, longestPause)
	}
	c.Since, c.Again = now, now.Add(pause)
	p.Case, p.aside, p.stamp, p.pause, p.look = c, true, stamp, pause, now.Add(lookEvery)
	w.mu.Unlock()
	w.entered(c)
}

// patient finds or makes one. The caller holds the lock.
func (w *Ward) patient(key string) *patient {
	p := w.patients[key]
	if p == nil {
		p = &patient{}
		w.patients[key] = p
	}
	return p
}

// Case returns why a repository is set aside, if it is.
func (w *Ward) Case(key string) (c Case, aside bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.patients[key]; p != nil && p.aside {
		return p.Case, true
	}
	return Case{}, false
}

// Counts tells how many were set aside since the ward was made.
func (w *Ward) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// Forget drops what is known of repositories that are no longer there.
func (w *Ward) Forget(gone func(key string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.patients, func(key string, p *patient) bool { return !p.examining && gone(key) })
}
