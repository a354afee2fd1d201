package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

const (
	// defaultFoundLines suits a model's reading; maxFound is about the lines that a result holds.
	defaultFoundLines = 50
	maxFound          = 500
	// foundBytes bounds names and texts, which are shown twice; numbers and braces are extra.
	foundBytes = maxListedBytes * 3 / 8
	// manyScanned is how many files take notably longer to read than to look up in the index.
	manyScanned = 1000
	// cursorsShown is how often a result contains the cursor, which can be long.
	cursorsShown = 2
)

const (
	// rankedResult bounds a result of ten ranked files: a thousand tokens are little for the places to read on.
	rankedResult = 4 << 10
	// rankedNotes is the share of notes.
	rankedNotes = 512
	// maxRankedFiles is more than a result of the largest size holds.
	maxRankedFiles = 100
)

// Orders of a result.
const (
	sortRank = "rank"
	sortPath = "path"
)

// What a result shows of each file.
const (
	showLines     = "lines"
	showFunctions = "function"
)

// Syntaxes of a query.
const (
	syntaxWords  = "words"
	syntaxText   = "text"
	syntaxRegexp = "regexp"
)

// syntaxes are the query syntaxes that have qualifiers.
var syntaxes = map[string]search.Syntax{syntaxWords: search.Words, syntaxRegexp: search.Regexp}

// caseSmart lets the query decide.
const caseSmart = "smart"

// cases are the explicit choices.
var cases = map[string]pattern.Case{"sensitive": pattern.Sensitive, "insensitive": pattern.Insensitive}

type codeArguments struct {
	place
	query, ref, sha, path, syntax, letters, sort, show, cursor string
	context, perPage, page                                     int
}

func (a *codeArguments) define(p *arguments.List) {
	a.syntax, a.letters, a.sort, a.show = syntaxWords, caseSmart, sortRank, showLines
	p.Text(&a.query, "query",
		`A question, or symbol:parseURL, "func main" language:go, a OR b -path:test.`).Required = true
	p.Text(&a.repo, "repo", "All if omitted; several by repo:team/* in the query.")
	p.Text(&a.owner, "owner", "First part of the full name, when repo has only the rest of it; alone: all "+
		"repositories below it.").Hidden = true
	p.Text(&a.ref, "ref", "Branch, tag or commit; default branches if omitted.")
	p.Text(&a.sha, "sha", "Commit id, which is taken instead of ref.").Hidden = true
	p.Text(&a.path, "path", "Part, beginning (/src) or glob (src/**/*.go).")
	p.Choice(&a.syntax, "syntax", `words: "quoted" ones must occur; text: as it is, no qualifiers; regexp: RE2.`,
		syntaxWords, syntaxText, syntaxRegexp)
	p.Choice(&a.sort, "sort", "rank: best files first; path: all lines of files with all words.", sortRank, sortPath)
	p.Choice(&a.show, "show", "function: definitions around lines, whole.", showLines, showFunctions)
	p.Choice(&a.letters, "case", "smart: sensitive if the query has upper case.", caseSmart, "sensitive",
		"insensitive")
	p.Number(&a.context, "context_lines", "Lines around each match.", 0, search.MaxContext)
	p.Number(&a.perPage, "perPage", "Files (10); with sort=path lines (50).", 1, maxFound)
	p.Number(&a.page, "page", "Only 1: cursor goes on.", 1, math.MaxInt32).Hidden = true
	p.Text(&a.cursor, "cursor", "")
}

// check refuses what cannot be shown together.
func (a *codeArguments) check() error {
	a.path = strings.TrimPrefix(a.path, "./")
	switch {
	case a.page > 1 && a.cursor == "":
		return say("A search has no numbered pages. Go on with the cursor at the end of the result before, or give "+
			"perPage up to %d.", maxRankedFiles)
	case a.show == showLines:
		return nil
	case a.sort == sortPath:
		return say("show=function is for the best lines, and sort=path lists all. Leave one of them out.")
	case a.context > 0:
		return say("A definition needs no context. Give show=function or context_lines.")
	}
	return nil
}

