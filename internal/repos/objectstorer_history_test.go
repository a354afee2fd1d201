package repos

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/objects"
)

// TestHistoryDiffAndBlameOfGoGitRunOnOurReader compares what go-git computes
// over the adapter with what git says.
func TestHistoryDiffAndBlameOfGoGitRunOnOurReader(t *testing.T) {
	repo := gittest.New(t)
	sample(t, repo)
	repo.Commit("main", gittest.Regular("f", "one\ntwo\n"))
	repo.Commit("main", gittest.Regular("f", "one\nchanged\nthree\n"))
	repo.Git("repack", "-adfq")
	store, err := objects.New(filepath.Dir(repo.Dir), objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db, err := store.Open("repo.git")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Close() }()
	s := newObjectStorer(snapshot)

	head, err := object.GetCommit(s, plumbing.NewHash(repo.Git("rev-parse", "main")))
	if err != nil {
		t.Fatal(err)
	}
	var history []string
	err = object.NewCommitPreorderIter(head, nil, nil).ForEach(func(c *object.Commit) error {
		history = append(history, c.Hash.String())
		return nil
	})
	if got, want := strings.Join(history, "\n"), repo.Git("rev-list", "main"); err != nil || got != want {
		t.Errorf("history: %v\n%s\nwant\n%s", err, got, want)
	}

	parent, err := head.Parent(0)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := parent.Patch(head)
	if err != nil || len(patch.Stats()) != 1 || patch.Stats()[0].Addition != 2 || patch.Stats()[0].Deletion != 1 {
		t.Errorf("diff: %v %v", err, patch)
	}

	blame, err := git.Blame(head, "f")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range blame.Lines {
		want := strings.Fields(repo.Git("blame", "-l", "-s", "-L"+strconv.Itoa(i+1)+",+1", "main", "--", "f"))[0]
		if line.Hash.String() != want {
			t.Errorf("line %d is of %v, git says %s", i+1, line.Hash, want)
		}
	}

	for kind, name := range map[plumbing.ObjectType]string{plumbing.AnyObject: "", plumbing.CommitObject: "commit", plumbing.TagObject: "tag"} {
		want := 0
		for line := range strings.Lines(repo.Git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")) {
			if name == "" || strings.TrimSpace(line) == name {
				want++
			}
		}
		all, err := s.IterEncodedObjects(kind)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		err = all.ForEach(func(plumbing.EncodedObject) error { got++; return nil })
		if err != nil || got != want {
			t.Errorf("objects of type %q: %d, %v, git has %d", name, got, err, want)
		}
	}
}
