package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive"
)

// maxLinkedCommits is of how many commits a search links archives: it may show
// lines of hundreds of repositories.
const maxLinkedCommits = 3

// linkManifest links a list of all files with their ids to a first page that
// does not have all items.
func (s *service) linkManifest(ctx context.Context, r *result, at found, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total || r.stopped {
		return nil
	}
	h, err := s.locator.Archive(ctx, at.repository, at.ID.String(), archive.Options{Format: archive.Manifest, Profile: archive.ProfileFull})
	if errors.Is(err, archive.ErrLimit) {
		return nil // there is none of so large a tree
	}
	if err != nil {
		return err
	}
	r.note("All entries of the commit are in its manifest, %s.", h.URI)
	r.link(h)
	return nil
}

// linkRefs links the list of all branches and tags to a first page that does not
// have all.
func (s *service) linkRefs(ctx context.Context, r *result, repository string, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := s.locator.Refs(ctx, repository)
	if err != nil {
		return err
	}
	r.note("All branches and tags are in %s.", h.URI)
	r.link(h)
	return nil
}

// linkRepositories links the list of all repositories to a first page that does
// not have all that were found.
func (s *service) linkRepositories(ctx context.Context, r *result, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := s.locator.Repositories(ctx)
	if err != nil {
		return err
	}
	r.note("All repositories are in %s.", h.URI)
	r.link(h)
	return nil
}

// linkTree links an archive of all files of a commit to what was found in it. A
// page that can have no such link is shown without.
func (s *service) linkTree(ctx context.Context, r *result, repository, commit string) {
	h, err := s.locator.Archive(ctx, repository, commit, archive.Options{Format: archive.TarGz, Profile: archive.ProfileFull})
	if err != nil {
		return
	}
	r.note("All files of %s at %s are in the linked archive.", quote(repository), commit)
	r.link(h)
}

// linkFiles links an archive of the files that differ: there is no download of a
// patch, or of its statistics. What is shown of them can do without.
func (c *changes) linkFiles(ctx context.Context, r *result) {
	options := archive.Options{Format: archive.TarGz, Profile: archive.ProfileFull}
	if !c.from.IsZero() {
		options.Base, options.Fallback = c.from.String(), archive.FallbackFull
	}
	h, err := c.locator.Archive(ctx, c.snapshot.Repository().Name(), c.to.String(), options)
	if err != nil {
		return
	}
	r.note("The linked archive has all files that differ, whole.")
	r.link(h)
}