func (s *service) searchCode(ctx context.Context, a codeArguments) (*result, error) {
	r := &result{}
	query, err := a.parse()
	if err == nil {
		query.Repositories.Any, err = s.namedRepositories(ctx, r, &a, query.Repositories.Any)
	}
	if err != nil {
		return nil, err
	}
	of := revision{ref: a.ref, sha: a.sha}
	request := search.Request{
		Query: query, Ref: of.commitName(), Before: a.context, After: a.context, Cursor: a.cursor,
		Limits: search.Limits{Lines: cmp.Or(a.perPage, defaultFoundLines), OutputBytes: foundBytes},
	}
	if a.sort == sortRank {
		request.Order, request.Limits = search.ByRank, search.Limits{Ranked: min(a.perPage, maxRankedFiles)}
	}
	if a.repo != "" {
		// A missing branch may be replaced.
		r, err = s.visit(ctx, a, func(v *visit) error {
			at, err := v.commit(ctx, of)
			request.Ref, request.Query.Repositories.Any = at.resolved, []string{literal(at.repository)}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	found, err := s.searchToFit(ctx, &request, a.show)
	if git.IsAbsent(err) {
		return nil, s.notSearched(ctx, request)
	}
	if err == nil {
		err = found.failure(request)
	}
	if err != nil {
		return nil, err
	}
	resources.AccountOf(ctx).Read(found.reads())
	found.show(r, request)
	if request.Before < a.context {
		r.note("There is room for %s of context only.", plural(request.Before, "line"))
	}
	if found.Cursor != "" && a.cursor == "" && !found.isRanked {
		for _, of := range found.commits() {
			s.pointArchive(ctx, r, of.Repository, of.Commit.String(), "",
				"All files of the commit are in its archive, %s.")
		}
	}
	return r, nil
}

// parse parses the query by its syntax, and adds the selections of other arguments.
func (a codeArguments) parse() (query search.Query, err error) {
	if a.syntax == syntaxText {
		query.Terms = []pattern.Term{{Text: a.query}}
	} else if query, err = search.Parse(a.query, syntaxes[a.syntax]); err != nil {
		return query, err
	}
	if letters, ok := cases[a.letters]; ok {
		query.Case = letters
	}
	if a.path != "" {
		if len(query.Paths.Any) > 0 {
			return query, say("The query has path:, and there is the argument path. Give one of them.")
		}
		query.Paths.Any = []string{unquoteName(a.path)}
	}
	if a.repo+a.owner == "" {
		return query, nil
	}
	if len(query.Repositories.Any) > 0 {
		return query, say("The query has repo: or org:, and there is the argument repo or owner. Give one of them.")
	}
	if a.repo == "" {
		query.Repositories.Any = []string{literal(strings.Trim(unquoteName(a.owner), "/")) + "/*"}
	}
	return query, nil
}

// searchToFit searches with smaller limits until the result is small enough, so that the cursor is
// that of the last shown line. Repeated searches are answered from the searcher's cache.
func (s *service) searchToFit(ctx context.Context, request *search.Request, show string) (searchResult, error) {
	defer resources.AccountOf(ctx).Stage("search")()
	for {
		found, err := s.Searcher.Search(ctx, *request)
		if err != nil {
			return searchResult{}, err
		}
		f := searchResult{Result: found, isRanked: request.Order == search.ByRank}
		if show == showFunctions {
			err := s.addFunctions(ctx, &f, rankedBytes(request))
			return f, err
		}
		if f.isRanked {
			fits, err := f.fit(rankedBytes(request))
			if fits || err != nil || request.Before == 0 {
				return f, err
			}
			request.Before, request.After = request.Before/2, request.After/2
			continue
		}
		raw, err := json.Marshal(f.data().Files)
		if err != nil {
			return searchResult{}, err
		}
		size := len(f.text()) + len(raw) + cursorsShown*len(found.Cursor)
		switch {
		case size <= maxListedBytes, found.Lines <= 1 && request.Before == 0:
			return f, nil
		case found.Lines <= 1:
			request.Before, request.After = request.Before/2, request.After/2
		default:
			request.Limits.Lines = min(max(found.Lines*maxListedBytes/size, 1), found.Lines-1)
		}
	}
}

// rankedBytes bounds the texts and the data of ranked files, each. More files and lines of context than by default
// take more, up to the bound of every result.
func rankedBytes(request *search.Request) int {
	files := cmp.Or(request.Limits.Ranked, search.DefaultRanked)
	wanted := rankedResult * files / search.DefaultRanked * (1 + request.Before)
	return min(max(wanted, rankedResult), maxListedBytes/2) - rankedNotes
}

// fit leaves out lines, and then files until one is left, so that texts and data have at most the given size each.
// It reports whether they have.
func (f searchResult) fit(size int) (bool, error) {
	for place := search.DefaultFileLines; place > 1; place-- {
		for i := len(f.Files) - 1; i >= 0; i-- {
			if fits, err := f.fits(size); fits || err != nil {
				return fits, err
			}
			f.leaveOut(&f.Files[i], place)
		}
	}
	for ; ; f.leaveOutFile() {
		if fits, err := f.fits(size); fits || err != nil || len(f.Files) <= 1 {
			return fits, err
		}
	}
}

func (f searchResult) fits(size int) (bool, error) {
	used, err := f.size()
	return used <= size, err
}

// size returns the bytes of the texts or of the data, whichever are more.
func (f searchResult) size() (int, error) {
	raw, err := json.Marshal(f.data())
	return max(len(f.text())+len(f.Cursor), len(raw)), err
}

// leaveOut leaves out the lines at a place among the best. Context stays beside its line, so no line with context is
// left out.
func (f searchResult) leaveOut(file *search.File, place int) {
	if slices.ContainsFunc(file.Lines, func(l search.Line) bool { return !l.Matches() }) {
		return
	}
	before := len(file.Lines)
	file.Lines = slices.DeleteFunc(file.Lines, func(l search.Line) bool { return l.Place >= place })
	file.More += before - len(file.Lines)
	f.Lines -= before - len(file.Lines)
}

// leaveOutFile leaves out the last file, with which the next result begins.
func (f searchResult) leaveOutFile() {
	last := len(f.Files) - 1
	for i := range f.Files[last].Lines {
		if f.Files[last].Lines[i].Matches() {
			f.Lines--
		}
	}
	f.Files = f.Files[:last]
	f.Cursor, f.Stopped = f.CursorAfter(last), search.StopRanked
}
