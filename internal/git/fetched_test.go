package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Git itself fetches, has nothing to fetch, fails and packs.
func TestLastFetchIsWhatGitDid(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := gittest.At(t, filepath.Join(root, "source.git"))
	source.Commit("main", gittest.Regular("a", "1\n"))
	mirror := gittest.At(t, filepath.Join(root, "mirror.git"))
	mirror.Git("remote", "add", "--mirror=fetch", "origin", source.Dir)
	repository := open(t, root, git.StoreOptions{}).Repository("mirror.git", git.Options{})
	noted := filepath.Join(mirror.Dir, "FETCH_HEAD")
	long := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	expect := func(when string, state git.FetchState, fetched bool) {
		t.Helper()
		last, err := repository.LastFetch()
		if err != nil || last.State != state {
			t.Errorf("%s: %v, %v, want the state %s", when, last, err, state)
		}
		if last.State != git.FetchNever && time.Since(last.At) > time.Hour {
			t.Errorf("%s: the last fetch was at %v", when, last.At)
		}
		if repository.Fetched().IsZero() == fetched {
			t.Errorf("%s: fetched at %v", when, repository.Fetched())
		}
	}
	age := func() {
		t.Helper()
		if err := os.Chtimes(noted, long, long); err != nil {
			t.Fatal(err)
		}
	}
	expect("before any", git.FetchNever, false)
	mirror.Git("remote", "update", "--prune")
	expect("after one", git.FetchDone, true)
	age()
	mirror.Git("remote", "update", "--prune")
	expect("after one that brought nothing", git.FetchDone, true)
	age()
	mirror.Git("gc", "--quiet")
	if got := repository.Fetched(); !got.Equal(long) {
		t.Errorf("a repack made the last fetch %v of %v", got, long)
	}
	mirror.Git("remote", "set-url", "origin", filepath.Join(root, "none.git"))
	fetch := exec.Command("git", "-C", mirror.Dir, "remote", "update", "--prune")
	fetch.Env = gittest.Env()
	if fetch.Run() == nil {
		t.Fatal("there was something to fetch from")
	}
	expect("after one that failed", git.FetchUnfinished, false)
}
