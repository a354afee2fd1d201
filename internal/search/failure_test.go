package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/search"
)

func TestDamageIsCountedAndNamed(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "bad.git"))
	repo.Commit("main", gittest.Regular("a", "needle 1\n"), gittest.Regular("b", "needle 2\n"),
		gittest.Regular("dir/c", "needle 3\n"))
	hello(t, root, "good")
	blob, tree := repo.Git("rev-parse", "main:b"), repo.Git("rev-parse", "main:dir")
	b := newBench(t, root, search.Options{})
	remove := func(id string) {
		if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	remove(blob)
	for range 2 {
		result := b.find(search.Request{Query: words("needle")})
		if result.Counts.Damaged != 1 || result.Lines != 2 || len(result.Problems) != 1 ||
			result.Problems[0].Path != "b" {
			t.Errorf("%+v", result)
		}
	}
	remove(tree)
	result, err := b.fresh().Search(t.Context(), search.Request{Query: words("hello")})
	if err != nil || len(result.Problems) != 2 || result.Counts.Repositories != 2 ||
		!strings.Contains(strings.Join(summary(result), " "), "good:") {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestCancellation(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", randomFiles(r)...)
	b := newBench(t, root, search.Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Search(cancelled, search.Request{Query: words("a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		result, err := b.fresh().Search(ctx, search.Request{
			Query: words("a"), Order: search.Order(i % 2), Limits: unlimited, After: 1,
		})
		if (err == nil) == (result == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", result, err)
		}
		cancel()
	}
	b.scheduler.Close()
	if _, err := b.fresh().Search(t.Context(), search.Request{Query: words("a")}); err == nil {
		t.Error("no error after the workers ended")
	}
}

func TestManyAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	root := t.TempDir()
	for i := range 8 {
		gittest.At(t, filepath.Join(root, fmt.Sprintf("repo%02d.git", i))).Commit("main", randomFiles(r)...)
	}
	b := newBench(t, root, search.Options{CacheBytes: 64 << 10})
	queries := []string{"needle", "hay", "/x+/", "a path:dir", "needle language:python", "1"}
	want := map[string][]string{}
	for _, q := range queries {
		want[q] = summary(b.find(search.Request{Query: parse(t, q), Limits: unlimited}))
	}
	done := make(chan error)
	for i := range 12 {
		go func() {
			q := queries[i%len(queries)]
			query, _ := search.Parse(q, search.Words)
			result, err := b.Search(t.Context(), search.Request{Query: query, Limits: unlimited})
			if err == nil && !slices.Equal(summary(result), want[q]) {
				err = fmt.Errorf("%s: another result", q)
			}
			done <- err
		}()
	}
	for range 12 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A tree whose every folder holds the next one twice has more paths than can be
// walked.
func TestABombOfFoldersStopsInTime(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "bomb.git"))
	raw := func(id string) string {
		parsed, err := git.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		return string(parsed[:])
	}
	id := repo.Store("blob", "needle\n")
	mode := "100644"
	for range 40 {
		id = repo.Store("tree", mode+" a\x00"+raw(id)+mode+" b\x00"+raw(id))
		mode = "40000"
	}
	repo.SetRef("refs/heads/main", repo.Store("commit",
		"tree "+id+"\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"))
	b := newBench(t, root, search.Options{})
	if result := b.find(search.Request{Query: words("needle"), Limits: search.Limits{Lines: 1 << 30,
		OutputBytes: 1 << 40, Time: 200 * time.Millisecond}}); result.Stopped != search.StopTime {
		t.Errorf("stopped: %q", result.Stopped)
	}
	request := search.Request{Query: words("needle"), Order: search.ByRank, Limits: search.Limits{
		Time: 200 * time.Millisecond,
	}}
	first := b.find(request)
	request.Cursor = first.Cursor
	if next := b.find(request); first.Cut == "" || next.Cut != first.Cut || len(first.Files) != 10 ||
		len(next.Files) != 10 || next.Files[0].Path <= first.Files[9].Path || next.Ranked != first.Ranked {
		t.Errorf("of %d ranked files %q, then of %d %q", first.Ranked, ranking(first), next.Ranked, ranking(next))
	}
	// Without a match, each folder is walked once only.
	result := b.find(search.Request{Query: words("hay"), Limits: unlimited})
	if result.Stopped != "" || result.Counts.Files != 1<<40 {
		t.Errorf("%+v", result.Counts)
	}
}
