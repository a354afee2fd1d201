package resources

import (
	"context"
	"errors"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// These members of _meta describe the age of the mirror that was used, if it is older than it
// should be.
const (
	MetaStale   = MetaPrefix + "mirrorStale"   // true
	MetaFetched = MetaPrefix + "mirrorFetched" // when it was last fetched, if known
)

// Freshen starts a refresh of a stale mirror, and reports whether it is stale. It does not wait,
// and is for answers that a fetch could change.
func (s *Service) Freshen(ctx context.Context, repository *repos.Repository) (stale bool) {
	if s.options.Freshen == nil || !s.options.Freshen(repository) {
		return false
	}
	AccountOf(ctx).outdate()
	return true
}

// StaleMeta returns the members of _meta for an answer from a stale mirror.
func StaleMeta(repository *repos.Repository) map[string]any {
	meta := map[string]any{MetaStale: true}
	if fetched := repository.Fetched(); !fetched.IsZero() {
		meta[MetaFetched] = fetched.UTC().Format(time.RFC3339)
	}
	return meta
}

// isPinned reports whether a resource never changes because ids name it.
func (r Resource) isPinned() bool {
	return isID(r.Revision) && (r.BaseRevision() == "" || isID(r.BaseRevision())) &&
		(r.Kind == Contents || r.isOfArchive() || r.isPatch())
}

func isID(revision string) bool {
	_, err := git.ParseID(revision)
	return err == nil
}

// missedRef says that a ref was not found, which may exist after the next fetch.
type missedRef struct {
	repository *repos.Repository
	err        error
}

func (e *missedRef) Error() string { return e.err.Error() }
func (e *missedRef) Unwrap() error { return e.err }

// freshenMissed refreshes the mirror that lacks a requested ref.
func (s *Service) freshenMissed(ctx context.Context, err error) {
	if missed := (*missedRef)(nil); errors.As(err, &missed) {
		s.Freshen(ctx, missed.repository)
	}
}

// OpenGit finds the repository of a git client's request by its name in the URL's path, percent-encoded as it was sent.
// It refreshes a stale mirror.
func (s *Service) OpenGit(ctx context.Context, rawName string) (*repos.Repository, *Error) {
	name, err := decodePath(rawName)
	var repository *repos.Repository
	if err == nil {
		AccountOf(ctx).ask(ctx, name, "", "")
		repository, err = s.options.Catalogue.For(ctx).Get(name)
	}
	if err != nil {
		return nil, s.Failure(ctx, err, "git/"+Clip(rawName))
	}
	AccountOf(ctx).ask(ctx, repository.Name(), "", "")
	s.Freshen(ctx, repository)
	return repository, nil
}
