package tools

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
)

// maxShownProblems bounds the repositories or files that are named as not searched.
const maxShownProblems = 3

// codeResults is the data of search_code.
type codeResults struct {
	Files      []codeFile `json:"files" jsonschema:"Files with lines that were found, the best first, or by repository and path"`
	Counts     codeCounts `json:"counts"`
	NextCursor string     `json:"nextCursor,omitempty" jsonschema:"Argument cursor to go on with; absent when all was searched"`
	remarks
}

type codeFile struct {
	Repository string         `json:"repository"`
	SHA        string         `json:"sha" jsonschema:"Commit"`
	Path       string         `json:"path"`
	Lines      []codeLine     `json:"lines"`
	More       int            `json:"more,omitempty" jsonschema:"Lines that were found and are left out"`
	Functions  []codeFunction `json:"functions,omitempty" jsonschema:"Definitions around lines, with show=function"`
}

type codeFunction struct {
	Start int    `json:"start_line"`
	End   int    `json:"end_line"`
	Shown int    `json:"shown_to,omitempty" jsonschema:"Last line of the text, if the definition is longer"`
	Text  string `json:"text"`
}

type codeLine struct {
	Line       int    `json:"line" jsonschema:"Number, from 1"`
	Column     int    `json:"column,omitempty" jsonschema:"First byte that was found, from 1; absent in lines of context"`
	Text       string `json:"text" jsonschema:"Empty if it is in one of the functions"`
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

// searchResult renders a search result.
type searchResult struct {
	*search.Result
	isRanked  bool
	functions []fileFunctions // of the files, with show=function
}

// functionsOf returns the functions that are shown of a file.
func (f searchResult) functionsOf(file int) []function {
	if file < len(f.functions) {
		return f.functions[file].shown
	}
	return nil
}

// show puts what was found into the result.
func (f searchResult) show(r *result, request search.Request) {
	r.content, r.data = f.text(), f.data()
	f.note(r, request)
	if f.cutsLines() {
		r.note("Long lines are cut, and have … there; get_file_contents has them whole.")
	}
	if call := f.readArguments(); call != nil && len(f.functions) == 0 {
		r.note("Read the best with get_file_contents %s", call)
	}
}

const (
	// maxReadFiles and maxReadBytes bound the call that reads the best files.
	maxReadFiles = 3
	maxReadBytes = 300
	// linesAround is how many lines it reads before and behind the best line of each.
	linesAround = 40
)

// readArguments returns the arguments with which get_file_contents reads the best files of the first repository, around
// the best line of each; nil if there are none, or their names are too long for a note.
func (f searchResult) readArguments() []byte {
	if !f.isRanked || f.Lines == 0 {
		return nil
	}
	type part struct {
		Path  string `json:"path"`
		Lines string `json:"lines"`
	}
	call := struct {
		Repo  string `json:"repo"`
		Ref   string `json:"ref"`
		Files []part `json:"files"`
	}{quote(f.Files[0].Repository), f.Files[0].Commit.String()[:shownID], nil}
	var text []byte
	for _, file := range f.Files {
		at := slices.IndexFunc(file.Lines, func(l search.Line) bool { return l.Place == 1 })
		if at < 0 || file.Repository != f.Files[0].Repository {
			continue
		}
		best := file.Lines[at].Number
		call.Files = append(call.Files, part{quote(file.Path),
			fmt.Sprintf("%d-%d", max(best-linesAround, 1), best+linesAround)})
		longer := must(json.Marshal(call))
		if len(longer) > maxReadBytes || len(call.Files) > maxReadFiles {
			break
		}
		text = longer
	}
	return text
}

// reads returns the commits that the result has lines of.
func (f searchResult) reads() []resources.Read {
	var list []resources.Read
	for _, file := range f.Files { // the files of a commit are apart in a ranking
		read := resources.Read{Repository: file.Repository, Commit: file.Commit.String()}
		if !slices.Contains(list, read) {
			list = append(list, read)
		}
	}
	return list
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
		for _, shows := range f.functionsOf(i) {
			shown.Functions = append(shown.Functions, shows.data())
			for j := range shown.Lines {
				if shows.has(shown.Lines[j].Line) {
					shown.Lines[j].Text = ""
				}
			}
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
	for n, file := range f.Files {
		if above := quote(file.Repository) + " at " + file.Commit.String() + ":"; above != at {
			at = above
			b.WriteString(above + "\n")
		}
		path := quote(file.Path)
		match, context := path+":", path+"-"
		if f.isRanked {
			b.WriteString(path + "\n")
			match, context = "  ", "  "
		}
		if functions := f.functionsOf(n); len(functions) > 0 {
			writeFunctions(&b, file, functions)
		} else {
			writeLines(&b, file.Lines, match, context)
		}
		if file.More > 0 {
			fmt.Fprintf(&b, "  %s more\n", plural(file.More, "line"))
		}
	}
	return b.String()
}

// writeLines writes the lines of a file, those that were found behind match and others behind context.
func writeLines(b *strings.Builder, lines []search.Line, match, context string) {
	inContext := slices.ContainsFunc(lines, func(l search.Line) bool { return !l.Matches() })
	before := 0
	for i := range lines {
		l := &lines[i]
		if before > 0 && l.Number > before+1 && inContext {
			b.WriteString("--\n")
		}
		before = l.Number
		if l.Matches() {
			writeFound(b, match, l, lineText(l))
		} else {
			fmt.Fprintf(b, "%s%d- %s\n", context, l.Number, lineText(l))
		}
	}
}

// writeFound writes a line that was found.
func writeFound(b *strings.Builder, before string, l *search.Line, text string) {
	mark := ":"
	if l.Definition {
		mark = "="
	}
	fmt.Fprintf(b, "%s%d:%d%s %s\n", before, l.Number, l.Column, mark, text)
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
	} else if c.Files+c.Repositories > 0 || request.Cursor == "" {
		r.note("%s found; %s of %s searched.", plural(f.Lines, "line"), plural(c.Files, "file"),
			plural(c.Repositories, "repository"))
	} else { // all of them were counted by the pages before
		r.note("%s found.", plural(f.Lines, "line"))
	}
	if f.Scanned && c.Files >= manyScanned {
		r.note("Every file was read: no three characters in a row are in all matches.")
	}
	if c.NoPattern > 0 {
		r.note("No patterns for definitions in: %s with the name.", plural(c.NoPattern, "file"))
	}
	f.noteAlone(r)
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
var qualified = regexp.MustCompile(`^([a-z]+):[^:/\s]\S*$`)

// nothing explains why no line was found, including failures to search.
func (f searchResult) nothing(query search.Query) string {
	switch c := f.Counts; {
	case c.Damaged+c.Broken > 0:
		return "Nothing fits in what could be searched."
	case c.Repositories == 0:
		return "No repository was searched: repo:, org: and user: fit no name, or those that they fit have no " +
			"commits. org:x is repo:x/*. Find names with search_repositories."
	case c.Files+c.Binary+c.Large == 0:
		return "No file fits path and the qualifiers path:, filename:, extension: and language:, whatever the words " +
			"are. Find paths with find_files."
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

// noteRanking notes what is to be known of ranked files.
func (f searchResult) noteRanking(r *result, request search.Request) {
	if slices.ContainsFunc(f.Files, func(file search.File) bool {
		return slices.ContainsFunc(file.Lines, func(l search.Line) bool { return l.Definition })
	}) {
		r.note("= marks definitions.")
	}
	if len(f.Missing) > 0 && f.Cut == "" && request.Cursor == "" && f.Ranked > 0 {
		names := quote(clip(strings.Join(f.Missing, ", ")))
		r.note("No file has %s as a whole name: these files have its parts.", names)
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
