package checkout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// push puts commits on main: some in a row, a merge with a branch that began long ago, or another history.
func (p *place) push(r *rand.Rand, files map[string]gittest.File, version string) {
	p.t.Helper()
	count := 1 + r.IntN(3)
	for i := range count {
		p.commit(change(r, files, fmt.Sprint(version, " ", i))...)
	}
	switch r.IntN(4) {
	case 0:
		p.repo.Git("update-ref", "refs/heads/side", fmt.Sprint("main~", r.IntN(count)))
		for i := range 1 + r.IntN(3) {
			p.repo.Commit("side", change(r, files, fmt.Sprint(version, " side ", i))...)
		}
		merge := p.repo.Git("commit-tree", "side^{tree}", "-m", "merge", "-p", "main", "-p", "side")
		p.repo.Git("update-ref", "refs/heads/main", merge)
	case 1: // what was there before comes back
		again := p.repo.Git("commit-tree", "main~1^{tree}", "-m", "revert", "-p", "main")
		p.repo.Git("update-ref", "refs/heads/main", again)
	}
}

// TestCloneHasTheHistory syncs pushes of all kinds into clones with the whole history, and with a part of it: the
// former have all of it afterwards, and in both git finds nothing missing.
func TestCloneHasTheHistory(t *testing.T) {
	t.Parallel()
	for _, how := range clones[:3] {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			p := newClonePlace(t)
			r := rand.New(rand.NewPCG(3, 4))
			files := map[string]gittest.File{}
			for i := range 4 {
				p.push(r, files, fmt.Sprint("before ", i))
			}
			how.make(p)
			connected := 0
			for i := range gittest.Volume(12, 200) {
				old := p.git("rev-parse", "HEAD")
				p.push(r, files, fmt.Sprint("push ", i))
				if result := p.sync(checkouts); result.Behind != "" {
					t.Fatalf("%d: %+v", i, result)
				}
				p.git("fsck", "--strict")
				if p.git("status", "--porcelain") != "" || p.git("rev-parse", "HEAD") != p.repo.Git("rev-parse", "main") {
					t.Fatalf("%d: %s", i, p.git("status"))
				}
				if p.git("rev-parse", "--is-shallow-repository") == "false" {
					if got, want := p.git("rev-list", "HEAD"), p.repo.Git("rev-list", "main"); got != want {
						t.Fatalf("%d: %s, want %s", i, got, want)
					}
				}
				if strings.Contains(p.git("rev-list", "HEAD"), old) {
					connected++
				}
			}
			if connected < 6 {
				t.Errorf("%d updates are connected with the history before", connected)
			}
			p.isClone()
		})
	}
}

// TestCloneIsSwitched syncs a clone with branches, tags and commits, one after the other.
func TestCloneIsSwitched(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(oddFiles("one")...)
	p.repo.Git("tag", "light")
	p.repo.Commit("side", oddFiles("side")...)
	p.commit(oddFiles("two")...)
	p.repo.Git("tag", "-a", "-m", "annotated", "heavy", "side")
	first := p.repo.Git("rev-parse", "light")
	for i, ref := range []string{"main", "side", "light", "heavy", first, "main", "refs/heads/side", "HEAD", "refs/tags/light", "side"} {
		result := p.sync(func(o *Options) { checkouts(o); o.Ref = ref })
		want := p.repo.Git("rev-parse", ref+"^{commit}")
		if result.Behind != "" || result.Commit != want || p.git("rev-parse", "HEAD") != want {
			t.Fatalf("%d %s: %+v, want %s", i, ref, result, want)
		}
		head := p.git("rev-parse", "--symbolic-full-name", "HEAD")
		branch := map[string]string{"main": "refs/heads/main", "HEAD": "refs/heads/main", "side": "refs/heads/side"}[strings.TrimPrefix(ref, "refs/heads/")]
		if branch == "" {
			branch = "HEAD"
		}
		if head != branch {
			t.Errorf("%d %s: HEAD is %s, want %s", i, ref, head, branch)
		}
		if status := p.git("status", "--porcelain"); status != "" {
			t.Errorf("%d %s: %s", i, ref, status)
		}
		p.git("fsck", "--strict")
	}
	if kind := p.git("cat-file", "-t", "heavy"); kind != "tag" {
		t.Errorf("the annotated tag is a %s", kind)
	}
	if upstream := p.git("rev-parse", "--abbrev-ref", "side@{upstream}"); upstream != "origin/side" {
		t.Errorf("the upstream is %s", upstream)
	}
}

// TestStagedFileInANewFolderIsCommitted: the cached tree of a folder that the update brings does not hide what a
// user has put there.
func TestStagedFileInANewFolderIsCommitted(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(oddFiles("one")...)
	p.sync(checkouts)
	p.write("fresh/mine", "mine")
	p.git("add", "fresh/mine")
	p.write("sub/mine", "mine")
	p.git("add", "sub/mine")
	p.git("write-tree")
	p.commit(append(oddFiles("two"), gittest.Regular("fresh/theirs", "x"), gittest.Regular("fresh/er/theirs", "x"))...)
	if result := p.sync(checkouts); result.Behind != "" {
		t.Fatalf("%+v", result)
	}
	p.git("commit", "-qm", "mine")
	want := p.git("ls-files", "--stage")
	p.must(os.Remove(p.gitFile("index")))
	p.git("read-tree", "HEAD")
	if got := p.git("ls-files", "--stage"); got != want {
		t.Errorf("the commit has %s, want %s", got, want)
	}
	p.git("fsck", "--strict")
}

