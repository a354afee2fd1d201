package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

// maxCompletions is the bound of the specification.
const maxCompletions = 100

// completions answers completion/complete for the variables of the templates:
// repositories, branches, tags and archive formats.
type completions struct{ catalogue *repos.Catalogue }

// CompleteResourceArgument implements the interface of mcp-go.
func (c completions) CompleteResourceArgument(_ context.Context, _ string, argument mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	candidates, err := c.candidates(argument.Name, known.Arguments["repo"])
	if err != nil {
		// An unknown repository has no candidates; which of the two it is must
		// not be told apart.
		candidates = nil
	}
	return rank(candidates, argument.Value), nil
}

func (c completions) candidates(variable, repository string) ([]string, error) {
	switch variable {
	case "repo":
		return c.catalogue.Names(), nil
	case "branch":
		return c.refs(repository, func(r repos.Ref) string { return r.Branch() })
	case "tag":
		return c.refs(repository, func(r repos.Ref) string { return r.Tag() })
	case "ref":
		refs, err := c.refs(repository, func(r repos.Ref) string { return r.Branch() + r.Tag() })
		return append([]string{"HEAD"}, refs...), err
	case "format":
		return formatNames(), nil
	default:
		return nil, nil
	}
}

func formatNames() []string {
	var names []string
	for _, format := range archive.Formats() {
		names = append(names, string(format))
	}
	return names
}

func (c completions) refs(name string, short func(repos.Ref) string) ([]string, error) {
	repository, err := c.catalogue.Get(name)
	if err != nil {
		return nil, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return nil, err
	}
	refs, err := snapshot.Refs()
	if closeErr := snapshot.Close(); err == nil {
		err = closeErr
	}
	var shorts []string
	for _, ref := range refs {
		if s := short(ref); s != "" {
			shorts = append(shorts, text(s))
		}
	}
	return shorts, err
}

// rank puts what begins with the typed text before what only contains it.
func rank(candidates []string, typed string) *mcp.Completion {
	var prefix, inside []string
	for _, candidate := range candidates {
		switch at := strings.Index(strings.ToLower(candidate), strings.ToLower(typed)); {
		case at == 0:
			prefix = append(prefix, candidate)
		case at > 0:
			inside = append(inside, candidate)
		}
	}
	values := slices.Concat(prefix, inside)
	total := len(values)
	return &mcp.Completion{Values: values[:min(total, maxCompletions)], Total: total, HasMore: total > maxCompletions}
}
