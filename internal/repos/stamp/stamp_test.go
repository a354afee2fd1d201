package stamp_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// stamped looks at one repository.
type stamped struct {
	t    *testing.T
	root *os.Root
}

// over opens the folder that the repository is in.
func over(t *testing.T, repo *gittest.Repo) stamped {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(repo.Dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return stamped{t, root}
}

func (s stamped) list(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(s.root.FS(), dir) }

func (s stamped) refs() stamp.Refs { return stamp.OfRefs(s.root, "r.git", s.list) }

func (s stamped) all() [sha256.Size]byte { return stamp.OfAll(s.root, "r.git", s.list) }

func (s stamped) head() stamp.Head { return stamp.OfHead(s.root, "r.git", "refs/heads/main") }

// HEAD is still what it was unless it may lead to another commit, and the stamp of files that were changed shortly
// before is not relied on.
func TestStampOfHead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(repo *gittest.Repo)
		differs bool
	}{
		"nothing":      {func(*gittest.Repo) {}, false},
		"a read":       {func(repo *gittest.Repo) { repo.Git("log", "--all") }, false},
		"a push":       {func(repo *gittest.Repo) { repo.Commit("main", gittest.Regular("a", "2")) }, true},
		"packed refs":  {func(repo *gittest.Repo) { repo.Git("pack-refs", "--all") }, true},
		"no branch":    {func(repo *gittest.Repo) { repo.Git("update-ref", "-d", "refs/heads/main") }, true},
		"another HEAD": {func(repo *gittest.Repo) { repo.Git("symbolic-ref", "HEAD", "refs/heads/topic/x") }, true},
		"a setting":    {func(repo *gittest.Repo) { repo.Git("config", "repomcp.x", "1") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := mirror(t)
			s := over(t, repo)
			if early := s.head(); early.IsStill(&early) {
				t.Error("the stamp of files that were just written is relied on")
			}
			repo.Age()
			before := s.head()
			c.do(repo)
			now := s.head()
			if differs := !before.IsStill(&now); differs != c.differs {
				t.Errorf("the stamp differs: %v, want %v", differs, c.differs)
			}
		})
	}
}

func mirror(t *testing.T) *gittest.Repo {
	t.Helper()
	repo := gittest.At(t, filepath.Join(t.TempDir(), "r.git"))
	repo.Commit("main", gittest.Regular("a", "1"))
	repo.Git("branch", "topic/x", "main")
	return repo
}

// git replaces the list of the tables that refs are in.
func TestStampsOfRefTables(t *testing.T) {
	t.Parallel()
	repo, _ := gittest.RefTables(t, filepath.Join(t.TempDir(), "r.git"), "small")
	s := over(t, repo)
	repo.Age()
	head := func() stamp.Head { return stamp.OfHead(s.root, "r.git", "reftable/tables.list") }
	first, refs := head(), s.refs()
	if again := head(); !first.IsStill(&again) || s.refs().Sum != refs.Sum {
		t.Error("two looks at the same tables differ")
	}
	if !slices.Contains(refs.Folders, filepath.Join(repo.Dir, "reftable")) {
		t.Errorf("the tables' folder is not watched, but %s", refs.Folders)
	}
	repo.SetRefTables("stack")
	if now := head(); first.IsStill(&now) || s.refs().Sum == refs.Sum {
		t.Error("other tables are not noticed")
	}
}

