package history

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// made is a generated history.
type made struct {
	repo *gittest.Repo
	tips []string // ids
	// files are those of each tip, by path.
	files map[string]map[string]blob
}

// generator writes a random history for git fast-import, by a seed alone. What
// happens in it: merges of two and more parents, criss-cross ones and ones that
// add something of their own, several roots, renames with and without edits,
// copies, reverts, files that become folders and the other way round, changed
// modes, links, submodules, CRLF and missing line feeds, clocks that go wrong,
// commits of one second, empty commits and messages, old encodings.
type generator struct {
	*rand.Rand
	seed    uint64
	out     bytes.Buffer
	commits []*node
	clock   int64
	long    bool // there are also files of kilobytes
}

// node is a commit of the history.
type node struct {
	files map[string]blob
	child bool
}

type blob struct{ mode, content string }

// generate makes a repository with about so many commits.
func generate(t *testing.T, seed uint64, commits int) made {
	t.Helper()
	return newGenerator(seed).history(t, commits)
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 6)), seed: seed, clock: 1_600_000_000}
}

func (g *generator) history(t *testing.T, commits int) made {
	t.Helper()
	for range commits {
		g.commit()
	}
	m := made{repo: gittest.New(t), files: make(map[string]map[string]blob)}
	var tips []*node
	for i, n := range g.commits {
		if !n.child || i == len(g.commits)-1 {
			fmt.Fprintf(&g.out, "reset refs/heads/tip%d\nfrom :%d\n\n", i, i+1)
			tips = append(tips, n)
		}
	}
	g.out.WriteString("done\n")
	m.repo.GitInput(g.out.Bytes(), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force", "--done")
	names := strings.Fields(m.repo.Git("for-each-ref", "--sort=version:refname", "--format=%(objectname)",
		"refs/heads/tip*"))
	if len(names) != len(tips) {
		t.Fatalf("%d tips were written, git has %d", len(tips), len(names))
	}
	for i, id := range names {
		if !slices.Contains(m.tips, id) {
			m.tips = append(m.tips, id)
			m.files[id] = tips[i].files
		}
	}
	m.repo.WriteCommitGraph(g.seed)
	slices.Reverse(m.tips) // the youngest has most of history
	return m
}

var (
	people = []string{
		"A U Thor <author@example.com>", "Jo\xc3\xa3o da Silva <joao@example.org>", "C O Mitter <c@EXAMPLE.com>",
		" <nobody@example.com>", "\xc3\x84rger <>", "Some O. One <one@example.com>",
	}
	zones    = []string{"+0000", "+0200", "-0730", "+1245", "-0001"}
	messages = []string{
		"", "\n", "Fix it\n", "Fix it\n\nBody of\nlines\n\n", "\n  \n Indented\nwrapped subject  \n\n\nbody\n\n",
		"no line feed", "Subject only  \n", "a\tb\n \nbody", "Caf\xc3\xa9\n\nna\xc3\xafve\n",
	}
	paths = []string{"a", "b.txt", "dir/a", "dir/b", "dir/sub/c", "dir/sub/d.go", "d.e/f", "dir.txt", "x", "x/y",
		"x/y/z", "Makefile"}
	words = []string{"", "{", "}", "\t}", "one", "two", "three", "four", "return x", "\treturn x", "line\r", "\r",
		" tail ", "\x00bin", "// c"}
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// chance is true one time in n.
func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func (g *generator) commit() {
	parents := g.parents()
	n := &node{files: g.base(parents)}
	if len(parents) < 2 || g.chance(3) {
		for range 1 + g.IntN(3) {
			g.change(n.files)
		}
	}
	if g.chance(12) && len(g.commits) > 0 {
		n.files = maps.Clone(pick(g, g.commits).files) // a revert
	}
	g.header(parents)
	g.out.WriteString("deleteall\n")
	for _, path := range slices.Sorted(maps.Keys(n.files)) {
		b := n.files[path]
		if b.mode == "160000" {
			fmt.Fprintf(&g.out, "M 160000 %s %s\n", b.content, path)
			continue
		}
		fmt.Fprintf(&g.out, "M %s inline %s\ndata %d\n%s\n", b.mode, path, len(b.content), b.content)
	}
	g.out.WriteString("\n")
	g.commits = append(g.commits, n)
}

// parents chooses marks, mostly young ones.
func (g *generator) parents() []int {
	have := len(g.commits)
	if have == 0 || g.chance(60) {
		return nil
	}
	want := 1
	if g.chance(4) {
		want = 2
		if g.chance(5) {
			want = 3 + g.IntN(3)
		}
	}
	var parents []int
	for range want {
		mark := have - min(g.IntN(1+g.IntN(8)), have-1)
		if !slices.Contains(parents, mark) {
			parents = append(parents, mark)
			g.commits[mark-1].child = true
		}
	}
	return parents
}

// base is what a commit begins with: of a merge some file from each parent, or
// one parent's whole tree.
func (g *generator) base(parents []int) map[string]blob {
	files := make(map[string]blob)
	if len(parents) == 0 {
		return files
	}
	if len(parents) == 1 || g.chance(3) {
		return maps.Clone(g.commits[pick(g, parents)-1].files)
	}
	for _, path := range paths {
		if b, ok := g.commits[pick(g, parents)-1].files[path]; ok {
			g.put(files, path, b)
		}
	}
	return files
}

// put adds a file, in the place of files that cannot be beside it.
func (g *generator) put(files map[string]blob, path string, b blob) {
	for other := range files {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			delete(files, other)
		}
	}
	files[path] = b
}

// change does one thing to a tree.
func (g *generator) change(files map[string]blob) {
	path := pick(g, paths)
	old, exists := files[path]
	others := slices.Sorted(maps.Keys(files))
	switch kind := g.IntN(20); {
	case !exists && kind < 8 && len(others) > 0: // renamed or copied
		source := pick(g, others)
		b := files[source]
		if b.mode != "160000" && g.chance(2) {
			b.content = g.edit(b.content)
		}
		if !g.chance(3) {
			delete(files, source)
		}
		g.put(files, path, b)
	case !exists:
		g.put(files, path, blob{"100644", g.text()})
	case kind == 0:
		delete(files, path)
	case kind == 1:
		files[path] = blob{map[string]string{"100644": "100755", "100755": "100644"}[old.mode], old.content}
		if old.mode != "100644" && old.mode != "100755" {
			files[path] = blob{"100644", g.text()}
		}
	case kind == 2:
		files[path] = blob{"120000", pick(g, words[4:8])}
	case kind == 3:
		files[path] = blob{"160000", fmt.Sprintf("%040x", 1+g.IntN(3))}
	case old.mode == "160000":
		files[path] = blob{"100644", g.text()}
	default:
		files[path] = blob{old.mode, g.edit(old.content)}
	}
}

func (g *generator) text() string {
	var b strings.Builder
	lines := g.IntN(40)
	if g.long && g.chance(4) {
		lines = 300 // of which git leaves out much when it shows no context
	}
	for range lines {
		b.WriteString(g.line() + "\n")
	}
	return g.ending(b.String())
}

// line is often one of few, so that there is more than one way to match them.
func (g *generator) line() string {
	if g.chance(2) {
		return fmt.Sprintf("%s %d", pick(g, words), g.IntN(100))
	}
	return pick(g, words)
}

func (g *generator) ending(text string) string {
	if g.chance(6) {
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// edit changes some runs of lines.
func (g *generator) edit(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + g.IntN(3) {
		at := g.IntN(len(lines) + 1)
		cut := min(g.IntN(4), len(lines)-at)
		var fresh []string
		for range g.IntN(4) {
			fresh = append(fresh, g.line()+"\n")
		}
		if g.chance(8) && at > 0 { // a run that moves
			fresh = slices.Clone(lines[:min(at, 5)])
		}
		lines = slices.Concat(lines[:at], fresh, lines[at+cut:])
	}
	return g.ending(strings.Join(lines, ""))
}

// header writes what a commit says of itself.
func (g *generator) header(parents []int) {
	switch g.IntN(8) {
	case 0: // the same second
	case 1:
		g.clock -= int64(g.IntN(5000))
	default:
		g.clock += int64(g.IntN(600))
	}
	date := g.clock
	if g.chance(15) {
		date = []int64{0, 1, g.clock * 2, 1_000_000_000}[g.IntN(4)]
	}
	message, author, encoding := pick(g, messages), pick(g, people), ""
	if g.chance(8) {
		message, author, encoding = "Stra\xdfe\n\nl\xe4uft\n", "J\xf6rg <joerg@example.com>", "encoding ISO-8859-1\n"
	}
	if len(parents) == 0 {
		g.out.WriteString("reset refs/heads/work\n\n")
	}
	fmt.Fprintf(&g.out, "commit refs/heads/work\nmark :%d\nauthor %s %d %s\ncommitter %s %d %s\n%sdata %d\n%s\n",
		len(g.commits)+1, author, g.clock-100, pick(g, zones), pick(g, people[:3]), date, pick(g,
			zones), encoding, len(message), message)
	for i, mark := range parents {
		fmt.Fprintf(&g.out, "%s :%d\n", map[bool]string{true: "from", false: "merge"}[i == 0], mark)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
