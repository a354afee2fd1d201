package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
)

// histories compares a process of git with one of ours, and with the second time
// that ours is asked.
func histories() []comparison {
	const file, folder = "part07/group3/file3.txt", "part07/group3"
	var list []comparison
	for _, q := range []struct{ title, git, own string }{
		{"log of a file", "log -n 30 main -- " + file, "log main " + file},
		{"log of a folder", "log -n 30 main -- " + folder, "log main " + folder},
		{"blame", "blame --porcelain main -- " + file, "blame main " + file},
		{"merge base", "merge-base main old", "merge-base main old"},
		{"ahead and behind", "rev-list --left-right --count main...old", "count main old"},
		{"reachable", "merge-base --is-ancestor old~1 main", "reachable main old"},
	} {
		asked := []contestant{
			{name: "git", command: `exec git --git-dir "$REPO" ` + q.git},
			{name: "repomcp, a process of its own", command: "exec $PEER history " + q.own},
			{name: "repomcp, asked before", command: "exec $PEER history-again " + q.own},
		}
		if !strings.HasSuffix(q.own, "old") {
			asked = append(asked, contestant{name: "repomcp, asked of another path before",
				command: "exec $PEER history-next " + q.own})
		}
		list = append(list, comparison{key: "history", title: q.title, corpora: []string{"h", "h-bare"}, contestants: asked})
	}
	return list
}

// otherPath is in the generated history, and no question is about it.
const otherPath = "part03/group1/file2.txt"

// askHistory takes the question, a branch, and another branch or a path.
func askHistory(ctx context.Context, p peer) (answer string, err error) {
	args, facts := p.args, p.facts
	if len(args) != 3 {
		return "", fmt.Errorf("%q is no question about history", args)
	}
	snapshot, err := p.catalogue.Snapshot(repositoryName)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	main, err := snapshot.Ref("refs/heads/" + args[1])
	if err != nil {
		return "", err
	}
	if args[0] == "log" || args[0] == "blame" {
		return askFile(ctx, snapshot, facts, args[0], main.Commit, args[2])
	}
	old, err := snapshot.Ref("refs/heads/" + args[2])
	if err != nil {
		return "", err
	}
	switch args[0] {
	case "merge-base":
		base, err := history.MergeBase(ctx, snapshot, facts, main.Commit, old.Commit)
		return base.String() + "\n", err
	case "count":
		ahead, behind, err := history.AheadBehind(ctx, snapshot, facts, old.Commit, main.Commit)
		return fmt.Sprintf("%d\t%d\n", ahead, behind), err
	case "reachable":
		commit, err := snapshot.Commit(old.Commit)
		if err != nil {
			return "", err
		}
		_, err = snapshot.Resolve(ctx, commit.Parents[0].String()) // of which no ref is
		return "", err
	default:
		return "", fmt.Errorf("%q is no question about history", args[0])
	}
}

func askFile(
	ctx context.Context, snapshot *repos.Snapshot, facts *history.Facts, what string, start repos.ID, path string,
) (string, error) {
	var answer strings.Builder
	if what == "log" {
		page, err := history.Log(ctx, snapshot, facts, history.LogOptions{Start: start, Paths: []string{path}})
		for _, c := range page.Commits {
			fmt.Fprintf(&answer, "commit %s\nAuthor: %s <%s>\n%s\n", c.ID, c.Author.Name, c.Author.Email, c.Message)
		}
		return answer.String(), err
	}
	blamed, err := history.Blame(ctx, snapshot, facts, history.BlameOptions{Commit: start, Path: path})
	for _, r := range blamed.Ranges {
		fmt.Fprintf(&answer, "%s %d %d %d\n", r.Commit, r.Original, r.Line, r.Count)
	}
	return answer.String(), err
}