// TestNothingIsWrittenThroughALink has a branch replace a link to .git by a folder with programs for git.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	for _, target := range []string{".git", ".git/hooks", ".git/info"} {
		p.commit(gittest.Regular("README", "x"), gittest.Symlink("x", target), gittest.Symlink("y/x", "../"+target))
		p.sync(checkouts)
		before := listing(t, p.at(".git"))
		p.commit(gittest.Regular("README", "x"), gittest.Executable("x/post-checkout", "evil"), gittest.Executable("y/x/post-checkout", "evil"),
			gittest.Executable("x/hooks/post-checkout", "evil"))
		if result := p.sync(checkouts); result.Behind != "" {
			t.Fatalf("%+v", result)
		}
		if p.git("status", "--porcelain") != "" {
			t.Error(p.git("status"))
		}
		for name := range listing(t, p.at(".git")) {
			if !before[name] && !strings.HasPrefix(name, "objects/pack/") && !strings.HasPrefix(name, "logs") && !strings.HasPrefix(name, "refs") {
				t.Errorf("there is %s", name)
			}
		}
	}
}

func listing(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	if err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		names[filepath.ToSlash(rel)] = true
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCloneOfAnotherRepositoryIsRefused: a clone that has nothing to do with the server's repository stays as it is.
func TestCloneOfAnotherRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(oddFiles("one")...)
	other := gittest.New(t)
	other.Commit("main", gittest.Regular("mine", "x"))
	other.Git("clone", "-q", ".", p.dir)
	before := p.git("for-each-ref")
	o := p.options()
	checkouts(&o)
	result, err := Sync(t.Context(), p.client, o)
	if err == nil && result.Behind == "" {
		t.Errorf("%+v", result)
	}
	if got := p.git("for-each-ref"); got != before {
		t.Errorf("the refs are %s, before they were %s (%v)", got, before, err)
	}
	p.git("fsck", "--strict")
}

// TestUpdatesAreFromWhatIsThere: the files are brought from the commit of HEAD to that of the server, also where the
// server was asked for the difference from another one.
func TestUpdatesAreFromWhatIsThere(t *testing.T) {
	t.Parallel()
	rewrite := func(p *place, version string) {
		p.repo.Git("update-ref", "-d", "refs/heads/main")
		p.commit(gittest.Regular("README", version), gittest.Regular("only "+version, "x"))
	}
	t.Run("the branch was replaced while another one was checked out", func(t *testing.T) {
		t.Parallel()
		p := newClonePlace(t)
		p.commit(oddFiles("one")...)
		p.sync(checkouts)
		p.git("switch", "-qc", "away")
		p.git("commit", "-qm", "away", "--allow-empty")
		rewrite(p, "other")
		if result := p.sync(checkouts); result.Behind != ReasonElsewhere {
			t.Fatalf("%+v", result)
		}
		p.git("switch", "-q", "main")
		if result := p.sync(checkouts); result.Behind != "" {
			t.Fatalf("%+v", result)
		}
		p.isClone()
	})
	t.Run("local commits come back, and are undone", func(t *testing.T) {
		t.Parallel()
		p := newClonePlace(t)
		p.commit(oddFiles("one")...)
		p.sync(checkouts)
		p.write("README", "mine")
		p.write("mine", "mine")
		p.git("add", "-A")
		p.git("commit", "-qm", "mine")
		p.repo.Git("fetch", "-q", p.dir, "main:main")
		p.commit(append(oddFiles("one"), gittest.Regular("new", "x"))...)
		if result := p.sync(checkouts); result.Behind != "" || result.Commit != p.repo.Git("rev-parse", "main") {
			t.Fatalf("%+v", result)
		}
		p.isClone()
	})
	for _, how := range clones[:3] {
		t.Run(how.name+", and the branch is moved back", func(t *testing.T) {
			t.Parallel()
			p := newClonePlace(t)
			p.commit(oddFiles("one")...)
			how.make(p)
			for i := range 3 {
				p.commit(oddFiles(fmt.Sprint("two ", i))...)
				p.sync(checkouts)
			}
			p.repo.Git("update-ref", "refs/heads/main", "main~2")
			tip := p.repo.Git("rev-parse", "main")
			for range 2 {
				result := p.sync(checkouts)
				if p.git("rev-parse", "--is-shallow-repository") == "true" {
					if p.isClone(); result.Behind != "" || result.Commit != tip {
						t.Errorf("%+v", result)
					}
				} else if result.Behind != ReasonCommits || p.git("rev-parse", "origin/main") != tip {
					t.Errorf("%+v", result)
				}
			}
			p.commit(oddFiles("three")...)
			p.sync(checkouts)
			p.git("fsck", "--strict")
		})
		t.Run(how.name+", and the branch is replaced", func(t *testing.T) {
			t.Parallel()
			p := newClonePlace(t)
			p.commit(oddFiles("one")...)
			p.commit(oddFiles("two")...)
			how.make(p)
			p.sync(checkouts) // there is nothing new
			rewrite(p, "other")
			result := p.sync(checkouts)
			if p.git("rev-parse", "--is-shallow-repository") == "true" {
				if p.isClone(); result.Behind != "" {
					t.Errorf("%+v", result)
				}
			} else if result.Behind != ReasonCommits || p.git("rev-parse", "origin/main") != p.repo.Git("rev-parse", "main") {
				t.Errorf("%+v", result)
			}
		})
	}
}
