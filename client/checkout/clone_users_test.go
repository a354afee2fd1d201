package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// try syncs the clone with a ref.
func (p *place) try(ref string) (Result, error) {
	p.t.Helper()
	o := p.options()
	checkouts(&o)
	o.Ref = ref
	return Sync(p.t.Context(), p.client, o)
}

// TestTagsOfTheUserStay, also where the server has others of their names, as of git fetch.
func TestTagsOfTheUserStay(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	first := p.repo.Commit("main", gittest.Regular("f", "1"))
	p.repo.Git("tag", "-am", "x", "v1")
	if _, err := p.try("v1"); err != nil {
		t.Fatal(err)
	}
	p.write("f", "mine")
	p.git("commit", "-qam", "mine")
	p.git("tag", "v2")
	p.commit(gittest.Regular("f", "2"))
	p.repo.Git("tag", "v2")
	p.repo.Git("tag", "-am", "x", "v3")
	refs, head := p.git("show-ref"), p.git("rev-parse", "HEAD")
	if result, err := p.try("v2"); !errors.Is(err, errOtherTag) {
		t.Errorf("%+v, %v", result, err)
	}
	if now := p.git("show-ref"); now != refs || p.git("rev-parse", "HEAD") != head {
		t.Errorf("the refs are %s, they were %s", now, refs)
	}
	p.git("tag", "-d", "v2")
	if result, err := p.try("v2"); err != nil || result.Behind != ReasonCommits {
		t.Errorf("%+v, %v", result, err)
	}
	p.git("reset", "-q", "--hard", "v1")
	p.git("fetch", "-q", "file://"+p.repo.Dir, "tag", "v3") // the same one
	p.git("pack-refs", "--all")                             // with lines of what annotated tags lead to
	for _, ref := range []string{"v3", first, "v1", "main"} {
		if result, err := p.try(ref); err != nil || result.Behind != "" {
			t.Errorf("%s: %+v, %v", ref, result, err)
		}
	}
}

// TestOtherWorkingTreesStay: a branch that one of them has checked out is not moved by another.
func TestOtherWorkingTreesStay(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.repo.Git("branch", "dev")
	p.sync(checkouts)
	linked := *p
	linked.dir = filepath.Join(t.TempDir(), "linked")
	p.git("worktree", "add", "-q", "-b", "dev", linked.dir)
	p.repo.Commit("dev", gittest.Regular("f", "2"))
	p.commit(gittest.Regular("f", "3"))
	for ref, from := range map[string]*place{"dev": p, "main": &linked} {
		if result, err := from.try(ref); err != nil || result.Behind != ReasonWorktree {
			t.Errorf("%s: %+v, %v", ref, result, err)
		}
	}
	for ref, from := range map[string]*place{"main": p, "dev": &linked} {
		if status := from.git("status", "--porcelain", "-uno"); status != "" {
			t.Errorf("%s: %s", ref, status)
		}
		if result, err := from.try(ref); err != nil || result.Behind != "" || result.Commit != p.repo.Git("rev-parse", ref) {
			t.Errorf("%s: %+v, %v", ref, result, err)
		}
	}
}

func TestSyncedCloneIsNotReplacedByAnotherRepository(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.sync(checkouts)
	other := gittest.At(t, filepath.Join(filepath.Dir(p.repo.Dir), "other.git"))
	other.Commit("main", gittest.Regular("f", "other"))
	gittest.Await(t, "the other repository is served", func() bool {
		status, _ := p.refs("other")
		return status == 200
	})
	before := p.git("show-ref")
	o := p.options()
	checkouts(&o)
	o.Repository = "other"
	if result, err := Sync(t.Context(), p.client, o); !errors.Is(err, errUnrelated) {
		t.Errorf("%+v, %v", result, err)
	}
	if now := p.git("show-ref"); now != before {
		t.Errorf("the refs are %s, they were %s", now, before)
	}
	if result := p.sync(checkouts); result.Behind != "" {
		t.Errorf("%+v", result)
	}
}

