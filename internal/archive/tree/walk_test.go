package tree_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// selection selects in the tree of main.
func selection(t *testing.T, repo *gittest.Repo, options tree.Options) (*tree.Selection, error) {
	t.Helper()
	snapshot := snapshottest.Open(t, repo.Dir)
	head, err := snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.ReadFolder(snapshot, head.Tree)
	if err != nil {
		t.Fatal(err)
	}
	options.Limits = options.Limits.WithDefaults()
	return tree.Select(t.Context(), root, options)
}

// walked is the paths of all entries, in batches of a size.
func walked(t *testing.T, s *tree.Selection, size int) (paths []string, err error) {
	t.Helper()
	walk, err := s.Walk(t.Context())
	if err != nil {
		return nil, err
	}
	var batch tree.Batch
	for more := true; more; {
		batch.Reset(s.Root.Source, size)
		if more, err = walk.Fill(&batch); err != nil {
			return paths, err
		}
		if above := 2; batch.Len() > size+above { // the last entry comes with the folders above it
			t.Errorf("a batch has %d entries, want at most %d and %d folders", batch.Len(), size, above)
		}
		for e := range batch.All() {
			paths = append(paths, string(e.Path))
		}
	}
	if entries, _ := walk.Counts(); entries != int64(len(paths)) {
		t.Errorf("the walk counts %d entries and yields %d", entries, len(paths))
	}
	return paths, nil
}

// fixture has files whose order, attributes and names are odd.
func fixture(t *testing.T) *gittest.Repo {
	t.Helper()
	repo := gittest.New(t)
	repo.Commit("main",
		gittest.Regular(".gitattributes", "*.o export-ignore\n/secret export-ignore\n/empty/* export-ignore\n"),
		gittest.Regular("a.b", "1"), gittest.Regular("a/b", "1"), gittest.Regular("a-b/c/d", "1"),
		gittest.Regular("a0", ""), gittest.Executable("a/run.sh", "1"), gittest.Symlink("a/link", "b"),
		gittest.Regular("a/.gitattributes", "keep.o -export-ignore\n"), gittest.Regular("a/keep.o", "1"),
		gittest.Regular("a/left.o", "1"), gittest.Regular("secret/x", "1"), gittest.Regular("empty/x", "1"),
		gittest.Regular("new\nline", "1"), gittest.Regular("\xff\xfe/x", "2"), gittest.Regular("src/x.go", "1"),
		gittest.Regular("src/deep/y.go", "1"), gittest.Regular("src/deep/y.c", "1"),
		gittest.Gitlink("lib", strings.Repeat("0123456789", 4)))
	return repo
}

// The entries are those of git archive, in its order, whatever the size of the batches.
func TestEntriesAreThoseOfGitArchive(t *testing.T) {
	t.Parallel()
	repo := fixture(t)
	cases := 0
	for _, c := range []struct {
		options  tree.Options
		revision string // that git archives
		args     []string
	}{
		{tree.Options{Attributes: tree.ForArchive}, "main", nil},
		{tree.Options{Attributes: tree.ForArchive, Paths: []string{"a"}}, "main", []string{"a"}},
		{tree.Options{Attributes: tree.ForArchive, Paths: []string{"a/", "src/deep"}}, "main", []string{"a/", "src/deep"}},
		{tree.Options{Attributes: tree.ForArchive, Paths: []string{"*.go"}}, "main", []string{"*.go"}},
		{tree.Options{Attributes: tree.ForArchive, Paths: []string{":(glob)src/*.go"}}, "main",
			[]string{":(glob)src/*.go"}},
		{tree.Options{Attributes: tree.ForArchive, Exclude: []string{"src"}}, "main", []string{".", ":(exclude)src"}},
		{tree.Options{Attributes: tree.ForArchive, Paths: []string{"src"}, Exclude: []string{"*.c"}}, "main",
			[]string{"src", ":(exclude)*.c"}},
		{tree.Options{Strip: "src"}, "main:src", nil},
		{tree.Options{Strip: "src/deep"}, "main:src/deep", nil},
	} {
		var want []string
		for _, e := range gittest.ReadTar(t, bytes.NewReader(repo.Archive(append([]string{"--format=tar", c.revision},
			c.args...)...))) {
			if e.Name != "pax_global_header" && e.Name != "" {
				want = append(want, e.Name)
			}
		}
		for _, size := range []int{1, 2, 7, 1000} {
			s, err := selection(t, repo, c.options)
			if err != nil {
				t.Fatalf("%+v: %v", c.options, err)
			}
			got, err := walked(t, s, size)
			if err != nil || !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%+v in batches of %d:\n%q, %v, want\n%q", c.options, size, got, err, want)
			}
			cases++
		}
	}
	if cases < 36 {
		t.Errorf("%d cases", cases)
	}
}

