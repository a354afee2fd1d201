package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
)

// maxPointedCommits is of how many commits a search tells the archives: it may
// show lines of hundreds of repositories.
const maxPointedCommits = 3

// pointManifest points a first page that does not have all items at a list of all
// files with their ids.
func (s *service) pointManifest(ctx context.Context, r *result, at found, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total || r.stopped {
		return nil
	}
	h, err := s.resources.Locate(ctx, archiveOf(at.repository, at.ID.String(), archive.Options{
		Format: archive.Manifest, Profile: archive.ProfileFull,
	}))
	if errors.Is(err, archive.ErrLimit) {
		return nil // there is none of so large a tree
	}
	if err != nil {
		return err
	}
	r.point(h, "All entries of the commit are in its manifest, %s.", h.URI)
	return nil
}

// pointRefs points a first page that does not have all branches or tags at the
// list of all.
func (s *service) pointRefs(ctx context.Context, r *result, repository string, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := s.resources.Locate(ctx, refsOf(repository))
	if err != nil {
		return err
	}
	r.point(h, "All branches and tags are in %s.", h.URI)
	return nil
}

// pointRepositories points a first page that does not have all that were found at
// the list of all repositories.
func (s *service) pointRepositories(ctx context.Context, r *result, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := s.resources.Locate(ctx, resources.Resource{Kind: resources.Catalogue})
	if err != nil {
		return err
	}
	r.point(h, "All repositories are in %s.", h.URI)
	return nil
}

// pointTree points what was found in a commit at an archive of all its files. A
// page that can have no such archive is shown without.
func (s *service) pointTree(ctx context.Context, r *result, repository, commit string) {
	h, err := s.resources.Locate(ctx, archiveOf(repository, commit, archive.Options{
		Format: archive.TarGz, Profile: archive.ProfileFull,
	}))
	if err != nil {
		return
	}
	r.point(h, "All files of the commit are in its archive, %s.", h.URI)
}

// pointFiles points at an archive of the files that differ: there is no download of
// a patch, or of its statistics. What is shown of them can do without.
func (c *changes) pointFiles(ctx context.Context, r *result) {
	options := archive.Options{Format: archive.TarGz, Profile: archive.ProfileFull}
	if !c.from.IsZero() {
		options.Base, options.Fallback = c.from.String(), archive.FallbackFull
	}
	h, err := c.resources.Locate(ctx, archiveOf(c.snapshot.Repository().Name(), c.to.String(), options))
	if err != nil {
		return
	}
	r.point(h, "All files that differ, whole, are in the archive %s.", h.URI)
}