// TestOriginIsThatOfTheServer wherever the server's branch goes, and whatever the user does.
func TestOriginIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	first, second := gittest.Regular("f", "1"), gittest.Regular("f", "2")
	for name, does := range map[string]func(p *place, back func()){
		"edits": func(p *place, back func()) {
			p.sync(checkouts)
			p.write("f", "mine")
			p.commit(second)
			if result := p.sync(checkouts); result.Behind != ReasonEdited {
				p.t.Errorf("%+v", result)
			}
			back()
		},
		"commits": func(p *place, back func()) {
			p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir)
			p.sync(checkouts)
			p.commit(second)
			p.sync(checkouts)
			p.git("commit", "-qm", "mine", "--allow-empty")
			back()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newClonePlace(t)
			p.commit(first)
			at := p.repo.Git("rev-parse", "main")
			does(p, func() { p.repo.Git("update-ref", "refs/heads/main", at) })
			if result := p.sync(checkouts); result.Behind != "" {
				t.Errorf("%+v", result)
			}
			if origin := p.git("rev-parse", "origin/main"); origin != at {
				t.Errorf("origin/main is %s, and not %s", origin, at)
			}
		})
	}
}

// TestBranchesOfTheSameCommitAreTwo, also after git has written the index.
func TestBranchesOfTheSameCommitAreTwo(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.repo.Git("branch", "dev")
	p.sync(checkouts)
	p.write("new", "2")
	p.git("add", "new")
	if result, err := p.try("dev"); err != nil || result.Behind != "" {
		t.Errorf("%+v, %v", result, err)
	}
	if head := p.git("symbolic-ref", "HEAD") + " " + p.git("rev-parse", "--abbrev-ref", "HEAD@{upstream}"); head != "refs/heads/dev origin/dev" {
		t.Errorf("it is on %s", head)
	}
	p.commit(gittest.Regular("f", "2"))
	other := *p
	other.dir = filepath.Join(t.TempDir(), "of git")
	p.repo.Git("clone", "-q", "--branch=main", "file://"+p.repo.Dir, other.dir)
	if result, err := other.try("dev"); err != nil || result.Behind != ReasonElsewhere {
		t.Errorf("%+v, %v", result, err)
	}
	if result, err := other.try("main"); err != nil || result.Behind != "" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestBranchInPlaceOfAFolderOfBranches is refused before anything is changed: git has one or the other.
func TestBranchInPlaceOfAFolderOfBranches(t *testing.T) {
	t.Parallel()
	for was, is := range map[string]string{"a": "a/b", "a/b": "a"} {
		for _, packed := range []bool{false, true} {
			p := newClonePlace(t)
			first := p.commit
			first(gittest.Regular("f", "1"))
			p.repo.Git("branch", "-m", "main", was)
			p.repo.Git("symbolic-ref", "HEAD", "refs/heads/"+was)
			if _, err := p.try(was); err != nil {
				t.Fatal(err)
			}
			if packed {
				p.git("pack-refs", "--all")
			}
			p.repo.Git("update-ref", "-d", "refs/heads/"+was)
			p.repo.Commit(is, gittest.Regular("f", "2"))
			before := p.git("show-ref")
			if result, err := p.try(is); !errors.Is(err, dotgit.ErrUnsupported) || !strings.Contains(err.Error(), "in the way") {
				t.Errorf("%s, packed %t: %+v, %v", is, packed, result, err)
			}
			if now := p.git("show-ref"); now != before || p.git("status", "--porcelain") != "" {
				t.Errorf("%s, packed %t: the refs are %s, they were %s", is, packed, now, before)
			}
			p.git("gc", "-q")
		}
	}
}

// TestStagedFolderIsOverwrittenWhole: an index with a and a/b is of no use to git.
func TestStagedFolderIsOverwrittenWhole(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.sync(checkouts)
	p.write("d/x", "mine")
	p.git("add", "d")
	p.commit(gittest.Regular("f", "1"), gittest.Regular("d", "theirs"))
	if result := p.sync(checkouts); result.Behind != ReasonEdited {
		t.Errorf("%+v", result)
	}
	p.sync(func(o *Options) { checkouts(o); o.Force = true })
	if files := p.git("ls-files"); files != "d\nf" {
		t.Errorf("the index has %s", files)
	}
	p.git("commit", "-qm", "mine", "--allow-empty")
}

// TestLargePushToAWholeHistory brings more commits than an update usually does.
func TestLargePushToAWholeHistory(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir)
	at := p.repo.Git("rev-parse", "main")
	for i := range 105 {
		at = p.repo.Git("commit-tree", "-p", at, "-m", fmt.Sprint(i), at+"^{tree}")
	}
	p.repo.Git("update-ref", "refs/heads/main", at)
	if result := p.sync(checkouts); result.Behind != "" || p.git("rev-list", "--count", "HEAD") != "106" {
		t.Errorf("%+v, %s commits", result, p.git("rev-list", "--count", "HEAD"))
	}
	p.git("fsck", "--strict")
}

