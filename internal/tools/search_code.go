package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
)

const (
	// defaultFoundLines suits a model's reading; maxFoundLines is about what a result holds.
	defaultFoundLines = 50
	maxFoundLines     = 500
	// foundBytes bounds names and texts, which are shown twice; numbers and braces are extra.
	foundBytes = maxListedBytes * 3 / 8
	// maxShownProblems bounds the repositories or files that are named as not searched.
	maxShownProblems = 3
	// cursorsShown is how often a result contains the cursor, which can be long.
	cursorsShown = 2
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
	query, ref, sha, path, syntax, letters, cursor string
	context, perPage                               int
}

func (a *codeArguments) define(p *arguments.List) {
	a.syntax, a.letters, a.perPage = syntaxWords, caseSmart, defaultFoundLines
	p.Text(&a.query, "query",
		`Such as parseURL, "func main" language:go, or retry path:src/net -path:test.`).Required = true
	p.Text(&a.repo, "repo", "Repository to search; all if omitted. repo:team/* in the query selects several.")
	p.Text(&a.owner, "owner", "First part of the full name, when repo has only the rest of it; alone: all "+
		"repositories below it.").Hidden = true
	p.Text(&a.ref, "ref", "Branch, tag or commit; default branches if omitted.")
	p.Text(&a.sha, "sha", "Commit id, which is taken instead of ref.").Hidden = true
	p.Text(&a.path, "path", "As path: in the query: part of the path, its beginning (/src), or a glob (src/**/*.go).")
	p.Choice(&a.syntax, "syntax",
		"words: a file must have all of them; text: the query exactly as it is, no qualifiers; regexp: RE2, such as "+
			"^func Parse to find a definition.", syntaxWords, syntaxText, syntaxRegexp)
	p.Choice(&a.letters, "case", "smart: case matters if the query has an upper case letter.", caseSmart, "sensitive",
		"insensitive")
	p.Number(&a.context, "context_lines", "Lines to show around each match.", 0, search.MaxContext)
	p.Number(&a.perPage, "perPage", "Matching lines per result.", 1, maxFoundLines)
	p.Text(&a.cursor, "cursor", "")
}

// codeResults is the data of search_code.
type codeResults struct {
	Files      []codeFile `json:"files" jsonschema:"Files with lines that were found, by repository and path"`
	Counts     codeCounts `json:"counts"`
	NextCursor string     `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent when all was searched"`
	remarks
}

type codeFile struct {
	Repository string     `json:"repository"`
	SHA        string     `json:"sha" jsonschema:"Commit"`
	Path       string     `json:"path"`
	Lines      []codeLine `json:"lines"`
}

type codeLine struct {
	Line   int    `json:"line" jsonschema:"Number, from 1"`
	Column int    `json:"column,omitempty" jsonschema:"First byte that was found, from 1; absent in lines of context"`
	Text   string `json:"text"`
}

type codeCounts struct {
	Lines        int `json:"lines" jsonschema:"Lines found in this result"`
	Repositories int `json:"repositories" jsonschema:"Repositories whose search began"`
	Files        int `json:"files" jsonschema:"Files searched"`
	Binary       int `json:"binary" jsonschema:"Files skipped because they are not text"`
	Large        int `json:"large" jsonschema:"Files skipped because they are too large"`
	Damaged      int `json:"damaged" jsonschema:"Files that could not be read"`
	Broken       int `json:"broken" jsonschema:"Repositories that could not be searched, or not to their end"`
}

