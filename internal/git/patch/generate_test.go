package patch_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// generator makes commits of which every part of a mail has to be quoted, encoded, folded or cut.
type generator struct {
	*rand.Rand
	repo    *gittest.Repo
	trees   []string
	commits []string
	clock   int
}

var (
	names = []string{
		"A U Thor", "", "João da Silva", "Ärger", "dot. ted", `quo "ted" \ name`, "(round) [square]", "a, b; c: d",
		"=?UTF-8?q?encoded?=", "=?", "tab\there", "esc\x1b[0m", "日本語の名前", "\xff\xfe not UTF-8", "mixed é\xe9",
		strings.Repeat("long ", 20) + "name", strings.Repeat("unbroken", 15), strings.Repeat("ü", 60),
		strings.Repeat("a. ", 40), "equals=sign", "under_score?", "\uffff", "\ufffe\U0001f600", "x\x01y", "'single'",
	}
	emails = []string{
		"a@example.com", "", "ü@example.org", strings.Repeat("x", 70) + "@example.com", "with space@x", "a@b@c",
	}
	zones    = []string{"+0000", "+0200", "-0730", "+1245", "-0001", "+9959", "", "bad", "+12345"}
	subjects = []string{
		"Fix it", "", "  indented", "[PATCH] again", "a\tb  c", "Café", "=?x", "100%", "under_score and = and ?",
		strings.Repeat("word ", 30), strings.Repeat("wörd ", 30), strings.Repeat("unbroken", 20), "esc\x1b[31mred",
		strings.Repeat("日本", 40), "two\nlines", "two\nlınes", "From me", "\xff", "trailing \t ", "\r", "cr\r\nlf",
		"x\x01\x02", "\uffff\ufffe", strings.Repeat("x", 61) + " y", strings.Repeat("x", 62) + " yy",
		"\xed\xa0\x80 surrogate", "\xc0\x80 overlong", "\xf4\x90\x80\x80 beyond", "\v\fodd blanks\v",
	}
	bodies = []string{
		"", "\n", "body", "body\n", "Körper\n", "---\nnot the end\n", "From someone\n>From\n", "  indent  \n\n\n\nend\n\n\n",
		"diff --git a/x b/x\n", "tab\tbed\n \t \nx", "-- \nsignature\n", "\x1b[0m\n", "crlf\r\nlines\r\n",
		strings.Repeat("long line ", 40), "nul\x00hidden\n", "\xff\xfe\n",
	}
	encodings = []string{"", "", "", "", "ISO-8859-1", "UTF-8", "utf8", "KOI8-R", "no-such", "windows-1252"}
	paths     = []string{
		"a", "b.txt", "dir/a", "dir/b", "dir/sub/c", "dir/sub/d.go", "other/sub/c", "with space", "tab\there", "qu\"ote",
		"ünï/cödé", "\xff", "new\nline", "back\\slash", strings.Repeat("long/", 16) + "name",
		strings.Repeat("n", 90), "x/" + strings.Repeat("m", 60), "deep/" + strings.Repeat("d/", 30) + "e", " lead", "trail ",
	}
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// tree changes, adds, deletes and moves some files, and keeps the tree that they make.
func (g *generator) tree(files map[string]gittest.File) {
	for range 1 + g.IntN(5) {
		path := pick(g, paths)
		old, there := files[path]
		switch g.IntN(10) {
		case 0:
			delete(files, path)
		case 1: // moved, with or without an edit
			to := pick(g, paths)
			delete(files, path)
			if there && g.IntN(2) == 0 {
				old.Content = gittest.Edit(g.Rand, old.Content, 2)
			}
			if there && old.Mode != "160000" {
				files[to] = gittest.File{Path: to, Mode: "100644", Content: old.Content}
			}
		case 2:
			files[path] = gittest.Symlink(path, pick(g, subjects)+"x")
		case 3:
			files[path] = gittest.Gitlink(path, fmt.Sprintf("%040x", 1+g.IntN(1<<30)))
		case 4:
			files[path] = gittest.Executable(path, old.Content)
		case 5:
			content := "\x00" + gittest.SeededNoise(g.Uint64(), g.IntN(3000))
			if there && g.IntN(2) == 0 {
				content = old.Content + "\x00"
			}
			files[path] = gittest.Regular(path, content)
		case 6:
			files[path] = gittest.Regular(path, gittest.Text(g.Rand, g.IntN(1500)))
		default:
			if !there || old.Mode != "100644" {
				files[path] = gittest.Regular(path, gittest.Text(g.Rand, 1+g.IntN(60)))
				continue
			}
			files[path] = gittest.Regular(path, gittest.Edit(g.Rand, old.Content, 1+g.IntN(4)))
		}
	}
	list := slices.Collect(maps.Values(files))
	slices.SortFunc(list, func(a, b gittest.File) int { return strings.Compare(a.Path, b.Path) })
	g.trees = append(g.trees, g.repo.Git("rev-parse", g.repo.Commit("trees", list...)+"^{tree}"))
}

// commit stores a commit with random parents, a random tree and random words.
func (g *generator) commit() {
	var raw strings.Builder
	fmt.Fprintf(&raw, "tree %s\n", pick(g, g.trees))
	for i := range g.parents() {
		fmt.Fprintf(&raw, "parent %s\n", g.commits[max(len(g.commits)-1-i*(1+g.IntN(8)), 0)])
	}
	g.clock += g.IntN(3) * g.IntN(1000)
	for _, role := range []string{"author", "committer"} {
		when := fmt.Sprintf(" %d %s", 1_600_000_000+g.clock, pick(g, zones))
		if role == "author" && g.IntN(20) == 0 {
			when = ""
		}
		fmt.Fprintf(&raw, "%s %s <%s>%s\n", role, pick(g, names), pick(g, emails), when)
	}
	if encoding := pick(g, encodings); encoding != "" {
		fmt.Fprintf(&raw, "encoding %s\n", encoding)
	}
	fmt.Fprintf(&raw, "\n%s\n\n%s", pick(g, subjects), pick(g, bodies))
	g.commits = append(g.commits, g.repo.Store("commit", raw.String()))
}

func (g *generator) parents() int {
	switch n := g.IntN(12); {
	case len(g.commits) == 0 || n == 0 && g.IntN(4) == 0:
		return 0
	case n < 3 && len(g.commits) > 10:
		return 2
	default:
		return 1
	}
}

// newGenerator makes a repository with trees that follow from each other.
func newGenerator(t *testing.T, seed uint64) *generator {
	t.Helper()
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 17)), repo: gittest.New(t)}
	files := make(map[string]gittest.File)
	for range 40 {
		g.tree(files)
	}
	return g
}

// generate makes a repository of so many commits.
func generate(t *testing.T, seed uint64, commits int) *generator {
	t.Helper()
	g := newGenerator(t, seed)
	for range commits {
		g.commit()
	}
	g.repo.SetRef("refs/heads/main", g.commits[len(g.commits)-1])
	for i, id := range g.commits {
		g.repo.SetRef(fmt.Sprintf("refs/tags/c%d", i), id)
	}
	g.repo.WriteCommitGraph(seed)
	return g
}
