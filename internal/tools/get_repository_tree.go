package tools

import (
	"context"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
)

type treeArguments struct {
	revision
	treeSHA, path, pathFilter string
	treeShape
	paging
}

// treeShape is the form in which a tree is listed.
type treeShape struct {
	recursive      bool
	depth          int // levels of entries; 0 means all if it is recursive, and otherwise one
	folders, names bool
}

// levels returns the number of levels to walk.
func (s treeShape) levels() int {
	switch {
	case s.depth > 0:
		return s.depth
	case s.recursive:
		return allLevels
	default:
		return 1
	}
}

const pathDescription = "Path from the root."

func (a *treeArguments) define(p *arguments.List) {
	a.revision.define(p)
	p.Text(&a.treeSHA, "tree_sha", "Tree id from a result; or as sha.")
	p.Text(&a.path, "path", "Folder; the root if omitted.")
	p.Text(&a.pathFilter, "path_filter", "Prefix of paths, such as src/; or a glob as in find_files.")
	p.Flag(&a.recursive, "recursive", "Include subfolders.")
	p.Number(&a.depth, "depth", "Levels of subfolders to include; 1: none.", 1, archive.DefaultDepth)
	p.Flag(&a.folders, "folders", "Folders alone.")
	p.Flag(&a.names, "names", "Paths alone.")
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
	Mode string `json:"mode,omitempty" jsonschema:"Absent with names. 100644 file; 100755 executable; 120000 symbolic link; 040000 folder; 160000 submodule"`
	Type string `json:"type,omitempty" jsonschema:"blob; tree; or commit for a submodule"`
	Size *int64 `json:"size,omitempty" jsonschema:"Bytes of a file or link"`
	SHA  string `json:"sha,omitempty" jsonschema:"Object id: it is the same for the same content"`
}

// line returns what git ls-tree -l prints, with single blanks; or the path, which ends with a slash
// if it is a folder's.
func (d entryData) line() string {
	if d.Mode == "" {
		return d.Path
	}
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
		return notAFolder(folder)
	}
	keep, err := pathFilter(a.pathFilter)
	if err != nil {
		return err
	}
	data, err := v.listTree(ctx, at, folder, treeView{a.treeShape, keep, a.paging})
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
	treeShape
	keep func(path string) bool
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
	err := v.walk(ctx, folder, view.levels(), func(e entry) bool {
		if view.keep(e.path) && (e.Mode.IsDir() || !view.folders) {
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
		shown, err := v.describeEntry(e, view.names)
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

func (v *visit) describeEntry(e entry, nameOnly bool) (entryData, error) {
	if nameOnly {
		name := e.path
		if e.Mode.IsDir() {
			name += "/"
		}
		return entryData{Path: quote(name)}, nil
	}
	d := entryData{Path: quote(e.path), Mode: e.Mode.String(), Type: "blob", SHA: e.ID.String()}
	switch {
	case e.Mode.IsDir():
		d.Type = "tree"
	case e.Mode.IsGitlink():
		d.Type = "commit"
	default:
		size, err := v.snapshot.Size(e.ID)
		if err != nil {
			return entryData{}, git.MustExist(e.ID, err)
		}
		d.Size = &size
	}
	return d, nil
}

func notAFolder(e entry) error {
	return say("%s is a %s, not a folder. Read it with get_file_contents.", quote(e.path), kindOf(e.Mode))
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
