package quarantine_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/repos/quarantine"
)

var errBroken = errors.New("broken")

// repository is a subject whose files and whose health the test decides.
type repository struct {
	touched  atomic.Int32
	broken   atomic.Bool
	examined atomic.Int32
	begun    chan struct{} // when it is not nil an examination waits here
}

func (r *repository) Key() string             { return "r" }
func (r *repository) Stamp() quarantine.Stamp { return quarantine.Stamp{byte(r.touched.Load())} }
func (r *repository) Examine() error {
	r.examined.Add(1)
	if r.begun != nil {
		r.begun <- struct{}{}
		<-r.begun
	}
	if r.broken.Load() {
		return errBroken
	}
	return nil
}

// told are what a ward says.
type told struct{ entered, left []quarantine.Case }

func newWard() (*quarantine.Ward, *told) {
	t := new(told)
	return quarantine.New(time.Now, func(c quarantine.Case) { t.entered = append(t.entered, c) },
		func(c quarantine.Case) { t.left = append(t.left, c) }), t
}

// refused fails unless the repository is refused.
func refused(t *testing.T, w *quarantine.Ward, r *repository) {
	t.Helper()
	var refusal *quarantine.Refusal
	if err := w.Admit(r); !errors.As(err, &refusal) || refusal.After <= 0 {
		t.Fatalf("it is not refused: %v", err)
	}
}

func admitted(t *testing.T, w *quarantine.Ward, r *repository) {
	t.Helper()
	if err := w.Admit(r); err != nil {
		t.Fatalf("it is refused: %v", err)
	}
}

func TestDamageInPartIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		for range 1000 {
			w.Damaged(r)
			admitted(t, w, r)
			time.Sleep(10 * time.Millisecond)
		}
		if n := r.examined.Load(); n < 8 || n > 10 || len(told.entered) != 0 {
			t.Errorf("in ten seconds it was examined %d times, and set aside %d times", n, len(told.entered))
		}
	})
}

func TestDamageOnceInAWhileIsNotExamined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		r.broken.Store(true) // for a moment, as while it is made
		for range 20 {
			w.Damaged(r)
			time.Sleep(40 * time.Second)
		}
		if r.examined.Load() != 0 || len(told.entered) != 0 {
			t.Errorf("%d examinations", r.examined.Load())
		}
	})
}

func TestWhatIsBrokenIsSetAsideAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		r.broken.Store(true)
		for range 3 {
			admitted(t, w, r)
			w.Damaged(r)
		}
		if len(told.entered) != 1 || !errors.Is(told.entered[0].Cause, errBroken) || told.entered[0].Panicked {
			t.Fatalf("%+v", told.entered)
		}
		// For a minute it is asked for all the time, and examined seldom: after 1, 3, 7, 15 and 31 seconds.
		for range 6000 {
			refused(t, w, r)
			time.Sleep(10 * time.Millisecond)
		}
		if n := r.examined.Load(); n != 6 {
			t.Errorf("it was examined %d times", n)
		}
		r.broken.Store(false)
		refused(t, w, r) // nobody knows
		r.touched.Add(1)
		time.Sleep(200 * time.Millisecond)
		admitted(t, w, r)
		if _, aside := w.Case("r"); aside || len(told.entered) != 1 || len(told.left) != 1 || w.Counts().Damages != 1 {
			t.Errorf("%+v", told)
		}
	})
}

func TestWhatIsMendedByHalfStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		r.broken.Store(true)
		for range 3 {
			w.Damaged(r)
		}
		for range 100 {
			r.touched.Add(1)
			time.Sleep(200 * time.Millisecond)
			refused(t, w, r)
		}
		// The last change was followed by a pause of a second.
		r.broken.Store(false)
		time.Sleep(time.Second)
		admitted(t, w, r)
		if len(told.entered) != 1 || len(told.left) != 1 {
			t.Errorf("%+v", told)
		}
	})
}

// Whoever panics again is set aside for longer, up to a minute, and a panic long after
// counts as the first.
func TestPausesAfterPanicsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			w.Panicked(r, errBroken)
			w.Panicked(r, errBroken) // another request that had begun before
			time.Sleep(want*time.Second - time.Millisecond)
			refused(t, w, r)
			time.Sleep(time.Second)
			admitted(t, w, r)
		}
		time.Sleep(11 * time.Minute)
		w.Panicked(r, errBroken)
		last := told.entered[len(told.entered)-1]
		if last.Again.Sub(last.Since) != time.Second || len(told.entered) != 9 || !last.Panicked ||
			w.Counts().Panics != 9 {
			t.Errorf("%+v", told.entered)
		}
	})
}

// While somebody examines a repository, which may take long, nobody waits.
func TestNobodyWaitsForAnExamination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := newWard()
		r := &repository{}
		w.Panicked(r, errBroken)
		time.Sleep(time.Second)
		r.begun = make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.Admit(r); err != nil {
				t.Errorf("who examined it is refused: %v", err)
			}
		})
		<-r.begun
		for range 100 {
			refused(t, w, r)
			w.Damaged(r)
		}
		r.begun <- struct{}{}
		running.Wait()
		if admitted(t, w, r); r.examined.Load() != 1 || len(told.left) != 1 {
			t.Errorf("%d examinations", r.examined.Load())
		}
	})
}

func TestAnExaminationThatPanicsIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWard()
		r := &panicking{}
		w.Panicked(r, errBroken)
		time.Sleep(time.Second)
		if err := w.Admit(r); err == nil {
			t.Error("it is admitted")
		}
		time.Sleep(time.Second)
		if err := w.Admit(r); err == nil {
			t.Error("it is admitted")
		}
	})
}

type panicking struct{ repository }

func (*panicking) Examine() error { panic("on purpose") }

func TestWhatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWard()
		r := &repository{}
		w.Panicked(r, errBroken)
		w.Forget(func(key string) bool { return key != "r" })
		refused(t, w, r)
		w.Forget(func(key string) bool { return key == "r" })
		admitted(t, w, r)
		w.Panicked(r, errBroken)
		time.Sleep(time.Second)
		admitted(t, w, r) // the pause is that of the first
	})
}

// However requests meet, who was set aside and came back is counted right.
func TestManyAtOnce(t *testing.T) {
	var entered, left atomic.Int32
	w := quarantine.New(time.Now, func(quarantine.Case) { entered.Add(1) }, func(quarantine.Case) { left.Add(1) })
	r := &repository{}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for n := range 2000 {
				r.broken.Store(n%7 == 0)
				switch (n + i) % 4 {
				case 0:
					w.Damaged(r)
				case 1:
					w.Panicked(r, errBroken)
				case 2:
					r.touched.Add(1)
				default:
					_ = w.Admit(r)
				}
			}
		})
	}
	running.Wait()
	_, aside := w.Case("r")
	if within := entered.Load() - left.Load(); entered.Load() == 0 || within < 0 || within > 1 ||
		aside != (within == 1) {
		t.Errorf("%d were set aside, %d came back, and now it is %v", entered.Load(), left.Load(), aside)
	}
}
