package quarantine_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/repos/quarantine"
)

var errBroken = errors.New("broken")

// repository is one whose files and whose health the test decides.
type repository struct {
	touched  atomic.Int32
	broken   atomic.Bool
	panics   atomic.Bool
	examined atomic.Int32
	// Unless they are nil, an examination sends to begun and then waits for end.
	begun, end chan struct{}
}

func (r *repository) Key() string              { return "k" }
func (r *repository) Name() string             { return "r" }
func (r *repository) Stamp() [sha256.Size]byte { return [sha256.Size]byte{byte(r.touched.Load())} }
func (r *repository) Examine() error {
	r.examined.Add(1)
	if r.begun != nil {
		r.begun <- struct{}{}
		<-r.end
	}
	if r.panics.Load() {
		panic("on purpose")
	}
	if r.broken.Load() {
		return errBroken
	}
	return nil
}

// journal counts the logged beginnings and ends of quarantines.
type journal struct {
	mu           sync.Mutex
	began, ended int
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case bytes.Contains(line, []byte("no longer quarantined")):
		j.ended++
	case bytes.Contains(line, []byte("is quarantined")):
		j.began++
	}
	return len(line), nil
}

func (j *journal) expect(t *testing.T, began, ended int) {
	t.Helper()
	if j.began != began || j.ended != ended {
		t.Errorf("the log has %d beginnings and %d ends of a quarantine, want %d and %d", j.began, j.ended, began, ended)
	}
}

func newQuarantine() (*quarantine.Quarantine, *journal) {
	j := new(journal)
	return quarantine.New(slog.New(slog.NewTextHandler(j, nil))), j
}

func expectAdmitted(t *testing.T, q *quarantine.Quarantine, r *repository, want bool) {
	t.Helper()
	if got := q.Admits(r); got != want {
		t.Fatalf("admitted: %v, want %v", got, want)
	}
	if q.Holds(r.Key()) == want {
		t.Fatalf("quarantined: %v, want %v", want, !want)
	}
}

func TestDamageInPartIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, log := newQuarantine()
		r := &repository{}
		for range 1000 {
			q.Damaged(r)
			expectAdmitted(t, q, r, true)
			time.Sleep(10 * time.Millisecond)
		}
		if n := r.examined.Load(); n != 10 {
			t.Errorf("%d examinations in ten seconds, want 10", n)
		}
		log.expect(t, 0, 0)
	})
}

func TestDamageOnceInAWhileIsNotExamined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, log := newQuarantine()
		r := &repository{}
		r.broken.Store(true) // for a moment, while it is written
		for range 20 {
			q.Damaged(r)
			expectAdmitted(t, q, r, true)
			time.Sleep(40 * time.Second)
		}
		if n := r.examined.Load(); n != 0 {
			t.Errorf("%d examinations, want 0", n)
		}
		log.expect(t, 0, 0)
	})
}

func TestBrokenRepositoryIsReportedOnceAndRetried(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]func(r *repository){
		"after a change": func(r *repository) { r.touched.Add(1) },
		"after a minute": func(*repository) { time.Sleep(time.Minute) },
	} {
		for _, kind := range []string{"damage", "panic", "panic of the examination"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					q, log := newQuarantine()
					r := &repository{}
					r.broken.Store(true)
					r.panics.Store(kind == "panic of the examination")
					panics, damages := int64(0), int64(1)
					if kind == "panic" {
						panics, damages = 1, 0
						q.Panicked(r, errBroken)
					}
					for range 3 {
						q.Damaged(r)
					}
					for range 10 {
						expectAdmitted(t, q, r, false)
						q.Damaged(r)
					}
					before := r.examined.Load()
					retry(r)
					expectAdmitted(t, q, r, false) // it is broken still
					expectAdmitted(t, q, r, false) // and not examined again at once
					if n := r.examined.Load() - before; n != 1 {
						t.Errorf("%d examinations, want 1", n)
					}
					r.broken.Store(false)
					r.panics.Store(false)
					expectAdmitted(t, q, r, false)
					log.expect(t, 1, 0)
					retry(r)
					expectAdmitted(t, q, r, true)
					log.expect(t, 1, 1)
					if q.Panics.Load() != panics || q.Damages.Load() != damages {
						t.Errorf("%d panics and %d damages are counted, want %d and %d", q.Panics.Load(), q.Damages.Load(),
							panics, damages)
					}
				})
			})
		}
	}
}

// TestPausesGrow makes a request each 100 ms to a repository that cannot be read, and again when that comes and goes.
// Changes of its files cause examinations, and no longer pauses.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, log := newQuarantine()
		r := &repository{}
		damage := func() {
			for range 3 {
				q.Damaged(r)
			}
		}
		refusedFor := func() (pause time.Duration) {
			start := time.Now()
			for before := r.examined.Load(); r.examined.Load() == before; time.Sleep(100 * time.Millisecond) {
				q.Admits(r)
			}
			return time.Since(start).Round(time.Second)
		}
		expect := func(want ...time.Duration) {
			t.Helper()
			for _, seconds := range want {
				if got := refusedFor(); got != seconds*time.Second {
					t.Fatalf("the examination took place after %v, want %v seconds", got, int(seconds))
				}
			}
		}
		r.broken.Store(true)
		damage()
		for range 100 {
			r.touched.Add(1)
			expectAdmitted(t, q, r, false)
		}
		expect(1, 2, 4)
		r.broken.Store(false)
		expect(8)
		expectAdmitted(t, q, r, true)

		r.broken.Store(true)
		damage()
		expect(16, 32, 60, 60)
		r.broken.Store(false)
		expect(60)

		time.Sleep(2 * time.Minute)
		r.broken.Store(true)
		damage()
		expect(1, 2)
		log.expect(t, 3, 2)
	})
}

// TestNoRequestWaitsForAnExamination makes requests during two examinations that do not end, of which
// the second one began after another change.
func TestNoRequestWaitsForAnExamination(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, log := newQuarantine()
		r := &repository{}
		q.Panicked(r, errBroken)
		r.begun, r.end = make(chan struct{}), make(chan struct{})
		var running sync.WaitGroup
		for range 2 {
			r.touched.Add(1)
			running.Go(func() {
				if !q.Admits(r) {
					t.Error("the request that examined the repository is refused")
				}
			})
			<-r.begun
		}
		for range 100 {
			expectAdmitted(t, q, r, false)
			q.Damaged(r)
		}
		close(r.end)
		running.Wait()
		if expectAdmitted(t, q, r, true); r.examined.Load() != 2 {
			t.Errorf("%d examinations, want 2", r.examined.Load())
		}
		log.expect(t, 1, 1)
	})
}

// TestManyAtOnce checks that each quarantine is logged and counted once, whatever requests meet.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	q, log := newQuarantine()
	r := &repository{}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for n := range 2000 {
				r.broken.Store(n%7 == 0)
				switch (n + i) % 4 {
				case 0:
					q.Damaged(r)
				case 1:
					q.Panicked(r, errBroken)
				case 2:
					r.touched.Add(1)
				default:
					q.Admits(r)
				}
			}
		})
	}
	running.Wait()
	within := 0
	if q.Holds(r.Key()) {
		within = 1
	}
	log.expect(t, log.ended+within, log.ended)
	if counted := q.Panics.Load() + q.Damages.Load(); counted == 0 || counted != int64(log.began) {
		t.Errorf("%d quarantines are logged, and %d counted", log.began, counted)
	}
}