// TestLockedConfigurationKeepsTheBranch: without it a new branch would have no upstream.
func TestLockedConfigurationKeepsTheBranch(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.repo.Commit("dev", gittest.Regular("f", "2"))
	p.sync(checkouts)
	p.writeGit("config.lock", "")
	if result, err := p.try("dev"); err != nil || result.Behind != ReasonLocked {
		t.Errorf("%+v, %v", result, err)
	}
	if status := p.git("status", "--porcelain", "--branch"); status != "## main...origin/main" {
		t.Error(status)
	}
	p.must(os.Remove(p.gitFile("config.lock")))
	if result, err := p.try("dev"); err != nil || result.Behind != "" {
		t.Errorf("%+v, %v", result, err)
	}
	if status := p.git("status", "--porcelain", "--branch"); status != "## dev...origin/dev" {
		t.Error(status)
	}
}

// TestUpdateThatWasBrokenOff is finished by the next one, whatever the server's branch is by then, and whether git has
// written the index meanwhile.
func TestUpdateThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	files := func(version string, more ...gittest.File) []gittest.File {
		for i := range 40 {
			more = append(more, gittest.Regular(fmt.Sprintf("d/%02d", i), version))
		}
		return append(more, gittest.Regular("README", "one"))
	}
	for _, refreshed := range []bool{false, true} {
		for then, next := range map[string]func(p *place, first string){
			"the same": func(*place, string) {},
			"the one before": func(p *place, first string) {
				p.repo.Git("update-ref", "refs/heads/main", first)
			},
			"another": func(p *place, first string) {
				p.repo.Git("update-ref", "refs/heads/main", first)
				p.commit(files("1", gittest.Regular("another", "3"))...)
			},
		} {
			p := newClonePlace(t)
			first := p.repo.Commit("main", files("1", gittest.Regular("a", "gone"))...)
			p.sync(checkouts)
			p.commit(files("2", gittest.Regular("d/added", "2"))...)
			ctx, cancel := context.WithCancel(t.Context())
			o := p.options()
			checkouts(&o)
			written := 0
			o.Events = func(e Event) {
				if written++; e.Event == EventWrite && written > 10 {
					cancel()
				}
			}
			if _, err := Sync(ctx, p.client, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if refreshed {
				p.git("status")
			}
			next(p, first)
			if result := p.sync(checkouts); result.Behind != "" || result.KeptCount != 0 {
				t.Errorf("%s, refreshed %t: %+v", then, refreshed, result)
			}
			p.isClone()
		}
	}
}

// TestFilesBeyondTheSizesOfAnIndex are compared by the 32 bits that git's index has of a size.
func TestFilesBeyondTheSizesOfAnIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newDisk(dir)
	name := filepath.Join(dir, "big")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<32+5)); err != nil {
		t.Skip("the file system has no files of that size")
	}
	p := place{t: t}
	p.must(os.Chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0)))
	there, err := d.look("big")
	if err != nil {
		t.Fatal(err)
	}
	w := record{path: "big", kind: plainFile, flag: brought, size: 5, id: unpack.ID{1}}
	w.setTimes(there)
	if has, err := d.has(w, there, w.mtime+1e18); !has || err != nil {
		t.Errorf("%t, %v", has, err)
	}
	w.size = 6
	if has, err := d.has(w, there, w.mtime+1e18); has || err != nil {
		t.Errorf("%t, %v", has, err)
	}
}

