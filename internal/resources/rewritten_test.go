package resources

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// interrupted is a destination that does something after the first bytes.
type interrupted struct {
	bytes.Buffer
	do func()
}

func (i *interrupted) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if i.Len() > 64<<10 && i.do != nil {
		do := i.do
		i.do = nil
		do()
	}
	return n, err
}

// TestAMirrorIsRewrittenDuringADownload takes the objects that a download reads out of their files in several ways.
func TestAMirrorIsRewrittenDuringADownload(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		packed  bool
		rewrite func(t *testing.T, repo *gittest.Repo)
	}{
		"repacked without the commit": {true, func(_ *testing.T, repo *gittest.Repo) {
			repo.Commit("main", gittest.Regular("new", "history\n"))
			repo.Git("update-ref", "-d", "refs/heads/main")
			repo.Git("repack", "-adfq")
			repo.Git("prune", "--expire=now")
		}},
		"loose objects packed": {false, func(_ *testing.T, repo *gittest.Repo) {
			repo.Git("gc", "--quiet", "--prune=now")
		}},
		"deleted": {true, func(t *testing.T, repo *gittest.Repo) {
			if err := os.RemoveAll(repo.Dir); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, repo := newRepo(t)
			repo.Commit("main", gittest.Regular("a", "first\n"), gittest.Regular("large", gittest.Noise(16<<20)),
				gittest.Regular("z", "last\n"))
			if c.packed {
				repo.Git("repack", "-adq")
			}
			s := newService(t, root, Options{})
			for _, format := range []string{"tar", "tar.gz"} {
				want := contentOf(t, mustFind(t, newService(t, root, Options{}), "repo://repo/archive/main."+format))
				if format == "tar" {
					want = repo.Archive("--format=tar", "main")
				}
				got := interrupted{}
				if format == "tar.gz" {
					got.do = func() { c.rewrite(t, repo) }
				}
				if _, err := write(t, mustFind(t, s, "repo://repo/archive/main."+format), Want{}, &got); err != nil ||
					!bytes.Equal(got.Bytes(), want) || got.do != nil {
					t.Errorf("%s: %d bytes of %d, %v", format, got.Len(), len(want), err)
				}
			}
			if _, err := s.Find(t.Context(), "repo://repo/archive/main.tar"); (name == "loose objects packed") !=
				(err == nil) || err != nil && !errors.Is(err, git.ErrNotFound) {
				t.Errorf("a new request: %v", err)
			}
		})
	}
}

// TestManyDownloadsWhileTheMirrorIsRewritten downloads while the mirror is repacked over and over.
func TestManyDownloadsWhileTheMirrorIsRewritten(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	var files []gittest.File
	for i := range 200 {
		files = append(files, gittest.Regular(fmt.Sprintf("d%d/%d", i%26, i), gittest.Noise(i*97)))
	}
	commit := repo.Commit("main", files...)
	want := repo.Archive("--format=tar", commit)
	s := newService(t, root, Options{})
	stop := make(chan struct{})
	var rewriting sync.WaitGroup
	defer rewriting.Wait()
	defer close(stop)
	rewriting.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				repo.Git("-c", "pack.threads=1", "repack", "-adfq", fmt.Sprintf("--window=%d", 1+i%9))
			}
		}
	})
	whole := 0
	for i := range 40 {
		switch got, err := bytesOf(t, mustFind(t, s, "repo://repo/archive/"+commit+".tar"), Want{}); {
		case err == nil && bytes.Equal(got, want):
			whole++
		case !bytes.HasPrefix(want, got) || err == nil:
			t.Errorf("download %d has %d bytes, which are not those of git, and ended with %v", i, len(got), err)
		}
	}
	if whole < 20 {
		t.Errorf("%d of 40 downloads were whole", whole)
	}
}
