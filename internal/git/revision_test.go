package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tangled makes a repository with merges, tags of all kinds, and names that fit
// several refs.
func tangled(t *testing.T, repo *gittest.Repo) (names []string) {
	t.Helper()
	var ids []string
	for i := range 6 {
		ids = append(ids, repo.Commit("main", gittest.Regular("a", fmt.Sprint(i))))
	}
	side := repo.Commit("side", gittest.Regular("b", "1"))
	tree := repo.Git("rev-parse", "main^{tree}")
	merge := repo.Git("commit-tree", "-p", ids[5], "-p", side, "-p", ids[2], "-m", "octopus", tree)
	top := repo.Git("commit-tree", "-p", merge, "-p", side, "-m", "top", tree)
	for name, id := range map[string]string{
		"refs/heads/main": top, "refs/heads/heads/main": ids[1], "refs/heads/both": ids[0], "refs/tags/both": ids[3],
		"refs/tags/light":          ids[4],
		"refs/remotes/origin/main": ids[2], "refs/heads/origin/main": side, "refs/remotes/far/topic": merge,
		"refs/pull/7/head": merge, "refs/top": top,
		"refs/heads/feature/x": merge, "refs/tags/tags/light": ids[0], "refs/heads/v1": side, "refs/heads/a@b": merge,
	} {
		repo.Git("update-ref", name, id)
	}
	repo.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	repo.Git("tag", "-a", "-m", "x", "v1", merge)
	repo.Git("tag", "-a", "-m", "x", "v1-again", "v1")
	repo.Git("tag", "-a", "-m", "x", "folder", tree)
	repo.Git("tag", "-a", "-m", "x", "file", repo.Git("rev-parse", "main:a"))
	repo.Git("tag", "blob", repo.Git("rev-parse", "main:a"))
	tag := repo.Git("rev-parse", "v1")
	return []string{
		"HEAD", "@", "main", "heads/main", "refs/heads/main", "heads/heads/main", "both", "tags/both", "heads/both",
		"light", "tags/light", "origin/main", "origin",
		"remotes/origin/main", "remotes/origin", "far/topic", "far", "pull/7/head", "pull/7", "top", "feature/x", "v1",
		"tags/v1", "heads/v1", "v1-again", "folder", "file", "blob",
		"a@b", "nothing", "refs/tags", top, strings.ToUpper(top), top[:9], strings.ToUpper(top[:9]), tag,
		strings.ToUpper(tag), "v1-1-g" + top[:8], "x-g" + strings.ToUpper(top[:8]),
		merge, strings.Repeat("f", 40), ids[0],
	}
}

// Every name with every suffix is what git takes it for.
func TestRevisionsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	repo, snap := one(t)
	names := tangled(t, repo)
	suffixes := []string{
		"", "~", "~0", "~1", "~2", "~3", "~7", "~8", "~100", "^", "^0", "^1", "^2", "^3", "^4", "^^", "^^^", "~~",
		"^2~1", "^2^", "~1^2", "~1^3~2", "^1^2", "^{}", "^{commit}", "^{tree}", "^{tag}",
		"^{object}", "^{blob}", "^{}~1", "^{commit}^2", "^0~0^0", "~1~1~1", "^{tree}^{tree}", "^{tree}~1",
		"^{}^{}^{commit}", "~01", "^02", "^{nothing}", "~1x", "^{tag}^{commit}~2",
	}
	var revisions []string
	for _, name := range names {
		for _, suffix := range suffixes {
			revisions = append(revisions, name+suffix)
		}
	}
	for _, packed := range []bool{false, true} {
		if packed {
			repo.Git("pack-refs", "--all")
			repo.Git("repack", "-adq")
		}
		// What git cannot find it repeats, with "missing".
		answers := strings.Split(repo.GitInput([]byte(strings.Join(revisions, "\n")+"\n"), "cat-file",
			"--batch-check=%(objectname) %(objecttype)"), "\n")
		if len(answers) != len(revisions) {
			t.Fatalf("%d answers to %d revisions", len(answers), len(revisions))
		}
		s := snap()
		resolved, commits := 0, 0
		for i, revision := range revisions {
			want, kind, _ := strings.Cut(answers[i], " ")
			id, err := s.ResolveObject(t.Context(), revision)
			if kind == "missing" {
				if err == nil {
					t.Errorf("%s: %s, git finds nothing", revision, id)
				}
				continue
			}
			resolved++
			if err != nil || id.String() != want {
				t.Errorf("%s: %s, %v; git has %s", revision, id, err, answers[i])
			}
			commit, err := s.Resolve(t.Context(), revision)
			if kind == "commit" {
				commits++
				if err != nil || commit.ID.String() != want {
					t.Errorf("%s: commit %s, %v; git has %s", revision, commit.ID, err, want)
				}
			}
			if (kind == "tree" || kind == "blob") && err == nil {
				t.Errorf("%s: commit %s of a %s", revision, commit.ID, kind)
			}
		}
		if len(revisions) < 1500 || resolved < 700 || commits < 500 {
			t.Errorf("%d revisions, of which git knows %d and %d as commits", len(revisions), resolved, commits)
		}
	}
}

// A shallow history ends where the mirror says so.
func TestRevisionsEndWhereAShallowHistoryDoes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := gittest.At(t, root+"/source.git")
	for i := range 5 {
		source.Commit("main", gittest.Regular("a", fmt.Sprint(i)))
	}
	source.Git("clone", "--quiet", "--mirror", "--depth=3", "file://"+source.Dir, root+"/shallow.git")
	repo := gittest.Existing(t, root+"/shallow.git")
	s := snapshot(t, open(t, root, git.StoreOptions{}), "shallow", reachable)
	for back := range 5 {
		revision := fmt.Sprintf("main~%d", back)
		commit, err := s.Resolve(t.Context(), revision)
		if back > 2 {
			if err == nil {
				t.Errorf("%s: %s", revision, commit.ID)
			}
			continue
		}
		if want := repo.Git("rev-parse", revision); err != nil || commit.ID.String() != want {
			t.Errorf("%s: %s, %v, want %s", revision, commit.ID, err, want)
		}
	}
}
