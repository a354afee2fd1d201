package archive_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Refs, cut commits, upstreams and HEAD are those of git clone --depth --branch.
func TestCheckoutsOfRefsAreThoseOfClone(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := history(t)
	compared := 0
	for i, name := range []string{"", "main", "side/deep", "root", "light", "v1.0", "nested", "odd\"name;with#",
		"\u00fcn\u00ef"} {
		for j, depth := range []string{"1", "2", "3", "4", "5", "6", "2147483647"} {
			if (i+j)%gittest.Volume(3, 1) != 0 { // by turns
				continue
			}
			flags, revision := []string{"--single-branch", "--no-tags", "--depth=" + depth}, "HEAD"
			if name != "" {
				flags, revision = append(flags, "--branch="+name), name
			}
			what := fmt.Sprintf("%s of depth %s", revision, depth)
			cloned := clone(t, repo, flags...)
			checkout := extract(t, write(t, checkoutPlan(t, repo, revision, archive.Options{Depth: depth})))
			if isDefault := name == "" || name == "main"; isDefault {
				// clone --branch does not record it, even of the default branch.
				cloned.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
			}
			compareClone(t, what, checkout, exampleOf(t, cloned))
			if got, want := cutOf(checkout), cutOf(cloned); !slices.Equal(got, want) {
				t.Errorf("%s: %q are cut, and %q in the clone", what, got, want)
			}
			compared++
		}
	}
	if compared != 9*7/gittest.Volume(3, 1) {
		t.Errorf("compared %d checkouts", compared)
	}
}

// forcedRefs calls force when a ref was found by its name.
type forcedRefs struct {
	*git.Snapshot
	force func()
}

func (r forcedRefs) NamedRef(revision string) (git.Ref, error) {
	ref, err := r.Snapshot.NamedRef(revision)
	r.force()
	return ref, err
}

// A commit that no ref leads to any more is not served by its id, but the checkout of a branch or a tag that was just
// forced is.
func TestCheckoutsOfForcedRefsAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	store, err := git.NewStore(root, git.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"main", "tag"} {
		commit := repo.Commit("draft", gittest.Regular("a", name))
		other := repo.Commit("other", gittest.Regular("a", "other"))
		repo.Git("tag", "-f", "-a", "-m", "tag", "tag", commit)
		repo.SetRef("refs/heads/main", commit)
		repo.Git("branch", "-D", "-q", "draft")
		snapshot, err := store.Repository("repo.git", git.Options{ReachableOnly: true}).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		want := repo.Git("rev-parse", name)
		head, options, err := archive.Resolve(t.Context(), forcedRefs{snapshot, func() {
			repo.SetRef("refs/heads/main", other)
			repo.SetRef("refs/tags/tag", other)
		}}, name, archive.Options{Profile: archive.ProfileCheckout})
		if err != nil || head.ID.String() != want || head.Revision != want || head.Commit.String() != commit {
			t.Errorf("%s is %v, want %s: %v", name, head, want, err)
		}
		if !strings.HasSuffix(options.Ref, "/"+name) {
			t.Errorf("%s is the ref %s", name, options.Ref)
		}
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
	}
}
