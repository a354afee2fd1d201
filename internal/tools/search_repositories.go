package tools

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

type searchArguments struct {
	query string
	paging
}

func (a *searchArguments) define(p *arguments.List) {
	p.Text(&a.query, "query", "Words in the name or description; all repositories if omitted.")
	a.paging.define(p, 30, 100)
}

// repositoryList is the data of search_repositories.
type repositoryList struct {
	Repositories []string `json:"repositories" jsonschema:"Full names, the argument repo of the other tools"`
	pages
	remarks
}

func (s *service) searchRepositories(ctx context.Context, a searchArguments) (*result, error) {
	names, err := s.matching(ctx, a.query)
	if err != nil {
		return nil, err
	}
	r := &result{}
	if len(names) == 0 {
		r.note("No repository's name or description has all these words.%s Without query all repositories are listed.",
			explainWords(a.query, s.Catalogue.For(ctx).Names()))
	}
	shown, err := a.window(len(names), func(i int) string { return names[i] })
	if err != nil {
		return nil, err
	}
	data := &repositoryList{}
	data.Repositories, data.pages = list(r, shown, nameItems(names[shown.start:shown.end]))
	noteQuarantined(r, s.Catalogue.For(ctx), names[shown.start:shown.end])
	r.data = data
	return r, s.pointAll(ctx, r, shown, len(data.Repositories), "All repositories are in %s.",
		resources.Resource{Kind: resources.Catalogue})
}

// noteQuarantined notes which of the shown repositories are unreadable.
func noteQuarantined(r *result, known repos.View, names []string) {
	var quarantined []string
	for _, name := range names {
		if repository, err := known.Known(name); err == nil && repository.Quarantined() {
			quarantined = append(quarantined, quote(clip(name)))
		}
	}
	if more := len(quarantined) - maxSuggested; more > 0 {
		r.note("Cannot be read at the moment: %s and %d more.", strings.Join(quarantined[:maxSuggested], ", "), more)
	} else if len(quarantined) > 0 {
		r.note("Cannot be read at the moment: %s.", strings.Join(quarantined, ", "))
	}
}

// matching returns the repositories whose name or description contains all the words. Exact names
// come first, then exact names below a folder, then other names, then descriptions; each group is
// sorted by name.
func (s *service) matching(ctx context.Context, query string) ([]string, error) {
	query = strings.ToLower(strings.TrimSpace(query))
	words := strings.Fields(query)
	var ranked [4][]string
	view := s.Catalogue.For(ctx)
	for _, name := range view.Names() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rank, lower := 2, strings.ToLower(name)
		switch {
		case query == lower:
			rank = 0
		case query == path.Base(lower):
			rank = 1
		case hasAll(lower, words):
		case hasAll(lower+" "+strings.ToLower(described(view, name)), words):
			rank = 3
		default:
			continue
		}
		ranked[rank] = append(ranked[rank], name)
	}
	return slices.Concat(ranked[:]...), nil
}

// explainWords explains why the words of a query may match nothing, as a sentence with a leading
// space.
func explainWords(query string, known []string) string {
	for _, word := range strings.Fields(query) {
		if name, value, ok := strings.Cut(word, ":"); ok && value != "" {
			return fmt.Sprintf(" There is no qualifier %s: here. Leave it out, or give %s as a word.",
				quote(clip(name)), quote(clip(value)))
		}
	}
	return didYouMean(spelling.Closest(clip(query), known, maxSuggested))
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// described returns the description of a repository, "" if the repository was removed meanwhile.
func described(view repos.View, name string) string {
	repository, err := view.Known(name)
	if err != nil {
		return ""
	}
	return repository.Description()
}
