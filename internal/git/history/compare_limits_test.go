package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Above the limit a file is shown as git shows one above core.bigFileThreshold.
func TestLargeFilesAreNotCompared(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 23))
	var trees []*tree
	for range 20 {
		a := newTree(r)
		for i := range 10 {
			a.put(gittest.Regular(fmt.Sprint(i), gittest.Text(r, r.IntN(300))))
		}
		b := a.clone()
		for range 6 {
			b.change()
		}
		trees = append(trees, a, b)
	}
	repo := gittest.New(t)
	ids := writeTrees(t, repo, trees)
	var pairs []treePair
	for i := 0; i < len(ids); i += 2 {
		pairs = append(pairs, treePair{ids[i], ids[i+1]})
	}
	config := []string{"-c", "core.bigFileThreshold=1000"}
	patch := PatchOptions{Context: 3, MaxBytes: 1000}
	compared := make(tally)
	compared.compareWithGit(t, repo, []view{
		{[]string{"-p"}, CompareOptions{NoRenames: true}, patch, patches, config},
		{[]string{"--numstat"}, CompareOptions{NoRenames: true}, patch, numstat, config},
	}, pairs)
	compared.need(t, map[string]int{"A": 50, "D": 20, "M": 20})
	snapshot, large := open(t, repo.Dir), 0
	for _, p := range pairs {
		c, err := compareTrees(t, snapshot, nil, p.from, p.to, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range diffs(t, NewDiffer(snapshot, patch), c) {
			if f.OldID != f.NewID && (f.OldSize > 1000 || f.NewSize > 1000) != f.TooLarge {
				t.Errorf("%s: %+v", f.NewPath, f.FileStat)
			}
			if f.TooLarge {
				large++
			}
		}
	}
	if large < 20 {
		t.Errorf("only %d files were too large", large)
	}
}

// Large files are looked at before they are read.
func TestLargeFilesAreShownAsGitShowsThem(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(3, 24))
	text := gittest.Text(r, 60) + strings.Repeat("some text\nand some other\n", 12_000)
	late := strings.Repeat("text\n", 60_000) + "\x00\n"
	a, b := newTree(r), newTree(r)
	for i, content := range []string{text, late, "\x00" + gittest.Noise(400_000), gittest.Noise(400_000)} {
		a.put(gittest.Regular(fmt.Sprintf("changed%d", i), content))
		b.put(gittest.Regular(fmt.Sprintf("changed%d", i), gittest.Edit(r, content, 5)))
		a.put(gittest.Regular(fmt.Sprintf("old%d", i), content+"1"))
		b.put(gittest.Executable(fmt.Sprintf("new%d", i), content+"1"))
		a.put(gittest.Regular(fmt.Sprintf("before%d", i), content+"2\n"))
		b.put(gittest.Regular(fmt.Sprintf("after%d", i), gittest.Edit(r, content+"2\n", 3)))
	}
	repo := gittest.New(t)
	ids := writeTrees(t, repo, []*tree{a, b})
	compared := make(tally)
	compared.compareWithGit(t, repo, views, []treePair{{ids[0], ids[1]}, {ids[1], ids[0]}})
	compared.need(t, map[string]int{"M": 20, "R": 20, "R<100": 20})
}

func TestRenamesAreNotFoundWithoutMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 25))
	text := gittest.Text(r, 60)
	repo := gittest.New(t)
	from := id(t, repo.Commit("main", gittest.Regular("a", text), gittest.Regular("same", "x")))
	to := id(t, repo.Commit("main", gittest.Regular("b", text+"more\n"), gittest.Regular("other", "x")))
	source, err := newSource(t.Context(), open(t, repo.Dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, limited := range []bool{false, true} {
		c, err := CompareCommits(t.Context(), source.Snapshot, nil, from, to, CompareOptions{NoRenames: true})
		if err != nil || len(c.Files) != 4 {
			t.Fatal(c.Files, err)
		}
		chunks := maxChunks
		want := []Status{Renamed, Renamed}
		if limited {
			chunks = 1
			want = []Status{Deleted, Added, Renamed}
		}
		c, err = source.findRenames(c.Files, false, chunks)
		if err != nil || c.RenamesLimited != limited {
			t.Fatal(c, err)
		}
		var got []Status
		for _, f := range c.Files {
			got = append(got, f.Status)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d chunks the files are %v", chunks, got)
		}
	}
}

func TestManyLinesAreNotCompared(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	from := repo.Commit("main", gittest.Regular("f", "x\n"))
	to := repo.Commit("main", gittest.Regular("f", strings.Repeat("\n", MaxPatchLines+1)))
	snapshot := open(t, repo.Dir)
	c, err := CompareCommits(t.Context(), snapshot, nil, id(t, from), id(t, to), CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stat, err := NewDiffer(snapshot, PatchOptions{}).Patch(t.Context(), io.Discard, c.Files[0])
	if err != nil || !stat.TooLarge || !stat.Binary {
		t.Errorf("%+v, %v", stat, err)
	}
}

func TestTooManyFilesAreRefused(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 11 {
		files = append(files, gittest.Regular(fmt.Sprintf("%d/f", i), "x"))
	}
	commit := id(t, repo.Commit("main", files...))
	snapshot := open(t, repo.Dir)
	if _, err := CompareWithParent(t.Context(), snapshot, nil, commit, CompareOptions{MaxFiles: 10}); !errors.Is(err,
		ErrTooMany) {
		t.Errorf("the error is %v", err)
	}
	c, err := CompareWithParent(t.Context(), snapshot, nil, commit,
		CompareOptions{MaxFiles: 10, Paths: []string{"3", "4/f"}})
	if err != nil || len(c.Files) != 2 {
		t.Errorf("%d files, %v", len(c.Files), err)
	}
}

// Paths of the deepest folders cannot fill the memory.
func TestLongPathsAreRefused(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	var entries strings.Builder
	file := repo.Store("blob", "")
	for i := range 500 {
		entries.WriteString(raw(t, "100644", fmt.Sprintf("f%03d", i), file))
	}
	inner := repo.Store("tree", entries.String())
	for range 100 {
		inner = repo.Store("tree", raw(t, "40000", strings.Repeat("d", 2000), inner))
	}
	if _, err := compareTrees(t, open(t, repo.Dir), nil, git.ID{}, id(t, inner), CompareOptions{}); !errors.Is(err,
		ErrTooMany) {
		t.Errorf("the error is %v", err)
	}
}

// raw is a tree entry of the given kind.
func raw(t *testing.T, mode, name, hex string) string {
	t.Helper()
	sum := id(t, hex)
	return mode + " " + name + "\x00" + string(sum[:])
}

// A few objects name more folders than can be read.
func TestABombOfFoldersIsRefused(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	inner := repo.Store("tree", "")
	for range 12 {
		var entries strings.Builder
		for i := range 10 {
			entries.WriteString(raw(t, "40000", string(rune('a'+i)), inner))
		}
		inner = repo.Store("tree", entries.String())
	}
	source, err := newSource(t.Context(), open(t, repo.Dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := treeComparison{source: source, mostFiles: 10, mostFolders: 1000}
	if err := c.folder("", entry{}, treeOf(id(t, inner)), true, 0); !errors.Is(err, ErrTooMany) {
		t.Errorf("the error is %v", err)
	}
}

func TestDeepFoldersAreRefused(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	inner := repo.Store("tree", raw(t, "100644", "f", repo.Store("blob", "")))
	for range maxDepth + 2 {
		inner = repo.Store("tree", raw(t, "40000", "d", inner))
	}
	if _, err := compareTrees(t, open(t, repo.Dir), nil, git.ID{}, id(t, inner), CompareOptions{}); !errors.Is(err,
		git.ErrCorrupt) {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingObjectsAreDamage(t *testing.T) {
	t.Parallel()
	const nowhere = "1234567890123456789012345678901234567890"
	repo := gittest.New(t)
	snapshot := open(t, repo.Dir)
	folder := id(t, repo.Store("tree", raw(t, "40000", "d", nowhere)))
	if _, err := compareTrees(t, snapshot, nil, git.ID{}, folder, CompareOptions{}); !errors.Is(err,
		git.ErrCorrupt) {
		t.Errorf("of a missing folder the error is %v", err)
	}
	file := id(t, repo.Store("tree", raw(t, "100644", "f", nowhere)))
	c, err := compareTrees(t, snapshot, nil, git.ID{}, file, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewDiffer(snapshot, PatchOptions{}).Stat(t.Context(), c.Files[0]); !errors.Is(err, git.ErrCorrupt) ||
		errors.Is(err, git.ErrNotFound) {
		t.Errorf("of a missing file the error is %v", err)
	}
	other := id(t, repo.Store("tree", raw(t, "100644", "g", repo.Store("blob", "x"))))
	if _, err := compareTrees(t, snapshot, nil, file, other, CompareOptions{}); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("of a missing file that may be renamed the error is %v", err)
	}
	if _, err := compareTrees(t, snapshot, nil, file, other, CompareOptions{Paths: []string{"../x"}}); !errors.Is(err,
		git.ErrInvalid) {
		t.Errorf("of a path that leads out the error is %v", err)
	}
}

func TestAnEndedContextEndsAComparison(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	from := id(t, repo.Commit("main", gittest.Regular("f", "x\n")))
	to := id(t, repo.Commit("main", gittest.Regular("f", "y\n")))
	snapshot := open(t, repo.Dir)
	c, err := CompareCommits(t.Context(), snapshot, nil, from, to, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, compared := CompareCommits(ctx, snapshot, nil, from, to, CompareOptions{})
	_, shown := NewDiffer(snapshot, PatchOptions{}).Patch(ctx, io.Discard, c.Files[0])
	_, base := MergeBases(ctx, snapshot, nil, from, to)
	_, _, counted := AheadBehind(ctx, snapshot, nil, from, to)
	for _, err := range []error{compared, shown, base, counted} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
}

// full takes so many bytes and no more.
type full int

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A caller's cap on the bytes ends a patch.
func TestAPatchEndsWhenItsWriterDoes(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	commit := id(t, repo.Commit("main", gittest.Regular("f", strings.Repeat("line\n", 100_000)),
		gittest.Symlink("l", "f")))
	snapshot := open(t, repo.Dir)
	c, err := CompareWithParent(t.Context(), snapshot, nil, commit, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []full{0, 10, 5000, 100_000} {
		if _, err := NewDiffer(snapshot, PatchOptions{}).Patch(t.Context(), &size, c.Files[0]); !errors.Is(err,
			errFull) {
			t.Errorf("the error is %v", err)
		}
	}
}

// The sample repositories have what people and tools really write.
func TestComparisonsOfSamplesAreGits(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../../testrepos")
	if err != nil {
		t.Fatal(err)
	}
	compared := make(tally)
	for _, name := range []string{"history", "modes", "names", "media", "attributes", "trunk", "hello"} {
		dir := filepath.Join(root, name+".git")
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		compareHistory(t, compared, dir, "--all", "-n40")
	}
	compared.need(t, map[string]int{"A": 100, "M": 20})
}

// compareHistory compares commits of a history with those some steps before.
func compareHistory(t *testing.T, compared tally, dir string, revisions ...string) {
	t.Helper()
	repo := gittest.Existing(t, dir)
	lines := strings.Fields(repo.Git(append([]string{"log", "--format=%T"}, revisions...)...))
	var pairs []treePair
	for i := range lines {
		for _, step := range []int{1, 7} {
			if i+step < len(lines) && lines[i] != lines[i+step] {
				pairs = append(pairs, treePair{id(t, lines[i+step]), id(t, lines[i])})
			}
		}
	}
	if pairs = whole(t, repo, pairs); len(pairs) > 0 {
		compared.compareWithGit(t, repo, views, pairs)
	}
}

// With REPOMCP_BENCH_REPO and REPOMCP_SOAK: a real, long history.
func TestComparisonsOfAMirrorAreGits(t *testing.T) {
	t.Parallel()
	commits := gittest.Volume(0, 100)
	if commits == 0 {
		t.Skip("long: set REPOMCP_SOAK=1")
	}
	dir, _ := mirror(t)
	compared := make(tally)
	compareHistory(t, compared, dir, "--first-parent", fmt.Sprintf("-n%d", commits), "HEAD")
	compared.need(t, map[string]int{"A": 20, "M": 1000})
}

// whole leaves out pairs of trees whose files are not all there: mirrors may be
// without large ones.
func whole(t *testing.T, repo *gittest.Repo, pairs []treePair) []treePair {
	t.Helper()
	snapshot := open(t, repo.Dir)
	return slices.DeleteFunc(pairs, func(p treePair) bool {
		c, err := compareTrees(t, snapshot, nil, p.from, p.to, CompareOptions{NoRenames: true})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(c.Files, func(f FileChange) bool {
			return f.OldMode.IsRegular() && missingBlob(snapshot, f.OldID) || f.NewMode.IsRegular() &&
				missingBlob(snapshot, f.NewID)
		})
	})
}

func missingBlob(snapshot *git.Snapshot, id git.ID) bool {
	_, err := snapshot.Size(id)
	return err != nil
}
