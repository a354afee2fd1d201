package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tree is the files of a commit under construction.
type tree struct {
	*rand.Rand
	files map[string]gittest.File
	paths []string // in the order in which they came
}

func newTree(r *rand.Rand) *tree { return &tree{Rand: r, files: make(map[string]gittest.File)} }

func (t *tree) clone() *tree {
	c := newTree(t.Rand)
	for _, path := range t.paths {
		c.put(t.files[path])
	}
	return c
}

// put adds a file, unless one of its folders is a file or it is a folder.
func (t *tree) put(f gittest.File) {
	for path := range t.files {
		if strings.HasPrefix(path, f.Path+"/") || strings.HasPrefix(f.Path, path+"/") {
			return
		}
	}
	if _, ok := t.files[f.Path]; !ok {
		t.paths = append(t.paths, f.Path)
	}
	t.files[f.Path] = f
}

func (t *tree) remove(path string) {
	delete(t.files, path)
	for i, p := range t.paths {
		if p == path {
			t.paths = append(t.paths[:i:i], t.paths[i+1:]...)
			return
		}
	}
}

func (t *tree) any() (gittest.File, bool) {
	if len(t.paths) == 0 {
		return gittest.File{}, false
	}
	return t.files[t.paths[t.IntN(len(t.paths))]], true
}

// names are parts of paths: what git quotes, what orders oddly, long ones, and
// few enough for many files to have the same one.
var names = []string{
	"a", "a.b", "a-b", "A", "b c", "Makefile", "main.go", "é", "\xff\xfe", `quo"te`, `back\slash`, "tab\there",
	"line\nfeed", "\x01\x7f",
	"long-" + strings.Repeat("name", 20), "directory-of-some-length", "x", "y", "z", "sub", " lead", "日本", "0", "{b}",
	"=>", "-",
}

func (t *tree) name() string {
	parts := make([]string, 1+t.IntN(4))
	for i := range parts {
		parts[i] = names[t.IntN(len(names))]
	}
	return strings.Join(parts, "/")
}

func (t *tree) content() string {
	switch t.IntN(12) {
	case 0:
		return ""
	case 1:
		return "\x00" + gittest.Noise(t.IntN(3000))
	case 2:
		return gittest.Noise(100)[t.IntN(50):] // few bytes, some of them NUL
	case 3:
		return strings.Repeat(gittest.Text(t.Rand, 20), 10)
	default:
		return gittest.Text(t.Rand, t.IntN(60))
	}
}

func (t *tree) file(path string) gittest.File {
	switch t.IntN(14) {
	case 0:
		return gittest.Symlink(path, t.name())
	case 1:
		return gittest.Gitlink(path, fmt.Sprintf("%040x", t.IntN(3)+1))
	case 2, 3:
		return gittest.Executable(path, t.content())
	default:
		return gittest.Regular(path, t.content())
	}
}

// moved puts a file elsewhere: under another name, in another folder, with
// edits or without.
func (t *tree) moved(f gittest.File) gittest.File {
	path := t.name()
	if slash := strings.LastIndexByte(f.Path, '/'); t.IntN(2) == 0 {
		path += f.Path[slash+1:]
		if t.IntN(2) == 0 {
			path = t.name() + "/" + f.Path[slash+1:]
		}
	}
	f.Path = path
	if f.Mode != "160000" && f.Mode != "120000" && t.IntN(3) > 0 {
		f.Content = gittest.Edit(t.Rand, f.Content, t.IntN(12))
	}
	return f
}

// change does one thing to the tree.
func (t *tree) change() {
	f, ok := t.any()
	switch kind := t.IntN(12); {
	case !ok || kind < 2:
		t.put(t.file(t.name()))
	case kind < 7:
		t.remove(f.Path)
		t.put(t.moved(f))
	case kind < 9:
		t.put(t.moved(f))
	case kind == 9:
		t.remove(f.Path)
	case kind == 10 && f.Mode == "100644":
		f.Mode = "100755"
		t.put(f)
	case kind == 11:
		t.put(t.file(f.Path))
	default:
		f.Content = gittest.Edit(t.Rand, f.Content, 1+t.IntN(5))
		if f.Mode != "160000" {
			t.put(f)
		}
	}
}

