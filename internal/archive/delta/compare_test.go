package delta_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/delta"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// selected selects in the trees of both commits by the same options.
func selected(t *testing.T, repo *gittest.Repo, options tree.Options) (base, head *tree.Selection) {
	t.Helper()
	options.Limits = options.Limits.WithDefaults()
	snapshot := snapshottest.Open(t, repo.Dir)
	of := func(revision string) *tree.Selection {
		at, err := snapshot.ResolveTreeish(t.Context(), revision)
		if err != nil {
			t.Fatal(err)
		}
		root, err := tree.ReadFolder(snapshot, at.Tree)
		if err != nil {
			t.Fatal(err)
		}
		s, err := tree.Select(t.Context(), root, options)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return of("base"), of("head")
}

// commits makes the commits base and head.
func commits(t *testing.T, base, head []gittest.File) *gittest.Repo {
	t.Helper()
	repo := gittest.New(t)
	repo.Commit("base", base...)
	repo.Commit("head", head...)
	return repo
}

// filler walks a selection or its changes.
type filler interface {
	Fill(b *tree.Batch) (more bool, err error)
}

// entries are what a walk yields: mode and id by path. Of folders the path alone counts.
func entries(t *testing.T, source tree.Source, walk filler) map[string]string {
	t.Helper()
	all := make(map[string]string)
	var batch tree.Batch
	for more := true; more; {
		batch.Reset(source, 3)
		var err error
		if more, err = walk.Fill(&batch); err != nil {
			t.Fatal(err)
		}
		for e := range batch.All() {
			path := strings.TrimSuffix(string(e.Path), "/")
			if all[path] = tree.Type(e.Mode); !e.Mode.IsDir() {
				all[path] += " " + e.ID.String()
			}
			if e.Mode.IsExecutable() {
				all[path] += " executable"
			}
		}
	}
	return all
}

func full(t *testing.T, s *tree.Selection) map[string]string {
	t.Helper()
	walk, err := s.Walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return entries(t, s.Root.Source, walk)
}

// versions are pairs of trees, each with the paths by the status that they have.
var versions = map[string]struct {
	base, head []gittest.File
	want       map[delta.Status][]string
}{
	"nothing": {
		[]gittest.File{gittest.Regular("a", "1")}, []gittest.File{gittest.Regular("a", "1")}, nil,
	},
	"all kinds": {
		[]gittest.File{gittest.Regular("same", "1"), gittest.Regular("changed", "1"), gittest.Regular("gone", "1"),
			gittest.Regular("mode", "1"), gittest.Regular("type", "1"), gittest.Regular("dir/same", "1")},
		[]gittest.File{gittest.Regular("same", "1"), gittest.Regular("changed", "2"), gittest.Regular("new", "1"),
			gittest.Executable("mode", "1"), gittest.Symlink("type", "1"), gittest.Regular("dir/same", "1")},
		map[delta.Status][]string{delta.Modified: {"changed"}, delta.Deleted: {"gone"}, delta.Added: {"new"},
			delta.ModeChanged: {"mode"}, delta.TypeChanged: {"type"}},
	},
	"below folders": {
		[]gittest.File{gittest.Regular("a/b/c", "1"), gittest.Regular("a/b/d", "1"), gittest.Regular("x/y", "1")},
		[]gittest.File{gittest.Regular("a/b/c", "2"), gittest.Regular("a/b/d", "1"), gittest.Regular("z/y", "1")},
		map[delta.Status][]string{delta.Unchanged: {"a/", "a/b/"}, delta.Modified: {"a/b/c"}, delta.Added: {"z/", "z/y"},
			delta.Deleted: {"x/y", "x/"}},
	},
	"a file becomes a folder": {
		[]gittest.File{gittest.Regular("a", "1")}, []gittest.File{gittest.Regular("a/b", "1")},
		map[delta.Status][]string{delta.TypeChanged: {"a/"}, delta.Added: {"a/b"}},
	},
	"a folder becomes a file": {
		[]gittest.File{gittest.Regular("a/b", "1"), gittest.Regular("a.c", "1")},
		[]gittest.File{gittest.Regular("a", "1"), gittest.Regular("a.c", "1")},
		map[delta.Status][]string{delta.TypeChanged: {"a"}, delta.Deleted: {"a/b"}},
	},
}

// What is sent, put over the base's archive without what is deleted, is the head's archive.
func TestChangesTurnOneArchiveIntoTheOther(t *testing.T) {
	t.Parallel()
	for name, c := range versions {
		repo := commits(t, c.base, c.head)
		base, head := selected(t, repo, tree.Options{Attributes: tree.ForArchive})
		changes, err := delta.Compare(t.Context(), base, head, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for status := delta.Unchanged; status <= delta.Deleted; status++ {
			var got []string
			for path := range changes.Paths(status) {
				got = append(got, string(path))
			}
			if !slices.Equal(got, c.want[status]) {
				t.Errorf("%s: the paths with the status %d are %q, want %q", name, status, got, c.want[status])
			}
		}
		result := full(t, base)
		for _, status := range []delta.Status{delta.Deleted, delta.TypeChanged} {
			for path := range changes.Paths(status) {
				delete(result, strings.TrimSuffix(string(path), "/"))
			}
		}
		sent := entries(t, head.Root.Source, changes.Walk(nil))
		maps.Copy(result, sent)
		if want := full(t, head); !maps.Equal(result, want) {
			t.Errorf("%s: the changes lead to\n%v, want\n%v", name, result, want)
		}
		leaves := changes.LeftOut()
		walk, err := head.Walk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var batch tree.Batch
		batch.Reset(head.Root.Source, 1000)
		if _, err := walk.Fill(&batch); err != nil {
			t.Fatal(err)
		}
		for e := range batch.All() {
			_, isSent := sent[strings.TrimSuffix(string(e.Path), "/")]
			if left := leaves(e.Path); left == isSent {
				t.Errorf("%s: %q is left out: %t, and sent: %t", name, e.Path, left, isSent)
			}
		}
	}
}

// Only files that both archives have as they are stored may be patched.
func TestPatchesAreOfStoredFiles(t *testing.T) {
	t.Parallel()
	attributes := gittest.Regular(".gitattributes", "*.txt eol=crlf\n*.sub export-subst\n")
	repo := commits(t,
		[]gittest.File{attributes, gittest.Regular("plain", "1"), gittest.Regular("a.txt", "1\n"),
			gittest.Regular("a.sub", "1"), gittest.Symlink("link", "1"), gittest.Regular("type", "1")},
		[]gittest.File{attributes, gittest.Regular("plain", "2"), gittest.Regular("a.txt", "2\n"),
			gittest.Regular("a.sub", "2"), gittest.Symlink("link", "2"), gittest.Symlink("type", "2"),
			gittest.Regular("new", "3")})
	base, head := selected(t, repo, tree.Options{Attributes: tree.ForArchive})
	changes, err := delta.Compare(t.Context(), base, head, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range changes.Bases() {
		got = append(got, string(e.Path)+" "+e.Base.String())
	}
	if want := []string{"plain " + repo.Git("rev-parse", "base:plain")}; !slices.Equal(got, want) {
		t.Errorf("the files to patch are %q, want %q", got, want)
	}
}

func TestFullArchivesAreNeeded(t *testing.T) {
	t.Parallel()
	file := gittest.Regular("a", "1")
	for name, c := range map[string]struct {
		base, head []gittest.File
		use        tree.Use
		reason     string // "" where there are changes
	}{
		"other attributes": {[]gittest.File{file}, []gittest.File{file, gittest.Regular(".gitattributes", "* text\n")},
			tree.ForArchive, delta.AttributesChanged},
		"other attributes below": {[]gittest.File{file, gittest.Regular("d/.gitattributes", "")},
			[]gittest.File{file, gittest.Regular("d/.gitattributes", "* text\n")}, tree.ForArchive,
			delta.AttributesChanged},
		"other attributes of a checkout": {[]gittest.File{file},
			[]gittest.File{file, gittest.Regular(".gitattributes", "* text\n")}, tree.ForCheckout, ""},
		"other attributes of stored files": {[]gittest.File{file},
			[]gittest.File{file, gittest.Regular(".gitattributes", "* text\n")}, tree.ForNothing, ""},
		"the reserved name": {[]gittest.File{file}, []gittest.File{file, gittest.Regular(".repomcp/x", "1")},
			tree.ForArchive, delta.ReservedName},
		"the reserved name in another case": {[]gittest.File{file, gittest.Regular(".RepoMCP", "1")},
			[]gittest.File{file}, tree.ForArchive, delta.ReservedName},
		"the reserved name below": {[]gittest.File{file}, []gittest.File{file, gittest.Regular("d/.repomcp/x", "1")},
			tree.ForArchive, ""},
	} {
		base, head := selected(t, commits(t, c.base, c.head), tree.Options{Attributes: c.use})
		_, err := delta.Compare(t.Context(), base, head, false)
		reason := ""
		if needed, _ := errors.AsType[*delta.FullNeededError](err); needed != nil {
			reason = needed.Reason
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if reason != c.reason {
			t.Errorf("%s: a full archive is needed for %q, want %q", name, reason, c.reason)
		}
	}
}

// A file whose content names the commit is another one in each archive.
func TestExpandedFilesAreAlwaysSent(t *testing.T) {
	t.Parallel()
	files := []gittest.File{gittest.Regular(".gitattributes", "version export-subst\n"),
		gittest.Regular("version", "$Format:%H$\n"), gittest.Regular("a", "1")}
	repo := commits(t, files, files)
	for expands, want := range map[bool][]string{false: nil, true: {"version"}} {
		base, head := selected(t, repo, tree.Options{Attributes: tree.ForArchive})
		changes, err := delta.Compare(t.Context(), base, head, expands)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for path := range changes.Paths(delta.Modified) {
			got = append(got, string(path))
		}
		if !slices.Equal(got, want) {
			t.Errorf("expanded %t: %q are sent, want %q", expands, got, want)
		}
	}
}

func TestComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	repo := commits(t, nil, []gittest.File{gittest.Regular("1/2/3/4", "x"), gittest.Regular("a", "x")})
	for name, limits := range map[string]tree.Limits{
		"entries": {Entries: 2}, "depth": {Depth: 2}, "path bytes": {PathBytes: 3},
	} {
		base, head := selected(t, repo, tree.Options{Limits: limits})
		if _, err := delta.Compare(t.Context(), base, head, false); !errors.Is(err, tree.ErrLimit) {
			t.Errorf("%s: %v, want %v", name, err, tree.ErrLimit)
		}
	}
}
