package checkout

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestTimesThatHideAChangeAreNotRecorded(t *testing.T) {
	t.Parallel()
	whole := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name            string
		modified, after time.Time
		lasts           bool
	}{
		{"whole seconds, at once", whole, whole.Add(time.Millisecond), false},
		{"whole seconds, before the next but one", whole, whole.Add(1999 * time.Millisecond), false},
		{"whole seconds, then", whole, whole.Add(2 * time.Second), true},
		{"whole seconds of the future", whole, whole.Add(-time.Hour), false},
		{"a tick of a kernel's clock, at once", whole.Add(4 * time.Millisecond), whole.Add(5 * time.Millisecond), false},
		{"a tick of a kernel's clock, later", whole.Add(4 * time.Millisecond), whole.Add(24 * time.Millisecond), true},
	} {
		got, want := lastingTime(c.modified, c.after), int64(0)
		if c.lasts {
			want = c.modified.UnixNano()
		}
		if got != want {
			t.Errorf("%s: %d, want %d", c.name, got, want)
		}
	}
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	for modified, want := range map[time.Time]bool{
		soon: false, soon.Add(exFATTime): false, soon.Add(exFATTime + time.Microsecond): true,
	} {
		if got := ownTime(modified) != 0; got != want {
			t.Errorf("the time %v of a file that was just written lasts: %v, want %v", modified, got, want)
		}
	}
}

// TestASaveWithinTheSecondOfALook has a program save a file when the run has just decided about it, on a file system
// that keeps whole seconds: neither the size nor the time tells.
func TestASaveWithinTheSecondOfALook(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("f", "ours 1"))
	p.sync(nil)
	p.commit(gittest.Regular("f", "ours 2"))
	at, second := filepath.Join(p.dir, "f"), time.Now().Add(time.Second).Truncate(time.Second)
	coarse := func() {
		if err := os.Chtimes(at, second, second); err != nil {
			t.Error(err)
		}
	}
	coarse()
	save := func(o *Options) {
		o.Replaces = func(string) bool {
			if err := os.WriteFile(at, []byte("saved!"), 0o600); err != nil {
				t.Error(err)
			}
			coarse()
			return true
		}
	}
	if result := p.sync(save); result.KeptCount != 1 {
		t.Errorf("%+v", result)
	}
	p.same(tree{"f": "file saved!"})
	if result := p.sync(func(o *Options) { save(o); o.Force = true }); result.KeptCount != 0 {
		t.Errorf("forced: %+v", result)
	}
	p.same(tree{"f": "file ours 2"})
}

// TestWhatWasSavedIsNotInTheIndex looks for what a clone's index may say of files that were changed since they were
// written.
func TestWhatWasSavedIsNotInTheIndex(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("f", "1"), gittest.Regular("saved", "1"), gittest.Symlink("l", "a"),
		gittest.Symlink("moved", "a"))
	p.sync(nil)
	at := func(name string) string { return filepath.Join(p.dir, name) }
	if err := errors.Join(os.WriteFile(at("saved"), []byte("2"), 0o600), os.Remove(at("moved")),
		os.Symlink("b", at("moved"))); err != nil {
		t.Fatal(err)
	}
	f, err := open(p.options())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.close() }()
	stats, err := f.writtenStats(slices.Values([]string{"f", "l", "moved", "none", "saved"}))
	if got := slices.Sorted(maps.Keys(stats)); err != nil || !slices.Equal(got, []string{"f", "l"}) {
		t.Errorf("the index knows %q, %v, want f and l", got, err)
	}
}
