package checkout

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// skippedIn runs, and compares the skipped links with the reported ones.
func (p *place) skippedIn(what string, want []string, change func(*Options)) {
	p.t.Helper()
	var told []string
	result := p.sync(func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Events = func(e Event) {
			if e.Event == EventSkipped && e.Reason == ReasonOutside {
				told = append(told, e.Path)
			}
		}
	})
	slices.Sort(told)
	if slices.Sort(result.Skipped); !slices.Equal(result.Skipped, want) || !slices.Equal(told, want) ||
		result.SkippedCount != len(want) || result.KeptCount != 0 {
		p.t.Errorf("%s: %q were told, %+v, not %q", what, told, result, want)
	}
}

// TestLinksThatLeadOutsideAreLeftOut, and all else stays in step: in a first run, in
// updates and in whole archives, until a commit mends them.
func TestLinksThatLeadOutsideAreLeftOut(t *testing.T) {
	for name, whole := range map[string]bool{"by differences": false, "by whole archives": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			outside, later := gittest.Symlink("out", "/dev/null"), gittest.Symlink("d/up", "../../x")
			good := gittest.Symlink("d/good", "../a")
			commit, other := p.commit, 0
			change := func(o *Options) {
				if other++; whole { // another selection takes a whole archive
					o.Exclude = []string{":(glob)none" + string(rune('a'+other))}
				}
			}
			want := func(without ...string) tree {
				all := p.archived()
				for _, path := range without {
					delete(all, path)
				}
				return all
			}
			commit(gittest.Regular("a", "1"), gittest.Regular("was", "1"), gittest.Regular("folder/x", "1"),
				gittest.Regular("folder/y/z", "1"), outside, good)
			p.skippedIn("the first run", []string{"out"}, change)
			p.same(want("out"))

			commit(gittest.Regular("a", "2"), gittest.Regular("was", "1"), gittest.Regular("folder/x", "1"),
				gittest.Regular("folder/y/z", "1"), outside, good, later)
			p.skippedIn("an update", []string{"d/up", "out"}, change)
			p.same(want("out", "d/up"))

			// What is there stays where a link comes that is left out.
			commit(gittest.Regular("a", "3"), gittest.Symlink("was", "/x"), gittest.Symlink("folder", "../y"), good, outside)
			p.skippedIn("links in the place of files", []string{"folder", "out", "was"}, change)
			stays := want("out", "was", "folder")
			stays["was"], stays["folder/x"], stays["folder/y/z"] = "file 1", "file 1", "file 1"
			p.same(stays)
			p.skippedIn("nothing new", []string{"folder", "out", "was"}, change)
			p.same(stays)

			// A commit mends some, and removes another.
			commit(gittest.Regular("a", "3"), gittest.Regular("was", "2"), gittest.Regular("folder/y/w", "2"), good)
			p.skippedIn("mended", nil, change)
			p.same(p.archived())
		})
	}
}

func TestLinksAreMadeOnRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Symlink("out", "/dev/null"), gittest.Symlink("folder", "/x"))
	p.skippedIn("without leave", []string{"folder", "out"}, nil)
	p.skippedIn("with leave", nil, func(o *Options) { o.AllowExternalSymlinks = true })
	p.same(p.archived())
	p.skippedIn("they are there", nil, nil)
}

// TestSkippedFoldersGo when the link that stands for them does, but for edits in them.
func TestSkippedFoldersGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("folder/x", "1"), gittest.Regular("folder/y", "1"),
		gittest.Regular("other/x", "1"))
	p.sync(nil)
	p.commit(gittest.Regular("a", "1"), gittest.Symlink("folder", "/x"), gittest.Symlink("other", "/x"))
	p.skippedIn("links", []string{"folder", "other"}, nil)
	p.write("folder/y", "mine")
	p.commit(gittest.Regular("a", "1"), gittest.Regular("other", "now a file"))
	result := p.sync(nil)
	p.same(tree{"a": "file 1", "folder/y": "file mine", "other": "file now a file"})
	if !slices.Equal(result.Kept, []string{"folder/y"}) || result.SkippedCount != 0 {
		t.Errorf("%+v", result)
	}
	// The user's own file in the place of a link is an edit.
	p.commit(gittest.Regular("a", "1"), gittest.Symlink("other", "/x"), gittest.Symlink("mine", "/x"))
	p.write("mine", "mine")
	p.skippedIn("and again", []string{"mine", "other"}, nil)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("mine", "of the commit"), gittest.Regular("other", "mended"))
	if result = p.sync(nil); !slices.Equal(result.Kept, []string{"mine"}) || !has(filepath.Join(p.dir, "mine"), "mine") ||
		!has(filepath.Join(p.dir, "other"), "mended") {
		t.Errorf("%+v", result)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "folder")); err != nil {
		t.Fatal(err)
	}
	p.sync(func(o *Options) { o.Force = true })
	p.same(p.archived())
}
