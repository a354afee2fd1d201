package resources

import (
	"context"

	"github.com/repomcp/repomcp/internal/repos"
)

// OpenGit finds the repository of a git client's request by its name in the URL's path, percent-encoded as it was sent.
// It refreshes a stale mirror.
func (s *Service) OpenGit(ctx context.Context, rawName string) (*repos.Repository, *Error) {
	name, err := decodePath(rawName)
	var repository *repos.Repository
	if err == nil {
		AccountOf(ctx).ask(name, "")
		repository, err = s.options.Catalogue.For(ctx).Get(name)
	}
	if err != nil {
		return nil, s.Failure(ctx, err, "git/"+Clip(rawName))
	}
	AccountOf(ctx).ask(repository.Name(), "")
	s.Freshen(ctx, repository)
	return repository, nil
}
