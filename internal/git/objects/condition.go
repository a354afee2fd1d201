package objects

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Condition is what there is to be mended of the objects of a repository and its
// alternates, as far as looking at indexes tells.
type Condition struct {
	Packs   int
	Objects uint64 // in packs; one that is in two counts twice
	// Faults are packs and indexes that are damaged or may not be read.
	Faults []error
	// Outside says that an alternate is not below the root, and so not read.
	Outside bool
	// Lost is how many alternates below the root are not there.
	Lost int
	// Partial says that the repository is a partial clone.
	Partial bool
}

// Condition compares the indexes of all packs with their checksums, and looks for
// the alternates. No object is read. The error is that of ctx, or of a list of
// alternates that cannot be read.
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

// readLoose reads one loose object to its end, where it is compared with its id. One
// that was packed meanwhile is none any more.
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
