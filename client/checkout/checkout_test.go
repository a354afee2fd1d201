package checkout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func (p *place) same(want tree) {
	p.t.Helper()
	if diff := differences(p.onDisk(), want); len(diff) > 0 {
		p.t.Errorf("the folder has %q", diff)
	}
}

func (p *place) commit(files ...gittest.File) { p.repo.Commit("main", files...) }

func (p *place) mtime(path string) time.Time {
	p.t.Helper()
	info, err := os.Lstat(filepath.Join(p.dir, path))
	if err != nil {
		p.t.Fatal(err)
	}
	return info.ModTime()
}

func TestUpdatesFollowTheBranch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("README", "one\n"), gittest.Executable("bin/run", "run"),
		gittest.Symlink("link", "README"), gittest.Regular("src/a", "a"), gittest.Regular("src/b", "b"))
	first := p.sync(nil)
	p.same(p.archived())
	if !first.Full || first.Written != 5 || first.Base != "" || first.KeptCount != 0 {
		t.Errorf("the first run: %+v", first)
	}
	before := p.mtime("src/a")
	if again := p.sync(nil); again.Written != 0 || again.Bytes != 0 || again.Commit != first.Commit {
		t.Errorf("nothing is new: %+v", again)
	}

	p.commit(gittest.Regular("README", "two\n"), gittest.Regular("bin/run", "run"), gittest.Symlink("link", "src/a"),
		gittest.Regular("src/a", "a"), gittest.Regular("new/c d", "c"))
	second := p.sync(nil)
	p.same(p.archived())
	if second.Full || second.Written != 4 || second.Deleted != 1 || second.Base != first.Commit {
		t.Errorf("an update: %+v", second)
	}
	if p.mtime("src/a") != before {
		t.Error("a file that is the same has another time")
	}
}

func TestTypesChange(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "file"), gittest.Regular("b/x", "in a folder"),
		gittest.Regular("b/y/z", "in a folder"), gittest.Symlink("c", "a"))
	p.sync(nil)
	p.commit(gittest.Regular("a/x", "below"), gittest.Regular("b", "file"), gittest.Regular("c/d", "x"))
	p.sync(nil)
	p.same(p.archived())
	p.commit(gittest.Symlink("a", "b"), gittest.Regular("b/x", "again"), gittest.Regular("c", "file"))
	p.sync(func(o *Options) { o.Exclude = []string{"none*"} }) // a whole archive
	p.same(p.archived())
}

func TestLocalEditsAreKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("edited", "1"), gittest.Regular("removed", "1"), gittest.Regular("same", "1"),
		gittest.Regular("gone", "1"), gittest.Regular("goes", "1"), gittest.Regular("d/in", "1"), gittest.Regular("f",
			"1"))
	p.sync(nil)
	p.write("edited", "mine")
	p.write("gone", "mine")
	p.write("same", "2")
	p.write("new", "mine")
	p.write("also new", "2")
	p.write(".gitignore", "mine")
	if err := os.Remove(filepath.Join(p.dir, "removed")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "d")); err != nil {
		t.Fatal(err)
	}
	p.write("d", "a file")
	p.commit(gittest.Regular("edited", "2"), gittest.Regular("removed", "2"), gittest.Regular("same", "2"),
		gittest.Regular("new", "2"), gittest.Regular("also new", "2"), gittest.Regular("d/in",
			"2"), gittest.Regular("f", "1"))
	want := p.archived()
	want["edited"], want["gone"], want["new"], want[".gitignore"], want["d"] = "file mine", "file mine", "file mine", "file mine", "file a file"
	delete(want, "d/in")

	dry := p.sync(func(o *Options) { o.DryRun = true })
	got := p.sync(nil)
	p.same(want)
	slices.Sort(got.Kept)
	if !slices.Equal(got.Kept, []string{"d", "edited", "gone", "new"}) || got.KeptCount != 4 {
		t.Errorf("%q were kept", got.Kept)
	}
	if slices.Sort(dry.Kept); !slices.Equal(dry.Kept, got.Kept) || dry.Written != got.Written ||
		dry.Deleted != got.Deleted {
		t.Errorf("the dry run says %+v, the run %+v", dry, got)
	}
	// Edits are reported as long as they differ from the branch.
	p.write("edited", "2")
	again := p.sync(nil)
	if slices.Sort(again.Kept); !slices.Equal(again.Kept, []string{"d/in", "new"}) || again.Bytes != 0 {
		t.Errorf("%+v", again)
	}
	if err := os.Remove(filepath.Join(p.dir, "new")); err != nil {
		t.Fatal(err)
	}
	p.sync(nil)
	want["edited"], want["new"] = "file 2", "file 2"
	p.same(want)
	if forced := p.sync(func(o *Options) { o.Force = true }); forced.KeptCount != 0 {
		t.Errorf("with force: %+v", forced)
	}
	want = p.archived()
	want["gone"], want[".gitignore"] = "file mine", "file mine"
	p.same(want)
}

