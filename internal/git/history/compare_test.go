package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/gittest"
)

// view is a way to look at a comparison, ours and git's.
type view struct {
	args   []string
	o      CompareOptions
	patch  PatchOptions
	write  func(t *testing.T, d *Differ, c Comparison) string
	config []string
}

var views = []view{
	{[]string{"-p", "-M"}, CompareOptions{}, PatchOptions{Context: 3}, patches, nil},
	{[]string{"-p", "-C", "-U1"}, CompareOptions{Copies: true},
		PatchOptions{Context: 1}, patches, nil},
	{[]string{"-p", "--no-renames", "-U0"}, CompareOptions{NoRenames: true}, PatchOptions{}, patches, nil},
	{[]string{"--numstat", "--no-renames"}, CompareOptions{NoRenames: true}, PatchOptions{Context: 3}, numstat, nil},
	{[]string{"--name-status", "-M"}, CompareOptions{}, PatchOptions{}, nameStatus, nil},
	{[]string{"--name-status", "-C"}, CompareOptions{Copies: true}, PatchOptions{}, nameStatus, nil},
}

func patches(t *testing.T, d *Differ, c Comparison) string {
	t.Helper()
	var out bytes.Buffer
	for _, f := range c.Files {
		stat, err := d.Patch(t.Context(), &out, f)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.Stat(t.Context(), f); err != nil || again != stat {
			t.Fatalf("of %+v there is %+v changed, and with the patch %+v", f, again, stat)
		}
	}
	return out.String()
}

// fileDiff is what became of a file, and how much of it changed.
type fileDiff struct {
	FileChange
	FileStat
}

func diffs(t *testing.T, d *Differ, c Comparison) []fileDiff {
	t.Helper()
	list := make([]fileDiff, len(c.Files))
	for i, f := range c.Files {
		stat, err := d.Stat(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = fileDiff{f, stat}
	}
	return list
}

// numstat writes files as git diff --numstat does when it looks for no renames.
func numstat(t *testing.T, d *Differ, c Comparison) string {
	t.Helper()
	var out []byte
	for _, f := range diffs(t, d, c) {
		if f.Binary {
			out = append(out, "-\t-\t"...)
		} else {
			out = fmt.Appendf(out, "%d\t%d\t", f.Added, f.Deleted)
		}
		out = append(quoting.AppendPath(out, "", f.NewPath), '\n')
	}
	return string(out)
}

// nameStatus writes files as git diff --name-status does.
func nameStatus(_ *testing.T, _ *Differ, c Comparison) string {
	var out []byte
	for _, f := range c.Files {
		out = append(out, f.Status.String()...)
		if _, moved := moves[f.Status]; moved {
			out = quoting.AppendPath(fmt.Appendf(out, "%03d\t", f.Score), "", f.OldPath)
		}
		out = append(quoting.AppendPath(append(out, '\t'), "", f.NewPath), '\n')
	}
	return string(out)
}

// compareTrees compares two trees. The zero id is the empty tree.
func compareTrees(
	t *testing.T, snapshot *git.Snapshot, cache *Cache, from, to git.ID, o CompareOptions,
) (Comparison, error) {
	t.Helper()
	s, err := newSource(t.Context(), snapshot, cache)
	if err != nil {
		t.Fatal(err)
	}
	return s.compareTrees(from, to, o)
}

// treePair is two trees to compare.
type treePair struct{ from, to git.ID }

// tally counts the files that were compared, by what became of them.
type tally map[string]int

func (n tally) add(files []FileChange) {
	for _, f := range files {
		kind := f.Status.String()
		if _, moved := moves[f.Status]; moved && f.Score < 100 {
			kind += "<100"
		}
		n[kind]++
	}
}

// need fails when something was not compared often enough.
func (n tally) need(t *testing.T, least map[string]int) {
	t.Helper()
	t.Log(n)
	for kind, count := range least {
		if n[kind] < count {
			t.Errorf("only %d files of kind %s were compared, not %d", n[kind], kind, count)
		}
	}
}

// compareWithGit compares every view of many pairs of trees with one git
// process each.
func (n tally) compareWithGit(t *testing.T, repo *gittest.Repo, views []view, pairs []treePair, paths ...string) {
	t.Helper()
	snapshot := open(t, repo.Dir)
	cache := NewCache(0)
	var stdin bytes.Buffer
	for _, p := range pairs {
		fmt.Fprintf(&stdin, "%s %s\n", p.from, p.to)
	}
	for _, v := range views {
		args := append(append([]string{"--literal-pathspecs"}, v.config...), "diff-tree", "--stdin", "-r")
		args = append(args, v.args...)
		out := repo.GitInput(stdin.Bytes(), append(append(args, "--"), paths...)...)
		v.o.Paths = paths
		rest := out + "\n"
		for i, p := range pairs {
			heading := fmt.Sprintf("%s %s\n", p.from, p.to)
			var found bool
			if rest, found = strings.CutPrefix(rest, heading); !found {
				t.Fatalf("%v: pair %d does not begin with %q but %.100q", v.args, i, heading, rest)
			}
			want := rest
			if i+1 < len(pairs) {
				next := fmt.Sprintf("%s %s\n", pairs[i+1].from, pairs[i+1].to)
				want, _, _ = strings.Cut(rest, "\n"+next)
				want += "\n"
				if strings.HasPrefix(rest, next) {
					want = ""
				}
			}
			rest = rest[len(want):]
			n.add(v.compare(t, snapshot, cache, p, want))
		}
	}
}

func (v view) compare(t *testing.T, snapshot *git.Snapshot, cache *Cache, p treePair, want string) []FileChange {
	t.Helper()
	c, err := compareTrees(t, snapshot, cache, p.from, p.to, v.o)
	if err != nil {
		t.Fatal(err)
	}
	got := v.write(t, NewDiffer(snapshot, v.patch), c)
	// git diff-tree puts an empty line before a patch and before a stat.
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Fatalf("%v of %s and %s: %s", v.args, p.from, p.to, firstDifference(got, want))
	}
	return c.Files
}

