package checkout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// status compares the files that are not as the commit has them.
func (p *place) status(want ...string) Status {
	p.t.Helper()
	now, err := StatusOf(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, f := range now.Files {
		got = append(got, f.State+" "+f.Path)
	}
	if !slices.Equal(got, want) || now.FileCount != len(want) {
		p.t.Errorf("the status is %q, not %q", got, want)
	}
	return now
}

// TestConflictsAreSolvedOneByOne, for the user's version or that of the branch.
func TestConflictsAreSolvedOneByOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	version := func(n string) []gittest.File {
		return []gittest.File{gittest.Regular("a", n), gittest.Regular("b", n), gittest.Regular("d/x", n),
			gittest.Regular("d/y", n), gittest.Regular("z", "1")}
	}
	p.commit(version("1")...)
	p.sync(nil)
	for _, path := range []string{"a", "b", "d/x", "d/y", "z"} {
		p.write(path, "mine")
	}
	p.commit(version("2")...)
	keeps := func(what string, want []string, change func(*Options)) {
		t.Helper()
		result := p.sync(change)
		if slices.Sort(result.Kept); !slices.Equal(result.Kept, want) {
			t.Errorf("%s: %q were kept, not %q", what, result.Kept, want)
		}
	}
	keeps("at first", []string{"a", "b", "d/x", "d/y"}, nil)
	p.status("kept a", "kept b", "kept d/x", "kept d/y", "edited z")
	keeps("theirs", []string{"b", "d/y"}, func(o *Options) { o.Theirs = []string{"a", "d/x"} })
	p.same(tree{"a": "file 2", "b": "file mine", "d/x": "file 2", "d/y": "file mine", "z": "file mine"})
	keeps("mine", nil, func(o *Options) { o.Mine = []string{"b", "./d/"} })
	keeps("and not again", nil, nil)
	keeps("nor by verify", []string{"z"}, func(o *Options) { o.Verify = true })
	p.status("mine b", "mine d/y", "edited z")
	keeps("nor by a whole archive", []string{"z"}, func(o *Options) { o.Exclude = []string{":(glob)none"} })
	p.status("mine b", "mine d/y", "kept z")
	p.same(tree{"a": "file 2", "b": "file mine", "d/x": "file 2", "d/y": "file mine", "z": "file mine"})

	// Another version is another question.
	p.commit(version("3")...)
	keeps("another version", []string{"b", "d/y", "z"}, nil)
	p.write("b", "3")
	keeps("it is the same now", []string{"d/y", "z"}, nil)
	keeps("theirs, all", nil, func(o *Options) { o.Theirs = []string{"z", "d"} })
	p.same(p.archived())
	p.write("z", "mine")
	keeps("an edit that is not looked for", nil, nil)
	keeps("theirs", nil, func(o *Options) { o.Theirs = []string{"z"} })
	p.same(p.archived())
	p.status()

	fresh := p.options()
	fresh.Mine, fresh.Dir = []string{"a"}, filepath.Join(t.TempDir(), "fresh")
	if _, err := Sync(t.Context(), p.client, fresh); CodeOf(err) != CodeArguments {
		t.Errorf("of a folder that is new: %v", err)
	}
	if _, err := os.Lstat(fresh.Dir); err == nil {
		t.Error("it was made")
	}
	for _, wrong := range [][2][]string{{{"nothing"}, nil}, {{"a"}, nil}, {{""}, nil}, {nil, {"/"}}} {
		o := p.options()
		o.Mine, o.Theirs = wrong[0], wrong[1]
		if _, err := Sync(t.Context(), p.client, o); CodeOf(err) != CodeArguments {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestStatusNeedsNoServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Executable("b", "1"), gittest.Regular("d/c", "1"),
		gittest.Symlink("l", "a"), gittest.Symlink("out", "/x"), gittest.Regular("e", "1"))
	if _, err := StatusOf(p.dir); CodeOf(err) != CodeArguments {
		t.Errorf("of no folder: %v", err)
	}
	p.sync(func(o *Options) { o.Profile, o.Exclude = ProfileFull, []string{"e"} })
	now := p.status("skipped out")
	if now.Repository != "app" || now.Ref != "main" || now.Profile != ProfileFull || now.Interrupted ||
		now.Commit != p.repo.Git("rev-parse", "main") || now.Synced.IsZero() || !slices.Equal(now.Exclude, []string{"e"}) {
		t.Errorf("%+v", now)
	}
	p.write("a", "mine")
	p.write("new", "mine")
	if err := errors.Join(os.Chmod(filepath.Join(p.dir, "b"), 0o644), os.RemoveAll(filepath.Join(p.dir, "d")),
		os.Remove(filepath.Join(p.dir, "l")), os.Symlink("b", filepath.Join(p.dir, "l"))); err != nil {
		t.Fatal(err)
	}
	p.status("edited a", "edited b", "missing d/c", "edited l", "skipped out")
	if err := os.WriteFile(filepath.Join(p.dir, stateFolder, journalName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if now := p.status("edited a", "edited b", "missing d/c", "edited l", "skipped out"); !now.Interrupted {
		t.Errorf("%+v", now)
	}
}

// TestEditorsAreAskedBeforeAnOverwrite: what they hold back comes with the next run.
func TestEditorsAreAskedBeforeAnOverwrite(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"), gittest.Regular("gone", "1"))
	p.sync(nil)
	p.commit(gittest.Regular("a", "2"), gittest.Regular("b", "2"), gittest.Regular("new", "2"))
	var asked, told []string
	held := p.sync(func(o *Options) {
		o.Replaces = func(path string) bool {
			asked = append(asked, path)
			return path == "b"
		}
		o.Events = func(e Event) {
			if e.Event == EventKeep {
				told = append(told, fmt.Sprint(e.Path, " ", e.Reason))
			}
		}
	})
	slices.Sort(asked)
	slices.Sort(told)
	if !slices.Equal(asked, []string{"a", "b", "gone"}) || !slices.Equal(told, []string{"a held", "gone held"}) ||
		held.KeptCount != 2 {
		t.Errorf("%q were asked for, %q told: %+v", asked, told, held)
	}
	p.same(tree{"a": "file 1", "b": "file 2", "new": "file 2", "gone": "file 1"})
	p.status("postponed a", "postponed gone")
	if later := p.sync(nil); later.KeptCount != 0 || later.Written != 1 || later.Deleted != 1 {
		t.Errorf("%+v", later)
	}
	p.same(tree{"a": "file 2", "b": "file 2", "new": "file 2"})
}
