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

// searchTerms are what is searched for.
var searchTerms = []pattern.Term{
	{Text: "must be a non-nil"},
	{Text: "return"},
	{Text: `func \([a-z]+ \*[A-Z][A-Za-z]*\) (Read|Write)[A-Z]`, Regexp: true},
}

// peer answers as repomcp does, from the repository of the environment.
type peer struct {
	catalogue *repos.Catalogue
	facts     *history.Facts
	searcher  *search.Searcher
	args      []string
}

// peers are the contestants that this program is.
var peers = map[string]func(context.Context, peer) (string, error){
	"blobs-go-git": readGoGit, "blobs": readBlobs, "sizes": readSizes, "history": askHistory, "search": searchHead,
}

// runPeer answers, as the shell's commands of other contestants do; and where the name
// ends with -again once more, and reports the time of that. Where it ends with -next,
// the first question is about another path.
func runPeer(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		return errors.New("which peer?")
	}
	if args[0] == "fetch" && len(args) == 2 {
		return fetchFile(ctx, args[1])
	}
	name, again := strings.CutSuffix(args[0], "-again")
	name, next := strings.CutSuffix(name, "-next")
	answer := peers[name]
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
	searcher := search.New(catalogue, scheduler, search.Options{FileBytes: 256 << 20})
	p := peer{catalogue, history.NewFacts(0), searcher, args[1:]}
	first := p
	if next {
		first.args = append(slices.Clone(args[1:len(args)-1]), otherPath)
	}
	text, err := answer(ctx, first)
	if err == nil && (again || next) {
		start := time.Now()
		text, err = answer(ctx, p)
		fmt.Fprintf(os.Stderr, "%s%.6f\n", measuredPrefix, time.Since(start).Seconds())
	}
	fmt.Print(text)
	return err
}

// readGoGit reads each file of HEAD, with the storage and the defaults of
// go-git's PlainOpen.
func readGoGit(context.Context, peer) (string, error) {
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

// share lets as many goroutines as there are processors take an equal part of the
// blobs of HEAD.
func share(ctx context.Context, p peer, do func(*repos.Snapshot, []repos.ID) error) (_ string, err error) {
	snapshot, err := p.catalogue.Snapshot(repositoryName)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	commit, err := snapshot.Resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	blobs, err := listBlobs(snapshot, commit.Tree)
	if err != nil {
		return "", err
	}
	n := runtime.GOMAXPROCS(0)
	results := make(chan error, n)
	for i := range n {
		go func() { results <- do(snapshot, blobs[i*len(blobs)/n:(i+1)*len(blobs)/n]) }()
	}
	for range n {
		err = errors.Join(err, <-results)
	}
	return "", err
}

func readBlobs(ctx context.Context, p peer) (string, error) {
	const largest = 1 << 30 // of a blob of these repositories
	return share(ctx, p, func(s *repos.Snapshot, part []repos.ID) (err error) {
		var buffer []byte
		for i := 0; i < len(part) && err == nil; i++ {
			buffer, err = s.ReadBlob(part[i], largest, buffer[:0])
		}
		return err
	})
}

func readSizes(ctx context.Context, p peer) (string, error) {
	return share(ctx, p, func(s *repos.Snapshot, part []repos.ID) (err error) {
		for i := 0; i < len(part) && err == nil; i++ {
			_, err = s.Size(part[i])
		}
		return err
	})
}

// searchHead gives the lines of HEAD that fit, as git grep -n does.
func searchHead(ctx context.Context, p peer) (string, error) {
	at := slices.IndexFunc(searchTerms, func(t pattern.Term) bool { return slices.Equal(p.args, []string{t.Text}) })
	if at < 0 {
		return "", fmt.Errorf("%q is not searched for", p.args)
	}
	query := search.Query{
		Terms: searchTerms[at : at+1], Case: pattern.Sensitive,
		Repositories: search.Choice{Any: []string{repositoryName}},
	}
	unlimited := search.Limits{Lines: math.MaxInt, OutputBytes: math.MaxInt, ReadBytes: math.MaxInt64, Time: time.Hour}
	result, err := p.searcher.Search(ctx, search.Request{Query: query, Limits: unlimited})
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