// firstDifference shows where two texts part, with what comes before it.
func firstDifference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-800, 0)
	return fmt.Sprintf("got\n%s\nand git has\n%s", got[from:min(at+300, len(got))], want[from:min(at+300, len(want))])
}

// treesOf gives the trees of all commits.
func treesOf(t *testing.T, repo *gittest.Repo) []git.ID {
	t.Helper()
	var trees []git.ID
	for _, hex := range strings.Fields(repo.Git("log", "--all", "--format=%T")) {
		trees = append(trees, id(t, hex))
	}
	slices.SortFunc(trees, func(a, b git.ID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(trees)
}

func TestComparisonsOfHistoriesAreGits(t *testing.T) {
	gittest.Long(t)
	compared := make(tally)
	for seed := range uint64(gittest.Volume(2, 40)) {
		m := generate(t, seed+100, 60)
		r := rand.New(rand.NewPCG(seed, 9))
		trees := treesOf(t, m.repo)
		var pairs []treePair
		for range 120 {
			p := treePair{trees[r.IntN(len(trees))], trees[r.IntN(len(trees))]}
			if p.from != p.to && !slices.Contains(pairs, p) {
				pairs = append(pairs, p)
			}
		}
		compared.compareWithGit(t, m.repo, views, pairs)
		compared.compareWithGit(t, m.repo, views[:1], pairs[:60], "dir", "x", "a")
		compared.compareWithGit(t, m.repo, views[2:3], pairs[:60], "dir/sub/", "x/y", "a/", "none", "Makefile/",
			"d.e/f")
		compared.compareWithGit(t, m.repo, views[3:5], pairs[:60], ".")
	}
	compared.need(t, map[string]int{"A": 1500, "D": 1500, "M": 2500, "R": 150, "R<100": 30, "T": 200, "C": 40,
		"C<100": 15})
}