func (t *tree) list() (files []gittest.File) {
	for _, path := range t.paths {
		files = append(files, t.files[path])
	}
	return files
}

// writeTrees records many trees in one go and returns them.
func writeTrees(t *testing.T, repo *gittest.Repo, trees []*tree) (ids []git.ID) {
	t.Helper()
	var in strings.Builder
	for i, tree := range trees {
		fmt.Fprintf(&in, "commit refs/heads/t%d\ncommitter A <a@example.com> %d +0000\ndata 0\ndeleteall\n", i,
			1_700_000_000+i)
		for _, f := range tree.list() {
			in.WriteString(gittest.FastImport(f))
		}
		in.WriteString("\n")
	}
	in.WriteString("done\n")
	repo.GitInput([]byte(in.String()), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done")
	for _, tree := range strings.Fields(repo.Git("for-each-ref", "--sort=version:refname", "--format=%(tree)",
		"refs/heads/t*")) {
		ids = append(ids, id(t, tree))
	}
	if len(ids) != len(trees) {
		t.Fatalf("%d trees were written, git has %d", len(trees), len(ids))
	}
	return ids
}

func TestRenamesAreGits(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	compared := make(tally)
	for seed := range uint64(gittest.Volume(2, 60)) {
		r := rand.New(rand.NewPCG(seed, 21))
		var trees []*tree
		for range 40 {
			a := newTree(r)
			for range 5 + r.IntN(30) {
				a.put(a.file(a.name()))
			}
			b := a.clone()
			for range 1 + r.IntN(25) {
				b.change()
			}
			trees = append(trees, a, b)
		}
		repo := gittest.New(t)
		var pairs []treePair
		ids := writeTrees(t, repo, trees)
		for i := 0; i < len(ids); i += 2 {
			if ids[i] != ids[i+1] {
				pairs = append(pairs, treePair{ids[i], ids[i+1]})
			}
		}
		compared.compareWithGit(t, repo, views, pairs)
	}
	compared.need(t, map[string]int{"A": 1000, "D": 500, "M": 400, "R": 400, "R<100": 300, "T": 50, "C": 30,
		"C<100": 40})
}

// numbered makes so many files with lines that are alike, of which some are
// said again under the next number.
func numbered(r *rand.Rand, prefix string, count, lines int) (t *tree) {
	t = &tree{Rand: r, files: make(map[string]gittest.File)}
	for i := range count {
		var text strings.Builder
		for line := range lines {
			fmt.Fprintf(&text, "line %d of %d\n", line, i/(1+line%3))
		}
		path := fmt.Sprintf("%s/%s%d", prefix, prefix, i)
		t.paths = append(t.paths, path)
		t.files[path] = gittest.Regular(path, text.String())
	}
	return t
}

// At the limits of the search git looks at some files only, or at none.
func TestRenamesAtTheLimitsAreGits(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 22))
	same := func(prefix string, count int) *tree {
		tree := numbered(r, prefix, count, 1)
		for path := range tree.files {
			tree.files[path] = gittest.Regular(path, "the same\n")
		}
		return tree
	}
	trees := []*tree{
		numbered(r, "old", 1100, 3), numbered(r, "new", 920, 4), // beyond 1000 times 1000
		same("z", 150), same("a", 250),
		numbered(r, "p", 120, 5), numbered(r, "q", 130, 6),
		numbered(r, "s", 40, 1), numbered(r, "t", 40, 1),
	}
	if gittest.Volume(0, 1) > 0 { // takes git seconds
		trees = append(trees, numbered(r, "old", 1100, 3), numbered(r, "new", 900, 4))
	}
	repo := gittest.New(t)
	var pairs []treePair
	ids := writeTrees(t, repo, trees)
	for i := 0; i < len(ids); i += 2 {
		pairs = append(pairs, treePair{ids[i], ids[i+1]}, treePair{ids[i+1], ids[i]})
	}
	compared := make(tally)
	compared.compareWithGit(t, repo, views[4:], pairs)
	compared.need(t, map[string]int{"A": 4000, "R": 500, "R<100": 100, "C": 100})
	c, err := compareTrees(t, open(t, repo.Dir), nil, ids[0], ids[1], CompareOptions{})
	if err != nil || !c.RenamesLimited {
		t.Errorf("the limit was not told: %v", err)
	}
}
