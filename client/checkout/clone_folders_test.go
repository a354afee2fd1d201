package checkout

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestAFolderBecomesASubmodule, and a folder again: its files go, as in git pull, and one that was edited holds the
// branch back.
func TestAFolderBecomesASubmodule(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	files := []gittest.File{gittest.Regular("lib/a", "1"), gittest.Regular("lib/b", "2")}
	module, other := gittest.Gitlink("lib", strings.Repeat("1", 40)), gittest.Regular("f", "1")
	p.commit(files...)
	p.sync(checkouts)
	p.write("lib/b", "mine")
	p.commit(module)
	if result, err := p.try("main"); err != nil || result.Behind != ReasonEdited {
		t.Fatalf("an edit: %+v, %v", result, err)
	}
	p.git("checkout", "-q", "lib/b")
	for _, c := range []struct {
		entries     []gittest.File
		root, below string
	}{
		{[]gittest.File{module}, "lib", ""},
		{files, "lib", "a b"},
		{[]gittest.File{module, other}, "f lib", ""},
		{[]gittest.File{other}, "f", ""},
		{[]gittest.File{module}, "lib", ""},
		{[]gittest.File{gittest.Regular("lib", "1")}, "lib", ""},
	} {
		p.commit(c.entries...)
		if result, err := p.try("main"); err != nil || result.Behind != "" {
			t.Fatalf("%+v: %+v, %v", c, result, err)
		}
		if root, below := p.names("."), p.names("lib"); root != c.root || below != c.below {
			t.Errorf("%+v: there are %q and %q", c, root, below)
		}
		if status := p.git("status", "--porcelain"); status != "" {
			t.Errorf("%+v: %s", c, status)
		}
	}
}

// names are those in a folder, without the folders of git and sync.
func (p *place) names(folder string) string {
	entries, _ := os.ReadDir(p.at(folder)) // none where there is no folder
	var names []string
	for _, e := range entries {
		if e.Name() != ".git" && e.Name() != stateFolder {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// TestEmptyTreesArrive, without which git fsck fails, though git otherwise needs no object for them.
func TestEmptyTreesArrive(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("f", "1"))
	p.sync(checkouts)
	tree := p.repo.Git("ls-tree", "main") + "\n040000 tree " + p.repo.Store("tree", "") + "\td\n"
	commit := p.repo.Git("commit-tree", p.repo.GitInput([]byte(tree), "mktree"), "-m", "x", "-p", "main")
	p.repo.Git("update-ref", "refs/heads/main", commit)
	if result, err := p.try("main"); err != nil || result.Behind != "" {
		t.Fatalf("%+v, %v", result, err)
	}
	p.git("fsck", "--strict")
	p.git("cat-file", "-p", "HEAD:d")
}

// TestClonesWithAStateOfTheirOwn: git checks out what a repository has at .repomcp, where a link would lead writes of
// the state to other places.
func TestClonesWithAStateOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		link       bool
		want       error
	}{
		{"link", ".repomcp/" + unfinished, true, ErrState},
		{"ignored", ".repomcp/" + ignoreName, true, ErrState},
		{"lock", ".repomcp/lock", true, ErrState},
		{"state", ".repomcp/" + stateName, false, ErrState},
		{"other", ".repomcp/x/y", false, nil},
		{"case", ".REPOMCP/x", false, nil},
	} {
		for _, dry := range []bool{false, true} {
			p := newClonePlace(t)
			victim := filepath.Join(t.TempDir(), "victim")
			p.must(os.WriteFile(victim, []byte("v"), 0o600))
			file := gittest.Regular(c.path, "\n")
			if c.link {
				file = gittest.Symlink(c.path, victim)
			}
			p.commit(file, gittest.Regular("f", "1"))
			p.repo.Git("clone", "-q", "file://"+p.repo.Dir, p.dir)
			p.commit(gittest.Regular("f", "2"))
			o := p.options()
			checkouts(&o)
			o.DryRun = dry
			_, err := Sync(t.Context(), p.client, o)
			var refused *unpack.RefusedError
			if isRefused := errors.As(err, &refused); !errors.Is(err, ErrState) && !isRefused && !dry {
				t.Errorf("%s: %v", c.name, err)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			if content, err := os.ReadFile(victim); string(content) != "v" {
				t.Errorf("%s: the other file is %q, %v", c.name, content, err)
			}
			if status := p.git("status", "--porcelain"); status != "" {
				t.Errorf("%s: %s", c.name, status)
			}
		}
	}
}
