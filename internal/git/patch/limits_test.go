package patch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/gittest"
)

// plan plans the patch from one commit to another.
func (o *oracle) plan(form patch.Form, base, head string) (*patch.Plan, error) {
	o.t.Helper()
	steps := []history.Step{{Commit: o.id(head), Parent: o.id(base)}}
	return patch.New(o.t.Context(), o.snapshot, o.cache, form, steps)
}

// TestTagsNameTheBytes packs so many objects that git abbreviates ids to more digits.
func TestTagsNameTheBytes(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	base := repo.Commit("main", gittest.Regular("a", "1\n"))
	head := repo.Commit("main", gittest.Regular("a", "2\n"))
	tags := make(map[string]string)
	look := func(when string) {
		for _, form := range patch.Forms() {
			o := newOracle(t, repo) // a snapshot of its own
			plan, err := o.plan(form, base, head)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := o.plan(form, base, head); err != nil || again.Tag() != plan.Tag() {
				t.Errorf("%s: the tag of %s is another one the second time, %v", when, form, err)
			}
			o.diff(base, patch.Two, head)
			o.mails(base, head)
			if other := tags[plan.Tag()]; other != "" {
				t.Errorf("%s: %s has the tag of %s", when, form, other)
			}
			tags[plan.Tag()] = when + ", " + string(form)
		}
	}
	look("before")
	var many strings.Builder
	for i := range 1 << 14 {
		fmt.Fprintf(&many, "blob\ndata <<.\n%d\n.\n", i)
	}
	repo.GitInput([]byte(many.String()), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	look("with more objects")
}

func TestDamageIsFoundBeforehand(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	base := repo.Commit("main", gittest.Regular("a", "1\n"))
	head := repo.Commit("main", gittest.Regular("a", "2\n"), gittest.Regular("b", "3\n"))
	id := repo.Git("rev-parse", head+":b")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := newOracle(t, repo).plan(patch.Diff, base, head); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("a patch of a missing file: %v, want damage", err)
	}
}

func TestTooManyFilesAreRefused(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	blob := repo.Store("blob", "x")
	tree := func(mode, kind, id string, count int) string {
		var entries strings.Builder
		for i := range count {
			fmt.Fprintf(&entries, "%s %s %s\tn%04d\n", mode, kind, id, i)
		}
		return repo.GitInput([]byte(entries.String()), "mktree", "--missing")
	}
	folders := tree("040000", "tree", tree("100644", "blob", blob, 400), 400)
	base := repo.Commit("main", gittest.Regular("a", ""))
	head := repo.Git("commit-tree", "-m", "many", "-p", base, folders)
	repo.SetRef("refs/heads/many", head)
	if _, err := newOracle(t, repo).plan(patch.Diff, base, head); !errors.Is(err, history.ErrTooMany) {
		t.Errorf("a patch of 160,000 files: %v, want %v", err, history.ErrTooMany)
	}
}

// TestAnEndedContextEndsAPatch ends the context while the patch is written.
func TestAnEndedContextEndsAPatch(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	var before, after []gittest.File
	for i := range 50 {
		name := fmt.Sprint("f", i)
		before = append(before, gittest.Regular(name, gittest.Lines(i, 2000)))
		after = append(after, gittest.Regular(name, "\x00"+gittest.SeededNoise(uint64(i), 50_000)))
	}
	base, head := repo.Commit("main", before...), repo.Commit("main", after...)
	for _, form := range patch.Forms() {
		plan, err := newOracle(t, repo).plan(form, base, head)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ended writerFunc = func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		}
		if form == patch.Diff {
			cancel() // all of it fits into the buffer
		}
		if err := plan.WriteTo(ctx, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after its context ended: %v", form, err)
		}
		broken := errors.New("broken")
		var failing writerFunc = func([]byte) (int, error) { return 0, broken }
		if err := plan.WriteTo(t.Context(), failing); !errors.Is(err, broken) {
			t.Errorf("%s to a broken writer: %v", form, err)
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestMemoryIsWhatWasSaid looks at the heap while the most expensive patches are written: long files
// of short lines, binary files, many renames.
func TestMemoryIsWhatWasSaid(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	lines := strings.Repeat("\n", 400_000) + gittest.Lines(1, 300_000)
	var old, moved []gittest.File
	for i := range 200 {
		text := gittest.Lines(i, 900)
		old = append(old, gittest.Regular(fmt.Sprint("old/", i), text))
		moved = append(moved, gittest.Regular(fmt.Sprint("new/", i), text+"end\n"))
	}
	cases := []struct {
		what          string
		before, after []gittest.File
	}{
		{"lines", []gittest.File{gittest.Regular("a", lines)}, []gittest.File{gittest.Regular("a", "x\n"+lines+"y\n")}},
		{"binary", []gittest.File{gittest.Regular("a", "\x00"+gittest.Noise(12<<20))},
			[]gittest.File{gittest.Regular("a", "\x00\x01"+gittest.Noise(13<<20))}},
		{"renames", old, moved},
	}
	for _, c := range cases {
		base, head := repo.Commit(c.what, c.before...), repo.Commit(c.what, c.after...)
		for _, form := range patch.Forms() {
			plan, err := newOracle(t, repo).plan(form, base, head)
			if err != nil {
				t.Fatal(err)
			}
			if used := peak(func() error { return plan.WriteTo(t.Context(), io.Discard) }, t); used > plan.Memory() {
				t.Errorf("the %s of %s took %d bytes, and %d were said", form, c.what, used, plan.Memory())
			} else {
				t.Logf("the %s of %s took %d of %d KiB", form, c.what, used>>10, plan.Memory()>>10)
			}
		}
	}
}

// peak returns how much more of the heap could be reached at any time while do ran. It collects
// garbage all the time, because what nothing reaches takes no memory that has to be reserved.
func peak(do func() error, t *testing.T) int64 {
	t.Helper()
	before := gittest.LiveHeap()
	var ended atomic.Bool
	most := make(chan int64)
	go func() {
		var highest int64
		for !ended.Load() {
			highest = max(highest, gittest.LiveHeap())
			runtime.Gosched()
		}
		most <- highest - before
	}()
	err := do()
	ended.Store(true)
	if err != nil {
		t.Fatal(err)
	}
	return <-most
}
