package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
)

type treeArguments struct {
	revision
	treeSHA, path, pathFilter string
	recursive                 bool
	paging
}

const pathDescription = "Path from the root."

func (a *treeArguments) define(p *arguments.List) {
	a.revision.define(p)
	p.Text(&a.treeSHA, "tree_sha", "Tree id from a result; or as sha.")
	p.Text(&a.path, "path", "Folder; the root if omitted.")
	p.Text(&a.pathFilter, "path_filter", "Prefix of paths, such as src/; or a glob as in find_files.")
	p.Flag(&a.recursive, "recursive", "Include subfolders.")
	a.paging.define(p, 100, 500)
}

// entryList is the data of get_repository_tree.
type entryList struct {
	Repository string      `json:"repository"`
	SHA        string      `json:"sha" jsonschema:"Commit"`
	Tree       []entryData `json:"tree"`
	pages
	remarks
}

// line returns the entry as git ls-tree -l prints it, with single spaces.
type entryData struct {
	Path string `json:"path"`
	Mode string `json:"mode" jsonschema:"100644 file; 100755 executable; 120000 symbolic link; 040000 folder; 160000 submodule"`
	Type string `json:"type" jsonschema:"blob; tree; or commit for a submodule"`
	Size *int64 `json:"size,omitempty" jsonschema:"Bytes of a file or link"`
	SHA  string `json:"sha" jsonschema:"Object id: it is the same for the same content"`
}

// line returns what git ls-tree -l prints, with single blanks.
func (d entryData) line() string {
	size := "-"
	if d.Size != nil {
		size = strconv.FormatInt(*d.Size, 10)
	}
	return strings.Join([]string{d.Mode, d.Type, d.SHA, size, d.Path}, " ")
}

func (v *visit) getRepositoryTree(ctx context.Context, a treeArguments) error {
	at, name, err := v.requestedTree(ctx, a)
	if err != nil {
		return err
	}
	folder, err := v.locate(ctx, at, name)
	if err != nil {
		return err
	}
	if !folder.Mode.IsDir() {
		return say("%s is a %s, not a folder. Read it with get_file_contents.", quote(folder.path), kindOf(folder.Mode))
	}
	keep, err := pathFilter(a.pathFilter)
	if err != nil {
		return err
	}
	data, err := v.listTree(ctx, at, folder, treeView{a.recursive, keep, a.paging})
	if err != nil {
		return err
	}
	v.data = data
	return nil
}

// requestedTree finds the commit and the path of the folder to list. The path is relative to the
// tree of tree_sha, if given; callers of github-mcp-server also pass a commit or a ref as tree_sha.
func (v *visit) requestedTree(ctx context.Context, a treeArguments) (at found, name string, err error) {
	if name, err = treePath(a.path); err != nil {
		return at, "", err
	}
	if a.treeSHA != "" {
		at, base, ok, err := v.treeByID(ctx, a.treeSHA)
		if err != nil || ok {
			return at, strings.Trim(base+"/"+name, "/"), err
		}
		a.sha = a.treeSHA
	}
	at, err = v.commit(ctx, a.pinned(0, a.revision))
	return at, name, err
}

// treeView selects the listed part of a tree.
type treeView struct {
	recursive bool
	keep      func(path string) bool
	paging
}

func pathFilter(filter string) (keep func(path string) bool, err error) {
	if !strings.ContainsAny(filter, glob.Signs) {
		prefix := strings.TrimPrefix(strings.TrimPrefix(filter, "./"), "/")
		return func(path string) bool { return strings.HasPrefix(path, prefix) }, nil
	}
	g, err := parseGlob(filter, false)
	return g.Match, err
}

// listTree lists a page of the entries below a folder. It reads the sizes of that page only.
func (v *visit) listTree(ctx context.Context, at found, folder entry, view treeView) (*entryList, error) {
	first, total := view.skipped(), 0
	var page []entry
	err := v.walk(ctx, folder, view.recursive, func(e entry) bool {
		if view.keep(e.path) {
			if total >= first && len(page) < view.perPage {
				page = append(page, e)
			}
			total++
		}
		return true
	})
	if err := noteStopped(v.result, err); err != nil {
		return nil, err
	}
	view.pin(at.ID)
	w, err := view.window(total, nil)
	if err != nil {
		return nil, err
	}
	if total == 0 {
		v.note("No entry of %s fits.", at)
	}
	var items []item[entryData]
	for _, e := range page {
		shown, err := v.describeEntry(e)
		if err != nil {
			return nil, err
		}
		if e.Mode.IsDir() {
			v.rememberTree(at.ID, e.path, e.ID)
		}
		items = append(items, item[entryData]{shown.line(), shown})
	}
	data := &entryList{Repository: quote(at.repository), SHA: at.ID.String()}
	data.Tree, data.pages = list(v.result, w, items)
	v.note("%s.", at)
	return data, v.pointManifest(ctx, at, w, len(data.Tree))
}

func (v *visit) describeEntry(e entry) (entryData, error) {
	d := entryData{Path: quote(e.path), Mode: e.Mode.String(), Type: "blob", SHA: e.ID.String()}
	switch {
	case e.Mode.IsDir():
		d.Type = "tree"
	case e.Mode.IsGitlink():
		d.Type = "commit"
	default:
		size, err := v.snapshot.Size(e.ID)
		if err != nil {
			return entryData{}, damageIfMissing(err)
		}
		d.Size = &size
	}
	return d, nil
}

// damageIfMissing turns "not found" into damage, because a tree names the object.
func damageIfMissing(err error) error {
	if errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", git.ErrCorrupt)
	}
	return err
}

// kindOf returns the word for the kind of an entry.
func kindOf(mode git.Mode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode.IsSymlink():
		return "symbolic link"
	case mode.IsGitlink():
		return "submodule"
	default:
		return "file"
	}
}
