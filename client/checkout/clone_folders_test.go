package checkout

import (
	"os"
	"strings"
	"testing"

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
