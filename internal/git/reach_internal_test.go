package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestEachChangeOfRefsIsSeen: after each way to change refs exactly the commits are served that git lists, whose
// packed refs are looked at only.
func TestEachChangeOfRefsIsSeen(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo"))
	one := repo.Commit("main", gittest.Regular("a", "1"))
	two := repo.Commit("main", gittest.Regular("a", "2"))
	side := repo.Commit("side", gittest.Regular("b", "1"))
	packed := filepath.Join(repo.Dir, packedFile)
	age := func() { // or each look reads it again
		repo.Git("pack-refs", "--all")
		old := time.Now().Add(-time.Hour).Truncate(time.Second)
		if err := os.Chtimes(packed, old, old); err != nil {
			t.Fatal(err)
		}
	}
	// swap changes the branch side in packed-refs, which keeps its size and its time.
	swap := func(from, to string, write func(content []byte)) {
		info, err := os.Stat(packed)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(packed)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(content, []byte(from+" refs/heads/side"), []byte(to+" refs/heads/side"), 1)
		if bytes.Equal(changed, content) {
			t.Fatalf("packed-refs lacks the branch at %s", from)
		}
		write(changed)
		if err := os.Chtimes(packed, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(content []byte) {
		repo.WriteFile("new", content)
		if err := os.Rename(filepath.Join(repo.Dir, "new"), packed); err != nil {
			t.Fatal(err)
		}
	}
	inPlace := func(content []byte) { repo.WriteFile(packedFile, content) }

	store, err := NewStore(root, StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	repository := store.Repository("repo", Options{
		ReachableOnly: true,
		Hidden: func(configured func(keys ...string) []string) func(string) bool {
			hidden := configured("transfer.hiderefs")
			return func(name string) bool { return slices.Contains(hidden, name) }
		},
	})
	served := func() (list []string, looked bool) {
		s, err := repository.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if known := store.shapes.reach("repo", s.CommitGraph()); known != nil {
			looked = s.refs.areStill(known.readFrom())
		}
		for _, id := range []string{one, two, side} {
			if _, err := s.Resolve(t.Context(), id); err == nil {
				list = append(list, id)
			}
		}
		return list, looked
	}
	for _, step := range []struct {
		name   string
		change func()
		want   []string
		racy   bool // so that packed-refs is read each time
	}{
		{name: "packed", change: age, want: []string{one, two, side}},
		{name: "a branch is moved back", change: func() { repo.SetRef("refs/heads/main", one) }, want: []string{one, side}},
		{name: "a branch is moved, and packed", change: func() { repo.SetRef("refs/heads/main", two); age() },
			want: []string{one, two, side}},
		{name: "a branch is deleted", change: func() { repo.Git("branch", "-D", "side") }, want: []string{one, two}, racy: true},
		{name: "nothing", change: age, want: []string{one, two}},
		{name: "HEAD alone has a commit", change: func() { repo.WriteFile("HEAD", []byte(side+"\n")) },
			want: []string{one, two, side}},
		{name: "HEAD is a branch again", change: func() { repo.WriteFile("HEAD", []byte("ref: refs/heads/main\n")) },
			want: []string{one, two}},
		{name: "a new branch", change: func() { repo.SetRef("refs/heads/side", side) }, want: []string{one, two, side}},
		{name: "it is hidden", change: func() { repo.Git("config", "transfer.hideRefs", "refs/heads/side") },
			want: []string{one, two}},
		{name: "and shown", change: func() { repo.Git("config", "--unset", "transfer.hideRefs"); age() },
			want: []string{one, two, side}},
		{name: "another file of the same size and time", change: func() { swap(side, one, replace) }, want: []string{one, two}},
		{name: "written within the grain of times", racy: true, want: []string{one, two},
			change: func() { now := time.Now(); _ = os.Chtimes(packed, now, now) }},
		{name: "and again, of the same size and time", racy: true, want: []string{one, two, side},
			change: func() { swap(one, side, inPlace) }},
		{name: "there are no packed refs", want: nil, change: func() { _ = os.Remove(packed) }},
	} {
		step.change()
		for look := range 2 {
			list, looked := served()
			if !slices.Equal(list, step.want) {
				t.Errorf("%s: %d commits are served, want %d: %s", step.name, len(list), len(step.want), strings.Join(list, " "))
			}
			if wanted := look == 1 && !step.racy; looked != wanted {
				t.Errorf("%s: packed-refs was only looked at: %v, want %v", step.name, looked, wanted)
			}
		}
	}
}
