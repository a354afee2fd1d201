package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"

	"github.com/repomcp/repomcp/internal/objects"
	"github.com/repomcp/repomcp/internal/repos"
)

// ownReadAlike reads all blobs of HEAD as go-git does: without comparing them
// with their ids. Nothing that is served is read like this; it is what the two
// readers can be compared by.
func ownReadAlike(ctx context.Context, dir string) (t tally, err error) {
	store, err := objects.New(filepath.Dir(dir), objects.Options{})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	database, err := store.Open(filepath.Base(dir))
	if err != nil {
		return t, err
	}
	snapshot, err := database.Snapshot()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	err = withHead(ctx, dir, func(s *repos.Snapshot, commit repos.Commit) error {
		t, err = readShared(s, commit.Tree, runtime.GOMAXPROCS(0), func(r *reader, id repos.ID) error {
			return r.readPlain(snapshot, id)
		})
		return err
	})
	return t, err
}

func (r *reader) readPlain(s *objects.Snapshot, id repos.ID) error {
	_, content, err := s.Read(id, wholeBytes, r.buffer[:0])
	size := int64(len(content))
	if errors.Is(err, objects.ErrTooLarge) {
		var object *objects.Object
		if object, err = s.Open(id); err != nil {
			return err
		}
		size, err = object.WriteTo(io.Discard)
		err = errors.Join(err, object.Close())
	} else if err == nil {
		r.buffer = content
	}
	r.found.blobs, r.found.bytes = r.found.blobs+1, r.found.bytes+size
	return err
}
