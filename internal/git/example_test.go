package git_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
)

// sample takes a snapshot of one of the repositories that testrepos/rebuild.sh makes.
func sample(name string) (snapshot *git.Snapshot, closeAll func()) {
	store, err := git.NewStore("../../testrepos", git.StoreOptions{})
	if err != nil {
		panic(err)
	}
	if snapshot, err = store.Repository(name+".git", git.Options{}).Snapshot(); err != nil {
		panic(errors.Join(err, store.Close()))
	}
	return snapshot, func() {
		if err := errors.Join(snapshot.Close(), store.Close()); err != nil {
			panic(err)
		}
	}
}

func ExampleStore() {
	store, err := git.NewStore("../../testrepos", git.StoreOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	snapshot, err := store.Repository("hello.git", git.Options{}).Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = snapshot.Close() }()
	head, err := snapshot.Head()
	fmt.Println(head.Branch(), head.Commit, err)
	// Output: main 3ff53e025c901ee7c1c5ff8497c213584a8b4958 <nil>
}

func ExampleSnapshot_Resolve() {
	snapshot, closeAll := sample("hello")
	defer closeAll()
	for _, revision := range []string{"main", "refs/heads/main", "HEAD~2^{commit}", "none"} {
		commit, err := snapshot.Resolve(context.Background(), revision)
		if errors.Is(err, git.ErrNotFound) {
			fmt.Println(revision, "is not there")
			continue
		}
		fmt.Println(revision, commit.ID.String()[:7], commit.Subject())
	}
	// Output:
	// main 3ff53e0 Say how to run the tests
	// refs/heads/main 3ff53e0 Say how to run the tests
	// HEAD~2^{commit} 038eed0 Greet people by name
	// none is not there
}

func ExampleWalkTree() {
	snapshot, closeAll := sample("hello")
	defer closeAll()
	commit, err := snapshot.Resolve(context.Background(), "main")
	if err != nil {
		fmt.Println(err)
		return
	}
	root, err := snapshot.Tree(commit.Tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	enter := func(e git.WalkedEntry) ([]git.TreeEntry, error) {
		if !e.Mode.IsDir() {
			return nil, nil
		}
		return snapshot.Tree(e.ID)
	}
	for entry, err := range git.WalkTree("", root, enter) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if !entry.Mode.IsDir() {
			size, err := snapshot.Size(entry.ID)
			fmt.Println(entry.Mode, size, string(entry.Path), err)
		}
	}
	// Output:
	// 100644 128 README.md <nil>
	// 100755 106 bin/hello <nil>
	// 120000 8 docs/README.md <nil>
	// 100644 85 docs/guide.md <nil>
	// 100644 139 package.json <nil>
	// 100644 129 src/greeting.js <nil>
	// 100644 210 src/greeting.test.js <nil>
}

// Package history lists the commits that changed a file.
func Example_log() {
	snapshot, closeAll := sample("history")
	defer closeAll()
	tip, err := snapshot.Resolve(context.Background(), "main")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := history.Log(context.Background(), snapshot, nil, history.LogOptions{
		Start: tip.ID, Paths: []string{"starters/soup.md"}, Follow: true, Limit: 3,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, commit := range page.Commits {
		fmt.Println(commit.ID.String()[:7], commit.Subject())
	}
	// Output:
	// fa7af15 Move the soup to the starters
	// 4788a4d Refine soup, step 6
	// 3b8aa45 Refine soup, step 5
}

// Package history finds the commit that each line of a file comes from.
func Example_blame() {
	snapshot, closeAll := sample("hello")
	defer closeAll()
	tip, err := snapshot.Resolve(context.Background(), "main")
	if err != nil {
		fmt.Println(err)
		return
	}
	blame, err := history.Blame(context.Background(), snapshot, nil, history.BlameOptions{
		Commit: tip.ID, Path: "README.md",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range blame.Ranges {
		fmt.Printf("line %d, %d lines: %.7s %s\n", run.Line, run.Count, run.Commit,
			blame.Commits[run.Commit].Author.Name)
	}
	// Output:
	// line 1, 2 lines: 2f3784e A U Thor
	// line 3, 6 lines: 19b9248 A U Thor
}
