package resources

import (
	"context"

	"github.com/repomcp/repomcp/internal/repos"
)

// OpenGit finds the repository that a git client asks about, by what its URL's path has as the name, as it was
// sent. That the mirror is old has it refreshed.
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