func TestVerifyMends(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("damaged", "12345"), gittest.Regular("d/missing", "1"), gittest.Regular("edited", "1"),
		gittest.Symlink("link", "edited"))
	p.sync(nil)
	time.Sleep(2 * fineTime) // the next state trusts change times, which a test cannot set
	p.commit(gittest.Regular("damaged", "12345"), gittest.Regular("d/missing", "1"), gittest.Regular("edited", "1"),
		gittest.Symlink("link", "edited"), gittest.Regular("more", "1"))
	p.sync(nil)
	at := p.mtime("damaged")
	p.sync(func(o *Options) { o.Verify = true })
	p.write("damaged", "1x345")
	if err := os.Chtimes(filepath.Join(p.dir, "damaged"), at, at); err != nil {
		t.Fatal(err)
	}
	p.write("edited", "2")
	if err := os.RemoveAll(filepath.Join(p.dir, "d")); err != nil {
		t.Fatal(err)
	}
	if unseen := p.sync(nil); unseen.KeptCount != 0 || unseen.Bytes != 0 {
		t.Errorf("without verify: %+v", unseen)
	}
	want := p.archived()
	want["edited"], want["damaged"] = "file 2", "file 1x345"
	want["d/missing"] = "file 1"
	if edited := p.sync(func(o *Options) { o.Verify = true }); !slices.Equal(edited.Kept, []string{"damaged", "edited"}) {
		t.Errorf("a program that changes a file and not its time: %+v", edited)
	}
	p.same(want)
	p.forgetChangeTimes()
	if err := os.RemoveAll(filepath.Join(p.dir, "d")); err != nil {
		t.Fatal(err)
	}
	got := p.sync(func(o *Options) { o.Verify = true })
	want["damaged"] = "file 12345"
	p.same(want)
	if !slices.Equal(got.Kept, []string{"edited"}) || got.Written != 2 {
		t.Errorf("%+v", got)
	}
	p.sync(func(o *Options) { o.Verify, o.Force = true, true })
	p.same(p.archived())
}

func TestBranchesThatMove(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"))
	p.sync(nil)
	// A base that the server no longer has.
	p.repo.Git("update-ref", "-d", "refs/heads/main")
	p.repo.Git("reflog", "expire", "--expire=now", "--all")
	p.repo.Git("gc", "-q", "--prune=now")
	_, err := Sync(t.Context(), p.client, p.options())
	if !errors.Is(err, ErrGone) {
		t.Errorf("a branch that is gone gives %v", err)
	}
	p.commit(gittest.Regular("a", "2"), gittest.Regular("c", "1"))
	if got := p.sync(nil); !got.Full || got.Deleted != 1 {
		t.Errorf("another history: %+v", got)
	}
	p.same(p.archived())
	o := p.options()
	o.Repository = "nothing"
	if _, err := Sync(t.Context(), p.client, o); !errors.Is(err, ErrGone) {
		t.Errorf("a repository that is gone gives %v", err)
	}
	p.same(p.archived())
	o.Dir = filepath.Join(filepath.Dir(p.dir), "never")
	if _, err := Sync(t.Context(), p.client, o); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(o.Dir); err == nil {
		t.Error("a folder was made for nothing")
	}
}

func TestOtherPathsAreAnotherSelection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("src/a", "1"), gittest.Regular("src/b", "1"), gittest.Regular("doc/a", "1"))
	p.sync(func(o *Options) { o.Paths = []string{"src"} })
	p.same(p.archived("src"))
	before := p.mtime("src/a")
	p.sync(func(o *Options) { o.Exclude = []string{"src/b"} })
	p.same(p.archived(".", ":!src/b"))
	if p.mtime("src/a") != before {
		t.Error("a file that is the same has another time")
	}
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	held, err := open(p.options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sync(t.Context(), p.client, p.options()); !errors.Is(err, ErrLocked) {
		t.Errorf("the second run gives %v", err)
	}
	if err := held.close(); err != nil {
		t.Fatal(err)
	}
	p.sync(nil)
}

