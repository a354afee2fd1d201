//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// peerCommand makes this program a contestant of its own.
const peerCommand = "peer"

// measuredPrefix begins the line by which a contestant reports the wall time of
// a part of itself.
const measuredPrefix = "bench-seconds: "

// peer answers as repomcp does, from the repository of the environment.
type peer struct {
	*git.Snapshot
	catalogue *repos.Catalogue
	facts     *history.Cache
	searcher  *search.Searcher
	one, two  git.ID // what the words are as branches; zero where they are none
}

// peers are the contestants that this program is, each with two words: of search a
// kind of term and the term, of history a branch, and a path in it or another branch.
var peers = map[string]func(ctx context.Context, p peer, first, second string) (string, error){
	"blobs-go-git": readGoGit, "search": searchHead, "log": askLog, "blame": askBlame,
	"merge-base": askMergeBase, "count": askCount, "reachable": askReachable,
}

// runPeer answers as the commands of other contestants do. Where a third word follows
// in place of the second, the question with that word comes first, and the time of the
// other is reported.
func runPeer(ctx context.Context, args []string) (err error) {
	args = append(args, "", "", "", "")
	answer, first, second, earlier := peers[args[0]], args[1], args[2], args[3]
	if answer == nil {
		return fmt.Errorf("there is no peer %q", args[0])
	}
	p := peer{facts: history.NewCache(0)}
	if p.catalogue, err = repos.Open(filepath.Dir(os.Getenv("REPO")), repos.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.catalogue.Close()) }()
	if p.Snapshot, err = p.catalogue.Snapshot(repositoryName); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	scheduler := workers.New(0)
	defer scheduler.Close()
	p.searcher = search.New(p.catalogue, scheduler, search.Options{FileBytes: 256 << 20})
	for word, id := range map[string]*git.ID{first: &p.one, second: &p.two} {
		if ref, err := p.Ref("refs/heads/" + word); err == nil {
			*id = ref.Commit
		}
	}
	if earlier != "" {
		if _, err := answer(ctx, p, first, earlier); err != nil {
			return err
		}
		defer func(start time.Time) {
			fmt.Fprintf(os.Stderr, "%s%.6f\n", measuredPrefix, time.Since(start).Seconds())
		}(time.Now())
	}
	text, err := answer(ctx, p, first, second)
	fmt.Print(text)
	return err
}

// readGoGit reads each file of HEAD, with the storage and the defaults of
// go-git's PlainOpen.
func readGoGit(context.Context, peer, string, string) (string, error) {
	storage := filesystem.NewStorage(osfs.New(os.Getenv("REPO")), cache.NewObjectLRUDefault())
	head, err := storer.ResolveReference(storage, plumbing.HEAD)
	if err != nil {
		return "", err
	}
	commit, err := object.GetCommit(storage, head.Hash())
	if err != nil {
		return "", err
	}
	files, err := commit.Files()
	if err != nil {
		return "", err
	}
	defer files.Close()
	return "", files.ForEach(func(f *object.File) error {
		r, err := f.Reader()
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r)
		return errors.Join(err, r.Close())
	})
}

// searchHead gives the lines of HEAD that fit, as git grep -n does: of -F a text, and of
// -E an expression.
func searchHead(ctx context.Context, p peer, kind, term string) (string, error) {
	result, err := p.searcher.Search(ctx, search.Request{
		Query: search.Query{
			Terms: []pattern.Term{{Text: term, Regexp: kind == "-E"}}, Case: pattern.Sensitive,
			Repositories: search.Choice{Any: []string{repositoryName}},
		},
		Limits: search.Limits{Lines: math.MaxInt, OutputBytes: math.MaxInt, ReadBytes: math.MaxInt64, Time: time.Hour},
	})
	if err != nil {
		return "", err
	}
	if len(result.Problems) > 0 {
		return "", result.Problems[0].Err
	}
	var text strings.Builder
	for _, f := range result.Files {
		for _, line := range f.Lines {
			fmt.Fprintf(&text, "HEAD:%s:%d:%s\n", f.Path, line.Number, line.Text)
		}
	}
	return text.String(), nil
}

func askLog(ctx context.Context, p peer, _, path string) (string, error) {
	var answer strings.Builder
	page, err := history.Log(ctx, p.Snapshot, p.facts, history.LogOptions{Start: p.one, Paths: []string{path}})
	for _, c := range page.Commits {
		fmt.Fprintf(&answer, "commit %s\nAuthor: %s <%s>\n%s\n", c.ID, c.Author.Name, c.Author.Email, c.Message)
	}
	return answer.String(), err
}

func askBlame(ctx context.Context, p peer, _, path string) (string, error) {
	var answer strings.Builder
	blamed, err := history.Blame(ctx, p.Snapshot, p.facts, history.BlameOptions{Commit: p.one, Path: path})
	for _, r := range blamed.Ranges {
		fmt.Fprintf(&answer, "%s %d %d %d\n", r.Commit, r.Original, r.Line, r.Count)
	}
	return answer.String(), err
}

func askMergeBase(ctx context.Context, p peer, _, _ string) (string, error) {
	base, err := history.MergeBase(ctx, p.Snapshot, p.facts, p.one, p.two)
	return base.String() + "\n", err
}

func askCount(ctx context.Context, p peer, _, _ string) (string, error) {
	ahead, behind, err := history.AheadBehind(ctx, p.Snapshot, p.facts, p.two, p.one)
	return fmt.Sprintf("%d\t%d\n", ahead, behind), err
}

// askReachable is about the commit before the second branch, of which no ref is.
func askReachable(ctx context.Context, p peer, _, _ string) (string, error) {
	commit, err := p.Commit(p.two)
	if err == nil {
		_, err = p.Resolve(ctx, commit.Parents[0].String())
	}
	return "", err
}
