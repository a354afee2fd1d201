package objects

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Condition is what an operator may have to repair in the objects of a repository and its
// alternates, according to the indexes.
type Condition struct {
	Packs   int
	Objects uint64 // in packs; one in two packs counts twice
	// Faults are damaged and unreadable packs and indexes.
	Faults []error
	// Outside says that an alternate is outside of the root, and so not read.
	Outside bool
	// Lost is the number of missing alternates below the root.
	Lost int
	// Partial says that the repository is a partial clone.
	Partial bool
}

// Condition compares the indexes of all packs with their checksums, and checks that the alternates
// exist. It reads no object. The error is that of ctx, or of an unreadable list of alternates.
func (s *Snapshot) Condition(ctx context.Context) (Condition, error) {
	if err := s.enter(); err != nil {
		return Condition{}, err
	}
	defer s.leave()
	v := s.view.Load()
	c := Condition{
		Packs: len(v.packs), Faults: slices.Clone(v.faults), Outside: v.beyond, Partial: s.db.partial(),
	}
	for _, p := range v.packs {
		c.Objects += p.Count()
		err := p.VerifyIndex(ctx)
		if ctx.Err() != nil {
			return Condition{}, ctx.Err()
		}
		if err != nil {
			c.Faults = append(c.Faults, err)
		}
	}
	for _, dir := range v.dirs {
		links, err := v.store.directory(dir).alternates()
		if err != nil {
			return Condition{}, err
		}
		for _, name := range links.paths {
			_, err := v.store.root.Stat(name)
			if err != nil && errors.Is(files.OpenError(name, err), ErrNotFound) {
				c.Lost++
			}
		}
	}
	return c, nil
}

// VerifyLoose reads every loose object of the repository, not of its alternates, and
// compares it with its id. It returns all damage joined, or the error of ctx.
func (s *Snapshot) VerifyLoose(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	store, dir := s.db.store, s.db.objects
	var found []error
	for first := range 256 {
		err := store.loose.IDs(dir, byte(first), func(id ID) {
			if ctx.Err() == nil {
				found = append(found, readLoose(store, dir, id))
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found = append(found, err)
	}
	return errors.Join(found...)
}

// readLoose reads one loose object to its end, where it is compared with its id. An object that was
// packed meanwhile is no error.
func readLoose(store *Store, dir string, id ID) error {
	object, err := store.loose.Open([]string{dir}, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, object)
	return errors.Join(err, object.Close())
}