// A checkout and files as they are stored have what export-ignore leaves out of archives.
func TestAttributesAreOfTheirUse(t *testing.T) {
	t.Parallel()
	repo := fixture(t)
	all := strings.Split(repo.Git("ls-tree", "-r", "-z", "--name-only", "main"), "\x00")
	for _, use := range []tree.Use{tree.ForNothing, tree.ForCheckout, tree.ForArchive} {
		s, err := selection(t, repo, tree.Options{Attributes: use, Prefix: "p/"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := walked(t, s, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			left := use == tree.ForArchive && (strings.HasPrefix(name, "secret/") || strings.HasPrefix(name, "empty/") ||
				name == "a/left.o")
			if name != "" && name != "lib" && slices.Contains(got, "p/"+name) == left {
				t.Errorf("use %d: %q is left out: %t, want %t", use, name, !left, left)
			}
		}
	}
}

func TestWhatMatchesNothingIsNamed(t *testing.T) {
	t.Parallel()
	repo := fixture(t)
	for _, c := range []struct {
		options tree.Options
		value   string
	}{
		{tree.Options{Paths: []string{"a", "none"}}, "none"}, {tree.Options{Paths: []string{"*.none"}}, "*.none"},
		{tree.Options{Strip: "none"}, "none"}, {tree.Options{Strip: "src/none"}, "src/none"},
		{tree.Options{Strip: "a0"}, "a0"},
	} {
		_, err := selection(t, repo, c.options)
		if missing, _ := errors.AsType[*tree.NoMatchError](err); missing == nil || missing.Value != c.value ||
			!errors.Is(err, git.ErrNotFound) {
			t.Errorf("%+v: %v, want that %q matches nothing", c.options, err, c.value)
		}
	}
}

func TestLimitsBoundATree(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 20 {
		files = append(files, gittest.Regular(fmt.Sprintf("d/%02d", i), "x"))
	}
	repo.Commit("main", append(files, gittest.Regular("1/2/3/4/5", strings.Repeat("x", 100)))...)
	for name, c := range map[string]struct {
		within, beyond tree.Limits
	}{
		"entries":    {tree.Limits{Entries: 26}, tree.Limits{Entries: 25}},
		"depth":      {tree.Limits{Depth: 5}, tree.Limits{Depth: 4}},
		"path bytes": {tree.Limits{PathBytes: 9}, tree.Limits{PathBytes: 8}},
	} {
		for limits, want := range map[tree.Limits]error{c.within: nil, c.beyond: tree.ErrLimit} {
			s, err := selection(t, repo, tree.Options{Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := walked(t, s, 10); !errors.Is(err, want) {
				t.Errorf("%s: a walk with %+v: %v, want %v", name, limits, err, want)
			}
			if _, _, err := s.Survey(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s: a survey with %+v: %v, want %v", name, limits, err, want)
			}
		}
	}
}

// A batch that is split has the same entries in two.
func TestSplitBatchesAreTheWhole(t *testing.T) {
	t.Parallel()
	s, err := selection(t, fixture(t), tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := walked(t, s, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for from := range len(all) + 1 {
		walk, err := s.Walk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var first, rest tree.Batch
		first.Reset(s.Root.Source, 1000)
		rest.Reset(nil, 1000)
		if _, err := walk.Fill(&first); err != nil {
			t.Fatal(err)
		}
		first.Split(from, &rest)
		var got []string
		for _, b := range []*tree.Batch{&first, &rest} {
			for e := range b.All() {
				got = append(got, string(e.Path))
			}
		}
		if first.Len() != from || !slices.Equal(got, all) {
			t.Errorf("split at %d: %d entries and then %d, want the same %d", from, first.Len(), rest.Len(), len(all))
		}
	}
}
