package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

const (
	// defaultFoundLines suits a model's reading; maxFound is about the lines that a result holds.
	defaultFoundLines = 50
	maxFound          = 500
	// foundBytes bounds names and texts, which are shown twice; numbers and braces are extra.
	foundBytes = maxListedBytes * 3 / 8
	// maxShownProblems bounds the repositories or files that are named as not searched.
	maxShownProblems = 3
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
	query, ref, sha, path, syntax, letters, sort, cursor string
	context, perPage                                     int
}

func (a *codeArguments) define(p *parameters) {
	a.syntax, a.letters, a.sort = syntaxWords, caseSmart, sortRank
	p.text(&a.query, "query",
		`A question, or symbol:parseURL, "func main" language:go, a OR b -path:test.`).required = true
	p.text(&a.repo, "repo", "All if omitted; several by repo:team/* in the query.")
	p.text(&a.owner, "owner", "First part of the full name, when repo has only the rest of it; alone: all "+
		"repositories below it.").hidden = true
	p.text(&a.ref, "ref", "Branch, tag or commit; default branches if omitted.")
	p.text(&a.sha, "sha", "Commit id, which is taken instead of ref.").hidden = true
	p.text(&a.path, "path", "Part, beginning (/src) or glob (src/**/*.go).")
	p.choice(&a.syntax, "syntax", `words: "quoted" ones must occur; text: as it is, no qualifiers; regexp: RE2.`,
		syntaxWords, syntaxText, syntaxRegexp)
	p.choice(&a.sort, "sort", "rank: best files first; path: all lines of files with all words.", sortRank, sortPath)
	p.choice(&a.letters, "case", "smart: sensitive if the query has upper case.", caseSmart, "sensitive",
		"insensitive")
	p.number(&a.context, "context_lines", "Lines around each match.", 0, search.MaxContext)
	p.number(&a.perPage, "perPage", "Files (10); with sort=path lines (50).", 1, maxFound)
	p.text(&a.cursor, "cursor", cursorDescription)
}

// codeResults is the data of search_code.
type codeResults struct {
	Files      []codeFile `json:"files" jsonschema:"Files with lines that were found, the best first, or by repository and path"`
	Counts     codeCounts `json:"counts"`
	NextCursor string     `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent when all was searched"`
	remarks
}

type codeFile struct {
	Repository string     `json:"repository"`
	SHA        string     `json:"sha" jsonschema:"Commit"`
	Path       string     `json:"path"`
	Lines      []codeLine `json:"lines"`
	More       int        `json:"more,omitempty" jsonschema:"Lines that were found and are left out"`
}

type codeLine struct {
	Line       int    `json:"line" jsonschema:"Number, from 1"`
	Column     int    `json:"column,omitempty" jsonschema:"First byte that was found, from 1; absent in lines of context"`
	Text       string `json:"text"`
	Definition bool   `json:"definition,omitempty" jsonschema:"The line defines what was searched for"`
}

