package resources

import (
	"context"
	"errors"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// The members of _meta that say how old the mirror is that was answered from, where it
// is older than it should be.
const (
	MetaStale   = MetaPrefix + "mirrorStale"   // true
	MetaFetched = MetaPrefix + "mirrorFetched" // when it was last fetched, where that is known
)

// Freshen has a mirror refreshed if it is old, and reports whether it is. It does not
// wait, and is for answers that a fetch could change.
func (s *Service) Freshen(ctx context.Context, repository *repos.Repository) (stale bool) {
	if s.options.Freshen == nil || !s.options.Freshen(repository) {
		return false
	}
	AccountOf(ctx).outdate()
	return true
}

// StaleMeta returns the members of _meta for an answer from a mirror that is old.
func StaleMeta(repository *repos.Repository) map[string]any {
	meta := map[string]any{MetaStale: true}
	if fetched := repository.Fetched(); !fetched.IsZero() {
		meta[MetaFetched] = fetched.UTC().Format(time.RFC3339)
	}
	return meta
}

// isPinned reports whether a resource is the same for ever: ids name it.
func (r Resource) isPinned() bool {
	return isID(r.Revision) && (r.Options.Base == "" || isID(r.Options.Base)) &&
		(r.Kind == Contents || r.isOfArchive())
}

func isID(revision string) bool {
	_, err := git.ParseID(revision)
	return err == nil
}

// missedRef is the failure to find a ref of a repository, which may be there after the
// next fetch.
type missedRef struct {
	repository *repos.Repository
	err        error
}

func (e *missedRef) Error() string { return e.err.Error() }
func (e *missedRef) Unwrap() error { return e.err }

// freshenMissed has the mirror refreshed that has not what was asked for.
func (s *Service) freshenMissed(ctx context.Context, err error) {
	if missed := (*missedRef)(nil); errors.As(err, &missed) {
		s.Freshen(ctx, missed.repository)
	}
}
