package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/gittest"
)

// The commits that changed lines are those of git log -L, in its order, with the same lines in each.
func TestLineLogIsThatOfGit(t *testing.T) {
	t.Parallel()
	cases, commits, hunks, merges := 0, 0, 0, 0
	for seed := range uint64(gittest.Sample(gittest.Volume(6, 120))) {
		long := newGenerator(seed + 7000)
		long.long = true
		m := long.history(t, 80)
		if seed%2 == 0 {
			m.repo.Git("commit-graph", "write", "--reachable", "--changed-paths")
		}
		snapshot := open(t, m.repo.Dir)
		g := &generator{Rand: newRand(seed)}
		cache := NewCache(1 << 20)
		for _, tip := range m.tips[:min(len(m.tips), 4)] {
			for _, path := range slices.Sorted(maps.Keys(m.files[tip])) {
				file := m.files[tip][path]
				lines := strings.Count(file.content, "\n")
				if lines == 0 || file.mode == "160000" || strings.ContainsAny(path, ":\n") {
					continue
				}
				for range 3 {
					first := 1 + g.IntN(lines)
					last := first + g.IntN(min(lines-first+1, 12))
					n, of, hunksOf := compareLineLog(t, m.repo, snapshot, cache, LineLogOptions{
						Start: id(t, tip), Path: path, First: first, Last: last, Limit: 1000,
					})
					cases, commits, merges, hunks = cases+1, commits+n, merges+of, hunks+hunksOf
				}
			}
		}
	}
	if cases < gittest.Sample(300) || commits < gittest.Sample(600) || hunks < gittest.Sample(500) {
		t.Errorf("only %d histories of %d commits with %d hunks were compared", cases, commits, hunks)
	}
	t.Logf("%d histories, %d commits, %d hunks, %d merges", cases, commits, hunks, merges)
}

// compareLineLog compares a line log with that of git, and counts commits, merges and hunks.
func compareLineLog(
	t *testing.T, repo *gittest.Repo, snapshot *git.Snapshot, cache *Cache, o LineLogOptions,
) (commits, merges, hunks int) {
	t.Helper()
	got, err := LineLog(t.Context(), snapshot, cache, o)
	if err != nil {
		t.Fatal(o, err)
	}
	out := repo.Git("log", "--format=commit %H %P", "--no-color", fmt.Sprintf("-L%d,%d:%s", o.First, o.Last, o.Path),
		o.Start.String())
	for row := range strings.Lines(out) {
		if ids, ok := strings.CutPrefix(row, "commit "); ok {
			if commits >= len(got.Commits) || !strings.HasPrefix(ids, got.Commits[commits].ID.String()) {
				t.Fatalf("%+v: git has\n%s\ncommit %d is another one: %v", o, out, commits, got)
			}
			if commits++; strings.Count(ids, " ") > 1 {
				merges++
			}
		}
		var a, b, first, count int
		if _, err := fmt.Sscanf(row, "@@ -%d,%d +%d,%d @@", &a, &b, &first, &count); err != nil {
			continue
		}
		lines := got.Commits[commits-1].Ranges
		if hunks++; !slices.Contains(lines, diff.Range{Start: first - 1, End: first - 1 + count}) {
			t.Fatalf("%+v: %s of git\n%s\nis not among the lines %v", o, row, out, lines)
		}
	}
	if commits != len(got.Commits) {
		t.Fatalf("%+v: git has\n%s\n%d commits, want %d", o, out, len(got.Commits), commits)
	}
	return commits, merges, hunks
}

func TestLineLogOfLinesThatDoNotExist(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	tip := id(t, repo.Commit("main", gittest.Regular("f", "1\n2\n"), gittest.Regular("d/e", "")))
	snapshot := open(t, repo.Dir)
	for name, c := range map[string]struct {
		path        string
		first, last int
		want        error
	}{
		"after the end": {"f", 3, 4, git.ErrInvalid}, "reversed": {"f", 2, 1, git.ErrInvalid}, "zero": {"f", 0, 1, git.ErrInvalid},
		"no file": {"g", 1, 1, git.ErrNotFound}, "a folder": {"d", 1, 1, git.ErrNotFound}, "empty": {"d/e", 1, 1, git.ErrInvalid},
		"up to the end": {"f", 2, 99, nil},
	} {
		o := LineLogOptions{Start: tip, Path: c.path, First: c.first, Last: c.last}
		_, err := LineLog(t.Context(), snapshot, nil, o)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
