package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// wholeBytes is up to where a file is read whole; a larger one is streamed.
	wholeBytes = 8 << 20
	// commandGarbage is what the archive command lets gather.
	commandGarbage = 200
	// batchBlobs is how many files an archive hands to a worker at once.
	batchBlobs = 64
)

// withHead opens the repository through the domain, as a command does.
func withHead(ctx context.Context, dir string, do func(*repos.Snapshot, repos.Commit) error) (err error) {
	debug.SetGCPercent(commandGarbage)
	catalogue, err := repos.Open(filepath.Dir(dir), repos.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	repository, err := catalogue.Get(strings.TrimSuffix(filepath.Base(dir), ".git"))
	if err != nil {
		return err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	commit, err := snapshot.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	return do(snapshot, commit)
}

// eachBlob walks a tree in git's order.
func eachBlob(s *repos.Snapshot, tree repos.ID, do func(repos.ID) error) error {
	entries, err := s.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.Mode.IsDir():
			err = eachBlob(s, e.ID, do)
		case e.Mode.IsGitlink():
		default:
			err = do(e.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownReadSizes asks for the size of each blob of HEAD: one goroutine walks, as
// many as there are processors ask.
func ownReadSizes(ctx context.Context, dir string) (t tally, err error) {
	err = withHead(ctx, dir, func(s *repos.Snapshot, commit repos.Commit) error {
		t, err = readShared(s, commit.Tree, runtime.GOMAXPROCS(0), (*reader).size)
		return err
	})
	return t, err
}

// ownReadBlobs reads all blobs of HEAD, in this goroutine alone when workers is
// one, otherwise as an archive is read: one goroutine walks, as many as there
// are processors (0) read batches of files. Each is compared with its id, which
// go-git does not do.
func ownReadBlobs(ctx context.Context, dir string, workers int) (t tally, err error) {
	err = withHead(ctx, dir, func(s *repos.Snapshot, commit repos.Commit) error {
		if workers == 1 {
			r := reader{snapshot: s}
			err := eachBlob(s, commit.Tree, r.read)
			t = r.found
			return err
		}
		t, err = readShared(s, commit.Tree, runtime.GOMAXPROCS(0), (*reader).read)
		return err
	})
	return t, err
}

// readShared lets readers take batches from the walk.
func readShared(s *repos.Snapshot, tree repos.ID, workers int, read func(*reader, repos.ID) error) (t tally, err error) {
	batches := make(chan []repos.ID, workers)
	readers, errs := make([]reader, workers), make([]error, workers)
	var reading sync.WaitGroup
	for i := range workers {
		readers[i].snapshot = s
		reading.Go(func() { errs[i] = readers[i].readAll(batches, read) })
	}
	batch := make([]repos.ID, 0, batchBlobs)
	err = eachBlob(s, tree, func(id repos.ID) error {
		if batch = append(batch, id); len(batch) == batchBlobs {
			batches <- batch
			batch = make([]repos.ID, 0, batchBlobs)
		}
		return nil
	})
	batches <- batch
	close(batches)
	reading.Wait()
	for _, r := range readers {
		t.blobs, t.bytes = t.blobs+r.found.blobs, t.bytes+r.found.bytes
	}
	return t, errors.Join(err, errors.Join(errs...))
}

// reader reads blobs with one buffer.
type reader struct {
	snapshot *repos.Snapshot
	buffer   []byte
	found    tally
}

// readAll takes batches until there are no more, also after a failure, so that
// the walk is not held up.
func (r *reader) readAll(batches <-chan []repos.ID, read func(*reader, repos.ID) error) error {
	var failed error
	for batch := range batches {
		for _, id := range batch {
			if failed == nil {
				failed = read(r, id)
			}
		}
	}
	return failed
}

func (r *reader) read(id repos.ID) error {
	content, err := r.snapshot.ReadBlob(id, wholeBytes, r.buffer[:0])
	size := int64(len(content))
	switch {
	case errors.Is(err, repos.ErrTooLarge):
		if size, err = r.stream(id); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		r.buffer = content
	}
	r.found.blobs, r.found.bytes = r.found.blobs+1, r.found.bytes+size
	return nil
}

func (r *reader) size(id repos.ID) error {
	size, err := r.snapshot.Size(id)
	r.found.blobs, r.found.bytes = r.found.blobs+1, r.found.bytes+size
	return err
}

func (r *reader) stream(id repos.ID) (int64, error) {
	blob, err := r.snapshot.Blob(context.Background(), id)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, blob)
	return n, errors.Join(err, blob.Close())
}