type codeCounts struct {
	Lines        int `json:"lines" jsonschema:"Lines found in this result"`
	Ranked       int `json:"ranked,omitempty" jsonschema:"Files that were found and ranked"`
	Repositories int `json:"repositories" jsonschema:"Repositories whose search began"`
	Files        int `json:"files" jsonschema:"Files searched"`
	Binary       int `json:"binary" jsonschema:"Files skipped because they are not text"`
	Large        int `json:"large" jsonschema:"Files skipped because they are too large"`
	Damaged      int `json:"damaged" jsonschema:"Files that could not be read"`
	Broken       int `json:"broken" jsonschema:"Repositories that could not be searched, or not to their end"`
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

// show puts what was found into the result.
func (f searchResult) show(r *result, request search.Request) {
	r.content, r.data = f.text(), f.data()
	f.note(r, request)
	if f.cutsLines() {
		r.note("Long lines are cut, and have … there; get_file_contents has them whole.")
	}
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

// searchResult renders a search result.
type searchResult struct {
	*search.Result
	isRanked bool
}

// searchToFit searches with smaller limits until the result is small enough, so that the cursor is
// that of the last shown line. Repeated searches are answered from the searcher's cache.
func (s *service) searchToFit(ctx context.Context, request *search.Request) (searchResult, error) {
	defer resources.AccountOf(ctx).Stage("search")()
	for {
		found, err := s.Searcher.Search(ctx, *request)
		if err != nil {
			return searchResult{}, err
		}
		f := searchResult{found, request.Order == search.ByRank}
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

func (f searchResult) data() *codeResults {
	d := &codeResults{Files: make([]codeFile, len(f.Files)), NextCursor: f.Cursor}
	c := f.Counts
	d.Counts = codeCounts{
		Lines: f.Lines, Repositories: c.Repositories, Files: c.Files, Binary: c.Binary, Large: c.Large,
		Damaged: c.Damaged, Broken: c.Broken, Ranked: f.Ranked,
	}
	for i, file := range f.Files {
		shown := codeFile{
			Repository: quote(file.Repository), SHA: file.Commit.String(), Path: quote(file.Path),
			Lines: make([]codeLine, len(file.Lines)), More: file.More,
		}
		for j := range file.Lines {
			l := &file.Lines[j]
			shown.Lines[j] = codeLine{l.Number, l.Column, lineText(l), l.Definition}
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
// context. Lines of ranked files stand below the path, and equals signs mark definitions.
func (f searchResult) text() string {
	var b strings.Builder
	at := ""
	for _, file := range f.Files {
		if above := quote(file.Repository) + " at " + file.Commit.String() + ":"; above != at {
			at = above
			b.WriteString(above + "\n")
		}
		path, before := quote(file.Path), 0
		match, context := path+":", path+"-"
		if f.isRanked {
			b.WriteString(path + "\n")
			match, context = "  ", "  "
		}
		inContext := slices.ContainsFunc(file.Lines, func(l search.Line) bool { return !l.Matches() })
		for i := range file.Lines {
			l := &file.Lines[i]
			if before > 0 && l.Number > before+1 && inContext {
				b.WriteString("--\n")
			}
			before = l.Number
			switch {
			case l.Definition:
				fmt.Fprintf(&b, "%s%d:%d= %s\n", match, l.Number, l.Column, lineText(l))
			case l.Matches():
				fmt.Fprintf(&b, "%s%d:%d: %s\n", match, l.Number, l.Column, lineText(l))
			default:
				fmt.Fprintf(&b, "%s%d- %s\n", context, l.Number, lineText(l))
			}
		}
		if file.More > 0 {
			fmt.Fprintf(&b, "  %s more\n", plural(file.More, "line"))
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
	if f.isRanked {
		r.note("%s of %d found; %s of %s searched.", plural(len(f.Files), "file"), f.Ranked, plural(c.Files, "file"),
			plural(c.Repositories, "repository"))
		f.noteRanking(r, request)
	} else {
		r.note("%s found; %s of %s searched.", plural(f.Lines, "line"), plural(c.Files, "file"),
			plural(c.Repositories, "repository"))
	}
	if f.Scanned && c.Files >= manyScanned {
		r.note("Every file was read: no three characters in a row are in all matches.")
	}
	if c.NoPattern > 0 {
		r.note("No patterns for definitions in: %s with the name.", plural(c.NoPattern, "file"))
	}
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
		why := "There are more files"
		if !f.isRanked {
			why = "The search " + f.Explain(request.Limits)
		}
		r.note("%s. Go on with the same arguments and this cursor.", why)
	} else if f.Lines == 0 && request.Cursor == "" {
		r.note("%s", f.nothing(request.Query))
	}
}

// qualified matches a string that looks like a qualifier with its value.
var qualified = regexp.MustCompile(`^([a-z]+):[^:/]`)

// nothing explains why no line was found, including failures to search.
func (f searchResult) nothing(query search.Query) string {
	switch c := f.Counts; {
	case c.Damaged+c.Broken > 0:
		return "Nothing fits in what could be searched."
	case c.Repositories == 0:
		return "No repository was searched: repo:, org: and user: fit no name, or those that they fit have no " +
			"commits. org:x is repo:x/*. Find names with search_repositories."
	}
	if explained := unknownQualifier(query); explained != "" {
		return "Nothing fits. " + explained
	}
	return "Nothing fits. Try fewer words, syntax=text, or find_files for names."
}

// unknownQualifier explains a word that looks like a qualifier, "" if there is none.
func unknownQualifier(query search.Query) string {
	texts := slices.Concat(query.Words...)
	for _, term := range query.Terms {
		if !term.Regexp {
			texts = append(texts, term.Text)
		}
	}
	for _, text := range texts {
		if match := qualified.FindStringSubmatch(text); match != nil {
			return match[1] + ": is no qualifier and was searched for as text. Branches and tags are chosen by ref, " +
				"and commits found with list_commits."
		}
	}
	return ""
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
	raw, err := json.Marshal(f.data())
	return max(len(f.text())+len(f.Cursor), len(raw)) <= size, err
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

// noteRanking notes what is to be known of ranked files.
func (f searchResult) noteRanking(r *result, request search.Request) {
	if slices.ContainsFunc(f.Files, func(file search.File) bool {
		return slices.ContainsFunc(file.Lines, func(l search.Line) bool { return l.Definition })
	}) {
		r.note("= marks definitions.")
	}
	if f.Within {
		r.note("No file has these as words; these files have all of them within words.")
	}
	if text := unknownQualifier(request.Query); text != "" && f.Ranked > 0 && request.Cursor == "" {
		r.note("%s", text)
	}
	if f.Cut != "" {
		r.note("The search %s: other files are ranked apart, behind these.", f.ExplainCut(request.Limits))
	}
}
