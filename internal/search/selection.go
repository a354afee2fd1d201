package search

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
	"github.com/repomcp/repomcp/internal/search/language"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// maxChoices bounds the values of one qualifier, because each is compared with every path.
const maxChoices = 100

// compiled is a query that is ready to run.
type compiled struct {
	query   Query
	pattern *pattern.Pattern
	files   fileFilter
	// filterKey is equal for queries whose file selections have the same form; "" if all files are
	// selected.
	filterKey string
}

func compile(q Query) (*compiled, error) {
	c := &compiled{query: q}
	var err error
	if c.pattern, err = pattern.Compile(q.Terms, q.Case); err != nil {
		var term *pattern.Error
		if !errors.As(err, &term) {
			err = &QueryError{Text: "there is nothing to search for: give a text or a regular expression besides the " +
				"qualifiers"}
		}
		return nil, err
	}
	for name, choice := range map[string]Choice{
		"repo": q.Repositories, "path": q.Paths, "filename": q.Filenames, "extension": q.Extensions,
		"language": q.Languages,
	} {
		if len(choice.Any)+len(choice.None) > maxChoices {
			return nil, &QueryError{Text: fmt.Sprintf("there are more than %d values of %s:; use a glob or fewer",
				maxChoices, name)}
		}
	}
	if c.files, err = newFileFilter(q); err != nil {
		return nil, &QueryError{Text: err.Error()}
	}
	if !c.files.all() {
		c.filterKey = fmt.Sprintf("%q %q %q %q", q.Paths, q.Filenames, q.Extensions, q.Languages)
	}
	return c, nil
}

// sum identifies the query and its ref in cursors.
func (c *compiled) sum(ref string) [sumBytes]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", c.pattern.Key(), c.filterKey, c.query.Repositories, ref))
	return [sumBytes]byte(sum[:sumBytes])
}

// selects reports whether a value is selected; match compares it with a pattern.
func (c Choice) selects(match func(value string) bool) bool {
	return !slices.ContainsFunc(c.None, match) && (len(c.Any) == 0 || slices.ContainsFunc(c.Any, match))
}

func (c Choice) isEmpty() bool { return len(c.Any)+len(c.None) == 0 }

func isGlob(value string) bool { return wildmatch.Literal(value) < len(value) }

// matchRepository compares the whole name; "*" matches slashes too.
func matchRepository(value, name string) bool {
	if !isGlob(value) {
		return strings.EqualFold(value, name)
	}
	return wildmatch.Match(value, []byte(name), wildmatch.CaseFold)
}

type fileFilter struct {
	query             Query
	languages, others language.Set // chosen, excluded
}

func newFileFilter(q Query) (fileFilter, error) {
	f := fileFilter{query: q}
	var err error
	if f.languages, err = language.Parse(q.Languages.Any...); err != nil {
		return f, err
	}
	f.others, err = language.Parse(q.Languages.None...)
	return f, err
}

// all reports whether every file is selected.
func (f *fileFilter) all() bool {
	q := f.query
	return q.Paths.isEmpty() && q.Filenames.isEmpty() && q.Extensions.isEmpty() && q.Languages.isEmpty()
}

// byPath decides whether a file is selected, as far as its path tells.
func (f *fileFilter) byPath(name string) language.Answer {
	if f.all() {
		return language.Yes
	}
	base := path.Base(name)
	if !f.query.Paths.selects(func(v string) bool { return matchPath(v, name) }) ||
		!f.query.Filenames.selects(func(v string) bool {
			return wildmatch.Match(v, []byte(base), wildmatch.CaseFold)
		}) ||
		!f.query.Extensions.selects(func(v string) bool { return matchExtension(v, base) }) {
		return language.No
	}
	return f.byLanguage(name)
}

func (f *fileFilter) byLanguage(name string) language.Answer {
	answer := language.Yes
	if len(f.query.Languages.Any) > 0 {
		answer = f.languages.ByName(name)
	}
	if answer == language.No || len(f.query.Languages.None) == 0 {
		return answer
	}
	switch f.others.ByName(name) {
	case language.Yes:
		return language.No
	case language.Unsure:
		return language.Unsure
	}
	return answer
}

// byContent decides for files whose path does not tell.
func (f *fileFilter) byContent(name string, content []byte) bool {
	is := func(set language.Set) bool {
		answer := set.ByName(name)
		return answer == language.Yes || answer == language.Unsure && set.ByFirstLine(content)
	}
	return (len(f.query.Languages.Any) == 0 || is(f.languages)) && (len(f.query.Languages.None) == 0 || !is(f.others))
}

// matchPath compares a value of path: see [Parse].
func matchPath(value, name string) bool {
	rest, anchored := strings.CutPrefix(value, "/")
	if !isGlob(value) {
		lowered := strings.ToLower(name)
		if anchored {
			return strings.HasPrefix(lowered, strings.ToLower(rest))
		}
		return strings.Contains(lowered, strings.ToLower(value))
	}
	if !anchored {
		rest = "**/" + rest
	}
	const flags = wildmatch.PathName | wildmatch.CaseFold
	return wildmatch.Match(rest, []byte(name), flags) ||
		wildmatch.Match(strings.TrimSuffix(rest, "/")+"/**", []byte(name), flags)
}

func matchExtension(value, base string) bool {
	suffix := "." + strings.TrimPrefix(value, ".")
	return len(base) >= len(suffix) && strings.EqualFold(base[len(base)-len(suffix):], suffix)
}
