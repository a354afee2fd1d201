package archive_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// evolution is a random history of one tree.
type evolution struct {
	random *rand.Rand
	files  map[string]gittest.File
	// attributed says that .gitattributes are edited as well.
	attributed bool
}

var evolvingNames = []string{"a", "A", "a.b", "a-b", "a0", "d", "d.md", "v1", "sub", "x y", "\xff", "é"}

func (e *evolution) path() string {
	path := evolvingNames[e.random.IntN(len(evolvingNames))]
	for range e.random.IntN(3) {
		path += "/" + evolvingNames[e.random.IntN(len(evolvingNames))]
	}
	return path
}

// existing is a path that there is, or a folder above one.
func (e *evolution) existing() string {
	paths := slices.Sorted(maps.Keys(e.files))
	if len(paths) == 0 {
		return "a"
	}
	path := paths[e.random.IntN(len(paths))]
	for strings.Contains(path, "/") && e.random.IntN(3) == 0 {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return path
}

func (e *evolution) edit() {
	path := e.path()
	if e.random.IntN(3) > 0 {
		path = e.existing()
	}
	if strings.Contains(path, ".gitattributes") || strings.HasPrefix(path, "ballast") || e.keeps(path) {
		return
	}
	content := fmt.Sprintf("line %d\n$Format:%%H$ $Id$\n", e.random.IntN(4))
	switch e.random.IntN(10) {
	case 0, 1:
		e.put(gittest.Regular(path, content))
	case 2:
		e.put(gittest.Executable(path, content))
	case 3:
		e.put(gittest.Symlink(path, fmt.Sprintf("target%d", e.random.IntN(2))))
	case 4:
		e.put(gittest.Gitlink(path, strings.Repeat(string("ab"[e.random.IntN(2)]), 40)))
	case 5:
		e.put(gittest.Regular(path+"/"+evolvingNames[e.random.IntN(len(evolvingNames))], content))
	case 6, 7:
		e.remove(path)
	case 8:
		if f, ok := e.files[path]; ok && f.Mode == "100644" {
			e.put(gittest.Executable(path, f.Content))
		} else if ok && f.Mode == "100755" {
			e.put(gittest.Regular(path, f.Content))
		}
	case 9:
		e.editAttributes(path)
	}
}

// keeps reports whether attributes that stay are below a path.
func (e *evolution) keeps(path string) bool {
	for other := range e.files {
		if !e.attributed && strings.HasPrefix(other, path+"/") && strings.HasSuffix(other, ".gitattributes") {
			return true
		}
	}
	return false
}

func (e *evolution) editAttributes(path string) {
	if !e.attributed || e.random.IntN(2) > 0 {
		return
	}
	folder := path[:strings.LastIndexByte(path, '/')+1]
	if _, ok := e.files[strings.TrimSuffix(folder, "/")]; !ok {
		e.put(gittest.Regular(folder+".gitattributes", fmt.Sprintf("a%d export-ignore\n", e.random.IntN(2))))
	}
}

func (e *evolution) put(f gittest.File) {
	e.remove(f.Path)
	for at := range len(f.Path) {
		if f.Path[at] == '/' {
			delete(e.files, f.Path[:at])
		}
	}
	e.files[f.Path] = f
}

func (e *evolution) remove(path string) {
	for other := range e.files {
		if other == path || strings.HasPrefix(other, path+"/") {
			delete(e.files, other)
		}
	}
}

func (e *evolution) list() []gittest.File {
	return slices.SortedFunc(maps.Values(e.files),
		func(a, b gittest.File) int { return strings.Compare(a.Path, b.Path) })
}

func attributesIn(files []gittest.File) map[string]string {
	found := make(map[string]string)
	for _, f := range files {
		if filepath.Base(f.Path) == ".gitattributes" {
			found[f.Path] = f.Content
		}
	}
	return found
}

// evolve makes a repository with a random history.
func evolve(t *testing.T, seed uint64, commits int) (repo *gittest.Repo, ids []string, trees [][]gittest.File) {
	e := &evolution{random: rand.New(rand.NewPCG(seed, 1)), files: make(map[string]gittest.File),
		attributed: seed%4 == 3}
	for i := range 24 {
		e.put(gittest.Regular(fmt.Sprintf("ballast/%d", i), "always the same"))
	}
	switch seed % 4 {
	case 1:
		e.put(gittest.Regular(".gitattributes", "*.md export-ignore\nsub/ export-ignore\n*-b eol=crlf\nA ident\n"))
		e.put(gittest.Regular("d/.gitattributes", "a export-ignore\nd.md -export-ignore\n"))
	case 2:
		e.put(gittest.Regular(".gitattributes", "v* export-subst\nd export-ignore\n*.b export-ignore\n\xff eol=crlf\n"))
		e.put(gittest.Regular("sub/d/.gitattributes", "a export-ignore\nA export-subst\nv1 -export-subst\n"))
	case 3:
		e.put(gittest.Regular(".gitattributes", "d/** export-ignore\n"))
	}
	repo = gittest.New(t)
	if seed%8 == 5 {
		repo.WriteFile("info/attributes", []byte("a0 export-subst\n*/a export-ignore\n"))
	}
	for range commits {
		for range 6 + e.random.IntN(14) {
			e.edit()
		}
		trees = append(trees, e.list())
		ids = append(ids, repo.Commit("main", e.list()...))
	}
	return repo, ids, trees
}
