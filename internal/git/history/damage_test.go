package history

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// questions are what can be asked of a history with two commits.
var questions = map[string]func(ctx context.Context, s *git.Snapshot, cache *Cache, from, to git.ID) (any, error){
	"log": func(ctx context.Context, s *git.Snapshot, cache *Cache, _, to git.ID) (any, error) {
		return Log(ctx, s, cache, LogOptions{Start: to})
	},
	"log of a path": func(ctx context.Context, s *git.Snapshot, cache *Cache, _, to git.ID) (any, error) {
		return Log(ctx, s, cache, LogOptions{Start: to, Paths: []string{"dir/changing"}})
	},
	"blame": func(ctx context.Context, s *git.Snapshot, cache *Cache, _, to git.ID) (any, error) {
		return Blame(ctx, s, cache, BlameOptions{Commit: to, Path: "dir/changing"})
	},
	"comparison": func(ctx context.Context, s *git.Snapshot, cache *Cache, from, to git.ID) (any, error) {
		return CompareCommits(ctx, s, cache, from, to, CompareOptions{})
	},
	"merge base": func(ctx context.Context, s *git.Snapshot, cache *Cache, from, to git.ID) (any, error) {
		return MergeBase(ctx, s, cache, from, to)
	},
	"ahead and behind": func(ctx context.Context, s *git.Snapshot, cache *Cache, from, to git.ID) (any, error) {
		ahead, behind, err := AheadBehind(ctx, s, cache, from, to)
		return [2]int{ahead, behind}, err
	},
}

// answers asks all questions of the mirror as it is now.
func answers(t *testing.T, repo *gittest.Repo, from, to string) (found map[string]any, refused map[string]error) {
	t.Helper()
	found, refused, _ = answersBy(t, repo, from, to, nil)
	return found, refused
}

// answersBy also tells whether there is a commit-graph to go by.
func answersBy(
	t *testing.T, repo *gittest.Repo, from, to string, observer git.Observer,
) (found map[string]any, refused map[string]error, graphed bool) {
	t.Helper()
	store, err := git.NewStore(repo.Dir, git.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	snapshot, err := store.Repository(".", git.Options{Observer: observer}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Close() }()
	graphed = snapshot.CommitGraph() != nil
	found, refused = make(map[string]any), make(map[string]error)
	for name, ask := range questions {
		if found[name], err = ask(t.Context(), snapshot, NewCache(0), id(t, from), id(t, to)); err != nil {
			refused[name] = err
		}
	}
	return found, refused, graphed
}

// An index that says that an object is where another one of the same type is,
// with a checksum that is right, gives no wrong history.
func TestSwappedOffsetsGiveNoWrongHistory(t *testing.T) {
	t.Parallel()
	repo := gittest.At(t, filepath.Join(t.TempDir(), "m.git"))
	for i := range 6 {
		repo.Commit("main", gittest.Regular("dir/changing", strings.Repeat("line\n", i)+fmt.Sprint("last of ", i,
			"\n")), gittest.Regular("other", fmt.Sprint(i/2)))
	}
	from, to := repo.Git("rev-parse", "main~4"), repo.Git("rev-parse", "main")
	repo.Git("repack", "-adfq")
	want, refused := answers(t, repo, from, to)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	byType := make(map[string][]string)
	for line := range strings.Lines(repo.Git("cat-file", "--batch-all-objects", "--batch-check") + "\n") {
		if words := strings.Fields(line); len(words) == 3 {
			byType[words[1]] = append(byType[words[1]], words[0])
		}
	}
	right, damaged := 0, 0
	for kind, ids := range byType {
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				repo.SwapOffsets(a, b)
				got, refused := answers(t, repo, from, to)
				for name := range questions {
					switch err := refused[name]; {
					case err == nil && reflect.DeepEqual(got[name], want[name]):
						right++
					case errors.Is(err, git.ErrCorrupt):
						damaged++
					default:
						t.Errorf("%ss %s and %s are swapped: another %s, %v", kind, a, b, name, err)
					}
				}
				repo.SwapOffsets(a, b)
			}
		}
	}
	if right < 100 || damaged < 100 {
		t.Errorf("too few cases: %d right, %d refused", right, damaged)
	}
	t.Logf("%d right, %d refused", right, damaged)
}