// TestOneFileIsNotTheWholeArchive: what is forced, or mended, comes alone, whatever
// its name is, and nothing else is touched.
func TestOneFileIsNotTheWholeArchive(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	odd := []string{"d/a*[b]?", "d/:(glob)x", "d/größe +%&", "folder/in", "folder/deep/er", "single"}
	var files []gittest.File
	for _, path := range odd {
		files = append(files, gittest.Regular(path, "right"))
	}
	files = append(files, gittest.Regular("d/ax[b]y", "other"), gittest.Symlink("link", "single"),
		gittest.Regular("noise", gittest.Noise(400_000)))
	p.commit(files...)
	p.sync(nil)
	time.Sleep(2 * fineTime) // the next state trusts change times, which a test cannot set
	p.commit(append(files, gittest.Regular("later", "1"))...)
	p.sync(nil)
	before := p.mtime("noise")
	small := func(what string, got Result, written int) {
		t.Helper()
		p.same(p.archived())
		if got.Full || got.Bytes == 0 || got.Bytes > 100_000 || got.Written != written || got.Deleted != 0 ||
			got.KeptCount != 0 || p.mtime("noise") != before {
			t.Errorf("%s: %+v", what, got)
		}
		if again := p.sync(func(o *Options) { o.Verify = true }); again.Bytes != 0 || again.KeptCount != 0 {
			t.Errorf("%s, and then: %+v", what, again)
		}
	}

	for _, path := range odd {
		p.write(path, "mine")
	}
	edited := p.sync(func(o *Options) { o.Verify = true })
	if edited.KeptCount != len(odd) || edited.Bytes != 0 {
		t.Errorf("edits: %+v", edited)
	}
	small("with force", p.sync(func(o *Options) { o.Verify, o.Force = true, true }), len(odd))

	for _, path := range []string{"folder", "link", "d/:(glob)x"} {
		if err := os.RemoveAll(filepath.Join(p.dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	small("what is missing", p.sync(func(o *Options) { o.Verify = true }), 4)

	// What an edit is in the way of.
	if err := os.RemoveAll(filepath.Join(p.dir, "folder")); err != nil {
		t.Fatal(err)
	}
	p.write("folder", "mine")
	small("in the way of a folder", p.sync(func(o *Options) { o.Verify, o.Force = true, true }), 2)
}

// TestManyFilesAreTheWholeArchive: no server takes a URI that names them all.
func TestManyFilesAreTheWholeArchive(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("1 ")...)
	p.sync(nil)
	if err := os.Remove(filepath.Join(p.dir, "large")); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := os.Remove(filepath.Join(p.dir, fmt.Sprintf("d%d/f%03d", i/30, i))); err != nil {
			t.Fatal(err)
		}
	}
	p.write("d0/keeps the folder", "mine")
	if got := p.sync(func(o *Options) { o.Verify = true }); !got.Full || got.Written != 301 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(p.dir, "d0/keeps the folder")); err != nil {
		t.Fatal(err)
	}
	p.same(p.archived())
}

// TestKeptEditsAreNamedEachTime, also by a run that brings other files, until they
// are given up.
func TestKeptEditsAreNamedEachTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("edited", "1"), gittest.Regular("other", "1"))
	p.sync(nil)
	p.write("edited", "mine")
	for i, other := range []string{"2", "3", "4"} {
		p.commit(gittest.Regular("edited", "2"), gittest.Regular("other", other))
		told := 0
		got := p.sync(func(o *Options) {
			o.Events = func(e Event) {
				if e.Event == EventKeep && e.Path == "edited" {
					told++
				}
			}
		})
		if told != 1 || got.Full || got.KeptCount != 1 || !slices.Equal(got.Kept, []string{"edited"}) {
			t.Errorf("run %d tells %d times: %+v", i, told, got)
		}
	}
	p.commit(gittest.Regular("edited", "2"), gittest.Regular("other", "5"))
	if got := p.sync(func(o *Options) { o.Force = true }); got.Full || got.KeptCount != 0 || got.Written != 2 {
		t.Errorf("with force: %+v", got)
	}
	p.same(p.archived())
}
