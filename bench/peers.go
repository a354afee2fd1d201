package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

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

// searchTerms are what is searched for.
var searchTerms = []pattern.Term{
	{Text: "must be a non-nil"},
	{Text: "return"},
	{Text: `func \([a-z]+ \*[A-Z][A-Za-z]*\) (Read|Write)[A-Z]`, Regexp: true},
}

// runPeer works on the repository of the environment, as the shell's commands
// of other contestants do.
func runPeer(ctx context.Context, args []string) error {
	dir := os.Getenv("REPO")
	peers := map[string]func() error{
		"blobs-go-git":  func() error { return readGoGit(dir) },
		"blobs":         func() error { return withHead(ctx, dir, readBlobs) },
		"sizes":         func() error { return withHead(ctx, dir, readSizes) },
		"push":          func() error { return push(ctx) },
		"history":       func() error { return answerHistory(ctx, dir, args[1:], false) },
		"history-again": func() error { return answerHistory(ctx, dir, args[1:], true) },
		"search":        func() error { return searchHead(ctx, dir, args[1], false) },
		"search-again":  func() error { return searchHead(ctx, dir, args[1], true) },
	}
	if len(args) == 0 || peers[args[0]] == nil {
		return fmt.Errorf("there is no peer %q", args)
	}
	return peers[args[0]]()
}

// readGoGit reads each file of HEAD, with the storage and the defaults of
// go-git's PlainOpen.
func readGoGit(dir string) error {
	storage := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	head, err := storer.ResolveReference(storage, plumbing.HEAD)
	if err != nil {
		return err
	}
	commit, err := object.GetCommit(storage, head.Hash())
	if err != nil {
		return err
	}
	files, err := commit.Files()
	if err != nil {
		return err
	}
	defer files.Close()
	return files.ForEach(func(f *object.File) error {
		r, err := f.Reader()
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r)
		return errors.Join(err, r.Close())
	})
}

// withHead opens the repository through the domain, as a command does.
func withHead(ctx context.Context, dir string, do func(*repos.Snapshot, []repos.ID) error) (err error) {
	catalogue, err := repos.Open(filepath.Dir(dir), repos.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	snapshot, err := catalogue.Snapshot(repositoryName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	commit, err := snapshot.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	blobs, err := listBlobs(snapshot, commit.Tree)
	if err != nil {
		return err
	}
	return do(snapshot, blobs)
}

func listBlobs(s *repos.Snapshot, tree repos.ID) (list []repos.ID, err error) {
	entries, err := s.Tree(tree)
	if err != nil {
		return nil, err
	}
	for e, err := range repos.WalkTree("", entries, func(e repos.WalkedEntry) ([]repos.TreeEntry, error) {
		if !e.Mode.IsDir() {
			return nil, nil
		}
		return s.Tree(e.ID)
	}) {
		switch {
		case err != nil:
			return nil, err
		case !e.Mode.IsDir() && !e.Mode.IsGitlink():
			list = append(list, e.ID)
		}
	}
	return list, nil
}

// share lets as many goroutines as there are processors take an equal part.
func share(blobs []repos.ID, do func(part []repos.ID) error) error {
	workers := runtime.GOMAXPROCS(0)
	results := make(chan error, workers)
	for i := range workers {
		go func() { results <- do(blobs[i*len(blobs)/workers : (i+1)*len(blobs)/workers]) }()
	}
	var err error
	for range workers {
		err = errors.Join(err, <-results)
	}
	return err
}

func readBlobs(s *repos.Snapshot, blobs []repos.ID) error {
	const largest = 1 << 30 // of a blob of these repositories
	return share(blobs, func(part []repos.ID) error {
		var buffer []byte
		for _, id := range part {
			content, err := s.ReadBlob(id, largest, buffer[:0])
			if err != nil {
				return err
			}
			buffer = content
		}
		return nil
	})
}

func readSizes(s *repos.Snapshot, blobs []repos.ID) error {
	return share(blobs, func(part []repos.ID) error {
		for _, id := range part {
			if _, err := s.Size(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// searchHead writes the lines of HEAD that fit, as git grep -n does. With again
// it searches once more and reports the time of the second search.
func searchHead(ctx context.Context, dir, text string, again bool) (err error) {
	catalogue, err := repos.Open(filepath.Dir(dir), repos.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	scheduler := workers.New(0)
	defer scheduler.Close()
	searcher := search.New(catalogue, scheduler, search.Options{FileBytes: 256 << 20})
	for _, term := range searchTerms {
		if term.Text != text {
			continue
		}
		if err := writeSearch(ctx, searcher, term, os.Stdout); err != nil || !again {
			return err
		}
		start := time.Now()
		err := writeSearch(ctx, searcher, term, os.Stdout)
		fmt.Fprintf(os.Stderr, "%s%.6f\n", measuredPrefix, time.Since(start).Seconds())
		return err
	}
	return fmt.Errorf("%q is not searched for", text)
}

func writeSearch(ctx context.Context, searcher *search.Searcher, term pattern.Term, w io.Writer) error {
	query := search.Query{
		Terms: []pattern.Term{term}, Case: pattern.Sensitive,
		Repositories: search.Choice{Any: []string{repositoryName}},
	}
	unlimited := search.Limits{Lines: math.MaxInt, OutputBytes: math.MaxInt, ReadBytes: math.MaxInt64, Time: time.Hour}
	result, err := searcher.Search(ctx, search.Request{Query: query, Limits: unlimited})
	if err != nil {
		return err
	}
	if len(result.Problems) > 0 {
		return result.Problems[0].Err
	}
	out := bufio.NewWriterSize(w, readBufferBytes)
	for _, f := range result.Files {
		for _, line := range f.Lines {
			_, _ = fmt.Fprintf(out, "HEAD:%s:%d:%s\n", f.Path, line.Number, line.Text) // Flush has the error
		}
	}
	return out.Flush()
}
