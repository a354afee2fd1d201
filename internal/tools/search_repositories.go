package tools

import (
	"context"
	"path"
	"slices"
	"strings"
)

type searchArguments struct {
	query string
	paging
}

func (a *searchArguments) define(p *parameters) {
	p.text(&a.query, "query", "Words in the name or description; all repositories if omitted.")
	a.paging.define(p, 30, 100)
}

// repositoryList is the data of search_repositories.
type repositoryList struct {
	Repositories []string `json:"repositories" jsonschema:"Full names, the argument repo of the other tools"`
	pages
	remarks
}

func (s *service) searchRepositories(ctx context.Context, a searchArguments) (*result, error) {
	names := matching(s.catalogue.Names(), a.query)
	r := &result{}
	if len(names) == 0 {
		r.note("No repository's name has all these words. Without query all repositories are listed.")
	}
	start, end, err := a.window(len(names))
	if err != nil {
		return nil, err
	}
	var items []item[string]
	for _, name := range names[start:end] {
		items = append(items, item[string]{quote(name), quote(name)})
	}
	data := &repositoryList{}
	data.Repositories, data.pages = list(r, a.paging, len(names), items)
	r.data = data
	return r, s.pointRepositories(ctx, r, data.pages, len(data.Repositories))
}

// matching are the names that have all the words. What is called exactly like
// the query comes first, then what is so below a folder, and then the others;
// each by name.
func matching(names []string, query string) []string {
	query = strings.ToLower(strings.TrimSpace(query))
	words := strings.Fields(query)
	var ranked [3][]string
	for _, name := range names {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(lower, word) }) {
			continue
		}
		rank := 2
		switch query {
		case lower:
			rank = 0
		case path.Base(lower):
			rank = 1
		}
		ranked[rank] = append(ranked[rank], name)
	}
	return slices.Concat(ranked[0], ranked[1], ranked[2])
}