func (s *service) searchCode(ctx context.Context, a codeArguments) (*result, error) {
	query, err := a.parse()
	if err != nil {
		return nil, err
	}
	r, of := &result{}, revision{ref: a.ref, sha: a.sha}
	request := search.Request{
		Query: query, Ref: of.commitName(), Before: a.context, After: a.context, Cursor: a.cursor,
		Limits: search.Limits{Lines: a.perPage, OutputBytes: foundBytes},
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
	found, err := s.searchToFit(ctx, &request)
	if isAbsent(err) {
		return nil, s.notSearched(ctx, request)
	}
	if err == nil {
		err = found.failure(request)
	}
	if err != nil {
		return nil, err
	}
	r.content, r.data = found.text(), found.data()
	found.note(r, request)
	if found.cutsLines() {
		r.note("Long lines are cut, and have … there; get_file_contents has them whole.")
	}
	if request.Before < a.context {
		r.note("There is room for %s of context only.", plural(request.Before, "line"))
	}
	if found.Cursor != "" && a.cursor == "" {
		for _, of := range found.commits() {
			s.pointArchive(ctx, r, of.Repository, of.Commit.String(), "",
				"All files of the commit are in its archive, %s.")
		}
	}
	return r, nil
}

// notSearched returns the error for a repository of the query that does not exist, or for a ref
// that no repository has.
func (s *service) notSearched(ctx context.Context, request search.Request) error {
	view := s.Catalogue.For(ctx)
	known := view.Names()
	for _, name := range request.Query.Repositories.Any {
		if !strings.ContainsAny(name, glob.Signs) && !slices.ContainsFunc(known, func(k string) bool {
			return strings.EqualFold(k, name)
		}) {
			return noRepository(view, name)
		}
	}
	return say("No repository that is searched has the branch, tag or commit %s. Without ref it is the default "+
		"branch of each.", quote(clip(request.Ref)))
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

// literal escapes the special characters of globs.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// searchResult renders a search result.
type searchResult struct{ *search.Result }

// searchToFit searches with smaller limits until the result is small enough, so that the cursor is
// that of the last shown line. Repeated searches are answered from the searcher's cache.
func (s *service) searchToFit(ctx context.Context, request *search.Request) (searchResult, error) {
	defer resources.AccountOf(ctx).Stage("search")()
	for {
		found, err := s.Searcher.Search(ctx, *request)
		if err != nil {
			return searchResult{}, err
		}
		f := searchResult{found}
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

func (f searchResult) data() *codeResults {
	d := &codeResults{Files: make([]codeFile, len(f.Files)), NextCursor: f.Cursor}
	c := f.Counts
	d.Counts = codeCounts{
		Lines: f.Lines, Repositories: c.Repositories, Files: c.Files, Binary: c.Binary, Large: c.Large,
		Damaged: c.Damaged, Broken: c.Broken,
	}
	for i, file := range f.Files {
		shown := codeFile{
			Repository: quote(file.Repository), SHA: file.Commit.String(), Path: quote(file.Path),
			Lines: make([]codeLine, len(file.Lines)),
		}
		for j := range file.Lines {
			l := &file.Lines[j]
			shown.Lines[j] = codeLine{l.Number, l.Column, lineText(l)}
		}
		d.Files[i] = shown
	}
	return d
}

// lineText returns a line with marks at its cuts.
func lineText(l *search.Line) string {
	text := l.Text
	if l.Before > 0 {
		text = "…" + text
	}
	if l.After > 0 {
		text += "…"
	}
	return text
}

// text shows lines as git grep does, grouped by commit: colons mark matching lines, hyphens mark
// context.
func (f searchResult) text() string {
	var b strings.Builder
	at := ""
	for _, file := range f.Files {
		if above := quote(file.Repository) + " at " + file.Commit.String() + ":"; above != at {
			at = above
			b.WriteString(above + "\n")
		}
		path, before := quote(file.Path), 0
		inContext := slices.ContainsFunc(file.Lines, func(l search.Line) bool { return !l.Matches() })
		for i := range file.Lines {
			l := &file.Lines[i]
			if before > 0 && l.Number > before+1 && inContext {
				b.WriteString("--\n")
			}
			before = l.Number
			if l.Matches() {
				fmt.Fprintf(&b, "%s:%d:%d: %s\n", path, l.Number, l.Column, lineText(l))
			} else {
				fmt.Fprintf(&b, "%s-%d- %s\n", path, l.Number, lineText(l))
			}
		}
	}
	return b.String()
}

// commits returns the first commits with matches, each represented by one of its files. Files are
// sorted by repository.
func (f searchResult) commits() []search.File {
	first := slices.CompactFunc(slices.Clone(f.Files),
		func(a, b search.File) bool { return a.Repository == b.Repository })
	return first[:min(len(first), maxPointedCommits)]
}

// note adds notes on what was searched, what was not, and how to continue.
func (f searchResult) note(r *result, request search.Request) {
	c := f.Counts
	r.note("%s found; %s of %s searched.", plural(f.Lines, "line"), plural(c.Files, "file"),
		plural(c.Repositories, "repository"))
	for _, skipped := range []struct {
		count int
		why   string
	}{{c.Binary, "not text"}, {c.Large, "too large"}, {c.Damaged, "damaged"}} {
		if skipped.count > 0 {
			r.note("Not searched: %s (%s).", plural(skipped.count, "file"), skipped.why)
		}
	}
	for i, p := range f.Problems {
		if i == maxShownProblems {
			r.note("There were more problems.")
			break
		}
		why, _ := words(p.Err)
		r.note("%s %s: %s", quote(p.Repository), quote(clip("/"+p.Path)), why)
	}
	if f.Cursor != "" {
		r.next = "cursor=" + f.Cursor
		r.note("The search %s. Go on with the same arguments and this cursor.", f.Explain(request.Limits))
	} else if f.Lines == 0 && request.Cursor == "" {
		r.note("%s", f.nothing(request.Query.Terms))
	}
}

// qualified matches a string that looks like a qualifier with its value.
var qualified = regexp.MustCompile(`^([a-z]+):[^:/]`)

// nothing explains why no line was found, including failures to search.
func (f searchResult) nothing(terms []pattern.Term) string {
	switch c := f.Counts; {
	case c.Damaged+c.Broken > 0:
		return "Nothing fits in what could be searched."
	case c.Repositories == 0:
		return "No repository was searched: repo:, org: and user: fit no name, or those that they fit have no " +
			"commits. org:x is repo:x/*. Find names with search_repositories."
	}
	for _, term := range terms {
		if match := qualified.FindStringSubmatch(term.Text); match != nil && !term.Regexp {
			return fmt.Sprintf("Nothing fits. %s: is no qualifier and was searched for as text. Branches and tags are "+
				"chosen by ref, and commits found with list_commits.", match[1])
		}
	}
	return "Nothing fits. Try fewer words, syntax=text, or find_files for names."
}

// failure returns the error of a search that could search nothing, or nil.
func (f searchResult) failure(request search.Request) error {
	if c := f.Counts; c.Broken == 0 || c.Files+c.Binary+c.Large+c.Damaged > 0 || request.Cursor+f.Cursor != "" {
		return nil
	}
	if len(f.Problems) == 1 {
		return f.Problems[0].Err
	}
	var names []string
	for _, p := range f.Problems[:min(len(f.Problems), maxShownProblems)] {
		names = append(names, quote(p.Repository))
	}
	why, _ := words(f.Problems[0].Err)
	return say("Nothing could be searched: %s cannot be, such as %s. %s", plural(f.Counts.Broken, "repository"),
		strings.Join(names, ", "), why)
}

// cutsLines reports whether a line was cut.
func (f searchResult) cutsLines() bool {
	return slices.ContainsFunc(f.Files, func(file search.File) bool {
		return slices.ContainsFunc(file.Lines, func(l search.Line) bool { return l.Before+l.After > 0 })
	})
}

func plural(count int, thing string) string {
	switch stem, isY := strings.CutSuffix(thing, "y"); {
	case count == 1:
		return "1 " + thing
	case isY:
		return fmt.Sprintf("%d %sies", count, stem)
	default:
		return fmt.Sprintf("%d %ss", count, thing)
	}
}
