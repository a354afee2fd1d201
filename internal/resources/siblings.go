package resources

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// Siblings finds the submodules of a repository among the other repositories that the client may
// read. It opens each of those once and holds it until Close, so that an archive sees one state of
// each.
type Siblings struct {
	view repos.View
	of   *repos.Repository
	mu   *sync.Mutex              // of held; both are shared with the siblings of siblings
	held map[string]*git.Snapshot // by name
}

var _ archive.Siblings = (*Siblings)(nil)

// NewSiblings serves the submodules of one repository, and their submodules. Close it when the
// archive is done.
func NewSiblings(view repos.View, of *repos.Repository) *Siblings {
	return &Siblings{view: view, of: of, mu: &sync.Mutex{}, held: make(map[string]*git.Snapshot)}
}

// Open implements [archive.Siblings]: the other repository has to serve the commit.
func (s *Siblings) Open(ctx context.Context, url string, commit git.ID) (archive.Sibling, error) {
	repository, err := s.view.Sibling(s.of, url)
	if err != nil {
		return archive.Sibling{}, err
	}
	snapshot, err := s.hold(repository)
	if errors.Is(err, git.ErrUnsupported) {
		return archive.Sibling{}, fmt.Errorf("submodule: %w: %w", git.ErrNotFound, err)
	}
	if err != nil {
		return archive.Sibling{}, err
	}
	found, err := snapshot.Resolve(ctx, commit.String())
	if err != nil {
		return archive.Sibling{}, err
	}
	if found.ID != commit { // it was the id of a tag
		return archive.Sibling{}, fmt.Errorf("submodule: %w", git.ErrNotFound)
	}
	return archive.Sibling{
		Repository: repository.Name(), Source: snapshot, Commit: found,
		Siblings: &Siblings{view: s.view, of: repository, mu: s.mu, held: s.held},
	}, nil
}

// hold opens a repository that is not open yet.
func (s *Siblings) hold(repository *repos.Repository) (*git.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if snapshot := s.held[repository.Name()]; snapshot != nil {
		return snapshot, nil
	}
	snapshot, err := repository.Snapshot()
	if err == nil {
		s.held[repository.Name()] = snapshot
	}
	return snapshot, err
}

// Close releases the repositories.
func (s *Siblings) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, snapshot := range s.held {
		err = errors.Join(err, snapshot.Close())
	}
	clear(s.held)
	return err
}