// The stamps differ when git, or an operator, has touched what they cover, and otherwise not.
func TestStampsDifferByWhatWasTouched(t *testing.T) {
	t.Parallel()
	none, ofAll, both := [2]bool{}, [2]bool{false, true}, [2]bool{true, true}
	for name, c := range map[string]struct {
		do      func(repo *gittest.Repo)
		differs [2]bool // of refs, and of all
	}{
		"nothing":       {func(*gittest.Repo) {}, none},
		"a read":        {func(repo *gittest.Repo) { repo.Git("log", "--all") }, none},
		"a push":        {func(repo *gittest.Repo) { repo.Commit("main", gittest.Regular("a", "2")) }, both},
		"a branch":      {func(repo *gittest.Repo) { repo.Git("branch", "other", "main") }, both},
		"a deep branch": {func(repo *gittest.Repo) { repo.Git("branch", "topic/y/z", "main") }, both},
		"a tag":         {func(repo *gittest.Repo) { repo.Git("tag", "v1", "main") }, both},
		"a removed ref": {func(repo *gittest.Repo) { repo.Git("update-ref", "-d", "refs/heads/topic/x") }, both},
		"packed refs":   {func(repo *gittest.Repo) { repo.Git("pack-refs", "--all") }, both},
		"another HEAD":  {func(repo *gittest.Repo) { repo.Git("symbolic-ref", "HEAD", "refs/heads/topic/x") }, both},
		"a description": {func(repo *gittest.Repo) { repo.WriteFile("description", []byte("what it is\n")) }, both},
		"a setting":     {func(repo *gittest.Repo) { repo.Git("config", "transfer.hideRefs", "x") }, both},
		"shallow":       {func(repo *gittest.Repo) { repo.WriteFile("shallow", nil) }, ofAll},
		"a loose object": {func(repo *gittest.Repo) { repo.GitInput([]byte("new\n"), "hash-object", "-w", "--stdin") },
			ofAll},
		"a pack":         {func(repo *gittest.Repo) { repo.Git("repack", "-aq") }, ofAll},
		"a commit-graph": {func(repo *gittest.Repo) { repo.Git("commit-graph", "write", "--reachable") }, ofAll},
		"alternates": {func(repo *gittest.Repo) { repo.WriteFile("objects/info/alternates", []byte("../x\n")) },
			ofAll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := mirror(t)
			s := over(t, repo)
			refs, all := s.refs().Sum, s.all()
			if s.refs().Sum != refs || s.all() != all {
				t.Error("two looks at the same files differ")
			}
			c.do(repo)
			if differs := [2]bool{s.refs().Sum != refs, s.all() != all}; differs != c.differs {
				t.Errorf("the stamps of refs and of all differ: %v, want %v", differs, c.differs)
			}
		})
	}
}

// A file that took the place of another is noticed by its inode, where size, mode and time are the same.
func TestAFileInThePlaceOfAnotherIsNoticed(t *testing.T) {
	t.Parallel()
	repo := mirror(t)
	repo.Git("pack-refs", "--all")
	s := over(t, repo)
	before := s.refs().Sum
	file := filepath.Join(repo.Dir, "packed-refs")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	other := file + ".new"
	if err := os.WriteFile(other, content, info.Mode()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if s.refs().Sum == before {
		t.Error("the stamp of refs is the same with another packed-refs")
	}
}

// What cannot be looked at is a part of the stamp: it differs once it can be.
func TestAMissingRepositoryHasAStamp(t *testing.T) {
	t.Parallel()
	repo := mirror(t)
	s := over(t, repo)
	there := s.refs().Sum
	away := repo.Dir + ".away"
	if err := os.Rename(repo.Dir, away); err != nil {
		t.Fatal(err)
	}
	gone := s.refs().Sum
	if gone == there {
		t.Error("the stamp of a missing repository is that of the repository")
	}
	if err := os.Rename(away, repo.Dir); err != nil {
		t.Fatal(err)
	}
	if s.refs().Sum != there {
		t.Error("the stamp of the repository is another after it came back")
	}
}

// Folders are the repository's own and those of refs, branches and tags first. Links to folders are not followed.
func TestFoldersAreThoseOfRefs(t *testing.T) {
	t.Parallel()
	repo := mirror(t)
	repo.SetRef("refs/changes/1/head", repo.Git("rev-parse", "main"))
	if err := os.Symlink(t.TempDir(), filepath.Join(repo.Dir, "refs/heads/away")); err != nil {
		t.Fatal(err)
	}
	var folders []string
	s := over(t, repo).refs()
	for _, folder := range s.Folders {
		folders = append(folders, strings.TrimPrefix(folder, repo.Dir))
	}
	want := []string{"", "/refs", "/refs/heads", "/refs/heads/topic", "/refs/tags", "/refs/changes", "/refs/changes/1"}
	if !slices.Equal(folders, want) || s.Partial {
		t.Errorf("folders %q, partial %t, want %q", folders, s.Partial, want)
	}
}

// The folders that are named are bounded, and those of branches are among them.
func TestFoldersAreBounded(t *testing.T) {
	t.Parallel()
	repo := mirror(t)
	id := repo.Git("rev-parse", "main")
	for i := range 400 {
		repo.SetRef(fmt.Sprintf("refs/changes/%03d/head", i), id)
	}
	s := over(t, repo)
	before := s.refs()
	if len(before.Folders) != 256 || !before.Partial ||
		!slices.Contains(before.Folders, filepath.Join(repo.Dir, "refs/heads/topic")) {
		t.Errorf("%d folders, partial %t, want 256 with those of branches", len(before.Folders), before.Partial)
	}
	repo.SetRef("refs/changes/399/second", id)
	if s.refs().Sum == before.Sum {
		t.Error("a ref in a folder that is not named does not change the stamp")
	}
}
