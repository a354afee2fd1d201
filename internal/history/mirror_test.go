package history

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/repos"
)

// mirror opens the repository that REPOMCP_BENCH_REPO names, a bare clone of
// git itself: git clone --mirror https://github.com/git/git.git
func mirror(t testing.TB) (dir string, snapshot *repos.Snapshot) {
	dir = os.Getenv("REPOMCP_BENCH_REPO")
	if dir == "" {
		t.Skip("REPOMCP_BENCH_REPO names no repository")
	}
	return dir, open(t, dir)
}

// open takes a snapshot of a repository.
func open(t testing.TB, dir string) *repos.Snapshot {
	t.Helper()
	catalogue, err := repos.Open(dir, repos.Options{AllowUnreachable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = catalogue.Close() })
	repository, err := catalogue.Get(trimGit(filepath.Base(dir)))
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = snapshot.Close() })
	return snapshot
}

func trimGit(name string) string {
	if filepath.Ext(name) == ".git" {
		return name[:len(name)-len(".git")]
	}
	return name
}

// all walks through a log to its end.
func all(t testing.TB, snapshot *repos.Snapshot, facts *Facts, o LogOptions) []repos.ID {
	t.Helper()
	limits, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	source, err := newSource(t.Context(), snapshot, facts)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalk(source, o, limits, 0)
	if err := w.push(o.Start); err != nil {
		t.Fatal(err)
	}
	var ids []repos.ID
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
		b.Run("path="+path, func(b *testing.B) {
			o := LogOptions{Start: head.Commit}
			if path != "" {
				o.Paths = []string{path}
			}
			for b.Loop() {
				b.ReportMetric(float64(len(all(b, snapshot, nil, o))), "commits")
			}
		})
	}
}
