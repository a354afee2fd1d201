package search

import (
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/search/pattern"
)

// Query defines what is searched for, and in which files. [Parse] makes one from a string; a
// program may fill it in.
type Query struct {
	// Terms must all occur in a file. The lines that match any term are found.
	Terms []pattern.Term
	// Words are what files are ranked by; a file has at least one of them. Each has one or more
	// alternatives. With [ByPath] they are terms.
	Words [][]string
	// Symbols are names: the file has a definition of one of them, and the lines of these are
	// found instead of those that match terms.
	Symbols []string
	Case    pattern.Case

	Repositories Choice // names: the whole name, "*" is any string, also with slashes
	Paths        Choice // parts of the path, or globs: see [Parse]
	Filenames    Choice // the whole last part of the path, or globs
	Extensions   Choice // with or without the first dot
	Languages    Choice // names or aliases of github-linguist
}

// Choice selects by a property: at least one value of Any, unless that is empty, and none of None.
// Case is ignored.
type Choice struct {
	Any, None []string
}

// Syntax is the syntax of a query outside of qualifiers.
type Syntax int

const (
	// Words are separated by spaces, and rank files. "Two words" in quotes are a string that a file must
	// contain, in which \" and \\ stand for themselves, and /a.c/ is an expression that it must match.
	// OR between two of them makes one of both enough.
	Words Syntax = iota
	// Regexp is one expression, with its spaces and quotes.
	Regexp
)

// QueryError is a mistake in a query. Its message names the remedy.
type QueryError struct {
	Column int // in characters from 1; 0 if the query was not parsed from a string
	Text   string
}

func (e *QueryError) Error() string {
	if e.Column == 0 {
		return e.Text
	}
	return fmt.Sprintf("at character %d of the query: %s", e.Column, e.Text)
}

// MaxQueryBytes bounds the length of a query.
const MaxQueryBytes = 8 << 10

// qualifiers maps the names that [Parse] knows before a colon to functions that add a value.
var qualifiers = map[string]func(q *Query, exclude bool, value string) error{
	"repo":      choose(func(q *Query) *Choice { return &q.Repositories }),
	"repos":     choose(func(q *Query) *Choice { return &q.Repositories }),
	"org":       owner,
	"user":      owner,
	"owner":     owner,
	"path":      choose(func(q *Query) *Choice { return &q.Paths }),
	"filename":  choose(func(q *Query) *Choice { return &q.Filenames }),
	"file":      choose(func(q *Query) *Choice { return &q.Filenames }),
	"extension": choose(func(q *Query) *Choice { return &q.Extensions }),
	"ext":       choose(func(q *Query) *Choice { return &q.Extensions }),
	"language":  choose(func(q *Query) *Choice { return &q.Languages }),
	"lang":      choose(func(q *Query) *Choice { return &q.Languages }),
	"case":      setCase,
	"in":        setIn,
	"content":   nil, // a term
	"symbol":    symbol,
	"symbols":   symbol,
}

// refused are qualifiers of GitHub without a meaning here.
var refused = map[string]string{
	"is":    `it selects nothing here; leave it out`,
	"size":  `files are not selected by size; leave it out`,
	"fork":  `forks are not told apart; leave it out`,
	"stars": `repositories have no stars here; leave it out`,
	"topic": `repositories have no topics here; leave it out`,
}

func choose(of func(*Query) *Choice) func(*Query, bool, string) error {
	return func(q *Query, exclude bool, value string) error {
		c := of(q)
		if exclude {
			c.None = append(c.None, value)
		} else {
			c.Any = append(c.Any, value)
		}
		return nil
	}
}

func owner(q *Query, exclude bool, value string) error {
	return choose(func(q *Query) *Choice { return &q.Repositories })(q, exclude, strings.TrimSuffix(value, "/")+"/*")
}

func setCase(q *Query, exclude bool, value string) error {
	cases := map[string]pattern.Case{"yes": pattern.Sensitive, "no": pattern.Insensitive, "smart": pattern.Smart}
	c, ok := cases[strings.ToLower(value)]
	if !ok || exclude {
		return fmt.Errorf("case: is yes, no or smart")
	}
	q.Case = c
	return nil
}

func setIn(_ *Query, exclude bool, value string) error {
	if exclude || !strings.EqualFold(value, "file") {
		return fmt.Errorf("only contents of files are searched; leave in: out, and use path: or filename: to select " +
			"files")
	}
	return nil
}

func symbol(q *Query, exclude bool, value string) error {
	switch {
	case exclude:
		return fmt.Errorf("a definition cannot be excluded; exclude files with -path:, -filename:, -extension: or " +
			"-language: instead")
	case strings.ContainsAny(value, "*?.:/()\" \t"):
		return fmt.Errorf("symbol: takes one name as it is defined, without its package, class or parameters")
	}
	q.Symbols = append(q.Symbols, value)
	return nil
}
