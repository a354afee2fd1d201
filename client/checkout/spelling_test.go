package checkout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestNamesChangeTheirCase in commits, or how their letters are composed, on a file system that takes both names for
// one, and on one that does not: no file is lost, and none is taken for the user's, whether an update is a difference,
// a whole archive or that of a clone.
func TestNamesChangeTheirCase(t *testing.T) {
	t.Parallel()
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		changeNames(t, gittest.FoldingFolder(t))
	})
	t.Run("two", func(t *testing.T) {
		t.Parallel()
		changeNames(t, t.TempDir())
	})
}

func changeNames(t *testing.T, disk string) {
	t.Helper()
	p := newPlace(t)
	file := gittest.Regular
	steps := [][]gittest.File{
		{file("README", "1"), file("dir/\u00c9", "1"), file("e\u0301", "1"), file("Sub/x", "1"), file("Sub/y", "1"), file("sub-more", "1")},
		{file("Readme", "1"), file("dir/\u00e9", "1"), file("\u00e9", "1"), file("Sub/x", "1"), file("Sub/y", "1"), file("sub-more", "1")},
		{file("readme", "other"), file("DIR/\u00c9", "1"), file("sub/X", "1"), file("sub/y", "1"), file("sub/z", "1"), file("sub-more", "1")},
		{file("README/x", "1"), file("dir", "1"), file("SUB", "1"), file("sub-more", "1")},
		{file("readMe", "2"), file("Dir/e/f", "2"), file("sub/SUB", "1"), file("Sub-More", "1")},
		{file("readMe", "2"), file("dir/E", "2"), file("sub", "1"), file("sub-more", "1")},
	}
	ways := map[string]func(*Options){
		"difference": func(*Options) {},
		"whole":      func(o *Options) { o.Submodules = true },
		"clone":      checkouts,
	}
	places := make(map[string]*place)
	for way := range ways {
		one := *p
		one.dir = filepath.Join(disk, way)
		places[way] = &one
	}
	for i, files := range steps {
		p.commit(files...)
		for way, set := range ways {
			one, step := places[way], fmt.Sprintf("%s, step %d", way, i)
			if way == "difference" {
				one.previewSlowly(step, set)
			}
			if result := one.sync(set); result.KeptCount != 0 || result.Behind != "" {
				t.Errorf("%s: %+v", step, result)
			}
			if way == "clone" {
				if status := one.git("status", "--porcelain"); status != "" {
					t.Errorf("%s: git status: %s", step, status)
				}
			}
			if has, want := fmt.Sprint(one.files()), fmt.Sprint(p.worktree(files)); has != want {
				t.Errorf("%s: there are %s, and not %s", step, has, want)
			}
		}
	}
}

// forgetting is how long the kernel remembers of exFAT in FUSE that a name leads to a file, also when that was removed
// by its other name.
const forgetting = 1100 * time.Millisecond

// previewSlowly compares a dry run with a run.
func (p *place) previewSlowly(step string, set func(*Options)) {
	p.t.Helper()
	dry, _ := p.told(func(o *Options) { set(o); o.DryRun = true })
	time.Sleep(forgetting)
	if run, _ := p.told(set); !slices.Equal(dry, run) {
		p.t.Errorf("%s:\nthe dry run tells %q\nthe run tells     %q", step, dry, run)
	}
}

// worktree is what files of a place should be.
func (p *place) worktree(files []gittest.File) map[string]string {
	want := make(map[string]string)
	for _, f := range files {
		want[f.Path] = fmt.Sprint(fs.FileMode(0), " ", f.Content)
	}
	return want
}

// TestEditsStayWhereNamesChangeTheirCase.
func TestEditsStayWhereNamesChangeTheirCase(t *testing.T) {
	t.Parallel()
	disk := gittest.FoldingFolder(t)
	for name, set := range map[string]func(*Options){
		"difference": func(*Options) {}, "whole": func(o *Options) { o.Submodules = true }, "clone": checkouts,
	} {
		p := newPlace(t)
		p.dir = filepath.Join(disk, name)
		p.commit(gittest.Regular("README", "1"), gittest.Regular("b", "1"))
		p.sync(set)
		p.write("README", "mine")
		p.commit(gittest.Regular("Readme", "2"), gittest.Regular("b", "2"))
		for range 2 {
			if result := p.sync(set); result.KeptCount == 0 {
				t.Errorf("%s: %+v", name, result)
			}
			if content, err := os.ReadFile(p.at("README")); string(content) != "mine" {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
		if p.sync(func(o *Options) { set(o); o.Force = true }); !has(p.at("Readme"), "2") {
			t.Errorf("%s: it was not overwritten", name)
		}
	}
}

// TestOfTwoNamesThatAreOneHere the second is reported and left out, whatever becomes of either.
func TestOfTwoNamesThatAreOneHere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.dir = filepath.Join(gittest.FoldingFolder(t), "in")
	for i, step := range []struct {
		files []gittest.File
		kept  int
		has   []gittest.File
	}{
		{files: []gittest.File{gittest.Regular("README", "1")}},
		{[]gittest.File{gittest.Regular("README", "1"), gittest.Regular("readme", "1")}, 1, []gittest.File{gittest.Regular("README", "1")}},
		{files: []gittest.File{gittest.Regular("README", "1"), gittest.Regular("b", "1")}},
		{[]gittest.File{gittest.Regular("README", "1"), gittest.Regular("readme", "2")}, 1, []gittest.File{gittest.Regular("README", "1")}},
		{files: []gittest.File{gittest.Regular("readme", "2")}},
	} {
		p.commit(step.files...)
		time.Sleep(forgetting)
		if result := p.sync(nil); result.KeptCount != step.kept {
			t.Errorf("step %d: %+v", i, result)
		}
		if step.has == nil {
			step.has = step.files
		}
		if has, want := fmt.Sprint(p.files()), fmt.Sprint(p.worktree(step.has)); has != want {
			t.Errorf("step %d: there are %s, and not %s", i, has, want)
		}
	}
}

// TestNamesThatTheFileSystemDoesNotAllow are refused with their paths, and harm nothing that is there.
func TestNamesThatTheFileSystemDoesNotAllow(t *testing.T) {
	t.Parallel()
	disk := gittest.FoldingFolder(t)
	for i, name := range []string{"a:b", "a\xff", "d:d/x", "d/e?/x"} {
		for way, set := range map[string]func(*Options){
			"difference": nil, "whole": func(o *Options) { o.Submodules = true }, "clone": checkouts,
		} {
			p := newPlace(t)
			p.dir = filepath.Join(disk, fmt.Sprint(i, way))
			first := gittest.Regular("z", "1")
			p.commit(first)
			p.sync(set)
			p.commit(first, gittest.Regular(name, "1"))
			options := p.options()
			if set != nil {
				set(&options)
			}
			_, err := Sync(t.Context(), p.connect(), options)
			refused, ok := errors.AsType[*unpack.RefusedError](err)
			if !ok || refused.Reason != unpack.NotAllowed || !strings.HasPrefix(name, refused.Paths[0]) {
				t.Errorf("%q, %s: %v", name, way, err)
			}
			if has, want := fmt.Sprint(p.files()), fmt.Sprint(p.worktree([]gittest.File{first})); has != want {
				t.Errorf("%q, %s: there are %s, and not %s", name, way, has, want)
			}
			if way == "clone" {
				continue
			}
			options.Exclude = []string{name}
			if result, err := Sync(t.Context(), p.connect(), options); err != nil || result.KeptCount != 0 {
				t.Errorf("%q, %s, left out: %+v, %v", name, way, result, err)
			}
		}
	}
}
