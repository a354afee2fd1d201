package history

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
)

// mirror opens the repository that REPOMCP_BENCH_REPO names, a bare clone of
// git itself: git clone --mirror https://github.com/git/git.git
func mirror(t testing.TB) (dir string, snapshot *git.Snapshot) {
	dir = os.Getenv("REPOMCP_BENCH_REPO")
	if dir == "" {
		t.Skip("REPOMCP_BENCH_REPO names no repository")
	}
	return dir, open(t, dir)
}

// open takes a snapshot of a repository.
func open(t testing.TB, dir string) *git.Snapshot {
	t.Helper()
	return snapshottest.Open(t, dir)
}

// all walks through a log to its end.
func all(t testing.TB, snapshot *git.Snapshot, cache *Cache, o LogOptions) []git.ID {
	t.Helper()
	limits, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	source, err := newSource(t.Context(), snapshot, cache)
	if err != nil {
		t.Fatal(err)
	}
	source.people = o.Mailmap
	at := position{start: o.Start, base: o.Base, symmetric: o.Symmetric}
	w := newWalk(source, o, limits, at)
	if err := w.begin(at); err != nil {
		t.Fatal(err)
	}
	var ids []git.ID
	for {
		id, ok, err := w.next(maxHistory)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ids
		}
		ids = append(ids, id)
	}
}

func BenchmarkLog(b *testing.B) {
	_, snapshot := mirror(b)
	head, err := snapshot.Head()
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"", "Makefile", "t/t0000-basic.sh", "builtin/blame.c", "Documentation", "README.md"} {
		o := LogOptions{Start: head.Commit}
		if path != "" {
			o.Paths = []string{path}
		}
		b.Run("cold/path="+path, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(all(b, snapshot, nil, o))), "commits")
			}
		})
		b.Run("warm/path="+path, func(b *testing.B) {
			cache := NewCache(0)
			all(b, snapshot, cache, o)
			for b.Loop() {
				all(b, snapshot, cache, o)
			}
		})
	}
}

// mirrorPaths are files and folders of git's own history, as of 2026.
var mirrorPaths = []string{"Makefile", "t/t0000-basic.sh", "builtin/blame.c", "README.md", "xdiff", "t/",
	"diffcore-rename.c", "Documentation/git-blame.adoc"}

// TestMirrorIsThatOfGit compares over a large history.
func TestMirrorIsThatOfGit(t *testing.T) {
	t.Parallel()
	dir, snapshot := mirror(t)
	head, err := snapshot.Head()
	if err != nil {
		t.Fatal(err)
	}
	start := head.Commit.String()
	cache := NewCache(0)
	for _, c := range []logCase{
		{LogOptions{}, nil},
		{LogOptions{FirstParent: true}, []string{"--first-parent"}},
		{LogOptions{Author: "TORVALDS"}, []string{"--author=TORVALDS"}},
		{LogOptions{Since: time.Unix(1_600_000_000, 0), Until: time.Unix(1_700_000_000, 0)},
			[]string{"--since=@1600000000 +0000", "--until=@1700000000 +0000"}},
	} {
		c.options.Start = head.Commit
		compareLog(t, dir, snapshot, cache, c.options, append(c.args, start))
		for _, path := range mirrorPaths {
			c.options.Paths = []string{path}
			compareLog(t, dir, snapshot, cache, c.options, append(slices.Clone(c.args), start, "--", path))
		}
	}
	compareLog(t, dir, snapshot, cache, LogOptions{Start: head.Commit, Paths: mirrorPaths},
		append([]string{start, "--"}, mirrorPaths...))
	for _, path := range mirrorPaths {
		compareLog(t, dir, snapshot, cache, LogOptions{Start: head.Commit, Follow: true, Paths: []string{path}},
			[]string{"--follow", start, "--", path})
		if entry, err := snapshot.Lookup(treeOfCommit(t, snapshot, head.Commit),
			strings.TrimSuffix(path, "/")); err != nil || entry.Mode.IsDir() {
			continue
		}
		got, err := Blame(t.Context(), snapshot, cache, BlameOptions{Commit: head.Commit, Path: path})
		if err != nil {
			t.Fatal(path, err)
		}
		want, err := gitCommand(t, dir, "-c", "mailmap.blob=HEAD:none", "blame", "--line-porcelain", start, "--",
			path).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := porcelain(got); got != string(want) {
			t.Errorf("blame of %s differs", path)
		}
	}
}

func treeOfCommit(t *testing.T, snapshot *git.Snapshot, id git.ID) git.ID {
	t.Helper()
	commit, err := snapshot.Commit(id)
	if err != nil {
		t.Fatal(err)
	}
	return commit.Tree
}

func compareLog(t *testing.T, dir string, snapshot *git.Snapshot, cache *Cache, o LogOptions, args []string) {
	t.Helper()
	want := strings.Fields(gitLog(t, dir, append([]string{"--format=%H"}, args...)...))
	if got := hexes(all(t, snapshot, cache, o)); !slices.Equal(got, want) {
		t.Errorf("git log %q has %d commits, ours has %d", args, len(want), len(got))
	} else {
		t.Logf("git log %q: %d commits", args, len(got))
	}
}

func BenchmarkBlame(b *testing.B) {
	_, snapshot := mirror(b)
	head, err := snapshot.Head()
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"Makefile", "builtin/blame.c", "diff.c", "README.md"} {
		b.Run("path="+path, func(b *testing.B) {
			for b.Loop() {
				if _, err := Blame(b.Context(), snapshot, nil,
					BlameOptions{Commit: head.Commit, Path: path}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