// TestCloneIsMadeInAMountPoint, which no folder beside it can be renamed to.
func TestCloneIsMadeInAMountPoint(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"), gittest.Regular("d/f", "2"))
	p.dir = gittest.FoldingFolder(t)
	d, err := p.client.Stream(t.Context(), "repo://app/archive/main.tar?profile=checkout&objects=converted")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }() // it was only read
	if _, err := Clone(t.Context(), d, p.dir, unpack.Options{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(p.dir); err != nil || p.git("rev-parse", "HEAD") != p.repo.Git("rev-parse", "main") ||
		strings.Contains(fmt.Sprint(entries), "repomcp-") {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// TestFollowersOutliveGitClean, which removes the folder of the state.
func TestFollowersOutliveGitClean(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	o := p.options()
	checkouts(&o)
	done := make(chan bool, 10)
	o.Events = func(e Event) {
		if e.Event == EventDone {
			done <- true
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- Follow(ctx, p.connect(), o) }()
	for version := range 3 {
		content := fmt.Sprint(version)
		p.commit(gittest.Regular("f", content))
		for !has(p.at("f"), content) {
			<-done
		}
		p.must(os.RemoveAll(p.at(stateFolder)))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSkippedLinksAreToldByEachRun until the user makes one.
func TestSkippedLinksAreToldByEachRun(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	away := gittest.Symlink("away", "../../x")
	p.commit(away, gittest.Regular("f", "1"))
	steps := []struct {
		name string
		do   func()
		want int
	}{
		{"a new clone", func() {}, 1},
		{"nothing new", func() {}, 1},
		{"another file", func() { p.commit(away, gittest.Regular("f", "2")) }, 1},
		{"a changed index", func() {
			p.write("f", "3")
			p.git("add", "f")
			p.git("restore", "--staged", "--worktree", "f")
		}, 1},
		{"another file again", func() { p.commit(away, gittest.Regular("f", "4")) }, 1},
		{"a link of the user's", func() { p.git("restore", "away") }, 0},
		{"another file beside it", func() { p.commit(away, gittest.Regular("f", "5")) }, 0},
		{"no link", func() { p.commit(gittest.Regular("f", "5")) }, 0},
	}
	for _, step := range steps {
		step.do()
		result, err := p.try("main")
		if err != nil || result.Behind != "" || result.SkippedCount != step.want || len(result.Skipped) != step.want {
			t.Errorf("%s: %+v, %v", step.name, result, err)
		}
	}
}

// TestKilledAfterItsLastStep: a run has moved HEAD, and could not note that. HEAD is no work of the user's.
func TestKilledAfterItsLastStep(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	first := p.repo.Commit("main", gittest.Regular("f", "1"))
	p.sync(checkouts)
	second := p.repo.Commit("main", gittest.Regular("f", "2"))
	state := filepath.Join(p.dir, stateFolder, cloneName)
	before, err := os.ReadFile(state)
	p.must(err)
	p.sync(checkouts)
	killed := strings.Replace(string(before), "{", `{"fetched":"`+second+`","writing":"`+second+`",`, 1)
	p.must(os.WriteFile(state, []byte(killed), 0o600))
	p.repo.SetRef("refs/heads/main", first)
	if result, err := p.try("main"); err != nil || result.Behind != "" || p.git("rev-parse", "HEAD") != first ||
		p.git("status", "--porcelain") != "" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestDryRunKnowsTheFilesOfGit in a clone that git has made or changed since the last run.
func TestDryRunKnowsTheFilesOfGit(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"), gittest.Regular("g", "1"))
	p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir)
	for i, ours := range []bool{false, true} {
		p.commit(gittest.Regular("f", fmt.Sprint(i+2)), gittest.Regular(fmt.Sprint("n", i), "1"))
		o := p.options()
		checkouts(&o)
		o.DryRun = true
		preview, err := Sync(t.Context(), p.client, o)
		if err != nil || preview.Written != 2 || preview.Deleted != 1 || preview.KeptCount != 0 {
			t.Errorf("%v: the dry run: %+v, %v", ours, preview, err)
		}
		if result := p.sync(checkouts); result.Written != 2 || result.Deleted != 1 || result.Behind != "" {
			t.Errorf("%v: %+v", ours, result)
		}
	}
}
