package tools

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
)

// maxMatches bounds the number of sorted paths.
const maxMatches = 20_000

const globDescription = `*.go (a name in any folder), src/**/*.{ts,tsx}, [!.]*`

type findArguments struct {
	revision
	query, glob, path, order string
	caseSensitive            bool
	paging
}

func (a *findArguments) define(p *arguments.List) {
	a.order = orderRank
	a.revision.define(p)
	p.Text(&a.query, "query", "Parts of the path in any order, such as test util.")
	p.Text(&a.glob, "glob", "Pattern of the path: "+globDescription)
	p.Text(&a.path, "path", "Folder in which to search; query and glob are relative to it.")
	p.Flag(&a.caseSensitive, "case_sensitive", "Distinguish upper and lower case.")
	p.Choice(&a.order, "order", "rank: best matches first; path: as git lists them.", orderRank, orderPath)
	a.paging.define(p, 100, 500)
}

const (
	orderRank = "rank"
	orderPath = "path"
)

// fileList is the data of find_files.
type fileList struct {
	Repository string   `json:"repository"`
	SHA        string   `json:"sha" jsonschema:"Commit"`
	Files      []string `json:"files" jsonschema:"Paths of files, links and submodules"`
	pages
	remarks
}

func (a *findArguments) check() error {
	if a.query == "" && a.glob == "" {
		return say("Give query, a part of the path, or glob, a pattern such as **/*.go.")
	}
	return nil
}

func (v *visit) findFiles(ctx context.Context, a findArguments) error {
	at, err := v.commit(ctx, a.pinned(0, a.revision))
	if err != nil {
		return err
	}
	paths, err := v.findPaths(ctx, a, at)
	if err != nil {
		return err
	}
	if pattern := a.asGlob(); len(paths) == 0 && pattern.glob != "" {
		if paths, err = v.findPaths(ctx, pattern, at); err != nil {
			return err
		}
		if len(paths) > 0 {
			v.note("No path has the characters %s; these match it as glob.", quote(clip(a.query)))
		}
	}
	a.pin(at.ID)
	w, err := a.window(len(paths), nil)
	if err != nil {
		return err
	}
	data := &fileList{Repository: quote(at.repository), SHA: at.ID.String()}
	data.Files, data.pages = list(v.result, w, nameItems(paths[w.start:w.end]))
	if len(paths) == 0 {
		v.note("No path fits. Try a shorter query, or a glob with ** in front.")
	}
	v.note("%s.", at)
	v.data = data
	return v.pointManifest(ctx, at, w, len(data.Files))
}

// asGlob returns the search whose glob is the query, if that looks like a pattern and is all there is.
func (a findArguments) asGlob() findArguments {
	_, err := glob.Path(a.query, false)
	if a.glob == "" && err == nil && strings.Contains(a.query, "*") && !strings.ContainsAny(a.query, ` "`) {
		a.query, a.glob = "", a.query
	}
	return a
}

// findPaths walks the tree and sorts the matching paths.
func (v *visit) findPaths(ctx context.Context, a findArguments, at found) ([]string, error) {
	fits, err := a.matcher()
	if err != nil {
		return nil, err
	}
	name, err := treePath(a.path)
	if err != nil {
		return nil, err
	}
	folder, err := v.locate(ctx, at, name)
	if err != nil {
		return nil, err
	}
	if !folder.Mode.IsDir() {
		return nil, notAFolder(folder)
	}
	below := len(folder.path)
	if below > 0 {
		below++ // the slash
	}
	var paths []string
	err = v.walk(ctx, folder, allLevels, func(e entry) bool {
		if !e.Mode.IsDir() && len(paths) <= maxMatches && fits(e.path[below:]) {
			paths = append(paths, e.path)
		}
		return true
	})
	if err := noteStopped(v.result, err); err != nil {
		return nil, err
	}
	if len(paths) > maxMatches {
		paths = paths[:maxMatches]
		v.note("More than %d paths fit; this is of the first of them. Narrow the search with path or glob.", maxMatches)
	}
	if a.order == orderRank {
		a.rank(paths)
	}
	return paths, nil
}

// matcher combines query and glob.
func (a findArguments) matcher() (func(path string) bool, error) {
	g, err := parseGlob(a.glob, !a.caseSensitive)
	if err != nil {
		return nil, err
	}
	words := a.words()
	return func(p string) bool {
		return hasAll(a.fold(p), words) && (a.glob == "" || g.Match(p))
	}, nil
}

// words returns the parts of the path that the query has; a quoted name is one.
func (a findArguments) words() []string {
	if strings.HasPrefix(a.query, `"`) {
		return []string{a.fold(unquoteName(a.query))}
	}
	return strings.Fields(a.fold(a.query))
}

func parseGlob(pattern string, fold bool) (glob.Glob, error) {
	g, err := glob.Path(pattern, fold)
	if errors.Is(err, glob.ErrMalformed) {
		err = say("The pattern %s is malformed: a set such as [abc] has no end, or a backslash nothing "+
			"after it. For the character itself write \\[ or \\\\.", quote(clip(pattern)))
	}
	return g, err
}

func (a findArguments) fold(s string) string {
	if a.caseSensitive {
		return s
	}
	return strings.ToLower(s)
}

// rank sorts paths by how well they match the query.
func (a findArguments) rank(paths []string) {
	query, words := a.fold(unquoteName(a.query)), a.words()
	class := func(p string) int {
		switch name := a.fold(path.Base(p)); {
		case name == query:
			return 0
		case strings.HasPrefix(name, query):
			return 1
		case hasAll(name, words):
			return 2
		default:
			return 3
		}
	}
	slices.SortStableFunc(paths, func(p, q string) int {
		return cmp.Or(cmp.Compare(class(p), class(q)), cmp.Compare(len(p), len(q)))
	})
}
