package search

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
	"github.com/repomcp/repomcp/internal/search/language"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// maxChoices bounds the values of one qualifier, because each is compared with every path.
const maxChoices = 100

// compiled is a query that is ready to run.
type compiled struct {
	query   Query
	order   Order
	pattern *pattern.Pattern // nil if there are only words to rank by
	ranking *rank.Query      // nil if the order is [ByPath]
	symbols *symbols         // nil if any line may match
	files   fileFilter
	// filterKey is equal for queries whose file selections have the same form; "" if all files are
	// selected.
	filterKey string
}

func compile(q Query, order Order) (*compiled, error) {
	c := &compiled{query: q, order: order}
	if err := c.compileTerms(); err != nil {
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
	var err error
	if c.files, err = newFileFilter(q); err != nil {
		return nil, &QueryError{Text: err.Error()}
	}
	if err := c.checkLanguages(); err != nil {
		return nil, err
	}
	if !c.files.all() {
		c.filterKey = fmt.Sprintf("%q %q %q %q", q.Paths, q.Filenames, q.Extensions, q.Languages)
	}
	return c, nil
}

// checkLanguages returns an error if definitions are searched for in a language that has no patterns for them.
func (c *compiled) checkLanguages() error {
	for _, name := range c.files.languages.Names() {
		if len(c.query.Symbols) > 0 && definitions.NamerOf(name) == nil {
			return &QueryError{Text: fmt.Sprintf("symbol: has no pattern for definitions in %s; search for the text "+
				"of the definition", name)}
		}
	}
	return nil
}

// compileTerms compiles what is searched for.
func (c *compiled) compileTerms() error {
	terms, words := c.query.Terms, c.query.Words
	if c.order == ByPath || !rank.Parse(words, rank.Options{}).HasWords() {
		terms, words = c.query.literal().Terms, nil
	}
	if len(c.query.Symbols) > 0 {
		terms = append(terms[:len(terms):len(terms)], oneOf(fixed(c.query.Symbols)))
	}
	if len(terms) > 0 || len(words) == 0 {
		var err error
		if c.pattern, err = pattern.Compile(terms, c.query.Case); errors.As(err, new(*pattern.Error)) {
			return err
		} else if err != nil {
			return &QueryError{Text: "there is nothing to search for: give a text or a regular expression besides " +
				"the qualifiers"}
		}
	}
	c.symbols = newSymbols(c.query.Symbols, terms, c.query.Case)
	if c.order == ByRank {
		c.ranking = rank.Parse(words, rank.Options{
			Exact: c.query.Case == pattern.Sensitive, Pattern: c.pattern != nil,
		})
	}
	return nil
}

// literal returns the query with terms instead of words.
func (q Query) literal() Query {
	q.Terms = slices.Clip(q.Terms)
	for _, word := range q.Words {
		q.Terms = append(q.Terms, oneOf(fixed(word)))
	}
	q.Words = nil
	return q
}

// fixed returns terms for fixed strings.
func fixed(texts []string) []pattern.Term {
	terms := make([]pattern.Term, len(texts))
	for i, t := range texts {
		terms[i].Text = t
	}
	return terms
}

// key is equal for queries with the same findings in every file.
func (c *compiled) key() string {
	key := ""
	if c.pattern != nil {
		key = c.pattern.Key()
	}
	if c.ranking != nil {
		key += "\x00ranked " + c.ranking.Key()
	}
	return key + fmt.Sprintf("\x00%q", c.query.Symbols)
}

// sum identifies the query and its ref in cursors.
func (c *compiled) sum(ref string) [sumBytes]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", c.key(), c.filterKey, c.query.Repositories, ref))
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
