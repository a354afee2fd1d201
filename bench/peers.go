package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/workers"
)

// peerCommand makes this program a contestant of its own.
const peerCommand = "peer"

// measuredPrefix begins the line by which a contestant reports the wall time of
// a part of itself.
const measuredPrefix = "bench-seconds: "

// otherPath is in the generated history, and no question is about it.
const otherPath = "part03/group1/file2.txt"

// peer answers as repomcp does, from the repository of the environment.
type peer struct {
	catalogue *repos.Catalogue
	facts     *history.Facts
	searcher  *search.Searcher
}

type peerFunc func(ctx context.Context, p peer, args []string) (string, error)

// peers are the contestants that this program is.
var peers = map[string]peerFunc{
	"blobs-go-git": readGoGit, "search": searchHead, "blobs": inSnapshot(readBlobs),
	"sizes": inSnapshot(readSizes), "log": inSnapshot(askLog), "blame": inSnapshot(askBlame),
	"merge-base": inSnapshot(askMergeBase), "count": inSnapshot(askCount), "reachable": inSnapshot(askReachable),
}

// runPeer answers, as the commands of other contestants do; and where the name
// ends with -again once more, and reports the time of that. Where it ends with -next,
// the first question is about another path.
func runPeer(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		return errors.New("which peer?")
	}
	if args[0] == "fetch" && len(args) == 2 {
		return fetch(ctx, args[1])
	}
	name, again := strings.CutSuffix(args[0], "-again")
	name, next := strings.CutSuffix(name, "-next")
	answer, args := peers[name], args[1:]
	if answer == nil {
		return fmt.Errorf("there is no peer %q", name)
	}
	catalogue, err := repos.Open(filepath.Dir(os.Getenv("REPO")), repos.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	scheduler := workers.New(0)
	defer scheduler.Close()
	p := peer{catalogue, history.NewFacts(0), search.New(catalogue, scheduler, search.Options{FileBytes: 256 << 20})}
	earlier := slices.Clone(args)
	if next {
		earlier[len(args)-1] = otherPath
	}
	text, err := answer(ctx, p, earlier)
	if err == nil && (again || next) {
		start := time.Now()
		text, err = answer(ctx, p, args)
		fmt.Fprintf(os.Stderr, "%s%.6f\n", measuredPrefix, time.Since(start).Seconds())
	}
	fmt.Print(text)
	return err
}

// readGoGit reads each file of HEAD, with the storage and the defaults of
// go-git's PlainOpen.
func readGoGit(context.Context, peer, []string) (string, error) {
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

// question is about HEAD, or a branch with another branch or a path in it.
type question struct {
	*repos.Snapshot
	facts     *history.Facts
	main, old repos.ID // zero where they are not named
	path      string
}

// inSnapshot opens the repository for a question, and closes it after.
func inSnapshot(answer func(context.Context, question) (string, error)) peerFunc {
	return func(ctx context.Context, p peer, args []string) (_ string, err error) {
		snapshot, err := p.catalogue.Snapshot(repositoryName)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, snapshot.Close()) }()
		q := question{Snapshot: snapshot, facts: p.facts}
		if len(args) == 2 {
			main, err := snapshot.Ref("refs/heads/" + args[0])
			if err != nil {
				return "", err
			}
			old, _ := snapshot.Ref("refs/heads/" + args[1]) // a path is none
			q.main, q.old, q.path = main.Commit, old.Commit, args[1]
		}
		return answer(ctx, q)
	}
}

// share lets as many goroutines as there are processors take an equal part of the
// blobs of HEAD.
func share(ctx context.Context, q question, do func([]repos.ID) error) (string, error) {
	commit, err := q.Resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	entries, err := q.Tree(commit.Tree)
	if err != nil {
		return "", err
	}
	var blobs []repos.ID
	for e, err := range repos.WalkTree("", entries, func(e repos.WalkedEntry) ([]repos.TreeEntry, error) {
		if !e.Mode.IsDir() {
			return nil, nil
		}
		return q.Tree(e.ID)
	}) {
		if err != nil {
			return "", err
		}
		if !e.Mode.IsDir() && !e.Mode.IsGitlink() {
			blobs = append(blobs, e.ID)
		}
	}
	n := runtime.GOMAXPROCS(0)
	results := make(chan error, n)
	for i := range n {
		go func() { results <- do(blobs[i*len(blobs)/n : (i+1)*len(blobs)/n]) }()
	}
	for range n {
		err = errors.Join(err, <-results)
	}
	return "", err
}

func readBlobs(ctx context.Context, q question) (string, error) {
	const largest = 1 << 30 // of a blob of these repositories
	return share(ctx, q, func(part []repos.ID) (err error) {
		var buffer []byte
		for i := 0; i < len(part) && err == nil; i++ {
			buffer, err = q.ReadBlob(part[i], largest, buffer[:0])
		}
		return err
	})
}

func readSizes(ctx context.Context, q question) (string, error) {
	return share(ctx, q, func(part []repos.ID) (err error) {
		for i := 0; i < len(part) && err == nil; i++ {
			_, err = q.Size(part[i])
		}
		return err
	})
}

// searchHead gives the lines of HEAD that fit, as git grep -n does: of -F a text, and of
// -E an expression.
func searchHead(ctx context.Context, p peer, args []string) (string, error) {
	if len(args) != 2 {
		return "", fmt.Errorf("%q is nothing to search for", args)
	}
	result, err := p.searcher.Search(ctx, search.Request{
		Query: search.Query{
			Terms: []pattern.Term{{Text: args[1], Regexp: args[0] == "-E"}}, Case: pattern.Sensitive,
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

func askLog(ctx context.Context, q question) (string, error) {
	var answer strings.Builder
	page, err := history.Log(ctx, q.Snapshot, q.facts, history.LogOptions{Start: q.main, Paths: []string{q.path}})
	for _, c := range page.Commits {
		fmt.Fprintf(&answer, "commit %s\nAuthor: %s <%s>\n%s\n", c.ID, c.Author.Name, c.Author.Email, c.Message)
	}
	return answer.String(), err
}

func askBlame(ctx context.Context, q question) (string, error) {
	var answer strings.Builder
	blamed, err := history.Blame(ctx, q.Snapshot, q.facts, history.BlameOptions{Commit: q.main, Path: q.path})
	for _, r := range blamed.Ranges {
		fmt.Fprintf(&answer, "%s %d %d %d\n", r.Commit, r.Original, r.Line, r.Count)
	}
	return answer.String(), err
}

func askMergeBase(ctx context.Context, q question) (string, error) {
	base, err := history.MergeBase(ctx, q.Snapshot, q.facts, q.main, q.old)
	return base.String() + "\n", err
}

func askCount(ctx context.Context, q question) (string, error) {
	ahead, behind, err := history.AheadBehind(ctx, q.Snapshot, q.facts, q.old, q.main)
	return fmt.Sprintf("%d\t%d\n", ahead, behind), err
}

// askReachable is about the commit before the other branch, of which no ref is.
func askReachable(ctx context.Context, q question) (string, error) {
	commit, err := q.Commit(q.old)
	if err != nil {
		return "", err
	}
	_, err = q.Resolve(ctx, commit.Parents[0].String())
	return "", err
}

// fetch downloads the file of noise with the Go client, as bytes beside the answer.
func fetch(ctx context.Context, endpoint string) (err error) {
	c, err := client.Connect(ctx, endpoint, client.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d, err := c.Fetch(ctx, "repo://"+repositoryName+"/contents/noise.bin")
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, d)
	return errors.Join(err, d.Close())
}
